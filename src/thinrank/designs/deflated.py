"""A design minus a matrix of low rank."""

from __future__ import annotations

from thinrank import arrays, entrywise
from thinrank.arrays import Array
from thinrank.core.contracts import Design
from thinrank.core.factors import Factors
from thinrank.designs.blockwise import blockwise_column_norms, blockwise_gram
from thinrank.designs.subsets import take_rows


class Deflated:
    """The design X − UVᵀ, never formed, so that a sparse X stays sparse.

    Shapes: ``base`` (n_rows, n_columns).
    """

    def __init__(self, base: Design, removed: Factors) -> None:
        self.base = base
        self.removed = removed
        self.prototype = base.prototype

    @property
    def shape(self) -> tuple[int, int]:
        """Shape of X."""
        return self.base.shape

    def __matmul__(self, block: Array) -> Array:
        return self.base @ block - self.removed.U @ (self.removed.V.T @ block)

    def transposed_product(self, block: Array) -> Array:
        """Transpose of this design, times block."""
        product = self.base.transposed_product(block)
        return product - self.removed.V @ (self.removed.U.T @ block)

    def columns(self, index: Array) -> Array:
        """The columns ``index``."""
        removed = self.removed.U @ arrays.take_rows(self.removed.V, index).T
        return self.base.columns(index) - removed

    def rows(self, index: Array) -> Deflated:
        """The design of the rows ``index``."""
        removed = Factors(arrays.take_rows(self.removed.U, index), self.removed.V)
        return Deflated(take_rows(self.base, index), removed)

    def gram(self, index: Array | None = None) -> Array:
        """Inner products of the columns ``index``."""
        if index is None:
            return blockwise_gram(self)
        active = self.columns(index)
        return active.T @ active

    def column_norms(self, row_scale: Array | None = None, center: Array | None = None) -> Array:
        """Norms of the columns of diag(row_scale)(D − 1·centerᵀ), D this design.

        Without scale and centre they come from products, with a relative precision of the root of
        the rounding error.
        """
        if row_scale is not None or center is not None:
            return blockwise_column_norms(self, row_scale, center)
        xp = arrays.namespace(self.prototype)
        U, V = self.removed.U, self.removed.V
        inner = xp.sum(V * (V @ (U.T @ U) - 2 * self.base.transposed_product(U)), axis=1)
        return xp.sqrt(entrywise.at_least(self.base.column_norms() ** 2 + inner, 0.0))
