"""Some columns of a dense design, read a few rows at a time in several threads."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from thinrank import arrays
from thinrank.arrays import Array
from thinrank.core.contracts import Design
from thinrank.core.threads import in_threads, one_thread_each, threads_in_use
from thinrank.designs.dense import Dense
from thinrank.designs.transformed import Transformed

# Rows of a tile: runs of memory are long enough, and some hundred columns stay in the cache.
_TILE_ROWS = 128
# Fewer entries are read at once, since it takes about as long to start threads.
_WORTH_TILES = 1 << 18


def put_columns(design: Design, index: Array, target: Array, places: Array) -> Array:
    """``target`` with the columns ``index`` as its rows ``places``, in place if that is possible.

    Parameters
    ----------
    design : Design of shape (n_samples, n_features)
    index : array of int, of shape (count,)
    target : array of shape (n_rows, n_samples)
    places : array of int, of shape (count,)

    Returns
    -------
    array of shape (n_rows, n_samples)
    """

    def put(rows: slice, part: Design) -> None:
        target[places, rows] = part.columns(index).T

    if _by_tiles(design, index, put):
        return target
    return arrays.put_rows(target, places, design.columns(index).T)


def columns_product(design: Design, index: Array, block: Array) -> Array:
    """X[:, index] @ block, without a copy of all of these columns of a dense array.

    Parameters
    ----------
    design : Design of shape (n_samples, n_features)
    index : array of int, of shape (count,)
    block : array of shape (count, few)

    Returns
    -------
    array of shape (n_samples, few)
    """
    product = arrays.zeros((design.shape[0], block.shape[1]), design.prototype)

    def put(rows: slice, part: Design) -> None:
        product[rows] = part.columns(index) @ block

    return product if _by_tiles(design, index, put) else design.columns(index) @ block


def _by_tiles(design: Design, index: Array, work: Callable[[slice, Design], None]) -> bool:
    """Call a function for parts of the rows, in threads; False if the design has no such parts."""
    n, threads = design.shape[0], threads_in_use()
    if n * index.shape[0] < _WORTH_TILES or not _is_dense(design):
        return False
    tiles = [slice(first, first + _TILE_ROWS) for first in range(0, n, _TILE_ROWS)]

    def some_tiles(some: Sequence[slice]) -> None:
        for rows in some:
            work(rows, _rows(design, rows))

    with one_thread_each(threads):
        in_threads(some_tiles, tiles, threads)
    return True


def _is_dense(design: Design) -> bool:
    while isinstance(design, Transformed):
        design = design.base
    return isinstance(design, Dense) and isinstance(design.array, np.ndarray)


def _rows(design: Design, rows: slice) -> Design:
    """Neighbouring rows of a dense design, without a copy."""
    if isinstance(design, Transformed):
        scale = None if design.row_scale is None else design.row_scale[rows]
        base = _rows(design.base, rows)
        return Transformed(base, scale, design.center, design.column_scale)
    assert isinstance(design, Dense)
    return Dense(design.array[rows])
