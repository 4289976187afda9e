"""A design without the part that some other columns explain."""

from __future__ import annotations

from thinrank import arrays
from thinrank.arrays import Array
from thinrank.core.contracts import Design
from thinrank.designs.blockwise import (
    SLICE_COLUMNS,
    blockwise_column_norms,
    blockwise_gram,
    slices,
)
from thinrank.designs.subsets import take_rows


class Projected:
    """The design X − B·L, never formed: a sparse X stays sparse.

    With a basis B that is orthonormal with respect to the sample weights A, BᵀAB = I, and the
    loadings L = BᵀAX, it consists of the residuals of the weighted least squares fits of the
    columns of X on B; see :func:`thinrank.designs.project_out`.

    Shapes: ``base`` (n_samples, n_features), ``basis`` (n_samples, r), ``loadings`` (r,
    n_features).
    """

    def __init__(self, base: Design, basis: Array, loadings: Array) -> None:
        self.base = base
        self.basis = basis
        self.loadings = loadings
        self.prototype = base.prototype

    @property
    def shape(self) -> tuple[int, int]:
        """(n_samples, n_features)."""
        return self.base.shape

    def __matmul__(self, block: Array) -> Array:
        return self.base @ block - self.basis @ (self.loadings @ block)

    def transposed_product(self, block: Array) -> Array:
        """Transpose of this design, times block."""
        product = self.base.transposed_product(block)
        scores = self.basis.T @ block
        if block.ndim == 1:
            return product - self.loadings.T @ scores
        for few in slices(block.shape[1], arrays.at_once(SLICE_COLUMNS, product)):
            product[:, few] -= self.loadings.T @ scores[:, few]
        return product

    def columns(self, index: Array) -> Array:
        """The columns ``index``, dense."""
        block = self.base.columns(index)  # a new array, which may be changed
        block -= self.basis @ arrays.take_columns(self.loadings, index)
        return block

    def rows(self, index: Array) -> Projected:
        """The design of the rows ``index``, with the same loadings."""
        return Projected(
            take_rows(self.base, index), arrays.take_rows(self.basis, index), self.loadings
        )

    def gram(self, index: Array | None = None) -> Array:
        """Inner products of the columns ``index``."""
        if index is None:
            return blockwise_gram(self)  # XᵀX − LᵀL would suffer from cancellation
        active = self.columns(index)
        return active.T @ active

    def column_norms(self, row_scale: Array | None = None, center: Array | None = None) -> Array:
        """Norms of the columns of diag(row_scale)(D − 1·centerᵀ), D this design."""
        return blockwise_column_norms(self, row_scale, center)
