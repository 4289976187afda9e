"""The columns of X that a fit uses, with their inner products."""

from __future__ import annotations

from thinrank import arrays
from thinrank.arrays import Array
from thinrank.core.contracts import Design

__all__ = ["ActiveColumns"]

# Columns of X that are copied at a time: bounds the memory of the block.
_BLOCK_COLUMNS = 128


class ActiveColumns:
    """The columns of X that are in use, with their inner products with one another and with Y.

    Every column is copied from X once and kept as a row of one array, which has some free rows.
    When none is free, rows of columns that are no longer in use are overwritten.

    Parameters
    ----------
    X : Design of shape (n_samples, n_features)
        The predictors.
    Y : Design of shape (n_samples, n_targets)
        The responses.
    """

    def __init__(self, X: Design, Y: Design) -> None:
        self._X, self._Y = X, Y
        self._place: dict[int, int] = {}  # from a column of X to the row that holds it
        self._last: tuple[Array | None, Array] = None, X.prototype  # an index with its places
        self._allot(0)

    def gram(self, index: Array) -> Array:
        """Inner products of the columns ``index``, as a new array."""
        places = self._places(index)
        return arrays.submatrix(self._gram, places, places)

    def cross(self, index: Array) -> Array:
        """Inner products of the columns ``index`` with those of Y, as a new array."""
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
        """The rows that hold the columns, after copying columns that are missing.

        One fit asks for the same columns several times in a row, which is answered without a
        transfer between the host and an accelerator.
        """
        last, places = self._last
        if last is index:
            return places
        wanted = arrays.to_numpy(index).tolist()
        missing = [column for column in wanted if column not in self._place]
        if missing and len(wanted) > self._rows.shape[0]:
            self._allot(len(wanted) + 32 + len(wanted) // 32)
            missing = wanted
        if missing:
            self._fetch(missing, set(wanted))
        places = arrays.indices([self._place[column] for column in wanted], self._X.prototype)
        self._last = index, places
        return places

    def _allot(self, room: int) -> None:
        """Allocate ``room`` free rows and drop all columns."""
        like = self._X.prototype
        self._place = {}
        self._last = None, like
        # free the old arrays, which may be large, before allocating the new ones
        self._rows = self._gram = self._cross = arrays.zeros((0, 0), like)
        self._rows = arrays.zeros((room, self._X.shape[0]), like)
        self._gram = arrays.zeros((room, room), like)
        self._cross = arrays.zeros((room, self._Y.shape[1]), like)

    def _fetch(self, missing: list[int], wanted: set[int]) -> None:
        empty = set(range(self._rows.shape[0])) - set(self._place.values())
        unused = {place for column, place in self._place.items() if column not in wanted}
        chosen = sorted([*sorted(empty), *sorted(unused)][: len(missing)])
        reused = set(chosen)
        self._place = {c: place for c, place in self._place.items() if place not in reused}
        width = arrays.at_once(_BLOCK_COLUMNS, self._X.prototype)
        for first in range(0, len(missing), width):
            some = slice(first, first + width)
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
