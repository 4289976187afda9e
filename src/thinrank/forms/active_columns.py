"""The columns of X that a fit uses, with their inner products."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from thinrank import arrays
from thinrank.arrays import Array
from thinrank.core.contracts import Design

# Columns of X that are copied at a time, at least this number and this part of all of them: bounds
# the memory of the block.
_BLOCK_COLUMNS, _PART_OF_COLUMNS = 128, 32


class ActiveColumns:
    """The columns of X that are in use, with their inner products with one another and with Y.

    Every column is copied from X once and kept as a row of one array, which has some free rows.
    When none is free, rows of columns that are no longer in use are overwritten. Inner products
    with Y are computed when they are first asked for.
    """

    def __init__(self, X: Design, Y: Design) -> None:
        self._X, self._Y = X, Y
        self._place = np.full(X.shape[1], -1)  # the row that holds each column of X, −1 for none
        self._column = np.zeros(0, dtype=np.int64)  # the column in each row, −1 for none
        self._crossed = np.zeros(0, dtype=bool)  # whether a row's products with Y are known
        self._rows = arrays.zeros((0, X.shape[0]), X.prototype)
        self._gram = arrays.zeros((0, 0), X.prototype)
        self._cross = arrays.zeros((0, Y.shape[1]), X.prototype)

    def gram(self, index: Array) -> Array:
        """Inner products of the columns ``index``, as a new array."""
        places = self._indices(self._places(index))
        return arrays.submatrix(self._gram, places, places)

    def cross(self, index: Array) -> Array:
        """Inner products of the columns ``index`` with those of Y, as a new array."""
        places = self._places(index)
        missing = np.sort(places[~self._crossed[places]])
        for some in self._blocks(missing):
            products = self._Y.transposed_product(arrays.take_rows(self._rows, some).T).T
            self._cross = arrays.put_rows(self._cross, some, products)
        self._crossed[missing] = True
        return arrays.take_rows(self._cross, self._indices(places))

    def products(self, index: Array, block: Array) -> Array:
        """X[:, index]ᵀ @ block."""
        places = self._indices(self._places(index))
        return arrays.take_rows(self._rows @ block, places)

    def combine(self, index: Array, block: Array) -> Array:
        """X[:, index] @ block."""
        places = self._indices(self._places(index))
        spread = arrays.scatter_rows(block, places, self._rows.shape[0])
        return arrays.transposed_product(self._rows, spread)

    def holds(self, index: Array) -> bool:
        """Whether all of the columns ``index`` have been copied."""
        return bool((self._place[arrays.to_numpy(index)] >= 0).all())

    def _places(self, index: Array) -> np.ndarray:
        """The rows that hold the columns, after copying columns that are missing."""
        wanted = arrays.to_numpy(index)
        missing = wanted[self._place[wanted] < 0]
        if len(missing) and len(wanted) > self._rows.shape[0]:
            self._allot(len(wanted) + 32 + len(wanted) // 32)
        if len(missing):
            self._fetch(missing, wanted)
        return self._place[wanted]

    def _allot(self, room: int) -> None:
        """Make room for columns, beside those that are already there."""
        like, more = self._X.prototype, room - self._rows.shape[0]
        xp = arrays.namespace(like)

        def below(block: Array, width: int) -> Array:
            free = arrays.zeros((more, width), like)
            return xp.concat([block, free]) if block.shape[0] else free

        self._rows = below(self._rows, self._X.shape[0])
        self._cross = below(self._cross, self._Y.shape[1])
        self._gram = below(below(self._gram, self._gram.shape[1]).T, room)
        self._column = np.concatenate([self._column, np.full(more, -1)])
        self._crossed = np.concatenate([self._crossed, np.zeros(more, dtype=bool)])

    def _fetch(self, missing: np.ndarray, wanted: np.ndarray) -> None:
        """Copy columns from X to rows that are free or no longer in use."""
        empty = self._column < 0
        unused = ~empty
        held = self._place[wanted]
        unused[held[held >= 0]] = False
        available = np.concatenate([np.flatnonzero(empty), np.flatnonzero(unused)])
        chosen = np.sort(available[: len(missing)])
        before = self._column[chosen]
        self._place[before[before >= 0]] = -1
        self._column[chosen] = -1
        self._crossed[chosen] = False
        columns = self._blocks(missing)
        for some, places in zip(columns, self._blocks(chosen), strict=True):
            self._rows = arrays.put_rows(self._rows, places, self._X.columns(some).T)
        self._update_gram(chosen)
        self._place[missing], self._column[chosen] = chosen, missing  # last, if it is interrupted

    def _update_gram(self, new: np.ndarray) -> None:
        """Inner products with the rows ``new``."""
        if 2 * len(new) > self._rows.shape[0]:  # most are new: one symmetric product
            self._gram = self._rows @ self._rows.T
            return
        for places in self._blocks(new):
            products = arrays.take_rows(self._rows, places) @ self._rows.T
            self._gram = arrays.put_rows(self._gram, places, products)
            self._gram = arrays.put_rows(self._gram.T, places, products).T

    def _blocks(self, positions: np.ndarray) -> Iterator[Array]:
        """Index arrays of a few positions each."""
        few = max(_BLOCK_COLUMNS, self._X.shape[1] // _PART_OF_COLUMNS)
        for first in range(0, len(positions), few):
            yield self._indices(positions[first : first + few])

    def _indices(self, positions: np.ndarray) -> Array:
        return arrays.indices(positions, self._X.prototype)
