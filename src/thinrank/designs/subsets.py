"""Some of the rows or columns of a design, and what all designs known by their columns share."""

from __future__ import annotations

from typing import Any

from thinrank import arrays
from thinrank.arrays import Array
from thinrank.core.contracts import Design
from thinrank.designs.blockwise import blockwise_column_norms, blockwise_gram


class BlockwiseDesign(Design):
    """The methods of a Design that follow from its columns and products, by blocks of columns."""

    def gram(self, index: Array | None = None) -> Array:
        """Inner products of the columns ``index``."""
        if index is None:
            return blockwise_gram(self)
        active = self.columns(index)
        return active.T @ active

    def column_norms(self, row_scale: Array | None = None, center: Array | None = None) -> Array:
        """Norms of the columns of diag(row_scale)(D − 1·centerᵀ), D this design."""
        return blockwise_column_norms(self, row_scale, center)


class RowSubset(BlockwiseDesign):
    """The rows ``index`` of a design that is known through its products only."""

    def __init__(self, base: Design, index: Array) -> None:
        self.base = base
        self.index = index
        self.prototype = base.prototype

    @property
    def shape(self) -> tuple[int, int]:
        """(number of rows in the subset, n_features)."""
        return self.index.shape[0], self.base.shape[1]

    def __matmul__(self, block: Array) -> Array:
        return arrays.take_rows(self.base @ block, self.index)

    def transposed_product(self, block: Array) -> Array:
        """Transpose of this design, times block."""
        return self.base.transposed_product(
            arrays.scatter_rows(block, self.index, self.base.shape[0])
        )

    def columns(self, index: Array) -> Array:
        """The columns ``index``."""
        return arrays.take_rows(self.base.columns(index), self.index)


class ColumnSubset:
    """The columns ``index`` of a design, never copied as a whole."""

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


def view_rows(design: Any, index: Array) -> Design:
    """Like :func:`take_rows`, but without a copy of the rows of a dense array.

    Products take as long as products with all rows, but overlapping sets of rows take no memory.
    """
    base = design
    while hasattr(base, "base"):
        base = base.base
    # only a dense design has all its entries as an array
    return RowSubset(design, index) if hasattr(base, "array") else take_rows(design, index)


def take_rows(design: Any, index: Array) -> Design:
    """The design of the sorted rows ``index``, a RowSubset if the design has no method ``rows``."""
    if hasattr(design, "rows"):
        return design.rows(index)
    return RowSubset(design, index)
