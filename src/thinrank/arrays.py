"""One array namespace over NumPy, PyTorch and CuPy, and the linear algebra built on it.

This is the only file that knows those libraries by name. Everything else in the package asks
:func:`namespace` for the array API namespace of its inputs and calls the functions below for
what the standard lacks (taking and scattering rows, the largest rows, truncated SVD).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from array_api_compat import (
    array_namespace,
    is_array_api_obj,
    is_cupy_namespace,
    is_numpy_namespace,
    is_torch_namespace,
)
from array_api_compat import device as device_of
from array_api_compat import numpy as numpy_namespace

Array = Any
"""An array of any supported library. The standard has no static type for it yet."""

__all__ = [
    "Array",
    "as_float_array",
    "column_norms_squared",
    "device_of",
    "eps",
    "extreme_eigenvalues",
    "from_numpy",
    "identity",
    "indices",
    "inner",
    "inverse_cholesky",
    "is_array",
    "itemsize",
    "largest_eigenvalue",
    "leading_left_vectors",
    "namespace",
    "norm",
    "put_rows",
    "quiet",
    "random_block",
    "ratio",
    "row_norms_squared",
    "scatter_rows",
    "select",
    "submatrix",
    "take_columns",
    "take_rows",
    "to_numpy",
    "top_rows",
    "truncated_svd",
    "zeros",
]

# Below this many entries a full SVD is cheaper than the bookkeeping of a truncated one.
_DENSE_SVD_ENTRIES = 250_000
_OVERSAMPLING = 8
# Up to this many rows or columns an SVD is cheaper than iterating.
_OUTRIGHT = 64
_BLOCK = 128
# Relative change of singular values at which the subspace iteration stops.
_SETTLED = 1e-5


def namespace(*arrays: Array) -> Any:
    """Return the array API namespace that all ``arrays`` share."""
    for x in arrays:
        if type(x) is not np.ndarray:
            return array_namespace(*arrays)
    return numpy_namespace  # the general look-up costs more than a small product


def is_array(x: object) -> bool:
    """Whether ``x`` is an array of a library that speaks the array API."""
    return bool(is_array_api_obj(x))


def as_float_array(x: Any) -> Array:
    """Return ``x`` as a float array of its own library; float32 and float64 pass unchanged."""
    if not is_array(x):
        x = np.asarray(x)
    xp = namespace(x)
    if xp.isdtype(x.dtype, "complex floating"):
        raise ValueError(f"Complex data not supported: got an array of dtype {x.dtype}")
    if x.dtype in (xp.float32, xp.float64):
        return x
    return xp.astype(x, xp.float64)


def from_numpy(x: Any, like: Array) -> Array:
    """Move a NumPy array (or a list) to the library, dtype and device of ``like``."""
    return namespace(like).asarray(x, dtype=like.dtype, device=device_of(like))


def to_numpy(x: Array) -> np.ndarray:
    """Copy an array of any library to NumPy (no copy when it is there already)."""
    if isinstance(x, np.ndarray):
        return x
    xp = namespace(x)
    if is_torch_namespace(xp):
        return np.asarray(x.detach().cpu())
    if is_cupy_namespace(xp):
        return np.asarray(x.get())
    return np.from_dlpack(x)


def zeros(shape: tuple[int, ...], like: Array) -> Array:
    """Zeros of ``shape`` in the library, dtype and device of ``like``."""
    return namespace(like).zeros(shape, dtype=like.dtype, device=device_of(like))


def identity(size: int, like: Array) -> Array:
    """The identity matrix in the library, dtype and device of ``like``."""
    return namespace(like).eye(size, dtype=like.dtype, device=device_of(like))


def eps(x: Array) -> float:
    """Distance from 1 to the next number in the dtype of ``x``."""
    return float(namespace(x).finfo(x.dtype).eps)


def itemsize(x: Array) -> int:
    """Bytes of one entry of a float array."""
    return int(namespace(x).finfo(x.dtype).bits) // 8


def norm(x: Array) -> float:
    """Frobenius (for vectors: Euclidean) norm as a Python number."""
    xp = namespace(x)
    return float(xp.linalg.vector_norm(x))


def quiet() -> Any:
    """A context in which overflow does not warn: callers check for non-finite values."""
    return np.errstate(over="ignore", invalid="ignore")


def inner(a: Array, b: Array) -> float:
    """⟨a, b⟩, the sum of the products of the entries, as a Python number."""
    if type(a) is np.ndarray:
        return float(np.vdot(a, b))
    return float(namespace(a, b).sum(a * b))


def ratio(numerator: Array | float, denominator: Array) -> Array:
    """numerator / denominator, and 0 where the denominator is not positive."""
    if type(denominator) is np.ndarray:
        out = np.zeros_like(denominator)
        return np.divide(numerator, denominator, out=out, where=denominator > 0)
    xp = namespace(denominator)
    live = denominator > 0
    return xp.where(live, numerator / xp.where(live, denominator, denominator * 0 + 1), 0.0)


# --------------------------------------------------------------------------- rows and columns


def take_rows(a: Array, index: Array) -> Array:
    """Rows ``index`` of ``a``."""
    if type(a) is np.ndarray and a.ndim == 2 and not a.flags.c_contiguous:
        return a[index]  # numpy.take would first copy all of it
    return namespace(a).take(a, index, axis=0)


def take_columns(a: Array, index: Array) -> Array:
    """Columns ``index`` of ``a``."""
    if type(a) is np.ndarray and not a.flags.c_contiguous:
        return a.T[index].T
    return namespace(a).take(a, index, axis=1)


def submatrix(a: Array, rows: Array, columns: Array) -> Array:
    """Rows and columns of ``a``; a fresh array."""
    if type(a) is np.ndarray:
        return a[rows[:, None], columns]
    return take_columns(take_rows(a, rows), columns)


def scatter_rows(rows: Array, index: Array, size: int) -> Array:
    """Put ``rows`` at the positions of the sorted ``index`` in a zero array of ``size`` rows."""
    xp = namespace(rows)
    if _has_item_assignment(xp):
        out = zeros((size, *rows.shape[1:]), like=rows)
        out[index] = rows
        return out
    if index.shape[0] == 0:
        return zeros((size, *rows.shape[1:]), like=rows)
    # The standard has no assignment by index array: look every position up in the sorted index.
    everywhere = xp.arange(size, device=device_of(rows))
    place = xp.clip(xp.searchsorted(index, everywhere), max=index.shape[0] - 1)
    hit = xp.take(index, place) == everywhere
    hit = xp.reshape(hit, (size, *(1 for _ in rows.shape[1:])))
    return xp.where(hit, xp.take(rows, place, axis=0), zeros((1,), like=rows))


def put_rows(target: Array, index: Array, rows: Array) -> Array:
    """``target`` with ``rows`` at the sorted ``index``, in place where the library allows it."""
    xp = namespace(target)
    if _has_item_assignment(xp):
        target[index] = rows
        return target
    marks = zeros((index.shape[0], *(1 for _ in rows.shape[1:])), rows) + 1
    marks = scatter_rows(marks, index, target.shape[0])
    return xp.where(marks > 0, scatter_rows(rows, index, target.shape[0]), target)


def indices(values: Iterable[int], like: Array) -> Array:
    """An index array on the device of ``like``."""
    xp = namespace(like)
    return xp.asarray(list(values), dtype=xp.int64, device=device_of(like))


def _has_item_assignment(xp: Any) -> bool:
    return is_numpy_namespace(xp) or is_torch_namespace(xp) or is_cupy_namespace(xp)


def select(flags: Array) -> Array:
    """Sorted positions of the true entries of a vector."""
    return namespace(flags).nonzero(flags)[0]


def row_norms_squared(a: Array) -> Array:
    """Squared Euclidean norm of every row."""
    if isinstance(a, np.ndarray):
        return np.einsum("ij,ij->i", a, a)
    return namespace(a).sum(a * a, axis=1)


def column_norms_squared(a: Array) -> Array:
    """Squared Euclidean norm of every column."""
    if isinstance(a, np.ndarray):
        return np.einsum("ij,ij->j", a, a)
    return namespace(a).sum(a * a, axis=0)


def _kth_largest(x: Array, k: int) -> Array:
    xp = namespace(x)
    if isinstance(x, np.ndarray) or is_cupy_namespace(xp):
        return xp.partition(x, x.shape[0] - k)[x.shape[0] - k]
    if is_torch_namespace(xp):
        return xp.topk(x, k, sorted=True).values[-1]
    return xp.sort(x, descending=True)[k - 1]


def top_rows(a: Array, count: int) -> Array:
    """Sorted indices of the ``count`` rows of largest norm; rows of zeros are never among them.

    Of rows with equal norm the ones that come first are kept, whatever the library.
    """
    squares = row_norms_squared(a)
    if count >= a.shape[0]:
        return select(squares > 0)
    threshold = _kth_largest(squares, count)
    kept = select((squares >= threshold) & (squares > 0))
    if kept.shape[0] > count:
        above = select(squares > threshold)
        tied = select(squares == threshold)[: count - above.shape[0]]
        xp = namespace(a)
        kept = xp.sort(xp.concat([above, tied]))
    return kept


# --------------------------------------------------------------------------- factorisations


def inverse_cholesky(symmetric: Array) -> Array:
    """R = L⁻¹ for the lower Cholesky factor L of A, so that R A Rᵀ = I; A is overwritten.

    An explicit inverse serves many right-hand sides with plain products, which every library has
    and threads well; so does this blocked algorithm, which needs no second matrix of the size
    of A. A block that is singular to rounding gets a ridge first, eps^0.4 of the mean diagonal
    (5e-7 in double precision): a column that depends on earlier ones then brings next to
    nothing, and rounding in the part that is singular stays far below what the ridge changes.
    """
    xp = namespace(symmetric)
    size = symmetric.shape[0]
    scale = float(xp.mean(xp.linalg.diagonal(symmetric)))
    blocks = [slice(i, min(i + _BLOCK, size)) for i in range(0, size, _BLOCK)]
    for here in blocks:  # Cholesky, with the diagonal blocks inverted at once
        root = _inverse_root(symmetric[here, here], scale)
        symmetric[here, here] = root
        below = slice(here.stop, size)
        if here.stop < size:
            symmetric[below, here] = symmetric[below, here] @ root.T
        for there in blocks[here.stop // _BLOCK if here.stop < size else len(blocks) :]:
            rest = slice(there.start, size)
            symmetric[rest, there] -= symmetric[rest, here] @ symmetric[there, here].T
    for here in blocks:  # the inverse of L, from the top
        before = slice(0, here.start)
        if here.start:
            left = symmetric[here, before] @ symmetric[before, before]
            symmetric[here, before] = -(symmetric[here, here] @ left)
        if here.stop < size:
            symmetric[here, here.stop :] = 0.0
    return symmetric


def _inverse_root(block: Array, scale: float) -> Array:
    """Inverse of the lower Cholesky factor of a small block, with a ridge if it needs one."""
    xp = namespace(block)
    ridge = 0.0
    while True:
        factor = _try_cholesky(block + ridge * identity(block.shape[0], like=block))
        if factor is not None:
            least = float(xp.min(xp.linalg.diagonal(factor)))
            if least**2 > 1e3 * eps(block) * scale:
                return xp.linalg.inv(factor)
        ridge = 100 * ridge if ridge else eps(block) ** 0.4 * (scale if scale > 0 else 1.0)


def _try_cholesky(symmetric: Array) -> Array | None:
    xp = namespace(symmetric)
    try:
        factor = xp.linalg.cholesky(symmetric)
    except (np.linalg.LinAlgError, RuntimeError):  # PyTorch's error is a RuntimeError
        return None
    return factor if bool(xp.all(xp.isfinite(xp.linalg.diagonal(factor)))) else None


# --------------------------------------------------------------------------- spectra


def extreme_eigenvalues(symmetric: Array) -> tuple[float, float]:
    """Smallest and largest eigenvalue of a symmetric matrix."""
    values = namespace(symmetric).linalg.eigvalsh(symmetric)
    return float(values[0]), float(values[-1])


def random_block(rows: int, columns: int, like: Array, seed: int) -> Array:
    """Standard normal numbers, the same in every library."""
    return from_numpy(np.random.default_rng(seed).standard_normal((rows, columns)), like)


def largest_eigenvalue(
    product: Callable[[Array], Array], size: int, like: Array, *, tol: float = 1e-3
) -> float:
    """Largest eigenvalue of a positive semi-definite operator, by block power iteration.

    The estimate approaches from below; it is returned raised by ``tol``, so that steps of one
    over it are safe.
    """
    xp = namespace(like)
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
        residual = norm(image @ top - value * (block @ top))
        if value <= 0 or residual <= tol * value or width == size:
            break
        basis, _ = xp.linalg.qr(xp.concat([block, image - block @ small, moved], axis=1))
        _, vectors = xp.linalg.eigh(basis.T @ product(basis))
        new = basis @ vectors[:, -width:]
        moved = new - block @ (block.T @ new)
        block, _ = xp.linalg.qr(new)
    return max(value, 0.0) * (1 + tol) + residual


def leading_left_vectors(matrix: Array, rank: int, guess: Array) -> Array:
    """Orthonormal basis of the leading left singular vectors.

    Small matrices are decomposed outright. For others, subspace iteration from a guess at the
    right vectors, which a few passes improve to rounding when there is a gap after ``rank``.

    Parameters
    ----------
    matrix : array of shape (m, n)
    rank : int
        How many; fewer come back when the matrix has not so many, or carries less.
    guess : array of shape (n, any)
        A block whose columns lie near the right singular vectors.
    """
    xp = namespace(matrix)
    small = min(matrix.shape)
    rank = min(rank, small)
    if small <= _OUTRIGHT:
        left, values, _ = xp.linalg.svd(matrix, full_matrices=False)
        return left[:, : max(_numerical_rank(values[:rank], max(matrix.shape)), 1)]
    width = min(rank + _OVERSAMPLING, small)
    extra = random_block(matrix.shape[1], max(width - guess.shape[1], 0), matrix, seed=0)
    basis, _ = xp.linalg.qr(matrix @ xp.concat([guess, extra], axis=1))
    captured = 0.0
    for _ in range(50):
        right, triangle = xp.linalg.qr(matrix.T @ basis)
        _, values, rotation = xp.linalg.svd(triangle, full_matrices=False)
        previous, captured = captured, inner(values[:rank], values[:rank])
        if captured - previous <= 1e-12 * captured:
            break
        basis, _ = xp.linalg.qr(matrix @ right)
    left = basis @ rotation.T
    return left[:, : max(_numerical_rank(values[:rank], max(matrix.shape)), 1)]


def _numerical_rank(values: Array, size: int) -> int:
    """How many of the decreasing singular values are more than rounding."""
    xp = namespace(values)
    return int(xp.count_nonzero(values > size * eps(values) * values[0]))


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

    xp = namespace(like)
    small = min(shape)
    rank = min(rank, small)
    width = min(rank + _OVERSAMPLING, small)
    if not isinstance(matrix, tuple) and shape[0] * shape[1] <= _DENSE_SVD_ENTRIES:
        left, values, right = xp.linalg.svd(matrix, full_matrices=False)
        return left[:, :rank], values[:rank], right[:rank, :].T

    basis, _ = xp.linalg.qr(product(random_block(shape[1], width, like, seed)))
    values = zeros((width,), like=like)
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
