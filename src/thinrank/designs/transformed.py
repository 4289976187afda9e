"""A matrix as a Design; centering, scaling and weighting of a design without copying it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import issparse
from scipy.sparse.linalg import LinearOperator

from thinrank import arrays
from thinrank.arrays import Array
from thinrank.core.contracts import Design, is_design
from thinrank.core.factors import Factors
from thinrank.designs.dense import (
    BlockwiseDesign,
    ColumnSubset,
    Dense,
    column_blocks,
    slices,
    take_rows,
)

if TYPE_CHECKING:
    from thinrank.designs.projections import KeptBasis

# Numbers computed from terms of size 1 are taken to be zero up to this number of times eps.
ROUNDING = 100


class Sparse:
    """A scipy sparse design; only the columns requested by :meth:`columns` are made dense.

    Parameters
    ----------
    X : scipy sparse matrix or array of shape (n_samples, n_features)
        Formats other than CSR and CSC are converted to CSC. float32 and float64 are kept; other
        dtypes are converted to float64.
    """

    def __init__(self, X: Any) -> None:
        if X.ndim != 2:
            raise ValueError(f"X must be a matrix, got an array of shape {X.shape}")
        if X.format not in ("csr", "csc"):
            X = X.tocsc()
        if X.dtype.kind == "c":
            raise ValueError(f"Complex data not supported: X is sparse of dtype {X.dtype}")
        if not X.has_canonical_format:
            X = X.copy()  # the user's matrix is left as it is
            X.sum_duplicates()
        if X.dtype not in (np.float32, np.float64):
            X = X.astype(np.float64)
        self.matrix = X
        self.shape = X.shape
        self.prototype = np.zeros(0, dtype=X.dtype)

    def __matmul__(self, block: np.ndarray) -> np.ndarray:
        return self.matrix @ block

    def transposed_product(self, block: np.ndarray) -> np.ndarray:
        """Xᵀ @ block."""
        return self.matrix.T @ block

    def columns(self, index: np.ndarray) -> np.ndarray:
        """The columns ``index``, dense."""
        return self.matrix[:, index].toarray()

    def rows(self, index: np.ndarray) -> Sparse:
        """The design of the rows ``index``, a copy."""
        return Sparse(self.matrix[index])

    def gram(self, index: np.ndarray | None = None) -> np.ndarray:
        """XᵀX over the columns ``index``, dense."""
        active = self.matrix if index is None else self.matrix[:, index]
        return (active.T @ active).toarray()

    def column_norms(
        self, row_scale: np.ndarray | None = None, center: np.ndarray | None = None
    ) -> np.ndarray:
        """Norms of the columns of diag(row_scale)(X − 1·centerᵀ), from the stored entries."""
        n, p = self.shape
        entries = self.matrix.tocoo()
        weights = np.ones(n, dtype=self.matrix.dtype) if row_scale is None else row_scale**2
        stored = weights[entries.row]
        values = entries.data
        if center is not None:
            values = values - center[entries.col]
        squares = np.bincount(entries.col, weights=stored * values**2, minlength=p)
        if center is not None:
            weight_of_zeros = weights.sum() - np.bincount(entries.col, stored, minlength=p)
            squares = squares + np.maximum(weight_of_zeros, 0) * center**2
        return np.sqrt(squares).astype(self.matrix.dtype)


class Operator(BlockwiseDesign):
    """A design known through its products only; the operator must define its adjoint, too.

    Parameters
    ----------
    X : LinearOperator of shape (n_samples, n_features)
        The operator. Products are float32 if its dtype is float32, otherwise float64.
    """

    def __init__(self, X: LinearOperator) -> None:
        self.operator = X
        self.shape = X.shape
        dtype = np.dtype(X.dtype if X.dtype is not None else np.float64)
        if dtype.kind == "c":
            raise ValueError(f"Complex data not supported: X is an operator of dtype {dtype}")
        if dtype not in (np.float32, np.float64):
            dtype = np.dtype(np.float64)
        self.prototype = np.zeros(0, dtype=dtype)

    def __matmul__(self, block: np.ndarray) -> np.ndarray:
        product = self.operator.matvec(block) if block.ndim == 1 else self.operator.matmat(block)
        return np.array(product, dtype=self.prototype.dtype)  # a copy, which callers may change

    def transposed_product(self, block: np.ndarray) -> np.ndarray:
        """Xᵀ @ block."""
        X = self.operator
        product = X.rmatvec(block) if block.ndim == 1 else X.rmatmat(block)
        return np.array(product, dtype=self.prototype.dtype)

    def columns(self, index: np.ndarray) -> np.ndarray:
        """The columns ``index``, by products with unit vectors."""
        units = np.zeros((self.shape[1], len(index)), dtype=self.prototype.dtype)
        units[index, np.arange(len(index))] = 1
        return self @ units


def as_design(X: Any) -> Design:
    """Wrap a matrix as a Design.

    Parameters
    ----------
    X : array, scipy sparse matrix, LinearOperator or Design of shape (n_samples, n_features)
        A Design is returned as it is.

    Returns
    -------
    Design
    """
    if issparse(X):
        return Sparse(X)
    if isinstance(X, LinearOperator):
        return Operator(X)
    if is_design(X):
        return X
    return Dense(X)


@dataclass(eq=False, repr=False)
class Transformed(BlockwiseDesign):
    """The design diag(row_scale) (X − 1·centerᵀ − removed) diag(column_scale), never formed.

    A sparse X stays sparse: the vectors and factors enter the products.

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
    removed : Factors of shape (n_samples, n_features), default=None
        A matrix of low rank that is subtracted; None for zeros.
    """

    base: Design
    row_scale: Array | None = None
    center: Array | None = None
    column_scale: Array | None = None
    norms: Array | None = None
    removed: Factors | None = None

    def __post_init__(self) -> None:
        self.shape, self.prototype = self.base.shape, self.base.prototype

    def __matmul__(self, block: Array) -> Array:
        block = _times_rows(block, self.column_scale)
        product = self.base @ block
        if self.center is not None:
            product = product - self.center @ block
        if self.removed is not None:
            product = product - self.removed.U @ (self.removed.V.T @ block)
        return _times_rows(product, self.row_scale)

    def transposed_product(self, block: Array) -> Array:
        """Transpose of this design, times block."""
        block = _times_rows(block, self.row_scale)
        product = self.base.transposed_product(block)
        if self.center is not None:
            total = arrays.namespace(block).sum(block, axis=0, keepdims=True)
            _subtract_product(product, self.center[:, None], total)
        if self.removed is not None:
            _subtract_product(product, self.removed.V, self.removed.U.T @ block)
        if self.column_scale is not None:
            product *= self.column_scale if block.ndim == 1 else self.column_scale[:, None]
        return product

    def columns(self, index: Array) -> Array:
        """The transformed columns ``index``, dense."""
        block = self.base.columns(index)  # a new array, which may be changed
        if self.center is not None:
            block -= arrays.take_rows(self.center, index)
        if self.removed is not None:
            block -= self.removed.U @ arrays.take_rows(self.removed.V, index).T
        if self.column_scale is not None:
            block *= arrays.take_rows(self.column_scale, index)
        if self.row_scale is not None:
            block *= self.row_scale[:, None]
        return block

    def rows(self, index: Array) -> Transformed:
        """The design of the rows ``index``, centered and scaled like all rows."""
        scale, removed = self.row_scale, self.removed
        if scale is not None:
            scale = arrays.take_rows(scale, index)
        if removed is not None:
            removed = Factors(arrays.take_rows(removed.U, index), removed.V)
        base = take_rows(self.base, index)
        return Transformed(base, scale, self.center, self.column_scale, removed=removed)

    def gram(self, index: Array | None = None) -> Array:
        """Gram matrix of the transformed columns."""
        moved = self.center is not None or self.removed is not None
        if index is not None or self.row_scale is not None or moved:
            # weights do not factor out of XᵀX, and XᵀX − n·mean² suffers from cancellation
            return super().gram(index)
        gram = self.base.gram()
        if self.column_scale is not None:
            gram = _times_rows(gram, self.column_scale) * self.column_scale
        return gram

    def column_norms(self, row_scale: Array | None = None, center: Array | None = None) -> Array:
        """Norms of the columns of diag(row_scale)(D − 1·centerᵀ), D this design."""
        if row_scale is None and center is None and self.norms is not None:
            return self.norms
        if self.removed is not None or (center is not None and self.row_scale is not None):
            return super().column_norms(row_scale, center)
        if center is not None:
            return self._norms_about(center, row_scale)
        if self.row_scale is not None:
            row_scale = self.row_scale if row_scale is None else row_scale * self.row_scale
        norms = self.base.column_norms(row_scale, self.center)
        if self.column_scale is None:
            return norms
        return norms * arrays.namespace(norms).abs(self.column_scale)

    def _norms_about(self, center: Array, row_scale: Array | None) -> Array:
        """Norms about other centers, from norms of the columns of X about shifted means."""
        own = center * 0 if self.center is None else self.center
        if self.column_scale is None:
            return self.base.column_norms(row_scale, own + center)
        xp = arrays.namespace(center)
        scale = xp.abs(self.column_scale)
        inverse = xp.sign(self.column_scale) * arrays.divide_or_zero(1.0, scale)
        norms = self.base.column_norms(row_scale, own + center * inverse)
        length = self.shape[0] ** 0.5 if row_scale is None else arrays.norm(row_scale)
        return xp.where(scale > 0, norms * scale, xp.abs(center) * length)


@dataclass(frozen=True)
class Standardization:
    """A standardized design, with the means and scales that undo the transformation.

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
    """

    design: Design
    center: Array | None
    scale: Array | None
    loadings: Array | None = None

    @property
    def inverse_scale(self) -> Array | None:
        """One over ``scale``, and 0 for constant columns."""
        return None if self.scale is None else arrays.divide_or_zero(1.0, self.scale)

    def applied_to(self, design: Design, basis: Array | None = None) -> Design:
        """Other rows, with the same means subtracted and divided by the same scales.

        ``basis`` has the rows of the basis of kept predictors, if one was projected out.
        """
        if self.center is None and self.scale is None and self.loadings is None:
            return design
        removed = None if self.loadings is None else Factors(basis, self.loadings.T)
        units = {"center": self.center, "column_scale": self.inverse_scale}
        return Transformed(design, **units, removed=removed)


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
    """
    prototype = design.prototype
    xp = arrays.namespace(prototype)
    if kept is None and not (center or scale):
        return Standardization(design, None, None)
    if sample_weight is not None:
        sample_weight = arrays.from_numpy(sample_weight, prototype)
    total = float(design.shape[0] if sample_weight is None else xp.sum(sample_weight))
    moments = getattr(design, "column_moments", None) if center and sample_weight is None else None
    mean = None
    if moments is not None:
        mean = arrays.from_numpy(moments.mean, prototype)
    elif center:
        mean = column_means(design, sample_weight)
    deviation = norms = removed = loadings = None
    if kept is not None:
        removed = kept.explained(Transformed(design, center=mean))
        loadings = removed.V.T
    if scale or kept is not None:
        root = None if sample_weight is None else xp.sqrt(sample_weight)
        moved = Transformed(design, center=mean, removed=removed)
        if moments is not None and kept is None:
            deviation = arrays.from_numpy(moments.norms, prototype) / total**0.5
        else:
            deviation = moved.column_norms(root) / total**0.5
        size = arrays.zeros((1,), prototype) if mean is None else abs(mean)
        floor = ROUNDING * arrays.eps(prototype) * size  # what is left of a constant column
        if kept is not None:
            floor = floor + kept.rounding_errors(loadings)
            # with kept predictors that are nearly dependent the bound may be far too large; a
            # column of which more than half of the digits remain is not zero
            squares = deviation**2 + arrays.column_norms_squared(loadings) / total + size**2
            floor = xp.minimum(floor, arrays.eps(floor) ** 0.5 * xp.sqrt(squares))
        deviation = xp.where(deviation <= floor, arrays.zeros((1,), prototype), deviation)
        varies = xp.astype(deviation > 0, deviation.dtype)
        deviation, norms = (deviation, varies * total**0.5) if scale else (varies, None)
    for found in (mean, deviation):
        if found is not None and not math.isfinite(arrays.max_abs(found)):
            raise ValueError("X must be finite, and so must be the sums of squares of its columns")
    inverse = None if deviation is None else arrays.divide_or_zero(1.0, deviation)
    norms = None if sample_weight is not None else norms
    transformed = Transformed(design, None, mean, inverse, norms, removed)
    return Standardization(transformed, mean, deviation, loadings)


def column_means(design: Design, weight: Array | None) -> Array:
    """Means of the columns, with weights if they are given.

    In single precision the sum of many numbers far from zero is inaccurate. An array is summed in
    double precision; for others the mean of the centered columns is added as a correction.
    """
    xp = arrays.namespace(design.prototype)
    if weight is None:
        if hasattr(design, "column_means"):
            return design.column_means()
        weight = arrays.zeros((design.shape[0],), like=design.prototype) + 1
    share = weight / xp.sum(weight)
    mean = design.transposed_product(share)
    if arrays.itemsize(design.prototype) >= 8:
        return mean
    left_over = [
        share @ (design.columns(i) - arrays.take_rows(mean, i)) for i in column_blocks(design)
    ]
    return mean + xp.concat(left_over)


def unprojected(design: Design) -> Design:
    """The same columns in the same units, with no parts subtracted that were fitted to them."""
    if isinstance(design, ColumnSubset):
        return ColumnSubset(unprojected(design.base), design.index)
    if isinstance(design, Transformed):
        return Transformed(
            unprojected(design.base), design.row_scale, design.center, design.column_scale
        )
    return design


def _subtract_product(target: Array, left: Array, right: Array) -> None:
    """Subtract left @ right from a new vector or matrix, some columns at a time."""
    if target.ndim == 1:
        target -= left @ right
        return
    for few in slices(target.shape[1]):
        part = right[:, few]
        target[:, few] -= left * part if left.shape[1] == 1 else left @ part


def _times_rows(block: Array, scale: Array | None) -> Array:
    """diag(scale) @ block, for vectors and matrices."""
    if scale is None:
        return block
    return block * scale if block.ndim == 1 else block * scale[:, None]
