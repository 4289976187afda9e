"""Factorisations and spectra, on any array library.

Written against the array API standard; most of the work is products of large blocks.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.linalg import eigh, get_lapack_funcs

from thinrank import arrays
from thinrank.arrays import Array

__all__ = [
    "extreme_eigenvalues",
    "inverse_cholesky",
    "largest_eigenvalue",
    "leading_left_vectors",
    "leading_right_vectors",
    "random_block",
    "truncated_svd",
]

# The limits on sizes are rules of thumb: near them both methods take about the same time.
# Up to this number of entries a full SVD is faster than a truncated one.
_DENSE_SVD_ENTRIES = 250_000
# Additional columns in a subspace iteration; Halko, Martinsson & Tropp (2011) recommend 5 to 10.
_OVERSAMPLING = 8
# Up to this number of rows or columns a full SVD is faster than subspace iteration.
_FULL_SVD_SIZE = 64
# Size of the blocks of the blocked Cholesky factorisation.
_BLOCK = 128
# A matrix is wide if it has at most _MAX_WIDE_ROWS rows and at least _WIDE times as many columns.
_MAX_WIDE_ROWS = 1500
_WIDE = 4
# Number of attempts with a singular block, each with 100 times the ridge of the one before. The
# last ridge is at least 1e9 times the mean diagonal: only a block that is not finite fails then.
_MAX_RIDGES = 10
# Relative change of the singular values at which the subspace iteration stops.
_SVD_TOLERANCE = 1e-5
# Singular vectors come from inner products if the squares of the singular values differ by less
# than this factor: inner products lose as many digits.
_GRAM_RANGE = 1e3


def inverse_cholesky(symmetric: Array) -> tuple[Array, bool]:
    """Inverse R = L⁻¹ of the lower Cholesky factor L of A, so that R A Rᵀ = I.

    With an explicit inverse, systems with many right-hand sides are solved by plain products,
    which every library offers and runs in several threads. The blocked algorithm works in place
    of A and consists of products, too. A ridge of eps^0.4 times the mean diagonal (5e-7 times in
    double precision) is added to a diagonal block that is singular up to rounding; if that is not
    enough, the ridge is increased by factors of 100. A column that depends on earlier ones then
    has almost no effect, and rounding errors in the singular part are far smaller than the effect
    of the ridge.

    Parameters
    ----------
    symmetric : array of shape (size, size)
        The positive semi-definite matrix A. It is overwritten.

    Returns
    -------
    inverse : array of shape (size, size)
        R, lower triangular.
    ridged : bool
        Whether a ridge was added.
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
    for _ in range(_MAX_RIDGES):
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
    """Inverse of the lower Cholesky factor; None if its diagonal has an entry up to ``least``."""
    xp = arrays.namespace(symmetric)
    if type(symmetric) is np.ndarray:  # for small blocks ten times as fast as xp.linalg
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
    """A matrix of standard normal numbers, the same in every library."""
    return arrays.from_numpy(np.random.default_rng(seed).standard_normal((rows, columns)), like)


def largest_eigenvalue(
    product: Callable[[Array], Array], size: int, like: Array, *, tol: float = 1e-3
) -> float:
    """Largest eigenvalue of a positive semi-definite operator, by block power iteration.

    The iteration approaches the eigenvalue from below. Its last value is increased by the factor
    1 + ``tol`` and the norm of the residual, so that one over the result is a safe step size.

    Parameters
    ----------
    product : callable
        ``product(block) -> array``: the operator times a block of shape (size, q).
    size : int
        Number of rows and columns of the operator.
    like : array
        An array of the library, dtype and device to compute in.
    tol : float, default=1e-3
        Norm of the residual, relative to the eigenvalue, at which the iteration stops.

    Returns
    -------
    float
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
    floor : float, default=0.0
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
    """Whether to use the inner products of the rows: few rows, and data in single precision.

    Singular values below about √eps times the largest are lost, which single precision allows.
    """
    rows, columns = matrix.shape
    single = arrays.itemsize(matrix) == 4
    return single and rows <= _MAX_WIDE_ROWS and columns >= _WIDE * rows


def _left_vectors_of_wide(matrix: Array, rank: int, floor: float) -> Array:
    """Leading left singular vectors as eigenvectors of A Aᵀ: one product, no iterations."""
    xp = arrays.namespace(matrix)
    squares, vectors = xp.linalg.eigh(xp.astype(matrix @ matrix.T, xp.float64))
    values = xp.sqrt(xp.clip(xp.flip(squares), min=0.0))[:rank]
    left = xp.astype(xp.flip(vectors, axis=1)[:, :rank], matrix.dtype)
    values = xp.astype(values, matrix.dtype)
    return left[:, : _numerical_rank(values, max(matrix.shape), floor)]


def _numerical_rank(values: Array, size: int, floor: float) -> int:
    """Number of the decreasing singular values that are larger than rounding errors."""
    if values.shape[0] == 0:
        return 0
    least = max(size * arrays.eps(values) * float(values[0]), floor)
    return int(arrays.namespace(values).count_nonzero(values > least))


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
        values, vectors = eigh(symmetric, subset_by_index=[last - count + 1, last])
    else:
        values, vectors = xp.linalg.eigh(symmetric)
    return xp.flip(values)[:count], xp.flip(vectors, axis=1)[:, :count]


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
        The pair is for matrices that are too large to form; it needs ``shape`` and ``like``.
    rank : int
        Number of triplets; at most min(m, n) are returned.
    shape : (int, int) or None, default=None
        Shape (m, n), if functions are given.
    like : array or None, default=None
        An array of the library, dtype and device to compute in, if functions are given.
    seed : int, default=0
        Seed of the random block that the subspace iteration (Halko, Martinsson & Tropp 2011)
        starts from. The iteration runs until the singular values change by less than 1e-5.

    Returns
    -------
    U : array of shape (m, q)
        Left singular vectors, q = min(rank, m, n).
    s : array of shape (q,)
        Singular values, decreasing.
    V : array of shape (n, q)
        Right singular vectors.
    """
    if isinstance(matrix, tuple):
        product, transposed = matrix
        if shape is None or like is None:
            raise TypeError("shape and like must be given if matrix is a pair of functions")
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
        # the singular values of basis.T @ A are those of A within the current subspace
        right, triangle = xp.linalg.qr(transposed(basis))
        inner_right, new_values, inner_left = xp.linalg.svd(triangle, full_matrices=False)
        change = float(xp.max(xp.abs(new_values[:rank] - values[:rank])))
        values = new_values
        if width == small or change <= _SVD_TOLERANCE * float(values[0]):
            break
        basis, _ = xp.linalg.qr(product(right))
    left = basis @ inner_left[:rank, :].T
    return left, values[:rank], right @ inner_right[:, :rank]
