"""Centring, scaling and weighting of a design without changing or copying it."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from thinrank import arrays, entrywise
from thinrank.arrays import Array
from thinrank.core.contracts import Design
from thinrank.designs.blockwise import (
    SLICE_COLUMNS,
    blockwise_column_norms,
    blockwise_gram,
    column_means,
    slices,
)
from thinrank.designs.kept_basis import KeptBasis
from thinrank.designs.projected import Projected
from thinrank.designs.row_subset import take_rows

# Entries of an outer product that are formed at a time: 8 MiB in double precision.
_OUTER_ENTRIES = 1 << 20
# Entries of an array that stays in the cache of a processor.
_CACHED_ENTRIES = 1 << 15
# Column sums up to this number of units of rounding are those of columns that sum to zero. In
# single precision they are so up to one unit, since what is left has few digits.
_ROUNDING = 8.0


class Transformed:
    """The design diag(row_scale) (X − 1·centerᵀ) diag(column_scale), never formed.

    A sparse X stays sparse: the three vectors enter the products.

    Parameters
    ----------
    base : Design
        X.
    row_scale : array of shape (n_samples,), default=None
        Roots of the sample weights; None for ones.
    center : array of shape (n_features,), default=None
        Column means; None for zeros.
    column_scale : array of shape (n_features,), default=None
        Factors of the columns; None for ones. A factor of zero makes a column zero.
    norms : array of shape (n_features,), default=None
        The column norms of this design, if they are known.
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
        """(n_samples, n_features)."""
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
            # sums that are rounding errors, as of centred responses, change nothing; to find out
            # pays if there are fewer numbers to look at than to change
            if block.shape[0] > product.shape[0] or not _is_rounding_error(total, block):
                if block.ndim == 1:
                    product -= self.center * total
                else:
                    _subtract_outer(product, self.center, total)
        if self.column_scale is not None:
            product *= self.column_scale if block.ndim == 1 else self.column_scale[:, None]
        return product

    def columns(self, index: Array) -> Array:
        """The transformed columns ``index``, dense."""
        block = self.base.columns(index)  # a new array, which may be changed
        if self.center is not None:
            block -= arrays.take_rows(self.center, index)
        if self.column_scale is not None:
            block *= arrays.take_rows(self.column_scale, index)
        if self.row_scale is not None:
            block *= self.row_scale[:, None]
        return block

    def rows(self, index: Array) -> Transformed:
        """The design of the rows ``index``, centred and scaled like all rows."""
        scale = None if self.row_scale is None else arrays.take_rows(self.row_scale, index)
        return Transformed(take_rows(self.base, index), scale, self.center, self.column_scale)

    def gram(self, index: Array | None = None) -> Array:
        """Gram matrix of the transformed columns."""
        if index is not None:
            active = self.columns(index)
            return active.T @ active
        if self.row_scale is not None or self.center is not None:
            # weights do not factor out of XᵀX, and XᵀX − n·mean² suffers from cancellation
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
        """Norms about other centres, from norms of the columns of X about shifted means."""
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
    """A standardised design, with the means and scales that undo the transformation.

    Attributes
    ----------
    design : Design
        The transformed design.
    center : array of shape (n_features,) or None
        The column means that were subtracted.
    scale : array of shape (n_features,) or None
        The root mean squares that the columns were divided by. It is 0 for constant columns,
        which are zero in ``design``.
    loadings : array of shape (r, n_features) or None
        The loadings of the columns on a basis of kept predictors that was projected out.
    inverse : array of shape (n_features,) or None
        One over ``scale``, if it is known.
    """

    design: Design
    center: Array | None
    scale: Array | None
    loadings: Array | None = None
    inverse: Array | None = None

    @property
    def inverse_scale(self) -> Array | None:
        """One over ``scale``, and 0 for constant columns."""
        if self.scale is None or self.inverse is not None:
            return self.inverse
        return _inverse(self.scale)

    def applied_to(self, design: Design, basis: Array | None = None) -> Design:
        """Other rows, with the same means subtracted and divided by the same scales.

        ``basis`` has the rows of the basis of kept predictors, if one was projected out.
        """
        if self.loadings is not None:
            assert basis is not None
            moved = design if self.center is None else Transformed(design, center=self.center)
            projected = Projected(moved, basis, self.loadings)
            return Transformed(projected, column_scale=self.inverse_scale)
        if self.center is None and self.scale is None:
            return design
        return Transformed(design, center=self.center, column_scale=self.inverse_scale)


def standardize(
    design: Design,
    *,
    sample_weight: Array | None = None,
    center: bool = True,
    scale: bool = True,
    kept: KeptBasis | None = None,
) -> Standardization:
    """Centre a design and scale its columns to unit root mean square, without copying it.

    Parameters
    ----------
    design : Design of shape (n_samples, n_features)
        The design.
    sample_weight : array of shape (n_samples,), default=None
        Weights of the rows in means and mean squares; None for equal weights.
    center : bool, default=True
        Whether to subtract the column means. A column that is constant up to rounding errors then
        becomes zero.
    scale : bool, default=True
        Whether to divide by the root mean squares, about the mean if ``center`` and about zero
        otherwise.
    kept : KeptBasis, default=None
        Kept predictors of the same rows, weights and ``center``, which are projected out before
        the columns are scaled. A column that they explain up to rounding errors becomes zero, also
        without ``scale``; its scale is 0 then, and that of the others 1.

    Returns
    -------
    Standardization
    """
    n, _ = design.shape
    prototype = design.prototype
    xp = arrays.namespace(prototype)
    if sample_weight is not None:
        sample_weight = arrays.from_numpy(sample_weight, prototype)
    total = float(n) if sample_weight is None else float(xp.sum(sample_weight))
    moments = getattr(design, "column_moments", None) if center and sample_weight is None else None
    mean = None
    if center:
        mean = column_means(design, sample_weight) if moments is None else moments.mean
    if kept is not None:
        mean = None if mean is None else arrays.from_numpy(mean, prototype)
        return _standardized_residuals(design, sample_weight, total, mean, kept, scale)
    deviation = None
    if scale:
        root = None if sample_weight is None else xp.sqrt(sample_weight)
        norms = design.column_norms(root, mean) if moments is None else moments.norms
        deviation = norms / total**0.5
        if mean is not None:
            # a constant column differs from zero by rounding errors of about this size
            floor = 100 * arrays.eps(mean) * abs(mean)
            zero = arrays.zeros((1,), mean)
            deviation = arrays.namespace(mean).where(deviation <= floor, zero, deviation)
    if mean is None and deviation is None:
        return Standardization(design, None, None)
    if moments is None:  # else they are finite
        _check_moments(mean, deviation)
    inverse = None if deviation is None else _inverse(deviation)
    norms = None
    if deviation is not None and sample_weight is None:
        norms = arrays.namespace(deviation).astype(deviation > 0, deviation.dtype) * total**0.5
    # moments of data on an accelerator are on the host, where a few numbers take less time
    mean, deviation, inverse, norms = _moved([mean, deviation, inverse, norms], prototype)
    transformed = Transformed(design, center=mean, column_scale=inverse, norms=norms)
    return Standardization(transformed, mean, deviation, inverse=inverse)


def _standardized_residuals(
    design: Design,
    sample_weight: Array | None,
    total: float,
    mean: Array | None,
    kept: KeptBasis,
    scale: bool,
) -> Standardization:
    """A centred design without what kept predictors explain, then scaled."""
    xp = arrays.namespace(design.prototype)
    projected = kept.project(design if mean is None else Transformed(design, center=mean))
    loadings = projected.loadings
    root = None if sample_weight is None else xp.sqrt(sample_weight)
    deviation = projected.column_norms(root) / total**0.5
    _check_moments(mean, deviation)
    squares = deviation**2 + arrays.column_norms_squared(loadings) / total
    floor = kept.rounding_errors(loadings)
    if mean is not None:
        squares = squares + mean**2
        floor = floor + 100 * arrays.eps(mean) * xp.abs(mean)  # as for constant columns
    # with kept predictors that are nearly dependent the bound on rounding errors may be far too
    # large; a column of which more than half of the digits remain is not zero
    floor = xp.minimum(floor, arrays.eps(floor) ** 0.5 * xp.sqrt(squares))
    deviation = xp.where(deviation <= floor, arrays.zeros((1,), deviation), deviation)
    if not scale:
        deviation = xp.astype(deviation > 0, deviation.dtype)
    transformed = Transformed(projected, column_scale=_inverse(deviation))
    return Standardization(transformed, mean, deviation, loadings)


def _moved(vectors: list[Array | None], like: Array) -> list[Array | None]:
    """Vectors of one length, those of NumPy moved to the library and device of ``like``."""
    return [arrays.from_numpy(v, like) if isinstance(v, np.ndarray) else v for v in vectors]


def _check_moments(*moments: Array | None) -> None:
    for moment in moments:
        if moment is not None and not math.isfinite(entrywise.largest(moment)):
            raise ValueError("X must be finite, and so must be the sums of squares of its columns")


def _signed_inverse(scale: Array) -> Array:
    """One over the scales, and 0 for those that are 0."""
    xp = arrays.namespace(scale)
    return xp.sign(scale) * arrays.divide_or_zero(1.0, xp.abs(scale))


def _inverse(scale: Array) -> Array:
    return arrays.divide_or_zero(1.0, scale)


def _is_rounding_error(total: Array, block: Array) -> bool:
    """Whether column sums are about as small as their rounding errors, for NumPy arrays.

    For others the comparison would take longer than what it saves.
    """
    if not isinstance(block, np.ndarray):
        return False
    units = _ROUNDING if block.itemsize == 8 else 1.0
    height = max(1, _CACHED_ENTRIES * block.shape[0] // max(block.size, 1))
    parts = (block[rows] for rows in slices(block.shape[0], height))
    size = sum(np.sum(np.abs(part), axis=0) for part in parts)
    return bool(np.all(np.abs(total) <= units * arrays.eps(block) * size))


def _subtract_outer(product: Array, left: Array, right: Array) -> None:
    """Subtract left·rightᵀ in place, a part at a time, which needs little memory."""
    if hasattr(product, "addr_"):  # one operation, without an array of the outer product
        product.addr_(left, right, alpha=-1)
        return
    if not isinstance(product, np.ndarray):
        for few in slices(product.shape[1], arrays.at_once(SLICE_COLUMNS, product)):
            product[:, few] -= left[:, None] * right[few]
        return
    if product.flags.f_contiguous:
        product, left, right = product.T, right, left  # parts are contiguous
    for part in slices(product.shape[0], max(1, _OUTER_ENTRIES // max(product.shape[1], 1))):
        product[part] -= left[part, None] * right


def _times_rows(block: Array, scale: Array | None) -> Array:
    """diag(scale) @ block, for vectors and matrices."""
    if scale is None:
        return block
    return block * scale if block.ndim == 1 else block * scale[:, None]
