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

__all__ = [
    "Check",
    "by_subspace_iteration",
    "leading_left_vectors",
    "leading_right_vectors",
    "left_vectors_near",
    "to_check",
    "wider",
]

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
# Number of products before a check of convergence, after which most guesses have converged.
PRODUCTS = 3
# The same for singular vectors that need fewer digits.
_PRODUCTS_NEAR = 2
# Largest number of checks of convergence.
_MAX_CHECKS = 20
# Right singular vectors come from inner products if the squares of the singular values differ by
# less than this factor: inner products lose as many digits.
_GRAM_RANGE = 1e3
# Relative error of sums of squared singular values, and of a basis, that tables of scores allow.
_NEAR = 1e-7


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
    if small <= _FULL_SVD_SIZE:
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
    if not small_matrices.is_single_elsewhere(matrix) or not 0 < rank <= small <= _MAX_GRAM:
        return None
    xp = arrays.namespace(matrix)
    double = xp.astype(matrix, xp.float64)
    tall = matrix.shape[0] > matrix.shape[1]
    gram = double.T @ double if tall else double @ double.T
    if small <= max(_FULL_SVD_SIZE, rank + OVERSAMPLING):
        found = small_matrices.eigenpairs(gram)
    else:
        block = wider(guess, rank)
        block = xp.astype(block if tall else matrix @ block, xp.float64)
        found = by_subspace_iteration(gram, rank, block, arrays.eps(matrix))
    if found is None:
        return None
    values = np.sqrt(np.maximum(found[0][:rank], 0.0))
    clear = (values > max(matrix.shape) * arrays.eps(matrix) * values[0]) & (values > float(floor))
    count = int(np.count_nonzero(clear))
    return _Pairs(values[:count], found[1][:, :count])


def left_vectors_near(matrix: Array, rank: int, guess: Array) -> Array | None:
    """Leading left singular vectors of a matrix, of which a guess of the right ones is close.

    They come from a subspace iteration with the smaller Gram matrix in double precision, which
    ends when they explain the same up to 1e-7; a guess that is exact stays exact. More than
    ``rank`` vectors are returned; the further ones are only approximations.

    Parameters
    ----------
    matrix : array of shape (m, n)
        The matrix.
    rank : int
        Number of vectors that are computed accurately.
    guess : array of shape (n, q)
        A block whose columns are close to the right singular vectors.

    Returns
    -------
    array of shape (m, q), or None
        Orthonormal columns. None if a complete decomposition would take less time, or if the
        matrix has too small a rank.
    """
    small = min(matrix.shape)
    width = max(rank + OVERSAMPLING, guess.shape[1])
    if rank == 0 or small <= max(_FULL_SVD_SIZE, 2 * width) or small > _MAX_GRAM:
        return None
    xp = arrays.namespace(matrix)
    double = xp.astype(matrix, xp.float64, copy=False)
    tall = matrix.shape[0] > matrix.shape[1]
    gram = double.T @ double if tall else double @ double.T
    block = wider(xp.astype(guess, xp.float64, copy=False), rank)
    found = _ritz_vectors(gram, rank, block if tall else double @ block)
    if found is None:
        return None
    values, vectors = found
    # the rule of complete decompositions for tables: see selection/tables.py
    clear = values > max(matrix.shape) * arrays.eps(matrix) * values[0]
    count = int(np.count_nonzero(clear))
    vectors = vectors[:, :count]
    if tall:
        vectors = double @ (vectors / arrays.from_numpy(np.sqrt(values[:count]), double))
    return xp.astype(vectors, matrix.dtype, copy=False)


def _ritz_vectors(gram: Array, rank: int, block: Array) -> tuple[np.ndarray, Array] | None:
    """Approximate eigenvalues, on the host, and eigenvectors in the span of a block.

    The block is multiplied by the matrix until the first ``rank`` of them are accurate, as in
    :func:`by_subspace_iteration`. None if its columns become dependent.
    """
    for products in (_PRODUCTS_NEAR, 1):
        found = _ritz_iterated(gram, rank, block, products)
        if found is not None:
            return found
    return None


def _ritz_iterated(
    gram: Array, rank: int, block: Array, products: int
) -> tuple[np.ndarray, Array] | None:
    """As :func:`_ritz_vectors`, with a number of products before every check."""
    captured = 0.0
    for _ in range(_MAX_CHECKS):
        for _ in range(products):
            block = gram @ block
        image, on_device = to_check(gram, block, products=0)
        inner = arrays.to_numpy(on_device)
        found = small_matrices.ritz(inner, rank)
        if found is None:
            return None
        turn = arrays.from_numpy(found.turn, gram)
        previous, captured = captured, float(np.sum(found.values[:rank]))
        # rounding errors of the inner products grow with the norms of what is added up
        sums = np.sqrt(inner.diagonal()[: len(found.values)]) @ np.abs(found.turn)
        orthonormal = np.finfo(np.float64).eps * np.max(sums) ** 2 < _NEAR
        if orthonormal and _has_converged(found, rank, previous, _NEAR):
            return found.values, block @ turn
        block = image @ turn
    return None


def _has_converged(
    found: small_matrices.Ritz, rank: int, previous: float, tolerance: float
) -> bool:
    """Whether the leading vectors capture as much as eigenvectors, up to a relative tolerance.

    ``previous`` is what they captured at the last check.
    """
    values = found.values
    captured, gap = np.sum(values[:rank]), values[rank - 1] - values[-1]
    missed = np.sum(found.residuals[:rank]) / gap if gap > 0 else captured
    return bool(min(missed, captured - previous) <= tolerance * captured)


def wider(guess: Array, rank: int) -> Array:
    """A guess with random columns, as many as a subspace iteration for ``rank`` vectors needs."""
    missing = max(rank + OVERSAMPLING - guess.shape[1], 0)
    extra = random_block(guess.shape[0], missing, guess, seed=0)
    return arrays.namespace(guess).concat([guess, extra], axis=1)


class Check(NamedTuple):
    """A block after some products with a symmetric matrix A.

    Attributes
    ----------
    image : array
        AB for the block B.
    products : array
        Inner products of the columns of [B, AB].
    """

    image: Array
    products: Array


def to_check(gram: Array, block: Array, products: int = PRODUCTS) -> Check:
    """Multiply a block by a matrix several times, up to the next check of convergence."""
    for _ in range(products):
        block = gram @ block
    image = gram @ block
    return Check(image, small_matrices.inner_products(block, image))


def by_subspace_iteration(
    gram: Array, rank: int, block: Array, eps: float, first: Check | None = None
) -> tuple[np.ndarray, Array] | None:
    """The largest eigenvalues, on the host, and the eigenvectors of a matrix, from a block.

    A check takes one transfer to the host, which takes longer than some products. But products
    make the columns of a random block dependent if there is a large gap between the eigenvalues;
    then the iteration begins again with one product before every check. None if they become
    dependent nevertheless.

    ``first`` is the first check, if it was made already.
    """
    for products in (PRODUCTS, 1):
        check = to_check(gram, block, products) if first is None else first
        found = _iterated(gram, rank, check, eps, products)
        if found is not None:
            return found
        first = None
    return None


def _iterated(
    gram: Array, rank: int, check: Check, eps: float, products: int
) -> tuple[np.ndarray, Array] | None:
    """As :func:`by_subspace_iteration`, with a number of products before every check."""
    captured = 0.0
    for checks_left in reversed(range(_MAX_CHECKS)):
        found = small_matrices.ritz(check.products, rank)
        if found is None:
            return None
        previous, captured = captured, float(np.sum(found.values[:rank]))
        settled = _has_converged(found, rank, previous, 0.1 * eps)
        if found.better is not None and (settled or not checks_left):
            return found.values, check.image @ arrays.from_numpy(found.better, gram)
        turn = arrays.from_numpy(found.turn, gram)
        check = to_check(gram, check.image @ turn, products)
    return None


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
