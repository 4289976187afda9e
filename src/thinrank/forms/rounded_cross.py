"""XᵀY in single precision, for the norms of its rows in other units of the responses."""

from __future__ import annotations

from thinrank import arrays
from thinrank.arrays import Array
from thinrank.core import memory

__all__ = ["RoundedCross"]

# Memory that it may take, as a part of that of X.
_PART_OF_X = 8
# Squared norms of columns between these numbers are far from overflow and underflow of the entries.
_ORDINARY = (1e-20, 1e20)
# Entries that are converted to the precision of X at a time: 8 MiB in double precision.
_BLOCK_ENTRIES = 1 << 20


class RoundedCross:
    """C in single precision, which takes half of the memory or less.

    A fit is repeated with the responses divided by the noise in them. The rows of C of largest norm
    in the new units, from which it starts, then need no further product with X. Rows whose norms
    agree to seven digits may be taken in another order.
    """

    def __init__(self) -> None:
        self._parts: list[Array] = []  # some columns of C, as rows
        self._scale: Array | None = None

    @staticmethod
    def is_small(samples: float, shape: tuple[int, int], like: Array) -> bool:
        """Whether C of this shape takes little memory compared with X, or is on an accelerator.

        An accelerator that holds X and Y has room for it, too, within the budget.
        """
        m1, m2 = shape
        little = _PART_OF_X * m2 * 4 <= samples * arrays.itemsize(like)
        return (little or not arrays.on_host(like)) and memory.fits(m1 * m2, 4)

    def put(self, part: Array) -> None:
        """Keep further columns of C."""
        xp = arrays.namespace(part)
        with arrays.without_overflow_warnings():
            self._parts.append(xp.astype(part.T, xp.float32, copy=False))

    def scaled(self, scale: Array) -> RoundedCross:
        """The same matrix with its columns multiplied by a scale; nothing is copied."""
        other = RoundedCross()
        other._parts = self._parts
        other._scale = scale if self._scale is None else self._scale * scale
        return other

    def norms(self) -> tuple[Array, Array]:
        """Squared norms of the rows and of the columns, in the precision of the scale."""
        assert self._scale is not None
        xp = arrays.namespace(self._scale)
        by_row: Array | float = 0.0
        by_column, first = [], 0
        for part in self._parts:
            entries = arrays.at_once(_BLOCK_ENTRIES, part)
            height = max(1, entries // max(part.shape[1], 1))
            for start in range(0, part.shape[0], height):
                stop = min(start + height, part.shape[0])
                some = xp.astype(part[start:stop, :], self._scale.dtype)
                some = some * self._scale[first : first + some.shape[0], None]
                by_row = by_row + arrays.column_norms_squared(some)
                by_column.append(arrays.row_norms_squared(some))
                first += some.shape[0]
        return by_row, xp.concat(by_column)

    @staticmethod
    def is_exact_enough(by_column: Array) -> bool:
        """Whether entries of C with these squared norms of columns are numbers of its precision."""
        largest = float(arrays.namespace(by_column).max(by_column)) if by_column.shape[0] else 0.0
        return _ORDINARY[0] < largest < _ORDINARY[1]
