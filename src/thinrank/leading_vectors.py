"""Leading left singular vectors of a matrix, when a guess of the right ones is known."""

from __future__ import annotations

import numpy as np

from thinrank import arrays
from thinrank.arrays import Array
from thinrank.linalg import OVERSAMPLING, inverse_cholesky, random_block

__all__ = ["leading_left_vectors"]

# Up to this number of rows or columns a full SVD is faster than subspace iteration.
_FULL_SVD_SIZE = 64
# A matrix is wide if it has at most _MAX_WIDE_ROWS rows and at least _WIDE times as many columns.
_MAX_WIDE_ROWS = 1500
_WIDE = 4


def leading_left_vectors(
    matrix: Array, rank: int, guess: Array, floor: Array | float = 0.0
) -> Array:
    """Leading left singular vectors of a matrix.

    Small matrices are decomposed completely. For others a subspace iteration starts from a guess
    of the right singular vectors; a few iterations reach full accuracy if there is a gap between
    the singular values ``rank`` and ``rank`` + 1.

    Parameters
    ----------
    matrix : array of shape (m, n)
        The matrix.
    rank : int
        Largest number of vectors.
    guess : array of shape (n, q)
        A block whose columns are close to the right singular vectors.
    floor : float or array of shape (), default=0.0
        Singular values up to this are considered to be rounding errors.

    Returns
    -------
    array of shape (m, q)
        Orthonormal columns; q is at most ``rank`` and at most the numerical rank of the matrix.
    """
    xp = arrays.namespace(matrix)
    small = min(matrix.shape)
    rank = min(rank, small)
    if small <= _FULL_SVD_SIZE:
        left, values, _ = xp.linalg.svd(matrix, full_matrices=False)
        return left[:, : _numerical_rank(values[:rank], max(matrix.shape), floor)]
    if _is_wide(matrix):
        return _left_vectors_of_wide(matrix, rank, floor)
    if type(matrix) is not np.ndarray and arrays.itemsize(matrix) == 4:
        left = _left_vectors_by_products(matrix, rank, guess, floor)
        if left is not None:
            return left
    width = min(rank + OVERSAMPLING, small)
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
    """Whether to use the inner products of the rows: few rows, and data in single precision.

    Singular values below about √eps times the largest are lost, which single precision allows.
    """
    rows, columns = matrix.shape
    single = arrays.itemsize(matrix) == 4
    return single and rows <= _MAX_WIDE_ROWS and columns >= _WIDE * rows


def _left_vectors_of_wide(matrix: Array, rank: int, floor: Array | float) -> Array:
    """Leading left singular vectors as eigenvectors of A Aᵀ: one product, no iterations."""
    xp = arrays.namespace(matrix)
    squares, vectors = xp.linalg.eigh(xp.astype(matrix @ matrix.T, xp.float64))
    values = xp.sqrt(xp.clip(xp.flip(squares), min=0.0))[:rank]
    left = xp.astype(xp.flip(vectors, axis=1)[:, :rank], matrix.dtype)
    values = xp.astype(values, matrix.dtype)
    return left[:, : _numerical_rank(values, max(matrix.shape), floor)]


def _left_vectors_by_products(
    matrix: Array, rank: int, guess: Array, floor: Array | float
) -> Array | None:
    """Leading left singular vectors by the subspace iteration, for single precision elsewhere.

    As in :func:`leading_left_vectors`, but orthonormal bases come from Cholesky factors of small
    matrices in double precision, and singular values are square roots of eigenvalues, which single
    precision allows. On an accelerator QR and SVD of such matrices take several times as long.
    Only a few numbers are fetched from it in an iteration.

    Returns
    -------
    array or None
        None if the matrix has a smaller rank than the basis; QR is needed then.
    """
    xp = arrays.namespace(matrix)
    width = min(rank + OVERSAMPLING, min(matrix.shape))
    extra = random_block(matrix.shape[1], max(width - guess.shape[1], 0), matrix, seed=0)
    basis = _orthonormal(matrix @ xp.concat([guess, extra], axis=1))
    tolerance = 0.1 * arrays.eps(matrix)
    captured = 0.0
    for _ in range(50):
        if basis is None:
            return None
        image = matrix.T @ basis
        double = xp.astype(image, xp.float64)
        squares, rotation = xp.linalg.eigh(double.T @ double)
        squares, rotation = xp.flip(squares), xp.flip(rotation, axis=1)
        previous = captured
        captured, smallest, largest = _fetched(xp.sum(squares[:rank]), squares[-1], squares[0])
        if not smallest > (max(matrix.shape) * arrays.eps(matrix)) ** 2 * largest:
            return None
        if captured - previous <= tolerance * captured:
            break
        right = double @ (rotation / xp.sqrt(squares))
        basis = _orthonormal(matrix @ xp.astype(right, matrix.dtype))
    left = basis @ xp.astype(rotation, matrix.dtype)[:, :rank]
    values = xp.astype(xp.sqrt(squares[:rank]), matrix.dtype)
    return left[:, : _numerical_rank(values, max(matrix.shape), floor)]


def _orthonormal(block: Array) -> Array | None:
    """An orthonormal basis of the columns of a block, by a Cholesky factor in double precision.

    None if they are linearly dependent up to rounding errors.
    """
    xp = arrays.namespace(block)
    double = xp.astype(block, xp.float64)
    root, ridged = inverse_cholesky(double.T @ double)
    return None if ridged else xp.astype(double @ root.T, block.dtype)


def _fetched(*numbers: Array) -> list[float]:
    """Numbers on an accelerator, in one transfer to the host."""
    return arrays.to_numpy(arrays.namespace(*numbers).stack(numbers)).tolist()


def _numerical_rank(values: Array, size: int, floor: Array | float) -> int:
    """Number of the decreasing singular values that are larger than rounding errors."""
    if values.shape[0] == 0:
        return 0
    clear = (values > size * arrays.eps(values) * values[0]) & (values > floor)
    return int(arrays.namespace(values).count_nonzero(clear))
