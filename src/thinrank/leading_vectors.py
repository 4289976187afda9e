"""Leading singular vectors of a matrix: left ones from a guess of the right ones, or right ones."""

from __future__ import annotations

import numpy as np
from scipy.linalg import eigh as scipy_eigh

from thinrank import arrays
from thinrank.arrays import Array
from thinrank.linalg import (
    OVERSAMPLING,
    eigh,
    left_singular_vectors,
    random_block,
    tall_qr,
)

__all__ = ["leading_left_vectors", "leading_right_vectors"]

# Up to this number of rows or columns a full SVD is faster than subspace iteration.
_FULL_SVD_SIZE = 64
# A matrix is wide if it has at most _MAX_WIDE_ROWS rows and at least _WIDE times as many columns.
_MAX_WIDE_ROWS = 1500
_WIDE = 4
# Eigenvalues of inner products below this times the largest times eps are rounding errors. A rule
# of thumb: the errors depend on the order of the sums.
_ROUNDING = 10.0
# Up to this number of rows or columns a Gram matrix in double precision is quick to multiply with.
_MAX_GRAM = 4096
# Iterations between two checks of convergence, and largest number of checks. A check takes longer
# than some iterations.
_STEPS = 3
_MAX_CHECKS = 20
# Least pivot, relative to the largest, with which two Cholesky factors give an orthonormal basis in
# double precision.
_LEAST_PIVOT = 1e-7
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
    if small <= _FULL_SVD_SIZE:
        left, values = left_singular_vectors(matrix)
        return left[:, : _numerical_rank(values[:rank], max(matrix.shape), floor)]
    elsewhere = type(matrix) is not np.ndarray and arrays.itemsize(matrix) == 4
    if elsewhere and rank > 0 and small <= _MAX_GRAM:
        left = _left_vectors_by_gram(matrix, rank, guess, floor)
        if left is not None:
            return left
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


def _left_vectors_by_gram(
    matrix: Array, rank: int, guess: Array, floor: Array | float
) -> Array | None:
    """Leading left singular vectors by subspace iteration with the smaller Gram matrix.

    The Gram matrix, bases and small factorisations are in double precision. Singular values below
    about 1e-7 times the largest are lost, which single precision allows. On an accelerator the
    products of one iteration take much less time than one QR decomposition or SVD, and a few
    numbers are fetched from it every _STEPS iterations.

    Returns
    -------
    array or None
        None if the matrix has a smaller rank than the basis, for which QR is needed.
    """
    xp = arrays.namespace(matrix)
    double = xp.astype(matrix, xp.float64)
    tall = matrix.shape[0] > matrix.shape[1]
    gram = double.T @ double if tall else double @ double.T
    width = min(rank + OVERSAMPLING, gram.shape[0])
    extra = random_block(matrix.shape[1], max(width - guess.shape[1], 0), matrix, seed=0)
    block = xp.concat([guess, extra], axis=1)
    if not arrays.is_array(floor):
        floor = arrays.zeros((), like=matrix) + floor
    pivots: list[Array] = []
    basis = _basis(xp.astype(block if tall else matrix @ block, xp.float64), pivots)
    captured = 0.0
    for _ in range(_MAX_CHECKS):
        for _ in range(_STEPS):
            basis = _basis(gram @ basis, pivots)
        basis = _basis(basis, [])  # once more, so that it is orthonormal up to rounding
        image = gram @ basis
        small = basis.T @ image
        # NaN, about which the pivots tell, would be an error here
        squares, rotation = xp.linalg.eigh(xp.where(xp.isfinite(small), small, 0.0))
        squares, rotation = xp.flip(squares), xp.flip(rotation, axis=1)[:, :rank]
        vectors, values = basis @ rotation, squares[:rank]
        left_over = xp.sum((image @ rotation - vectors * values) ** 2)
        found, rest, least, *known = _fetched(squares, left_over, floor, *pivots)
        if not all(each.min() > _LEAST_PIVOT * each.max() for each in known):  # also if it is NaN
            return None
        previous, captured = captured, float(np.sum(found[:rank]))
        gap = found[rank - 1] - found[-1]
        missed = rest[0] / gap if gap > 0 else 0.0 if width == gram.shape[0] else captured
        if min(missed, captured - previous) <= 0.1 * arrays.eps(matrix) * captured:
            break
    if tall:
        vectors = double @ (vectors / xp.sqrt(values))
    sizes = np.sqrt(np.maximum(found[:rank], 0.0))
    clear = (sizes > max(matrix.shape) * arrays.eps(matrix) * sizes[0]) & (sizes > least)
    return xp.astype(vectors, matrix.dtype)[:, : int(np.count_nonzero(clear))]


def _basis(block: Array, pivots: list[Array]) -> Array:
    """A basis of the columns of a block, by a Cholesky factor, whose pivots are appended to a list.

    The basis is orthonormal up to rounding only if the block is well conditioned. The smallest
    pivot relative to the largest is about the reciprocal condition number. It is NaN if the columns
    are linearly dependent, and so is the basis.
    """
    factor = arrays.cholesky(block.T @ block)
    pivots.append(arrays.namespace(block).linalg.diagonal(factor))
    return arrays.solve_lower(factor, block.T).T


def _fetched(*parts: Array) -> list[np.ndarray]:
    """Numbers and vectors on an accelerator, in one transfer to the host."""
    xp = arrays.namespace(*parts)
    flat = [xp.reshape(xp.astype(part, xp.float64, copy=False), (-1,)) for part in parts]
    ends = np.cumsum([part.shape[0] for part in flat])
    return np.split(arrays.to_numpy(xp.concat(flat)), ends[:-1])


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
    if rank and matrix.shape[0] * matrix.shape[1] > _FULL_SVD_SIZE**2:
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
