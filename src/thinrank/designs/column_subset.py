"""Some of the columns of a design."""

from __future__ import annotations

from thinrank import arrays
from thinrank.arrays import Array
from thinrank.core.contracts import Design
from thinrank.designs.row_subset import take_rows


class ColumnSubset:
    """The columns ``index`` of a design, never copied as a whole.

    Parameters
    ----------
    base : Design
        The design.
    index : array of int
        The columns, sorted and distinct.
    """

    def __init__(self, base: Design, index: Array) -> None:
        self.base = base
        self.index = index
        self.prototype = base.prototype

    @property
    def shape(self) -> tuple[int, int]:
        """(n_samples, number of columns in the subset)."""
        return self.base.shape[0], self.index.shape[0]

    def __matmul__(self, block: Array) -> Array:
        return self.base @ arrays.scatter_rows(block, self.index, self.base.shape[1])

    def transposed_product(self, block: Array) -> Array:
        """Transpose of this design, times block."""
        return arrays.take_rows(self.base.transposed_product(block), self.index)

    def columns(self, index: Array) -> Array:
        """The columns ``index`` of the subset."""
        return self.base.columns(arrays.take_rows(self.index, index))

    def rows(self, index: Array) -> ColumnSubset:
        """The design of the rows ``index``."""
        return ColumnSubset(take_rows(self.base, index), self.index)

    def gram(self, index: Array | None = None) -> Array:
        """Inner products of the columns ``index``."""
        return self.base.gram(self.index if index is None else arrays.take_rows(self.index, index))

    def column_norms(self, row_scale: Array | None = None, center: Array | None = None) -> Array:
        """Norms of the columns of diag(row_scale)(D − 1·centerᵀ), D this design."""
        if center is not None:
            center = arrays.scatter_rows(center, self.index, self.base.shape[1])
        return arrays.take_rows(self.base.column_norms(row_scale, center), self.index)
