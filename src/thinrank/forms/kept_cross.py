"""XᵀY, kept where it is small compared with X, for fits with other units of the responses."""

from __future__ import annotations

from thinrank import arrays
from thinrank.arrays import Array
from thinrank.core import memory

# Memory that it may take, as a part of that of X.
_PART_OF_X = 8
# Entries that are multiplied by units at a time: 8 MiB in double precision.
_BLOCK_ENTRIES = 1 << 20


class KeptCross:
    """C, for fits with the responses in other units.

    A fit is repeated with the responses divided by the noise in them. The rows of C of largest norm
    in the new units, from which it may start, then need no further product with X. The rows of C
    for the predictors in use are taken from it, too.

    Parameters
    ----------
    height : int
        Number of rows of C.
    like : array
        An array of the precision of X.
    """

    def __init__(self, height: int, like: Array) -> None:
        self._height, self._like = height, like
        self._parts: list[Array] = []  # some columns of C, as rows

    @classmethod
    def of_shape(cls, samples: float, shape: tuple[int, int], like: Array) -> KeptCross | None:
        """An empty one, or None if C takes much memory compared with X.

        An accelerator that holds X and Y has room for it, too, within the budget.
        """
        m1, m2 = shape
        little = _PART_OF_X * m2 <= samples or not arrays.on_host(like)
        return cls(m1, like) if little and memory.fits(m1 * m2, arrays.itemsize(like)) else None

    def put(self, part: Array) -> None:
        """Keep further columns of C."""
        self._parts.append(part.T)

    def rows(self, index: Array) -> Array:
        """Rows of C, as a new array."""
        taken = [arrays.take_columns(part, index) for part in self._parts]
        return (arrays.namespace(index).concat(taken) if len(taken) > 1 else taken[0]).T

    def norms(self, units: Array | None) -> tuple[Array, Array]:
        """Squared norms of the rows and of the columns, with the columns multiplied by units."""
        xp = arrays.namespace(self._like)
        by_row: Array | float = 0.0
        by_column, first = [], 0
        for part in self._parts:
            entries = arrays.at_once(_BLOCK_ENTRIES, part)
            height = max(1, entries // max(part.shape[1], 1))
            for start in range(0, part.shape[0], height):
                stop = min(start + height, part.shape[0])
                some = part[start:stop, :]
                if units is not None:
                    some = some * units[first : first + some.shape[0], None]
                by_row = by_row + arrays.column_norms_squared(some)
                by_column.append(arrays.row_norms_squared(some))
                first += some.shape[0]
        return by_row, xp.concat(by_column)
