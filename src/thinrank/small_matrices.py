"""Factorisations of small matrices of other libraries than NumPy, by NumPy in double precision.

On an accelerator a factorisation of some ten rows and columns takes a hundred launches, far longer
than to copy the matrix to the host and to factorise it there. Products of large matrices stay where
they are. Singular values below about 1e-7 times the largest are lost in inner products, which
single precision allows; so these functions are for single precision.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.linalg import solve_triangular

from thinrank import arrays
from thinrank.arrays import Array

__all__ = [
    "Ritz",
    "eigenpairs",
    "inner_products",
    "is_single_elsewhere",
    "orthonormal",
    "ritz",
    "svd",
]

# Up to this number of rows and columns a matrix is factorised on the host. Rule of thumb.
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


def inner_products(block: Array) -> Array:
    """Inner products of the columns, in double precision."""
    xp = arrays.namespace(block)
    double = xp.astype(block, xp.float64, copy=False)
    return double.T @ double


def svd(matrix: Array) -> tuple[Array, Array, Array]:
    """Thin SVD, as ``xp.linalg.svd`` returns it."""
    if not is_single_elsewhere(matrix) or max(matrix.shape) > MOST_ROWS:
        return arrays.namespace(matrix).linalg.svd(matrix, full_matrices=False)
    parts = np.linalg.svd(_double(matrix), full_matrices=False)
    left, values, right = (arrays.from_numpy(part, matrix) for part in parts)
    return left, values, right


def eigenpairs(symmetric: Array) -> tuple[np.ndarray, Array] | None:
    """Eigenvalues, decreasing, on the host, and eigenvectors of a matrix in double precision.

    None if a small matrix is not finite.
    """
    if symmetric.shape[0] <= MOST_ROWS:
        small = _double(symmetric)
        if not np.isfinite(small).all():
            return None
        values, vectors = _descending(small)
        return values, arrays.from_numpy(vectors, symmetric)
    xp = arrays.namespace(symmetric)
    values, vectors = xp.linalg.eigh(symmetric)
    return arrays.to_numpy(values)[::-1].copy(), xp.flip(vectors, axis=1)


def _descending(symmetric: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Eigenvalues, decreasing, and eigenvectors."""
    values, vectors = np.linalg.eigh(symmetric)
    return values[::-1].copy(), vectors[:, ::-1].copy()


def orthonormal(matrix: Array) -> tuple[Array, Array] | None:
    """Orthonormal and triangular factor of a matrix with few columns; None if inaccurate."""
    if not 0 < matrix.shape[1] <= min(MOST_ROWS, matrix.shape[0]):
        return None
    found = _inverse_triangle(_double(inner_products(matrix)))
    if found is None or not found.least_pivot > _WELL_CONDITIONED:
        return None
    xp = arrays.namespace(matrix)
    inverse = xp.asarray(found.inverse, device=arrays.device_of(matrix))
    basis = xp.astype(xp.astype(matrix, xp.float64) @ inverse, matrix.dtype)
    return basis, arrays.from_numpy(found.triangle, matrix)


class _Triangle(NamedTuple):
    """An upper triangular T with TᵀT = A, its inverse, and its least pivot over the largest.

    The pivots are those of A scaled to a diagonal of 1.
    """

    triangle: np.ndarray
    inverse: np.ndarray
    least_pivot: float


def _inverse_triangle(products: np.ndarray) -> _Triangle | None:
    """The Cholesky factor of inner products; None if they are singular up to rounding."""
    scale = np.sqrt(products.diagonal())
    if not (scale > 0).all():  # also if it is NaN
        return None
    try:
        factor = np.linalg.cholesky(products / scale / scale[:, None])
    except np.linalg.LinAlgError:
        return None
    pivots = factor.diagonal()
    least = float(pivots.min() / pivots.max())
    if not least > _INDEPENDENT:
        return None
    unit = np.eye(len(scale))
    inverse = solve_triangular(factor, unit, lower=True, trans="T", check_finite=False)
    return _Triangle(factor.T * scale, inverse / scale[:, None], least)


class Ritz(NamedTuple):
    """The best approximations of eigenpairs of A in the span of a block B.

    Attributes
    ----------
    values : ndarray of shape (width,)
        Approximate eigenvalues, decreasing.
    turn : ndarray of shape (width, width)
        B·turn has the approximate eigenvectors, which are orthonormal.
    residuals : ndarray of shape (width,)
        Squared norms of A·v − value·v.
    is_orthonormal : bool
        Whether B·turn is orthonormal in single precision.
    """

    values: np.ndarray
    turn: np.ndarray
    residuals: np.ndarray
    is_orthonormal: bool


def ritz(products: Array) -> Ritz | None:
    """Approximate eigenpairs of A from the inner products of the columns of [B, AB].

    Returns
    -------
    Ritz or None
        None if the columns of B are linearly dependent up to rounding, or products overflow.
    """
    whole = _double(products)
    if not np.isfinite(whole).all():
        return None
    width = whole.shape[0] // 2
    own, image, squares = whole[:width, :width], whole[:width, width:], whole[width:, width:]
    found = _inverse_triangle(own)
    if found is None:
        return None
    inverse = found.inverse
    values, vectors = _descending(inverse.T @ image @ inverse)
    turn = inverse @ vectors
    residuals = np.einsum("ij,ij->j", turn, squares @ turn) - values**2
    return Ritz(values, turn, np.maximum(residuals, 0.0), found.least_pivot > _WELL_CONDITIONED)
