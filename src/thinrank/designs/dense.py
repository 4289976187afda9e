"""X as a dense array of any library; blocks of columns, rows and columns of any design."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from thinrank import arrays
from thinrank.arrays import Array
from thinrank.core.contracts import Design
from thinrank.core.resources import BLOCK_ENTRIES

# Sums of squares about zero are computed again about the mean if less than this fraction of them is
# left about the mean, by the size of an entry in bytes: in double precision two digits are lost to
# cancellation at most, in single precision hardly any.
MIN_LEFT_OVER = {8: 1e-2, 4: 0.5}
# Columns formed at a time: enough for fast products, in little memory.
BLOCK_COLUMNS = 128


class ColumnMoments(NamedTuple):
    """Means, norms about the means, and norms about zero (float64) of the columns of an array."""

    mean: np.ndarray
    norms: np.ndarray
    lengths: np.ndarray

    @property
    def finite(self) -> bool:
        """Whether all entries and their squares are finite, and no column is lost to underflow."""
        return bool(np.all(np.isfinite(self.lengths)))


def column_blocks(design: Design) -> Iterator[Array]:
    """Indices of all columns, in blocks."""
    for few in slices(design.shape[1]):
        yield arrays.indices(range(few.start, few.stop), design.prototype)


def slices(size: int, width: int = BLOCK_COLUMNS) -> Iterator[slice]:
    """Slices of some rows or columns at a time, for what would take much memory at once."""
    for first in range(0, size, width):
        yield slice(first, min(first + width, size))


class BlockwiseDesign(Design):
    """A design whose other methods follow from its columns and products, by blocks of columns."""

    def gram(self, index: Array | None = None) -> Array:
        """Inner products of the columns ``index``."""
        if index is None:
            products = [self.transposed_product(self.columns(i)) for i in column_blocks(self)]
            return arrays.namespace(self.prototype).concat(products, axis=1)
        active = self.columns(index)
        return active.T @ active

    def column_norms(self, row_scale: Array | None = None, center: Array | None = None) -> Array:
        """Norms of the columns of diag(row_scale)(D − 1·centerᵀ), D this design."""
        norms = []
        for index in column_blocks(self):
            block = self.columns(index)
            if center is not None:
                block = block - arrays.take_rows(center, index)
            if row_scale is not None:
                block = block * row_scale[:, None]
            norms.append(arrays.column_norms_squared(block) ** 0.5)
        return arrays.namespace(self.prototype).concat(norms)


class Dense(BlockwiseDesign):
    """A dense design, never copied, whatever its memory order.

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
        float32 and float64 are kept; other dtypes are converted to float64.
    """

    def __init__(self, X: Any) -> None:
        self.array = arrays.as_float_array(X)
        if self.array.ndim != 2:
            raise ValueError(f"X must be a matrix, got an array of shape {tuple(self.array.shape)}")
        self.shape = self.array.shape[0], self.array.shape[1]
        self.prototype = arrays.zeros((0,), like=self.array)

    def __matmul__(self, block: Array) -> Array:
        return self.array @ block

    def transposed_product(self, block: Array) -> Array:
        """Xᵀ @ block."""
        return arrays.transposed_product(self.array, block)

    def columns(self, index: Array) -> Array:
        """The columns ``index``."""
        return arrays.take_columns(self.array, index)

    def rows(self, index: Array) -> Dense:
        """The design of the rows ``index``, a copy."""
        return Dense(arrays.take_rows(self.array, index))

    def gram(self, index: Array | None = None) -> Array:
        """XᵀX over the columns ``index``."""
        return self.array.T @ self.array if index is None else super().gram(index)

    @cached_property
    def column_moments(self) -> ColumnMoments | None:
        """Means and norms about the means; None if squares overflow, and for other libraries."""
        if not isinstance(self.array, np.ndarray):
            return None
        moments = _column_moments(self.array)
        return moments if moments.finite else None

    def column_means(self) -> Array:
        """Means of the columns, summed in double precision."""
        xp = arrays.namespace(self.array)
        blocks = (self.array[rows, :] for rows in self._row_blocks())
        sums = sum(xp.sum(block, axis=0, dtype=xp.float64) for block in blocks)
        return xp.astype(sums / self.shape[0], self.array.dtype)

    def column_norms(self, row_scale: Array | None = None, center: Array | None = None) -> Array:
        """Norms of the columns of diag(row_scale)(X − 1·centerᵀ), in blocks of rows."""
        xp = arrays.namespace(self.array)
        squares = arrays.zeros((self.shape[1],), like=self.array)
        for rows in self._row_blocks():
            block = self.array[rows, :]
            if center is not None:
                block = block - center
            if row_scale is not None:
                block = block * xp.reshape(row_scale[rows], (-1, 1))
            squares = squares + arrays.column_norms_squared(block)
        return xp.sqrt(squares)

    def _row_blocks(self) -> Iterator[slice]:
        # every call takes as long as some 10⁷ entries on an accelerator
        entries = BLOCK_ENTRIES if arrays.on_host(self.array) else 64 * BLOCK_ENTRIES
        return slices(self.shape[0], max(1, entries // max(self.shape[1], 1)))


class MeanFilled(Dense):
    """A dense design whose missing cells hold the means of the observed cells of their columns.

    ``missing`` marks these cells; a column without an observed cell is 0.
    """

    def __init__(self, X: np.ndarray, missing: np.ndarray, weight: Array | None = None) -> None:
        self.missing = missing
        known = (~missing).astype(np.float64)
        known *= 1.0 if weight is None else arrays.to_numpy(weight)[:, None]
        total = known.sum(axis=0)
        sums = np.einsum("ij,ij->j", known, np.where(missing, 0.0, X))
        self.means = np.divide(sums, total, out=np.zeros(X.shape[1]), where=total > 0)
        super().__init__(np.where(missing, self.means.astype(X.dtype), X))

    def with_means_of(self, index: np.ndarray, weight: Array | None) -> Dense:
        """The same rows, filled with the means of some of them."""
        own = None if weight is None else weight[index]
        means = MeanFilled(self.array[index], self.missing[index], own).means
        return Dense(np.where(self.missing, means.astype(self.array.dtype), self.array))


def _column_moments(X: np.ndarray) -> ColumnMoments:
    """Moments of all columns, summed in double precision; not valid unless ``finite``."""
    n = max(X.shape[0], 1)
    with arrays.without_overflow_warnings():
        total, squares = _sums(X)
        mean, left = total / n, squares - total**2 / n
        far = np.flatnonzero(~(left >= MIN_LEFT_OVER[X.dtype.itemsize] * squares))
        for some in np.array_split(far, far.size * n // BLOCK_ENTRIES + 1):
            about = mean[some].astype(X.dtype)
            moved, again = _sums(X[:, some] - about)
            mean[some] = about + moved / n
            left[some] = again - moved**2 / n
        squares = squares.astype(X.dtype).astype(np.float64)  # as other sums of squares of X
        empty = np.flatnonzero(squares == 0)
        if X[:, empty].any():
            squares[empty] = np.nan  # squares that underflow
        norms = np.sqrt(np.maximum(left, 0))
        return ColumnMoments(mean.astype(X.dtype), norms.astype(X.dtype), np.sqrt(squares))


def _sums(X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Sums and sums of squares of the columns."""
    total: np.ndarray = X.sum(axis=0, dtype=np.float64)
    return total, np.einsum("ij,ij->j", X, X, dtype=np.float64)


class RowSubset(BlockwiseDesign):
    """The rows ``index`` of a design that is known through its products only."""

    def __init__(self, base: Design, index: Array) -> None:
        self.base, self.index, self.prototype = base, index, base.prototype
        self.shape = index.shape[0], base.shape[1]

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


class ColumnSubset(Design):
    """The columns ``index`` of a design, never copied as a whole."""

    def __init__(self, base: Design, index: Array) -> None:
        self.base, self.index, self.prototype = base, index, base.prototype
        self.shape = base.shape[0], index.shape[0]

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

    Products take as long as with all rows, but overlapping sets of rows take no memory.
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
