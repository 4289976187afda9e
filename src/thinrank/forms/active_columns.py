"""The columns of X that a fit uses, with their inner products."""

from __future__ import annotations

from thinrank import arrays
from thinrank.arrays import Array
from thinrank.core.contracts import Design

__all__ = ["ActiveColumns"]

# Columns of X that are fetched at a time.
_BLOCK_COLUMNS = 128


class ActiveColumns:
    """Columns of X that are in use, with their inner products with one another and with Y.

    Each is taken from X once and kept as a row of one array with some room to spare; when that is
    full, columns that went out of use give up their places.

    Parameters
    ----------
    X, Y : Design
        With the same number of rows.
    """

    def __init__(self, X: Design, Y: Design) -> None:
        self._X, self._Y = X, Y
        self._place: dict[int, int] = {}  # the row that holds a column of X
        self._allot(0)

    def gram(self, index: Array) -> Array:
        """Inner products of the columns ``index``; a fresh array."""
        places = self._places(index)
        return arrays.submatrix(self._gram, places, places)

    def cross(self, index: Array) -> Array:
        """Inner products of the columns ``index`` with those of Y; a fresh array."""
        places = self._places(index)
        return arrays.take_rows(self._cross, places)

    def products(self, index: Array, block: Array) -> Array:
        """X[:, index]ᵀ @ block."""
        places = self._places(index)
        return arrays.take_rows(self._rows @ block, places)

    def combine(self, index: Array, block: Array) -> Array:
        """X[:, index] @ block."""
        places = self._places(index)
        order = arrays.namespace(places).argsort(places)
        spread = arrays.scatter_rows(
            arrays.take_rows(block, order), arrays.take_rows(places, order), self._rows.shape[0]
        )
        return self._rows.T @ spread

    def _places(self, index: Array) -> Array:
        """Where the columns are, after fetching those that are missing."""
        wanted = arrays.to_numpy(index).tolist()
        missing = [column for column in wanted if column not in self._place]
        if missing and len(wanted) > self._rows.shape[0]:
            self._allot(len(wanted) + 32 + len(wanted) // 32)
            missing = wanted
        if missing:
            self._fetch(missing, set(wanted))
        return arrays.indices([self._place[column] for column in wanted], self._X.prototype)

    def _allot(self, room: int) -> None:
        """Empty places."""
        like = self._X.prototype
        self._place = {}
        # the old ones go before the new ones come: they may be large
        self._rows = self._gram = self._cross = arrays.zeros((0, 0), like)
        self._rows = arrays.zeros((room, self._X.shape[0]), like)
        self._gram = arrays.zeros((room, room), like)
        self._cross = arrays.zeros((room, self._Y.shape[1]), like)

    def _fetch(self, missing: list[int], wanted: set[int]) -> None:
        empty = set(range(self._rows.shape[0])) - set(self._place.values())
        given_up = {place for column, place in self._place.items() if column not in wanted}
        chosen = sorted([*sorted(empty), *sorted(given_up)][: len(missing)])
        reused = set(chosen)
        self._place = {c: place for c, place in self._place.items() if place not in reused}
        for first in range(0, len(missing), _BLOCK_COLUMNS):
            some = slice(first, first + _BLOCK_COLUMNS)
            self._load(missing[some], chosen[some])
        if len(missing) == len(wanted):  # everything is new: one symmetric product
            self._gram = self._rows @ self._rows.T
        self._place.update(zip(missing, chosen, strict=True))

    def _load(self, columns: list[int], chosen: list[int]) -> None:
        block = self._X.columns(arrays.indices(columns, self._X.prototype))
        places = arrays.indices(chosen, self._X.prototype)
        self._rows = arrays.put_rows(self._rows, places, block.T)
        self._cross = arrays.put_rows(self._cross, places, self._Y.transposed_product(block).T)
        if self._place:
            products = (self._rows @ block).T
            self._gram = arrays.put_rows(self._gram, places, products)
            self._gram = arrays.put_rows(self._gram.T, places, products).T
