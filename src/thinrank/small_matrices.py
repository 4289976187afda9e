"""Factorisations for other libraries than NumPy: of small matrices by NumPy in double precision.

On an accelerator a factorisation of some ten rows and columns takes a hundred launches, far longer
than to copy the matrix to the host and to factorise it there. Products of large matrices stay where
they are. Singular values below about 1e-7 times the largest are lost in inner products, which
single precision allows; so these functions are for single precision.
"""

from __future__ import annotations

from typing import NamedTuple, TypeGuard

import numpy as np
from scipy.linalg.lapack import dpotrf, dtrtri

from thinrank import arrays
from thinrank.arrays import Array

# Up to the square of this number of entries a matrix is factorised on the host. Rule of thumb.
MOST_ROWS = 256
# Least pivot, relative to the largest, of a Cholesky factor of inner products whose columns are
# linearly independent up to rounding in double precision.
_INDEPENDENT = 1e-7
# Least pivot with which a Cholesky factor gives a basis that is orthonormal in single precision.
_WELL_CONDITIONED = 1e-3


def is_single_elsewhere(a: Array) -> bool:
    """Whether an array is in single precision, and not of NumPy."""
    return type(a) is not np.ndarray and arrays.itemsize(a) == 4


def _double(a: Array) -> np.ndarray:
    return arrays.to_numpy(a).astype(np.float64, copy=False)


def _in_double(a: Array) -> Array:
    xp = arrays.namespace(a)
    return xp.astype(a, xp.float64, copy=False)


def svd(matrix: Array) -> tuple[Array, Array, Array]:
    """Thin SVD, as ``xp.linalg.svd`` returns it."""
    if not is_single_elsewhere(matrix) or matrix.shape[0] * matrix.shape[1] > MOST_ROWS**2:
        return arrays.namespace(matrix).linalg.svd(matrix, full_matrices=False)
    parts = np.linalg.svd(_double(matrix), full_matrices=False)
    left, values, right = (arrays.from_numpy(part, matrix) for part in parts)
    return left, values, right


def _descending(symmetric: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Eigenvalues, decreasing, and eigenvectors."""
    values, vectors = np.linalg.eigh(symmetric)
    return values[::-1].copy(), vectors[:, ::-1].copy()


def orthonormal(matrix: Array) -> tuple[Array, Array] | None:
    """Orthonormal and triangular factor of a matrix with few columns; None if inaccurate."""
    if not _is_tall(matrix):
        return None
    double = _in_double(matrix)
    found = _inverse_triangle(_double(double.T @ double))
    if not _is_accurate(found):
        return None
    return _turned(double, found.inverse, matrix), arrays.from_numpy(found.triangle, matrix)


def _turned(double: Array, turn: np.ndarray, like: Array) -> Array:
    """A product with a small matrix, computed in double precision."""
    return arrays.namespace(like).astype(double @ arrays.from_numpy(turn, double), like.dtype)


def product_svd(A: Array, B: Array) -> tuple[Array, np.ndarray, Array] | None:
    """Thin SVD of A Bᵀ: left singular vectors, singular values on the host, right singular vectors.

    It takes one transfer from the device. None for other arrays than those in single precision
    outside of NumPy, if A and B have more than a few columns, and if it would be inaccurate.
    """
    if not (is_single_elsewhere(A) and _is_tall(A) and _is_tall(B)):
        return None
    both, products = _with_products(A, B)
    of_a, of_b = (_inverse_triangle(product) for product in products)
    if not (_is_accurate(of_a) and _is_accurate(of_b)):
        return None
    left, values, right = np.linalg.svd(of_a.triangle @ of_b.triangle.T)
    left, right = of_a.inverse @ left, of_b.inverse @ right.T
    return _turned(both[0], left, A), values, _turned(both[1], right, B)


def product_right_vectors(A: Array, B: Array) -> tuple[Array, np.ndarray, Array] | None:
    """Right singular vectors W of A Bᵀ, the singular values on the host, and BᵀW.

    None as for :func:`product_svd`, of which it takes half the time; A may have any rank.
    """
    if not (is_single_elsewhere(A) and _is_tall(B)):
        return None
    both, (of_a, own) = _with_products(A, B)
    of_b = _inverse_triangle(own)
    if not _is_accurate(of_b) or not np.isfinite(of_a).all():
        return None
    squares, vectors = _descending(of_b.triangle @ of_a @ of_b.triangle.T)
    turn = arrays.from_numpy(of_b.triangle.T @ vectors, B)
    return _turned(both[1], of_b.inverse @ vectors, B), np.sqrt(np.maximum(squares, 0.0)), turn


def _is_tall(matrix: Array) -> bool:
    return 0 < matrix.shape[1] <= min(MOST_ROWS, matrix.shape[0])


def _with_products(*blocks: Array) -> tuple[list[Array], np.ndarray]:
    """Blocks in double precision, and the inner products of the columns of each, on the host."""
    double = [_in_double(block) for block in blocks]
    xp = arrays.namespace(*double)
    return double, _double(xp.stack([block.T @ block for block in double]))


def inverse_root(symmetric: Array, scale: float | None = None) -> tuple[Array | None, float]:
    """Inverse of the lower Cholesky factor, for matrices of any size of other libraries than NumPy.

    Returns
    -------
    inverse : array or None
        None if a pivot is a rounding error.
    scale : float
        What the pivots were compared with: the mean diagonal, unless it was given.
    """
    xp = arrays.namespace(symmetric)
    factor = lower_factor(symmetric)
    both = xp.stack([xp.linalg.diagonal(symmetric), xp.linalg.diagonal(factor)])
    diagonal, pivots = arrays.to_numpy(both)  # one transfer from the device
    scale = float(diagonal.mean(dtype=np.float64)) if scale is None else scale
    # NaN, which a factor that does not exist has, fails the comparison
    if not pivots.min() > least_pivot(symmetric, scale):
        return None, scale
    return inverse_of_lower(factor), scale


def least_pivot(like: Array, scale: float) -> float:
    """Up to this the pivots of a matrix with a mean diagonal of ``scale`` are rounding errors."""
    return (1e3 * arrays.eps(like) * max(scale, 0.0)) ** 0.5


def inverse_of_lower(factor: Array) -> Array:
    """Inverse of a lower triangular matrix of other libraries than NumPy."""
    xp = arrays.namespace(factor)
    if not hasattr(xp.linalg, "solve_triangular"):
        return xp.linalg.inv(factor)
    unit = arrays.identity(factor.shape[0], like=factor)
    return xp.linalg.solve_triangular(factor, unit, upper=False)


def lower_factor(symmetric: Array) -> Array:
    """Lower Cholesky factor; it has NaN if the matrix is not positive definite."""
    xp = arrays.namespace(symmetric)
    if hasattr(xp.linalg, "cholesky_ex"):  # linalg.cholesky would wait for the device
        factor, failed = xp.linalg.cholesky_ex(symmetric)
        return factor.masked_fill_(failed != 0, float("nan"))
    try:
        return xp.linalg.cholesky(symmetric)
    except np.linalg.LinAlgError:
        return symmetric * float("nan")


class _Triangle(NamedTuple):
    """An upper triangular T with TᵀT = A, its inverse, and its least pivot over the largest.

    The pivots are those of A scaled to a diagonal of 1.
    """

    triangle: np.ndarray
    inverse: np.ndarray
    least_pivot: float


def _inverse_triangle(products: np.ndarray) -> _Triangle | None:
    """The Cholesky factor of inner products; None if they are singular up to rounding."""
    squares = products.diagonal()
    if not (squares > 0).all():  # also if it is NaN, or negative by rounding
        return None
    scale = np.sqrt(squares)
    triangle, failed = dpotrf(products / scale / scale[:, None], overwrite_a=1)
    pivots = triangle.diagonal()
    least = 0.0 if failed else float(pivots.min() / pivots.max())
    if not least > _INDEPENDENT:
        return None
    return _Triangle(triangle * scale, dtrtri(triangle)[0] / scale[:, None], least)


def _is_accurate(found: _Triangle | None) -> TypeGuard[_Triangle]:
    """Whether a basis from a triangle is orthonormal in single precision."""
    return found is not None and found.least_pivot > _WELL_CONDITIONED
