"""A regression in the solver's units, and the way back to the user's."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from thinrank import arrays
from thinrank.arrays import Array
from thinrank.core.contracts import Design
from thinrank.core.factors import Factors
from thinrank.core.result import Record
from thinrank.designs import Dense, Standardization, Transformed, standardize
from thinrank.losses import LeastSquares

__all__ = ["Problem"]


@dataclass(frozen=True)
class Problem:
    """Centred, scaled and weighted data as a loss.

    Attributes
    ----------
    loss : LeastSquares
        In the solver's units: Θ̃ = diag(column units)·Θ / (unit of Y).
    columns : Standardization
        What was done to X.
    target_mean : array of shape (k,) or None
        What was taken out of Y.
    target_scale : float
        What Y was divided by.
    """

    loss: LeastSquares
    columns: Standardization
    target_mean: Array | None
    target_scale: float

    @classmethod
    def prepare(
        cls,
        design: Design,
        Y: Array,
        weight: Array | None,
        *,
        fit_intercept: bool,
        standardize_columns: bool,
        scale_targets: bool,
        ridge: float,
    ) -> Problem:
        """Take means and scales out of the data, without copying X."""
        columns = standardize(
            design, sample_weight=weight, center=fit_intercept, scale=standardize_columns
        )
        mean = standardize(Dense(Y), sample_weight=weight, center=fit_intercept, scale=False).center
        targets: Design = Transformed(Dense(Y), center=mean)
        scale = _root_mean_square(targets, weight) if scale_targets else 1.0
        if scale != 1.0:
            inverse = arrays.zeros((Y.shape[1],), like=Y) + 1 / scale
            targets = Transformed(Dense(Y), center=mean, column_scale=inverse)
        loss = LeastSquares(columns.design, targets, sample_weight=weight, ridge=ridge)
        return cls(loss, columns, mean, scale)

    def with_ridge(self, ridge: float) -> Problem:
        """The same problem with another ridge; nothing is computed again."""
        return replace(self, loss=self.loss.with_ridge(ridge))

    def to_user(self, factors: Factors) -> tuple[Factors, Array]:
        """Coefficients and intercept in the user's units."""
        user = factors.scaled(self.columns.inverse_scale, self.target_scale)
        intercept = arrays.zeros((user.shape[1],), like=user.U)
        if self.target_mean is not None:
            intercept = self.target_mean - user.V @ (user.U.T @ self.columns.center)
        return user, intercept

    def to_user_record(self, record: Record) -> Record:
        """The record with its objective in the user's units."""
        return replace(record, objective=record.objective * self.target_scale**2)

    def start(self, start: Any) -> Any:
        """A start given in the user's units, in the solver's; names pass."""
        scale = self.columns.scale
        if isinstance(start, Factors):
            if start.shape != self.loss.shape:
                return start  # to be refused with a message
            like = self.loss.prototype
            U, V = arrays.from_numpy(start.U, like), arrays.from_numpy(start.V, like)
            return Factors(U, V).scaled(scale, 1 / self.target_scale)
        if arrays.is_array(start):
            start = start / self.target_scale
            if scale is not None and start.shape == self.loss.shape:
                start = arrays.from_numpy(start, scale) * scale[:, None]
        return start


def _root_mean_square(Y: Design, weight: Array | None) -> float:
    """Of the entries of Y; 1 when they are all zero."""
    xp = arrays.namespace(Y.prototype)
    root = None if weight is None else xp.sqrt(weight)
    norms = Y.column_norms(root)
    # against overflow and underflow of the squares: Y may be in any units
    largest = float(xp.max(norms))
    if largest == 0:
        return 1.0
    total = Y.shape[0] if weight is None else float(xp.sum(weight))
    return largest * arrays.norm(norms / largest) / (total * Y.shape[1]) ** 0.5
