"""Factorisations and spectra, on any array library.

Written against the array API standard; most of the work is products of large blocks.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from array_api_extra import pad
from scipy.linalg import eigh as scipy_eigh
from scipy.linalg import get_lapack_funcs

from thinrank import arrays
from thinrank.arrays import Array

# Up to this number of entries a full SVD takes about as long as a truncated one without a guess.
_DENSE_SVD_ENTRIES = 250_000
# Up to this number of rows or columns a full SVD is faster than subspace iteration.
FULL_SVD_SIZE = 64
# Additional columns in a subspace iteration; Halko, Martinsson & Tropp (2011) recommend 5 to 10.
_OVERSAMPLING = 8
# Up to this number of entries the host decomposes a matrix faster than an accelerator, where that
# takes a hundred launches.
_MOST_ON_HOST = 256**2


def inverse_cholesky(symmetric: Array) -> tuple[Array, bool]:
    """Inverse R = L⁻¹ of the lower Cholesky factor L of A, so that R A Rᵀ = I.

    If A is singular up to rounding, a ridge of eps^0.4 times the mean diagonal (5e-7 times in
    double precision) is added, and increased by factors of 100 if that is not enough; the second
    result says so. A column that depends on earlier ones then has almost no effect.
    """
    size = symmetric.shape[0]
    if size == 0:
        return symmetric, False
    ridge, eps, shifted = 0.0, arrays.eps(symmetric), symmetric
    for _ in range(10):  # the last ridge is at least 1e9 times the mean diagonal
        factor, least, mean = _lower_factor(shifted)
        scale = mean - ridge
        # NaN, which a factor that does not exist has, fails the comparison
        if least > (1e3 * eps * max(scale, 0.0)) ** 0.5:
            return _inverse_of_lower(factor), ridge > 0
        ridge = 100 * ridge if ridge else eps**0.4 * (scale if scale > 0 else 1.0)
        shifted = symmetric + ridge * arrays.identity(size, like=symmetric)
    raise ValueError(
        "a matrix of inner products is not finite: the data are too large, or not finite"
    )


def _lower_factor(symmetric: Array) -> tuple[Array, float, float]:
    """Lower Cholesky factor, its least pivot, NaN without a factor, and the mean diagonal."""
    if type(symmetric) is np.ndarray:  # for small matrices ten times as fast as numpy.linalg
        mean = float(symmetric.trace(dtype=np.float64)) / symmetric.shape[0]
        # LAPACK's columns are the rows of the array: the upper factor there is the lower one here
        factor, failed = _lapack("potrf", symmetric.dtype)(symmetric.T, lower=0, clean=1)
        return factor.T, np.nan if failed else float(factor.diagonal().min()), mean
    xp = arrays.namespace(symmetric)
    if hasattr(xp.linalg, "cholesky_ex"):  # linalg.cholesky would wait for the device
        factor, failed = xp.linalg.cholesky_ex(symmetric)
        factor = factor.masked_fill_(failed != 0, float("nan"))
    else:
        try:
            factor = xp.linalg.cholesky(symmetric)
        except np.linalg.LinAlgError:
            factor = symmetric * float("nan")
    both = xp.stack([xp.linalg.diagonal(symmetric), xp.linalg.diagonal(factor)])
    diagonal, pivots = arrays.to_numpy(both)  # one transfer from the device
    return factor, float(pivots.min()), float(diagonal.mean(dtype=np.float64))


def _inverse_of_lower(factor: Array) -> Array:
    """Inverse of a lower triangular matrix."""
    if type(factor) is np.ndarray:
        return _lapack("trtri", factor.dtype)(factor.T, lower=0)[0].T
    xp = arrays.namespace(factor)
    if not hasattr(xp.linalg, "solve_triangular"):
        return xp.linalg.inv(factor)
    unit = arrays.identity(factor.shape[0], like=factor)
    return xp.linalg.solve_triangular(factor, unit, upper=False)


def svd(matrix: Array) -> tuple[Array, Array, Array]:
    """Thin SVD; that of a small matrix on an accelerator is computed on the host."""
    if arrays.on_host(matrix) or matrix.shape[0] * matrix.shape[1] > _MOST_ON_HOST:
        return arrays.namespace(matrix).linalg.svd(matrix, full_matrices=False)
    parts = np.linalg.svd(arrays.to_numpy(matrix), full_matrices=False)
    left, values, right = (arrays.from_numpy(part, matrix) for part in parts)
    return left, values, right


@functools.lru_cache(maxsize=16)
def _lapack(name: str, dtype: np.dtype) -> Callable[..., Any]:
    """A function of LAPACK; for small matrices it takes half the time of that of NumPy or less."""
    return get_lapack_funcs(name, dtype=dtype)


def eigh(symmetric: Array) -> tuple[Array, Array]:
    """Eigenvalues, ascending, and eigenvectors of a symmetric matrix or of a stack of them."""
    # in single precision the factorization takes more time on a GPU
    xp = arrays.namespace(symmetric)
    if type(symmetric) is np.ndarray or arrays.itemsize(symmetric) == 8:
        return xp.linalg.eigh(symmetric)
    values, vectors = xp.linalg.eigh(xp.astype(symmetric, xp.float64))
    return xp.astype(values, symmetric.dtype), xp.astype(vectors, symmetric.dtype)


def extreme_eigenvalues(symmetric: Array) -> tuple[float, float]:
    """Smallest and largest eigenvalue of a symmetric matrix."""
    values = arrays.namespace(symmetric).linalg.eigvalsh(symmetric)
    return float(values[0]), float(values[-1])


def random_block(rows: int, columns: int, like: Array, seed: int) -> Array:
    """A matrix of standard normal numbers, the same in every library."""
    numbers = np.random.default_rng(seed).standard_normal((rows, columns))
    return arrays.from_numpy(numbers, like)


def largest_eigenvalue(
    product: Callable[[Array], Array], size: int, like: Array, *, tol: float = 1e-3
) -> float:
    """Upper bound on the largest eigenvalue of a positive semi-definite operator, for step sizes.

    The iteration approaches it from below: 1 + ``tol`` and the residual make up for the difference.
    """
    vector, values, _ = truncated_svd(
        (product, product), 1, shape=(size, size), like=like, tol=0.1 * tol
    )
    value = float(values[0])
    return value * (1 + tol) + arrays.norm(product(vector) - value * vector)


def truncated_svd(
    matrix: Array | tuple[Callable[[Array], Array], Callable[[Array], Array]],
    rank: int,
    *,
    shape: tuple[int, int] | None = None,
    like: Array | None = None,
    guess: Array | None = None,
    seed: int = 0,
    tol: float = 1e-5,
) -> tuple[Array, Array, Array]:
    """Leading singular triplets, by subspace iteration if the matrix is large.

    ``matrix``: an array, or its products with blocks and those of its transpose, with ``shape`` and
    an array ``like`` it. ``guess``: of the right singular vectors, None for random directions.
    ``tol``: relative change of the singular values at which the iteration stops.

    Shapes: ``matrix`` (m, n), ``guess`` (n, q), ``U`` (m, q), ``s`` (q,), ``V`` (n, q).
    """
    if not isinstance(matrix, tuple):
        shape, like, dense = matrix.shape, matrix, matrix
        small = min(shape) <= FULL_SVD_SIZE or (
            guess is None and shape[0] * shape[1] <= _DENSE_SVD_ENTRIES
        )
        if small:
            left, values, right = svd(matrix)
            rank = min(rank, *shape)  # array_api_strict has no slices beyond the end
            return left[:, :rank], values[:rank], right[:rank, :].T
        matrix = (lambda block: dense @ block), (lambda block: dense.T @ block)
    assert shape is not None
    assert like is not None
    product, transposed = matrix
    xp = arrays.namespace(like)
    rank = min(rank, *shape)
    width = min(rank + _OVERSAMPLING, *shape)
    block = arrays.zeros((shape[1], 0), like) if guess is None else guess
    missing = max(width - block.shape[1], 0)
    block = xp.concat([block, random_block(shape[1], missing, like, seed)], axis=1)
    last = arrays.zeros((rank,), like=like)
    for _ in range(50):
        basis, _ = xp.linalg.qr(product(block))
        # the singular values of basis.T @ A are those of A within the current subspace
        block, triangle = xp.linalg.qr(transposed(basis))
        inner_right, values, inner_left = svd(triangle)
        values = values[:rank]
        settled = arrays.max_abs(values - last) <= tol * arrays.max_abs(values)
        if width == min(shape) or bool(settled):
            break
        last = values
    return basis @ inner_left[:rank, :].T, values, block @ inner_right[:, :rank]


def leading_left_vectors(
    matrix: Array, rank: int, guess: Array, floor: Array | float = 0.0
) -> Array:
    """Leading left singular vectors: at most ``rank``, and those of values above ``floor``.

    ``guess``: of the right singular vectors, of shape (n, q).
    """
    xp, eps = arrays.namespace(matrix), arrays.eps(matrix)
    # rounding errors of single precision must not count as changes
    left, values, _ = truncated_svd(matrix, rank, guess=guess, tol=max(1e-12, 4 * eps))
    clear = (values > max(matrix.shape) * eps * values[:1]) & (values > floor)
    return left[:, : int(xp.count_nonzero(clear))]


def leading_right_vectors(matrix: Array, rank: int) -> tuple[Array, Array]:
    """Leading singular values and right singular vectors of a matrix, to full accuracy.

    From inner products, which take 2 instead of 47 ms of an SVD for 1000 × 100, unless the squares
    of the singular values differ by a factor of 1000: inner products lose as many digits.
    """
    xp = arrays.namespace(matrix)
    rank = min(rank, *matrix.shape)
    if rank and matrix.shape[0] * matrix.shape[1] > FULL_SVD_SIZE**2:
        tall = matrix.shape[0] >= matrix.shape[1]
        gram = matrix.T @ matrix if tall else matrix @ matrix.T
        squares, vectors = _largest_eigenpairs(gram, rank)
        if float(squares[0]) < 1e3 * float(squares[-1]):
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


def stacked(blocks: Sequence[Array]) -> Array:
    """Matrices along a new first axis, padded with zeros to the shape of the largest."""
    xp = arrays.namespace(blocks[0])
    shape = tuple(max(block.shape[i] for block in blocks) for i in (0, 1))
    return xp.stack([padded(block, shape) for block in blocks])


def padded(block: Array, shape: tuple[int, ...]) -> Array:
    """A matrix with further rows and columns of zeros, of the given shape."""
    if block.shape == shape:
        return block
    return pad(block, tuple((0, most - own) for most, own in zip(shape, block.shape, strict=True)))
