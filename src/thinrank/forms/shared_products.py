"""Products with X that forms with other units of the responses, or other ridges, share."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property

import numpy as np

from thinrank import arrays
from thinrank.arrays import Array
from thinrank.core.contracts import Design
from thinrank.forms.active_columns import ActiveColumns
from thinrank.forms.base import target_blocks
from thinrank.forms.kept_cross import KeptCross

# Columns of X that are copied at a time if more columns are in use than there are samples.
_BLOCK_ROWS = 4096


class SharedProducts:
    """The columns of X in use with their products, and XᵀY where it is kept.

    A fit is repeated with the responses in other units. What is computed from X for the first one
    serves all of them: the rows of XᵀY only have to be multiplied by the units.

    Parameters
    ----------
    X : Design of shape (n_samples, n_features)
        The predictors, weighted, centred and scaled.
    Y : Design of shape (n_samples, n_targets)
        The responses in the first units, likewise.
    samples : float
        n, the sum of the weights.
    """

    def __init__(self, X: Design, Y: Design, samples: float) -> None:
        self.X, self.samples = X, samples
        self.shape = (X.shape[1], Y.shape[1])
        self.prototype = X.prototype
        self.active = ActiveColumns(X, Y)
        self._Y = Y
        self._kept: KeptCross | None = None
        # rows and ridge with their inverse root
        self._last_root: tuple[Array, float, tuple[Array, bool]] | None = None

    @cached_property
    def mean_squares(self) -> Array:
        """Mean squares of the columns of X."""
        return self.X.column_norms() ** 2 / self.samples

    @cached_property
    def _all_sample_products(self) -> Array:
        return self._products_of_samples(arrays.indices(range(self.shape[0]), self.prototype))

    def root_of(
        self, rows: Array, ridge: float, compute: Callable[[Array], tuple[Array, bool]]
    ) -> tuple[Array, bool]:
        """What ``compute(rows)`` returns: the inverse root of H over the rows.

        It is kept for a fit in other units that begins on the same rows.
        """
        if type(rows) is not np.ndarray:
            return compute(rows)
        last = self._last_root
        if last is not None and last[1] == ridge and np.array_equal(last[0], rows):
            return last[2]
        self._last_root = last = None  # its memory is free before another is computed
        found = compute(rows)
        self._last_root = rows, ridge, found
        return found

    def sample_products(self, rows: Array) -> Array:
        """X_S X_Sᵀ, kept if S has all rows."""
        if rows.shape[0] == self.shape[0]:
            return self._all_sample_products
        return self._products_of_samples(rows)

    def _products_of_samples(self, rows: Array) -> Array:
        return sum(block @ block.T for block in self.blocks(rows))

    def blocks(self, rows: Array) -> Iterator[Array]:
        """The columns ``rows`` of X, a block at a time."""
        for first in range(0, rows.shape[0], _BLOCK_ROWS):
            yield self.X.columns(rows[first : min(first + _BLOCK_ROWS, rows.shape[0])])

    def cross_rows(self, rows: Array) -> Array:
        """Rows of XᵀY/n, as a new array."""
        if self._kept is not None:
            return self._kept.rows(rows)
        return self.active.cross(rows) / self.samples

    def cross_norms(self, units: Array | None) -> tuple[Array, Array]:
        """Squared norms of the rows and columns of XᵀY/n, its columns multiplied by units."""
        if self._kept is not None:
            return self._kept.norms(units)
        kept = KeptCross.of_shape(self.samples, self.shape, self.prototype)
        norms = self._norms_of_new(kept, units)
        self._kept = kept
        return norms

    def _norms_of_new(self, kept: KeptCross | None, units: Array | None) -> tuple[Array, Array]:
        """Norms of a new XᵀY/n, which ``kept`` receives."""
        xp = arrays.namespace(self.prototype)
        by_row = arrays.zeros((self.shape[0],), like=self.prototype)
        by_column = []
        blocks = target_blocks(self)
        if kept is not None and not arrays.on_host(self.prototype):
            blocks = iter([slice(0, self.shape[1])])  # an accelerator has room for all at once
        for targets in blocks:
            index = arrays.indices(range(targets.start, targets.stop), self.prototype)
            block = self._Y.columns(index)
            block /= self.samples
            cross = self.X.transposed_product(block)
            if kept is not None:
                kept.put(cross)
            if units is not None:
                cross = cross * units[targets]
            by_row += arrays.row_norms_squared(cross)
            by_column.append(arrays.column_norms_squared(cross))
        return by_row, xp.concat(by_column)
