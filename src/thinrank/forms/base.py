"""What quadratic forms share: the ridge, a dense C, and sums over blocks of responses."""

from __future__ import annotations

import copy
from typing import Self

from thinrank import arrays, linalg
from thinrank.arrays import Array
from thinrank.core.contracts import QuadraticForm

__all__ = ["AdjustableRidge", "HeldCross", "blockwise_cross_norms", "plus_ridge", "plus_rows"]

# Responses that are visited at a time when XᵀY is not held: a block of XᵀY then takes a few
# megabytes for ten thousand predictors.
_BLOCK_TARGETS = 256


class AdjustableRidge:
    """What all forms share: a ridge that changes without touching what is held."""

    _ridge: float
    exact = True
    column_scale: Array | None = None

    def with_ridge(self, ridge: float) -> Self:
        """The same form with another ridge; what is held or cached is shared."""
        other = copy.copy(self)
        other._ridge = ridge
        return other

    def gram(self, rows: Array) -> Array:
        """H over ``rows``."""
        raise NotImplementedError

    def inverse_root(self, rows: Array) -> tuple[Array, bool]:
        """R with Rᵀ R = H_SS⁻¹ where that matters: on C_S and on H between S and others.

        Returns
        -------
        R of shape (q, len(rows)), and whether a ridge had to be added to make H_SS regular
        """
        return linalg.inverse_cholesky(self.gram(rows))


class HeldCross(AdjustableRidge):
    """What all forms with a dense C share."""

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


def blockwise_cross_norms(form: QuadraticForm) -> tuple[Array, Array]:
    """Squared norms of the rows and columns of C, without holding it."""
    xp = arrays.namespace(form.prototype)
    by_row = arrays.zeros((form.shape[0],), like=form.prototype)
    by_column = []
    for first in range(0, form.shape[1], _BLOCK_TARGETS):
        part = form.cross_columns(first, min(first + _BLOCK_TARGETS, form.shape[1]))
        by_row += arrays.row_norms_squared(part)
        by_column.append(arrays.column_norms_squared(part))
    return by_row, xp.concat(by_column)


def plus_ridge(gram: Array, ridge: float) -> Array:
    """Add the ridge to the diagonal of a matrix that may be overwritten."""
    return arrays.add_to_diagonal(gram, ridge) if ridge else gram


def plus_rows(gradient: Array, rows: Array, U: Array, ridge: float) -> Array:
    """The gradient of ridge/2·‖U‖² on top."""
    if ridge:
        gradient += ridge * arrays.scatter_rows(U, rows, gradient.shape[0])
    return gradient
