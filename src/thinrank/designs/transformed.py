"""Centring, scaling and weighting of a design without touching it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from thinrank import arrays
from thinrank.arrays import Array
from thinrank.core.contracts import Design
from thinrank.designs.blockwise import blockwise_column_norms, blockwise_gram, column_means
from thinrank.designs.row_subset import take_rows

__all__ = ["Standardization", "Transformed", "standardize"]


class Transformed:
    """The design diag(row_scale) (X − 1·centerᵀ) diag(column_scale), never formed.

    A sparse X stays sparse: the three vectors enter the products.

    Parameters
    ----------
    base : Design
        X.
    row_scale : array of shape (n,), optional
        Roots of the sample weights.
    center : array of shape (p,), optional
        Column means.
    column_scale : array of shape (p,), optional
        One over the units of the columns; zero drops a column.
    norms : array of shape (p,), optional
        The column norms of this design, when they are known beforehand.
    """

    def __init__(
        self,
        base: Design,
        row_scale: Array | None = None,
        center: Array | None = None,
        column_scale: Array | None = None,
        norms: Array | None = None,
    ) -> None:
        self.base = base
        self.row_scale = row_scale
        self.center = center
        self.column_scale = column_scale
        self._norms = norms
        self.prototype = base.prototype

    @property
    def shape(self) -> tuple[int, int]:
        """(n, p)."""
        return self.base.shape

    def __matmul__(self, block: Array) -> Array:
        block = _times_rows(block, self.column_scale)
        product = self.base @ block
        if self.center is not None:
            product = product - self.center @ block
        return _times_rows(product, self.row_scale)

    def transposed_product(self, block: Array) -> Array:
        """Transpose of this design, times block."""
        block = _times_rows(block, self.row_scale)
        product = self.base.transposed_product(block)
        if self.center is not None:
            total = arrays.namespace(block).sum(block, axis=0)
            if block.ndim == 1:
                product -= self.center * total
            else:
                for few in _slices(block.shape[1]):  # no second array of the product's size
                    product[:, few] -= self.center[:, None] * total[few]
        if self.column_scale is not None:
            product *= self.column_scale if block.ndim == 1 else self.column_scale[:, None]
        return product

    def columns(self, index: Array) -> Array:
        """The transformed columns ``index``, dense."""
        block = self.base.columns(index)  # ours to change
        if self.center is not None:
            block -= arrays.take_rows(self.center, index)
        if self.column_scale is not None:
            block *= arrays.take_rows(self.column_scale, index)
        if self.row_scale is not None:
            block *= self.row_scale[:, None]
        return block

    def rows(self, index: Array) -> Transformed:
        """The design of the rows ``index``, centred and scaled as all of them are."""
        scale = None if self.row_scale is None else arrays.take_rows(self.row_scale, index)
        return Transformed(take_rows(self.base, index), scale, self.center, self.column_scale)

    def gram(self, index: Array | None = None) -> Array:
        """Gram matrix of the transformed columns."""
        if index is not None:
            active = self.columns(index)
            return active.T @ active
        if self.row_scale is not None or self.center is not None:
            # weights stand between the two factors, and XᵀX − n·mean² cancels
            return blockwise_gram(self)
        gram = self.base.gram()
        if self.column_scale is not None:
            gram = _times_rows(gram, self.column_scale) * self.column_scale
        return gram

    def column_norms(self, row_scale: Array | None = None, center: Array | None = None) -> Array:
        """Norms of the columns of diag(row_scale)(D − 1·centerᵀ), D this design."""
        if center is not None and self.row_scale is not None:
            return blockwise_column_norms(self, row_scale, center)
        if center is not None:
            return self._norms_about(center, row_scale)
        if row_scale is None and self._norms is not None:
            return self._norms
        if self.row_scale is not None:
            row_scale = self.row_scale if row_scale is None else row_scale * self.row_scale
        norms = self.base.column_norms(row_scale, self.center)
        if self.column_scale is None:
            return norms
        return norms * arrays.namespace(norms).abs(self.column_scale)

    def _norms_about(self, center: Array, row_scale: Array | None) -> Array:
        """Norms about other centres, from those of the columns of X about theirs."""
        own = center * 0 if self.center is None else self.center
        if self.column_scale is None:
            return self.base.column_norms(row_scale, own + center)
        xp = arrays.namespace(center)
        scale = xp.abs(self.column_scale)
        norms = self.base.column_norms(row_scale, own + center * _signed_inverse(self.column_scale))
        length = self.shape[0] ** 0.5 if row_scale is None else arrays.norm(row_scale)
        return xp.where(scale > 0, norms * scale, xp.abs(center) * length)


@dataclass(frozen=True)
class Standardization:
    """How a design was brought to unit columns, and the way back.

    Attributes
    ----------
    design : Design
        The transformed design.
    center : array of shape (p,) or None
        The column means that were taken out.
    scale : array of shape (p,) or None
        The root mean squares that the columns were divided by; constant columns have 0 here and
        are zero in ``design``.
    """

    design: Design
    center: Array | None
    scale: Array | None

    @property
    def inverse_scale(self) -> Array | None:
        """One over ``scale``, and 0 for constant columns."""
        return None if self.scale is None else _inverse(self.scale)


def standardize(
    design: Design, *, sample_weight: Array | None = None, center: bool = True, scale: bool = True
) -> Standardization:
    """Centre a design and bring its columns to unit root mean square, implicitly.

    Means and mean squares are weighted; the mean square is about the mean when ``center``, about
    zero otherwise. A column that is constant up to rounding becomes zero when ``center``.
    """
    n, _ = design.shape
    prototype = design.prototype
    xp = arrays.namespace(prototype)
    if sample_weight is not None:
        sample_weight = arrays.from_numpy(sample_weight, prototype)
    weight = arrays.zeros((n,), like=prototype) + 1 if sample_weight is None else sample_weight
    total = float(xp.sum(weight))
    mean = column_means(design, weight) if center else None
    deviation = None
    if scale:
        root = None if sample_weight is None else xp.sqrt(sample_weight)
        deviation = design.column_norms(root, mean) / total**0.5
        if mean is not None:
            # what rounding leaves of a constant column
            floor = 100 * arrays.eps(prototype) * xp.abs(mean)
            deviation = xp.where(deviation <= floor, arrays.zeros((1,), prototype), deviation)
    if mean is None and deviation is None:
        return Standardization(design, None, None)
    for moment in (mean, deviation):
        if moment is not None and not bool(xp.all(xp.isfinite(moment))):
            raise ValueError("X must be finite, and so must be the squares of its columns")
    inverse = None if deviation is None else _inverse(deviation)
    norms = None
    if deviation is not None and sample_weight is None:
        norms = xp.astype(deviation > 0, prototype.dtype) * total**0.5
    transformed = Transformed(design, center=mean, column_scale=inverse, norms=norms)
    return Standardization(transformed, mean, deviation)


def _signed_inverse(scale: Array) -> Array:
    """One over the scales, and 0 for those that are 0."""
    xp = arrays.namespace(scale)
    return xp.sign(scale) * arrays.divide_or_zero(1.0, xp.abs(scale))


def _inverse(scale: Array) -> Array:
    return arrays.divide_or_zero(1.0, scale)


def _times_rows(block: Array, scale: Array | None) -> Array:
    """diag(scale) @ block, for vectors and matrices."""
    if scale is None:
        return block
    return block * scale if block.ndim == 1 else block * scale[:, None]


def _slices(size: int, width: int = 64) -> Iterator[slice]:
    for first in range(0, size, width):
        yield slice(first, min(first + width, size))
