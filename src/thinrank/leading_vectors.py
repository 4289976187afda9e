"""Leading singular vectors of a matrix: left ones from a guess of the right ones, or right ones."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.linalg import eigh as scipy_eigh

from thinrank import arrays, small_matrices
from thinrank.arrays import Array
from thinrank.linalg import (
    OVERSAMPLING,
    eigh,
    left_singular_vectors,
    random_block,
    tall_qr,
)
from thinrank.subspace_iteration import by_subspace_iteration, wider

# Up to this number of rows or columns a full SVD is faster than subspace iteration.
FULL_SVD_SIZE = 64
# A matrix is wide if it has at most _MAX_WIDE_ROWS rows and at least _WIDE times as many columns.
_MAX_WIDE_ROWS = 1500
_WIDE = 4
# Eigenvalues of inner products below this times the largest times eps are rounding errors. A rule
# of thumb: the errors depend on the order of the sums.
_ROUNDING = 10.0
# Up to this number of rows or columns a Gram matrix in double precision is quick to multiply with.
MAX_GRAM = 4096
# Right singular vectors come from inner products if the squares of the singular values differ by
# less than this factor: inner products lose as many digits.
_GRAM_RANGE = 1e3


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
    found = _by_gram(matrix, rank, guess, floor)
    if found is not None:
        tall = matrix.shape[0] > matrix.shape[1]
        left = found.vectors
        if tall:
            left = xp.astype(matrix, left.dtype) @ (left / arrays.from_numpy(found.values, left))
        return xp.astype(left, matrix.dtype)
    if small <= FULL_SVD_SIZE:
        left, values = left_singular_vectors(matrix)
        return left[:, : _numerical_rank(values[:rank], max(matrix.shape), floor)]
    if _is_wide(matrix):
        return _left_vectors_of_wide(matrix, rank, floor)
    width = min(rank + OVERSAMPLING, small)
    extra = random_block(matrix.shape[1], max(width - guess.shape[1], 0), matrix, seed=0)
    basis, _ = tall_qr(matrix @ xp.concat([guess, extra], axis=1))
    captured = 0.0
    for _ in range(50):
        right, triangle = tall_qr(matrix.T @ basis)
        _, values, rotation = xp.linalg.svd(triangle, full_matrices=False)
        previous, captured = captured, arrays.inner(values[:rank], values[:rank])
        if captured - previous <= 1e-12 * captured:
            break
        basis, _ = tall_qr(matrix @ right)
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
    squares = xp.flip(squares)[:rank]
    clear = squares > _ROUNDING * arrays.eps(matrix) * squares[:1]
    values = xp.sqrt(xp.where(clear, squares, 0.0))
    left = xp.astype(xp.flip(vectors, axis=1)[:, :rank], matrix.dtype)
    values = xp.astype(values, matrix.dtype)
    return left[:, : _numerical_rank(values, max(matrix.shape), floor)]


class _Pairs(NamedTuple):
    """Singular values on the host, and right (of tall matrices) or left vectors, in double."""

    values: np.ndarray
    vectors: Array


def _by_gram(matrix: Array, rank: int, guess: Array, floor: Array | float) -> _Pairs | None:
    """Leading singular vectors from the smaller Gram matrix, in double precision.

    Singular values below about 1e-7 times the largest are lost, which single precision allows. On
    an accelerator the products of one iteration take much less time than one QR decomposition or
    SVD there; small matrices are factorised on the host.

    Returns
    -------
    _Pairs or None
        None for other matrices than small ones in single precision of other libraries than NumPy,
        and if the matrix has a smaller rank than the basis, for which QR is needed.
    """
    found: tuple[np.ndarray, Array] | None
    rank, small = min(rank, *matrix.shape), min(matrix.shape)
    if not small_matrices.is_single_elsewhere(matrix) or not 0 < rank <= small <= MAX_GRAM:
        return None
    xp = arrays.namespace(matrix)
    double = xp.astype(matrix, xp.float64)
    tall = matrix.shape[0] > matrix.shape[1]
    gram = double.T @ double if tall else double @ double.T
    if small <= max(FULL_SVD_SIZE, rank + OVERSAMPLING):
        found = small_matrices.eigenpairs(gram)
    else:
        block = wider(guess, rank)
        block = xp.astype(block if tall else matrix @ block, xp.float64)
        found = by_subspace_iteration(gram, rank, block, 0.1 * arrays.eps(matrix))
    if found is None:
        return None
    values = np.sqrt(np.maximum(found[0][:rank], 0.0))
    clear = (values > max(matrix.shape) * arrays.eps(matrix) * values[0]) & (values > float(floor))
    count = int(np.count_nonzero(clear))
    return _Pairs(values[:count], found[1][:, :count])


def _numerical_rank(values: Array, size: int, floor: Array | float) -> int:
    """Number of the decreasing singular values that are larger than rounding errors."""
    if values.shape[0] == 0:
        return 0
    clear = (values > size * arrays.eps(values) * values[0]) & (values > floor)
    return int(arrays.namespace(values).count_nonzero(clear))


def leading_right_vectors(matrix: Array, rank: int) -> tuple[Array, Array]:
    """Leading singular values and right singular vectors of a matrix, to full accuracy.

    They come from the inner products of rows or columns, whichever are fewer, which takes a
    fraction of the time of an SVD. If singular values differ too much for that, or the matrix is
    small, they come from an SVD.

    Parameters
    ----------
    matrix : array of shape (m, n)
        The matrix.
    rank : int
        Number of vectors; at most min(m, n) are returned.

    Returns
    -------
    s : array of shape (q,)
        Singular values, decreasing.
    V : array of shape (n, q)
        Right singular vectors.
    """
    xp = arrays.namespace(matrix)
    rank = min(rank, *matrix.shape)
    if rank and matrix.shape[0] * matrix.shape[1] > FULL_SVD_SIZE**2:
        tall = matrix.shape[0] >= matrix.shape[1]
        gram = matrix.T @ matrix if tall else matrix @ matrix.T
        squares, vectors = _largest_eigenpairs(gram, rank)
        if float(squares[0]) < _GRAM_RANGE * float(squares[-1]):
            values = xp.sqrt(squares)
            return values, vectors if tall else (matrix.T @ vectors) / values
    _, values, right = xp.linalg.svd(matrix, full_matrices=False)
    return values[:rank], right[:rank, :].T


def _largest_eigenpairs(symmetric: Array, count: int) -> tuple[Array, Array]:
    """The largest eigenvalues, decreasing, and their eigenvectors."""
    xp = arrays.namespace(symmetric)
    if type(symmetric) is np.ndarray:  # only those that are asked for
        last = symmetric.shape[0] - 1
        values, vectors = scipy_eigh(symmetric, subset_by_index=[last - count + 1, last])
    else:
        values, vectors = eigh(symmetric)
    return xp.flip(values)[:count], xp.flip(vectors, axis=1)[:, :count]
