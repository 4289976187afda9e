"""Means and norms of the columns of a dense array, from one pass over it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from thinrank import arrays
from thinrank.core.threads import in_threads, threads_in_use

# Entries of a tile, 1 MiB in double precision: it stays in the cache while its sums and sums of
# squares are computed. For larger tiles the linear algebra library would start threads of its own.
_TILE_ENTRIES = 1 << 17
# Least number of columns of a tile, if the rows of the array are contiguous and if its columns are:
# runs of memory are then long enough to be read fast.
_TILE_COLUMNS, _TILE_COLUMNS_F = 4096, 64
# Columns whose moments are computed at a time from their sums; fewer would take longer.
_BLOCK_COLUMNS = 4096
# An array with fewer entries is done by one thread, since it takes about as long to start others.
_WORTH_THREADS = 1 << 22
# Sums of squares about zero are computed again about the mean if less than this fraction of them is
# left about the mean, by the size of an entry in bytes: in double precision two digits are lost to
# cancellation at most, in single precision hardly any.
_MIN_LEFT_OVER = {8: 1e-2, 4: 0.5}


class ColumnMoments(NamedTuple):
    """Moments of the columns of an array.

    Attributes
    ----------
    mean : ndarray of shape (n_columns,)
        Means.
    norms : ndarray of shape (n_columns,)
        Norms of the columns about their means.
    lengths : ndarray of float64, of shape (n_columns,)
        Norms of the columns about zero, 0 only for columns of zeros.
    """

    mean: np.ndarray
    norms: np.ndarray
    lengths: np.ndarray

    @property
    def finite(self) -> bool:
        """Whether all entries and their squares are finite, and no column is lost to underflow."""
        return bool(np.all(np.isfinite(self.lengths)))


def column_moments(X: np.ndarray) -> ColumnMoments:
    """Moments of all columns, from tiles that are read from memory once.

    Sums of squares are taken about zero, and of columns that are far from zero again about the
    mean.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_columns)
        An array of floats, of any memory order.

    Returns
    -------
    ColumnMoments
        Means and norms have the dtype of X. If ``finite`` is false, they are not valid.
    """
    n, p = X.shape
    found = ColumnMoments(np.zeros(p, X.dtype), np.zeros(p, X.dtype), np.zeros(p))
    if n == 0:
        return found
    blocks = _slices(p, _BLOCK_COLUMNS)

    def work(some: Sequence[slice]) -> None:
        for columns in some:
            _of_columns(X[:, columns], found, columns)

    with arrays.without_overflow_warnings():
        in_threads(work, blocks, threads_in_use() if X.size >= _WORTH_THREADS else 1)
    return found


def _of_columns(X: np.ndarray, found: ColumnMoments, columns: slice) -> None:
    """Moments of a few columns."""
    n = X.shape[0]
    total, squares = _sums(X)
    mean, left = total / n, squares - total**2 / n
    again = np.flatnonzero(~(left >= _MIN_LEFT_OVER[X.dtype.itemsize] * squares))
    if again.size:
        about = mean[again].astype(X.dtype)
        moved, left[again] = _sums(X, again, about)
        left[again] -= moved**2 / n
        mean[again] = about + moved / n
    empty = np.flatnonzero(squares == 0)
    if empty.size and any(np.any(tile) for _, tile in _tiles(X, empty)):
        squares[empty] = np.nan  # squares that underflow
    found.mean[columns] = mean
    found.norms[columns] = np.sqrt(np.maximum(left, 0))
    found.lengths[columns] = np.sqrt(squares)


def _sums(
    X: np.ndarray, index: np.ndarray | None = None, center: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Sums and sums of squares of the columns ``index``, minus ``center``, in double precision."""
    total, squares = np.zeros((2, X.shape[1] if index is None else len(index)))
    for columns, tile in _tiles(X, index):
        if center is not None:
            tile = tile - center[columns]
        total[columns] += np.ones(tile.shape[0], tile.dtype) @ tile
        squares[columns] += _squares(tile)
    return total, squares


def _squares(tile: np.ndarray) -> np.ndarray:
    """Sums of squares of the columns."""
    if tile.strides[0] == tile.itemsize:  # inner products of BLAS, twice as fast
        return np.vecdot(tile.T, tile.T)
    return arrays.column_norms_squared(tile)


def _tiles(X: np.ndarray, index: np.ndarray | None) -> Iterator[tuple[slice, np.ndarray]]:
    """Tiles of the columns ``index``, or of all, each with the places of its columns among them."""
    n, p = X.shape[0], X.shape[1] if index is None else len(index)
    least = _TILE_COLUMNS_F if X.strides[0] == X.itemsize else _TILE_COLUMNS
    for columns in _slices(p, max(least, _TILE_ENTRIES // n)):
        height = max(_TILE_ENTRIES // (columns.stop - columns.start), 1)
        for rows in _slices(n, height):
            yield columns, X[rows, columns] if index is None else X[rows][:, index[columns]]


def _slices(length: int, width: int) -> list[slice]:
    return [slice(first, min(first + width, length)) for first in range(0, length, width)]
