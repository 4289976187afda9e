"""One array namespace over NumPy, PyTorch and CuPy, and the linear algebra built on it.

This is the only file that knows those libraries by name. Everything else in the package asks
:func:`namespace` for the array API namespace of its inputs and calls the functions below for
what the standard lacks (taking and scattering rows, the largest rows, truncated SVD).
"""

from __future__ import annotations

from collections.abc import Callable
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
    "device_of",
    "eps",
    "extreme_eigenvalues",
    "from_numpy",
    "inner",
    "is_array",
    "itemsize",
    "largest_eigenvalue",
    "namespace",
    "norm",
    "quiet",
    "row_norms_squared",
    "scatter_rows",
    "select",
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
# Relative change of singular values at which the subspace iteration stops.
_SETTLED = 1e-5


def namespace(*arrays: Array) -> Any:
    """Return the array API namespace that all ``arrays`` share."""
    if all(type(x) is np.ndarray for x in arrays):  # the general look-up costs more than a product
        return numpy_namespace
    return array_namespace(*arrays)


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


# --------------------------------------------------------------------------- rows and columns


def take_rows(a: Array, index: Array) -> Array:
    """Rows ``index`` of ``a``."""
    return namespace(a).take(a, index, axis=0)


def take_columns(a: Array, index: Array) -> Array:
    """Columns ``index`` of ``a``."""
    return namespace(a).take(a, index, axis=1)


def scatter_rows(rows: Array, index: Array, size: int) -> Array:
    """Put ``rows`` at the positions of the sorted ``index`` in a zero array of ``size`` rows."""
    xp = namespace(rows)
    if is_numpy_namespace(xp) or is_torch_namespace(xp) or is_cupy_namespace(xp):
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


def select(flags: Array) -> Array:
    """Sorted positions of the true entries of a vector."""
    return namespace(flags).nonzero(flags)[0]


def row_norms_squared(a: Array) -> Array:
    """Squared Euclidean norm of every row."""
    if isinstance(a, np.ndarray):
        return np.einsum("ij,ij->i", a, a)
    return namespace(a).sum(a * a, axis=1)


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


# --------------------------------------------------------------------------- spectra


def extreme_eigenvalues(symmetric: Array) -> tuple[float, float]:
    """Smallest and largest eigenvalue of a symmetric matrix."""
    values = namespace(symmetric).linalg.eigvalsh(symmetric)
    return float(values[0]), float(values[-1])


def _random_block(rows: int, columns: int, like: Array, seed: int) -> Array:
    return from_numpy(np.random.default_rng(seed).standard_normal((rows, columns)), like)


def largest_eigenvalue(
    product: Callable[[Array], Array], size: int, like: Array, *, tol: float = 1e-3
) -> float:
    """Largest eigenvalue of a positive semi-definite operator, by block power iteration.

    The estimate approaches from below; it is returned raised by ``tol``, so that steps of one
    over it are safe.
    """
    xp = namespace(like)
    block, _ = xp.linalg.qr(_random_block(size, min(size, _OVERSAMPLING), like, seed=0))
    value = 0.0
    for _ in range(200):
        image = product(block)
        previous, value = value, extreme_eigenvalues(block.T @ image)[1]
        if value <= 0 or abs(value - previous) <= 0.1 * tol * value:
            break
        block, _ = xp.linalg.qr(image)
    return max(value, 0.0) * (1 + tol)


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

    basis, _ = xp.linalg.qr(product(_random_block(shape[1], width, like, seed)))
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
