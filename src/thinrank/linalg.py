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

# The limits on sizes are rules of thumb: near them both methods take about the same time.
# Up to this number of entries a full SVD is faster than a truncated one.
_DENSE_SVD_ENTRIES = 250_000
# Additional columns in a subspace iteration; Halko, Martinsson & Tropp (2011) recommend 5 to 10.
OVERSAMPLING = 8
# Largest matrix that is factorised at once: for larger ones LAPACK starts threads.
_BLOCK = 127
# Up to this number of entries reflections are as fast as Cholesky factors.
_SMALL = 4096
# Number of attempts with a singular block, each with 100 times the ridge of the one before. The
# last ridge is at least 1e9 times the mean diagonal: only a block that is not finite fails then.
_MAX_RIDGES = 10
# Up to this number of rows or columns a full SVD is faster than subspace iteration.
FULL_SVD_SIZE = 64
# Right singular vectors come from inner products if the squares of the singular values differ by
# less than this factor: inner products lose as many digits.
_GRAM_RANGE = 1e3
# Up to this number of columns, or of entries, the host factorises faster than an accelerator, where
# a factorisation takes a hundred launches. Rule of thumb.
_MOST_COLUMNS = 256
_MOST_ENTRIES = _MOST_COLUMNS**2
# Least pivot with which a Cholesky factor gives a basis that is orthonormal in single precision.
_WELL_CONDITIONED = 1e-3
# Relative change of the singular values at which the subspace iteration stops.
_SVD_TOLERANCE = 1e-5


def inverse_cholesky(symmetric: Array) -> tuple[Array, bool]:
    """Inverse R = L⁻¹ of the lower Cholesky factor L of A, so that R A Rᵀ = I.

    With an explicit inverse, systems with many right-hand sides are solved by plain products,
    which every library offers and runs in several threads. If A is singular up to rounding, the
    factorisation is repeated in blocks, and a ridge of eps^0.4 times the mean diagonal (5e-7 times
    in double precision) is added to a diagonal block that is singular; if that is not enough, the
    ridge is increased by factors of 100. A column that depends on earlier ones then has almost no
    effect, and rounding errors in the singular part are far smaller than the effect of the ridge.
    NumPy arrays are factorised in place.

    Shapes: ``symmetric`` (size, size), ``inverse`` (size, size).
    """
    size = symmetric.shape[0]
    if size == 0:
        return symmetric, False
    if type(symmetric) is np.ndarray:
        return _inverse_root_by_halves(symmetric, float(symmetric.trace()) / size)
    root, scale = _other_inverse_root(symmetric)
    return (root, False) if root is not None else _inverse_root_by_halves(symmetric, scale)


def _inverse_root_by_halves(symmetric: Array, scale: float) -> tuple[Array, bool]:
    """As :func:`inverse_cholesky`, for a matrix with a mean diagonal of ``scale``.

    Most of the work is products, which NumPy computes in several threads. With one thread it takes
    0.45 ms for 200 rows, one Cholesky factor and inverse by SciPy 0.91 ms; with two threads, which
    are not those of NumPy's products, 28 and 52 ms for 1200 rows.
    """
    size = symmetric.shape[0]
    if size <= _BLOCK:
        return _inverse_root(symmetric, scale)
    first, second = slice(0, size // 2), slice(size // 2, size)
    above, ridge_above = _inverse_root_by_halves(symmetric[first, first], scale)
    left = symmetric[second, first] @ above.T  # of the Cholesky factor
    symmetric[second, second] -= left @ left.T
    below, ridge_below = _inverse_root_by_halves(symmetric[second, second], scale)
    symmetric[first, first], symmetric[second, second] = above, below
    symmetric[second, first] = below @ (left @ -above)
    symmetric[first, second] = 0.0
    return symmetric, ridge_above or ridge_below


def solve_definite(symmetric: Array, right: Array) -> Array:
    """A⁻¹B for a positive definite matrix A, which is overwritten."""
    root, _ = inverse_cholesky(symmetric)
    return root.T @ (root @ right)


def _inverse_root(block: Array, scale: float) -> tuple[Array, bool]:
    """Inverse of the lower Cholesky factor of a small block, and whether it needed a ridge."""
    ridge, shifted, eps = 0.0, block, arrays.eps(block)
    for _ in range(_MAX_RIDGES):
        if ridge:
            shifted = block + ridge * arrays.identity(block.shape[0], like=block)
        root = _try_inverse_root(shifted, scale)
        if root is not None:
            return root, ridge > 0
        ridge = 100 * ridge if ridge else eps**0.4 * (scale if scale > 0 else 1.0)
    raise ValueError(
        "a matrix of inner products is not finite: the data are too large, or not finite"
    )


def _try_inverse_root(symmetric: Array, scale: float) -> Array | None:
    """Inverse of the lower Cholesky factor; None if a pivot is a rounding error."""
    if type(symmetric) is not np.ndarray:
        return _other_inverse_root(symmetric, scale)[0]
    # for small blocks ten times as fast as xp.linalg
    # LAPACK's columns are the rows of the array: the upper factor there is the lower one here
    factor, failed = _lapack("potrf", symmetric.dtype)(symmetric.T, lower=0, clean=1)
    if failed or not factor.diagonal().min() > _least_pivot(symmetric, scale):
        return None
    return _lapack("trtri", symmetric.dtype)(factor, lower=0, overwrite_c=1)[0].T


def _other_inverse_root(symmetric: Array, scale: float | None = None) -> tuple[Array | None, float]:
    """Inverse of the lower Cholesky factor, for other libraries than NumPy, and the mean diagonal.

    The inverse is None if a pivot is a rounding error, compared with ``scale`` if that is given.
    """
    xp = arrays.namespace(symmetric)
    factor = _lower_factor(symmetric)
    both = xp.stack([xp.linalg.diagonal(symmetric), xp.linalg.diagonal(factor)])
    diagonal, pivots = arrays.to_numpy(both)  # one transfer from the device
    scale = float(diagonal.mean(dtype=np.float64)) if scale is None else scale
    # NaN, which a factor that does not exist has, fails the comparison
    if not pivots.min() > _least_pivot(symmetric, scale):
        return None, scale
    return _inverse_of_lower(factor), scale


def _least_pivot(like: Array, scale: float) -> float:
    """Up to this the pivots of a matrix with a mean diagonal of ``scale`` are rounding errors."""
    return (1e3 * arrays.eps(like) * max(scale, 0.0)) ** 0.5


def _inverse_of_lower(factor: Array) -> Array:
    """Inverse of a lower triangular matrix of other libraries than NumPy."""
    xp = arrays.namespace(factor)
    if not hasattr(xp.linalg, "solve_triangular"):
        return xp.linalg.inv(factor)
    unit = arrays.identity(factor.shape[0], like=factor)
    return xp.linalg.solve_triangular(factor, unit, upper=False)


def _lower_factor(symmetric: Array) -> Array:
    """Lower Cholesky factor; it has NaN if the matrix is not positive definite."""
    xp = arrays.namespace(symmetric)
    if hasattr(xp.linalg, "cholesky_ex"):  # linalg.cholesky would wait for the device
        factor, failed = xp.linalg.cholesky_ex(symmetric)
        return factor.masked_fill_(failed != 0, float("nan"))
    try:
        return xp.linalg.cholesky(symmetric)
    except np.linalg.LinAlgError:
        return symmetric * float("nan")


def tall_qr(matrix: Array) -> tuple[Array, Array]:
    """Orthonormal and triangular factor of a matrix with many more rows than columns.

    In single precision in other libraries by a Cholesky factor in double precision.
    For large NumPy arrays by two Cholesky factors (CholeskyQR2, Yamamoto et al. 2015), which take
    products: 0.14 instead of 0.41 ms of Householder reflections for 1000 × 10, and 5.6 instead of
    25 ms for 5000 × 30, with one thread.
    If the columns are too close to linear dependence for that, by reflections.
    """
    if type(matrix) is not np.ndarray and arrays.itemsize(matrix) == 4:
        few = 0 < matrix.shape[1] <= min(_MOST_COLUMNS, matrix.shape[0])
        found = _single_qr(matrix) if few else None
        return arrays.namespace(matrix).linalg.qr(matrix) if found is None else found
    tall = type(matrix) is np.ndarray and matrix.shape[1] < matrix.shape[0]
    if tall and matrix.size > _SMALL:
        first = _by_cholesky(matrix)
        second = None if first is None else _by_cholesky(first[0])
        if first is not None and second is not None:
            return second[0], second[1] @ first[1]
    return arrays.namespace(matrix).linalg.qr(matrix)


def _single_qr(matrix: Array) -> tuple[Array, Array] | None:
    """QR by a Cholesky factor in double precision, computed on the host; None if inaccurate."""
    xp = arrays.namespace(matrix)
    double = xp.astype(matrix, xp.float64)
    products = arrays.to_numpy(double.T @ double)
    scale = np.sqrt(np.maximum(products.diagonal(), 0.0))
    if not (scale > 0).all():  # also if it is NaN
        return None
    triangle, failed = _lapack("potrf", products.dtype)(products / scale / scale[:, None])
    if failed or not triangle.diagonal().min() > _WELL_CONDITIONED:
        return None
    inverse = _lapack("trtri", products.dtype)(triangle)[0] / scale[:, None]
    Q = double @ arrays.from_numpy(inverse, double)
    return xp.astype(Q, matrix.dtype), arrays.from_numpy(triangle * scale, matrix)


def _by_cholesky(matrix: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
    """A nearly orthonormal basis and the triangular factor; None if that would be inaccurate."""
    factor, failed = _lapack("potrf", matrix.dtype)(matrix.T @ matrix, lower=0, clean=1)
    pivots = factor.diagonal()
    if failed or not pivots.min() > 10 * arrays.eps(matrix) ** 0.5 * pivots.max():
        return None
    return matrix @ _lapack("trtri", matrix.dtype)(factor, lower=0)[0], factor


def svd(matrix: Array) -> tuple[Array, Array, Array]:
    """Thin SVD; that of a small matrix on an accelerator is computed on the host."""
    if arrays.on_host(matrix) or matrix.shape[0] * matrix.shape[1] > _MOST_ENTRIES:
        return arrays.namespace(matrix).linalg.svd(matrix, full_matrices=False)
    parts = np.linalg.svd(arrays.to_numpy(matrix), full_matrices=False)
    left, values, right = (arrays.from_numpy(part, matrix) for part in parts)
    return left, values, right


@functools.lru_cache(maxsize=16)
def _lapack(name: str, dtype: np.dtype) -> Callable[..., Any]:
    """A function of LAPACK; for small matrices it takes half the time of that of NumPy or less."""
    return get_lapack_funcs(name, dtype=dtype)


# --------------------------------------------------------------------------- spectra


def eigh(symmetric: Array) -> tuple[Array, Array]:
    """Eigenvalues, ascending, and eigenvectors of a symmetric matrix or of a stack of them.

    In other libraries than NumPy double precision is used for single precision, too: the
    factorisation then takes less time on a GPU, and few columns of it are usually kept.
    """
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
    """Largest eigenvalue of a positive semi-definite operator, by block power iteration.

    The iteration approaches the eigenvalue from below. Its last value is increased by the factor
    1 + ``tol`` and the norm of the residual, so that one over the result is a safe step size.
    """
    xp = arrays.namespace(like)
    width = size if size <= 3 * OVERSAMPLING else OVERSAMPLING
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


def truncated_svd(
    matrix: Array | tuple[Callable[[Array], Array], Callable[[Array], Array]],
    rank: int,
    *,
    shape: tuple[int, int] | None = None,
    like: Array | None = None,
    seed: int = 0,
) -> tuple[Array, Array, Array]:
    """Leading singular triplets, without a full SVD when the matrix is large.

    Shapes: ``matrix`` (m, n), ``U`` (m, q), ``s`` (q,), ``V`` (n, q).
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
    width = min(rank + OVERSAMPLING, small)
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


def leading_left_vectors(
    matrix: Array, rank: int, guess: Array, floor: Array | float = 0.0
) -> Array:
    """Leading left singular vectors of a matrix: at most ``rank``, and at most its numerical rank.

    Small matrices are decomposed completely. For others a subspace iteration starts from a guess
    of the right singular vectors, of shape (n, q). Singular values up to ``floor`` are considered
    to be rounding errors.
    """
    xp = arrays.namespace(matrix)
    small = min(matrix.shape)
    rank = min(rank, small)
    if small <= FULL_SVD_SIZE:
        left, values, _ = svd(matrix)
    else:
        missing = max(min(rank + OVERSAMPLING, small) - guess.shape[1], 0)
        extra = random_block(matrix.shape[1], missing, matrix, seed=0)
        basis, _ = tall_qr(matrix @ xp.concat([guess, extra], axis=1))
        captured, tolerance = 0.0, max(1e-12, 0.1 * arrays.eps(matrix))
        for _ in range(50):
            right, triangle = tall_qr(matrix.T @ basis)
            _, values, rotation = svd(triangle)
            previous, captured = captured, arrays.inner(values[:rank], values[:rank])
            if captured - previous <= tolerance * captured:
                break
            basis, _ = tall_qr(matrix @ right)
        left = basis @ rotation.T
    values = values[:rank]
    clear = (values > max(matrix.shape) * arrays.eps(values) * values[:1]) & (values > floor)
    return left[:, : int(xp.count_nonzero(clear))]


def leading_right_vectors(matrix: Array, rank: int) -> tuple[Array, Array]:
    """Leading singular values and right singular vectors of a matrix, to full accuracy.

    From the inner products of rows or columns, whichever are fewer: 2 instead of 47 ms of an SVD
    for 1000 × 100. From an SVD if the matrix is small or its singular values differ too much.
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


def stacked(blocks: Sequence[Array]) -> Array:
    """Matrices along a new first axis, padded with zeros to the shape of the largest."""
    xp = arrays.namespace(blocks[0])
    shape = tuple(max(block.shape[i] for block in blocks) for i in (0, 1))
    return xp.stack([_padded(block, shape) for block in blocks])


def _padded(block: Array, shape: tuple[int, ...]) -> Array:
    if block.shape == shape:
        return block
    return pad(block, tuple((0, most - own) for most, own in zip(shape, block.shape, strict=True)))
