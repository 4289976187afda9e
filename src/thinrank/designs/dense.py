"""X as a dense array of any library."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from thinrank import arrays
from thinrank.arrays import Array

# Entries of X that are copied at a time, to centre them: 8 MiB in double precision.
_COPIED_ENTRIES = 1 << 20
# Sums of squares about zero are computed again about the mean if less than this fraction of them is
# left about the mean, by the size of an entry in bytes: in double precision two digits are lost to
# cancellation at most, in single precision hardly any.
MIN_LEFT_OVER = {8: 1e-2, 4: 0.5}


class ColumnMoments(NamedTuple):
    """Means, norms about the means, and norms about zero (float64) of the columns of an array."""

    mean: np.ndarray
    norms: np.ndarray
    lengths: np.ndarray

    @property
    def finite(self) -> bool:
        """Whether all entries and their squares are finite, and no column is lost to underflow."""
        return bool(np.all(np.isfinite(self.lengths)))


class Dense:
    """A dense design, never copied, whatever its memory order.

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
        float32 and float64 are kept; other dtypes are converted to float64.
    """

    def __init__(self, X: Any) -> None:
        self.array = arrays.as_float_array(X)
        if self.array.ndim != 2:
            raise ValueError(f"X must be a matrix, got an array of shape {tuple(self.array.shape)}")
        self.prototype = arrays.zeros((0,), like=self.array)

    @property
    def shape(self) -> tuple[int, int]:
        """(n_samples, n_features)."""
        return self.array.shape[0], self.array.shape[1]

    def __matmul__(self, block: Array) -> Array:
        return self.array @ block

    def transposed_product(self, block: Array) -> Array:
        """Xᵀ @ block."""
        return arrays.transposed_product(self.array, block)

    def columns(self, index: Array) -> Array:
        """The columns ``index``."""
        return arrays.take_columns(self.array, index)

    def rows(self, index: Array) -> Dense:
        """The design of the rows ``index``, a copy."""
        return Dense(arrays.take_rows(self.array, index))

    def gram(self, index: Array | None = None) -> Array:
        """XᵀX over the columns ``index``."""
        active = self.array if index is None else self.columns(index)
        return active.T @ active

    @cached_property
    def column_moments(self) -> ColumnMoments | None:
        """Means and norms about the means; None if squares overflow, and for other libraries."""
        if not isinstance(self.array, np.ndarray):
            return None
        moments = _column_moments(self.array)
        return moments if moments.finite else None

    def column_means(self) -> Array:
        """Means of the columns, summed in double precision."""
        xp = arrays.namespace(self.array)
        blocks = (self.array[rows, :] for rows in self._row_blocks())
        sums = sum(xp.sum(block, axis=0, dtype=xp.float64) for block in blocks)
        return xp.astype(sums / self.shape[0], self.array.dtype)

    def column_norms(self, row_scale: Array | None = None, center: Array | None = None) -> Array:
        """Norms of the columns of diag(row_scale)(X − 1·centerᵀ), in blocks of rows."""
        xp = arrays.namespace(self.array)
        squares = arrays.zeros((self.shape[1],), like=self.array)
        for rows in self._row_blocks():
            block = self.array[rows, :]
            if center is not None:
                block = block - center
            if row_scale is not None:
                block = block * xp.reshape(row_scale[rows], (-1, 1))
            squares = squares + arrays.column_norms_squared(block)
        return xp.sqrt(squares)

    def _row_blocks(self) -> Iterator[slice]:
        n, p = self.shape
        height = max(1, _COPIED_ENTRIES // max(p, 1))
        for first in range(0, n, height):
            yield slice(first, min(first + height, n))


def _column_moments(X: np.ndarray) -> ColumnMoments:
    """Moments of all columns, summed in double precision; not valid unless ``finite``."""
    n = max(X.shape[0], 1)
    with arrays.without_overflow_warnings():
        total, squares = _sums(X)
        mean, left = total / n, squares - total**2 / n
        far = np.flatnonzero(~(left >= MIN_LEFT_OVER[X.dtype.itemsize] * squares))
        for some in np.array_split(far, far.size * n // _COPIED_ENTRIES + 1):
            about = mean[some].astype(X.dtype)
            moved, again = _sums(X[:, some] - about)
            mean[some] = about + moved / n
            left[some] = again - moved**2 / n
        squares = squares.astype(X.dtype).astype(np.float64)  # as other sums of squares of X
        empty = np.flatnonzero(squares == 0)
        if X[:, empty].any():
            squares[empty] = np.nan  # squares that underflow
        norms = np.sqrt(np.maximum(left, 0))
        return ColumnMoments(mean.astype(X.dtype), norms.astype(X.dtype), np.sqrt(squares))


def _sums(X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Sums and sums of squares of the columns."""
    total: np.ndarray = X.sum(axis=0, dtype=np.float64)
    return total, np.einsum("ij,ij->j", X, X, dtype=np.float64)
