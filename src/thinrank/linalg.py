"""Factorisations and spectra, on any array library.

Written against the array API standard, with products of large blocks doing the work.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.linalg import get_lapack_funcs

from thinrank import arrays
from thinrank.arrays import Array

__all__ = [
    "extreme_eigenvalues",
    "inverse_cholesky",
    "largest_eigenvalue",
    "leading_left_vectors",
    "random_block",
    "truncated_svd",
]

# Below this many entries a full SVD is cheaper than the bookkeeping of a truncated one.
_DENSE_SVD_ENTRIES = 250_000
_OVERSAMPLING = 8
# Up to this many rows or columns an SVD is cheaper than iterating.
_OUTRIGHT = 64
_BLOCK = 128
# A matrix with up to this many rows, and this many times as many columns, is wide.
_MOST_INNER_PRODUCTS = 1500
_WIDE = 4
# Ridges, each 100 times the one before, that a singular block is tried with.
_MOST_RIDGES = 10
# Relative change of singular values at which the subspace iteration stops.
_SETTLED = 1e-5


def inverse_cholesky(symmetric: Array) -> tuple[Array, bool]:
    """R = L⁻¹ for the lower Cholesky factor L of A, so that R A Rᵀ = I; A is overwritten.

    An explicit inverse serves many right-hand sides with plain products, which every library has
    and threads well; so does this blocked algorithm, which needs no second matrix of the size
    of A. A block that is singular to rounding gets a ridge first, eps^0.4 of the mean diagonal
    (5e-7 in double precision), or 100 times that and so on until it suffices: a column that
    depends on earlier ones then brings next to nothing, and rounding in the part that is singular
    stays far below what the ridge changes.

    Returns
    -------
    R, and whether a ridge was added
    """
    xp = arrays.namespace(symmetric)
    size = symmetric.shape[0]
    if size == 0:
        return symmetric, False
    scale = float(xp.linalg.trace(symmetric)) / size
    if size <= _BLOCK:
        return _inverse_root(symmetric, scale)
    blocks = [slice(i, min(i + _BLOCK, size)) for i in range(0, size, _BLOCK)]
    ridged = False
    for i, here in enumerate(blocks):  # Cholesky, with the diagonal blocks inverted at once
        root, needed_ridge = _inverse_root(symmetric[here, here], scale)
        ridged = ridged or needed_ridge
        symmetric[here, here] = root
        below = slice(here.stop, size)
        if here.stop < size:
            symmetric[below, here] = symmetric[below, here] @ root.T
        for there in blocks[i + 1 :]:
            rest = slice(there.start, size)
            symmetric[rest, there] -= symmetric[rest, here] @ symmetric[there, here].T
    for here in blocks:  # the inverse of L, from the top
        before = slice(0, here.start)
        if here.start:
            left = symmetric[here, before] @ symmetric[before, before]
            symmetric[here, before] = -(symmetric[here, here] @ left)
        if here.stop < size:
            symmetric[here, here.stop :] = 0.0
    return symmetric, ridged


def _inverse_root(block: Array, scale: float) -> tuple[Array, bool]:
    """Inverse of the lower Cholesky factor of a small block, and whether it needed a ridge."""
    ridge, shifted = 0.0, block
    for _ in range(_MOST_RIDGES):
        if ridge:
            shifted = block + ridge * arrays.identity(block.shape[0], like=block)
        root = _try_inverse_root(shifted, (1e3 * arrays.eps(block) * scale) ** 0.5)
        if root is not None:
            return root, ridge > 0
        ridge = 100 * ridge if ridge else arrays.eps(block) ** 0.4 * (scale if scale > 0 else 1.0)
    raise ValueError(
        "a matrix of inner products is not finite: the data are too large, or not finite"
    )


def _try_inverse_root(symmetric: Array, least: float) -> Array | None:
    """Inverse of the lower Cholesky factor; None if its diagonal is not above ``least``."""
    xp = arrays.namespace(symmetric)
    if type(symmetric) is np.ndarray:  # the same for a tenth of the time, in small blocks
        factorise, invert = _lapack(symmetric.dtype)
        factor, failed = factorise(symmetric, lower=1, clean=1)
        if failed or not factor.diagonal().min() > least:
            return None
        return np.ascontiguousarray(invert(factor, lower=1, overwrite_c=1)[0])
    try:
        factor = xp.linalg.cholesky(symmetric)
    except (np.linalg.LinAlgError, RuntimeError):  # PyTorch's error is a RuntimeError
        return None
    return xp.linalg.inv(factor) if bool(xp.min(xp.linalg.diagonal(factor)) > least) else None


@functools.lru_cache(maxsize=4)
def _lapack(dtype: np.dtype) -> tuple[Callable[..., Any], Callable[..., Any]]:
    return tuple(get_lapack_funcs(("potrf", "trtri"), dtype=dtype))


# --------------------------------------------------------------------------- spectra


def extreme_eigenvalues(symmetric: Array) -> tuple[float, float]:
    """Smallest and largest eigenvalue of a symmetric matrix."""
    values = arrays.namespace(symmetric).linalg.eigvalsh(symmetric)
    return float(values[0]), float(values[-1])


def random_block(rows: int, columns: int, like: Array, seed: int) -> Array:
    """Standard normal numbers, the same in every library."""
    return arrays.from_numpy(np.random.default_rng(seed).standard_normal((rows, columns)), like)


def largest_eigenvalue(
    product: Callable[[Array], Array], size: int, like: Array, *, tol: float = 1e-3
) -> float:
    """Largest eigenvalue of a positive semi-definite operator, by block power iteration.

    The estimate approaches from below; it is returned raised by ``tol``, so that steps of one
    over it are safe.
    """
    xp = arrays.namespace(like)
    width = size if size <= 3 * _OVERSAMPLING else _OVERSAMPLING
    block, _ = xp.linalg.qr(random_block(size, width, like, seed=0))
    moved = block[:, :0]
    value = residual = 0.0
    for _ in range(100):  # LOBPCG: Rayleigh-Ritz over the block, its residuals and the last move
        image = product(block)
        small = block.T @ image
        values, vectors = xp.linalg.eigh(small)
        top = vectors[:, -1:]
        value = float(values[-1])
        residual = arrays.norm(image @ top - value * (block @ top))
        if value <= 0 or residual <= tol * value or width == size:
            break
        basis, _ = xp.linalg.qr(xp.concat([block, image - block @ small, moved], axis=1))
        _, vectors = xp.linalg.eigh(basis.T @ product(basis))
        new = basis @ vectors[:, -width:]
        moved = new - block @ (block.T @ new)
        block, _ = xp.linalg.qr(new)
    return max(value, 0.0) * (1 + tol) + residual


def leading_left_vectors(matrix: Array, rank: int, guess: Array, floor: float = 0.0) -> Array:
    """Orthonormal basis of the leading left singular vectors.

    Small matrices are decomposed outright. For others, subspace iteration from a guess at the
    right vectors, which a few passes improve to rounding when there is a gap after ``rank``.

    Parameters
    ----------
    matrix : array of shape (m, n)
    rank : int
        How many; fewer come back when the matrix has not so many, or carries less.
    floor : float
        Singular values up to this are rounding.
    guess : array of shape (n, any)
        A block whose columns lie near the right singular vectors.
    """
    xp = arrays.namespace(matrix)
    small = min(matrix.shape)
    rank = min(rank, small)
    if small <= _OUTRIGHT:
        left, values, _ = xp.linalg.svd(matrix, full_matrices=False)
        return left[:, : _numerical_rank(values[:rank], max(matrix.shape), floor)]
    if _is_wide(matrix):
        return _left_vectors_of_wide(matrix, rank, floor)
    width = min(rank + _OVERSAMPLING, small)
    extra = random_block(matrix.shape[1], max(width - guess.shape[1], 0), matrix, seed=0)
    basis, _ = xp.linalg.qr(matrix @ xp.concat([guess, extra], axis=1))
    captured = 0.0
    for _ in range(50):
        right, triangle = xp.linalg.qr(matrix.T @ basis)
        _, values, rotation = xp.linalg.svd(triangle, full_matrices=False)
        previous, captured = captured, arrays.inner(values[:rank], values[:rank])
        if captured - previous <= 1e-12 * captured:
            break
        basis, _ = xp.linalg.qr(matrix @ right)
    left = basis @ rotation.T
    return left[:, : _numerical_rank(values[:rank], max(matrix.shape), floor)]


def _is_wide(matrix: Array) -> bool:
    """Whether inner products of the rows are few, and as exact as single precision has use for."""
    rows, columns = matrix.shape
    single = arrays.itemsize(matrix) == 4
    return single and rows <= _MOST_INNER_PRODUCTS and columns >= _WIDE * rows


def _left_vectors_of_wide(matrix: Array, rank: int, floor: float) -> Array:
    """Leading left singular vectors as eigenvectors of A Aᵀ: one product, no iterations."""
    xp = arrays.namespace(matrix)
    squares, vectors = xp.linalg.eigh(xp.astype(matrix @ matrix.T, xp.float64))
    values = xp.sqrt(xp.clip(xp.flip(squares), min=0.0))[:rank]
    left = xp.astype(xp.flip(vectors, axis=1)[:, :rank], matrix.dtype)
    values = xp.astype(values, matrix.dtype)
    return left[:, : _numerical_rank(values, max(matrix.shape), floor)]


def _numerical_rank(values: Array, size: int, floor: float) -> int:
    """How many of the decreasing singular values are more than rounding."""
    if values.shape[0] == 0:
        return 0
    least = max(size * arrays.eps(values) * float(values[0]), floor)
    return int(arrays.namespace(values).count_nonzero(values > least))


def truncated_svd(
    matrix: Array | tuple[Callable[[Array], Array], Callable[[Array], Array]],
    rank: int,
    *,
    shape: tuple[int, int] | None = None,
    like: Array | None = None,
    seed: int = 0,
) -> tuple[Array, Array, Array]:
    """Leading singular triplets, without a full SVD when the matrix is large.

    Parameters
    ----------
    matrix : array of shape (m, n), or a pair (A @ ., A.T @ .) of functions
        The pair serves matrices that are too large to form; it needs ``shape`` and ``like``.
    rank : int
        How many triplets; fewer come back when ``min(m, n)`` is smaller.
    shape, like
        Shape, and an array whose library, dtype and device to use, when functions are given.
    seed : int
        For the random block that the subspace iteration (Halko, Martinsson & Tropp 2011) starts
        from; it runs until the singular values settle.

    Returns
    -------
    U (m, q), s (q,) decreasing, V (n, q), with q = min(rank, m, n)
    """
    if isinstance(matrix, tuple):
        product, transposed = matrix
        if shape is None or like is None:
            raise TypeError("functions need shape and like")
    else:
        shape, like = matrix.shape, matrix
        dense = matrix

        def product(block: Array) -> Array:
            return dense @ block

        def transposed(block: Array) -> Array:
            return dense.T @ block

    xp = arrays.namespace(like)
    small = min(shape)
    rank = min(rank, small)
    width = min(rank + _OVERSAMPLING, small)
    if not isinstance(matrix, tuple) and shape[0] * shape[1] <= _DENSE_SVD_ENTRIES:
        left, values, right = xp.linalg.svd(matrix, full_matrices=False)
        return left[:, :rank], values[:rank], right[:rank, :].T

    basis, _ = xp.linalg.qr(product(random_block(shape[1], width, like, seed)))
    values = arrays.zeros((width,), like=like)
    for _ in range(50):
        # basis.T @ A has the singular values that the current subspace captures
        right, triangle = xp.linalg.qr(transposed(basis))
        inner_right, new_values, inner_left = xp.linalg.svd(triangle, full_matrices=False)
        change = float(xp.max(xp.abs(new_values[:rank] - values[:rank])))
        values = new_values
        if width == small or change <= _SETTLED * float(values[0]):
            break
        basis, _ = xp.linalg.qr(product(right))
    left = basis @ inner_left[:rank, :].T
    return left, values[:rank], right @ inner_right[:, :rank]
