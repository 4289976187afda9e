"""Base classes of quadratic forms, for the ridge and a dense C, and helper functions."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any, Self

from thinrank import arrays, linalg
from thinrank.arrays import Array

# Largest number of columns of XᵀY computed at a time when it is not kept: 20 MB for ten thousand
# predictors.
_BLOCK_TARGETS = 256
# With few samples fewer columns are computed at a time, so that they take at most an eighth of the
# memory of X, but at least this number, since products with fewer columns are slower.
_LEAST_TARGETS, _PART_OF_X = 16, 8


class AdjustableRidge:
    """A form whose ridge can be changed without copying its arrays."""

    _ridge: float
    column_scale: Array | None = None

    @property
    def ridge(self) -> float:
        """What is added to the diagonal of H."""
        return self._ridge

    def with_ridge(self, ridge: float) -> Self:
        """The same form with another ridge; stored and cached arrays are shared."""
        other = copy.copy(self)
        other._ridge = ridge
        return other

    def gram(self, rows: Array) -> Array:
        """H over ``rows``."""
        raise NotImplementedError

    def inverse_root(self, rows: Array) -> tuple[Array, bool]:
        """R with Rᵀ R = H_SS⁻¹ on the columns of C_S and of H between S and other rows.

        Shapes: ``R`` (q, len(rows)).
        """
        return linalg.inverse_cholesky(self.gram(rows))


class HeldCross(AdjustableRidge):
    """A form with a dense C in memory."""

    def __init__(self, cross: Array, constant: float, samples: float, ridge: float) -> None:
        self._cross = cross
        self._ridge = ridge
        self.constant = constant
        self.samples = samples
        self.observations = samples * cross.shape[1]
        self.shape = (cross.shape[0], cross.shape[1])
        self.prototype = arrays.zeros((0,), like=cross)

    def cross_rows(self, rows: Array) -> Array:
        """Rows of C."""
        return arrays.take_rows(self._cross, rows)

    def cross_columns(self, first: int, last: int) -> Array:
        """Columns of C from ``first`` to before ``last``."""
        return self._cross[:, first:last]

    def cross_norms(self) -> tuple[Array, Array]:
        """Squared norms of the rows and of the columns of C."""
        return arrays.row_norms_squared(self._cross), arrays.column_norms_squared(self._cross)


def blockwise_cross_norms(form: Any) -> tuple[Array, Array]:
    """Squared norms of the rows and columns of C, a block of columns at a time."""
    xp = arrays.namespace(form.prototype)
    by_row = arrays.zeros((form.shape[0],), like=form.prototype)
    by_column = []
    for columns in target_blocks(form):
        part = form.cross_columns(columns.start, columns.stop)
        by_row += arrays.row_norms_squared(part)
        by_column.append(arrays.column_norms_squared(part))
        del part  # before the next is computed
    return by_row, xp.concat(by_column)


def target_blocks(form: Any) -> Iterator[slice]:
    """Columns of C that are computed at a time."""
    width = min(_BLOCK_TARGETS, max(_LEAST_TARGETS, int(form.samples) // _PART_OF_X))
    for first in range(0, form.shape[1], width):
        yield slice(first, min(first + width, form.shape[1]))


def plus_ridge(gram: Array, ridge: float) -> Array:
    """Add the ridge to the diagonal of a matrix that may be overwritten."""
    return arrays.add_to_diagonal(gram, ridge) if ridge else gram


def plus_rows(gradient: Array, rows: Array, U: Array, ridge: float) -> Array:
    """Add the gradient of ridge/2·‖U‖² to a gradient, in place."""
    if ridge:
        gradient += ridge * arrays.scatter_rows(U, rows, gradient.shape[0])
    return gradient
