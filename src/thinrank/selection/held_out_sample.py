"""The training rows of a split as a sample, with models scored on the held-out rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from thinrank import arrays
from thinrank.arrays import Array
from thinrank.core.contracts import Design, QuadraticForm
from thinrank.core.sizes import Sizes
from thinrank.selection.elimination import (
    Removal,
    RemovalInOrder,
    can_forecast,
    forecasts,
    removal,
    removal_in_order,
)
from thinrank.selection.evaluation import HeldOutErrors
from thinrank.selection.samples import Sample
from thinrank.selection.tables import RowFit
from thinrank.solvers.pursuit import Fit

__all__ = ["PERFECT", "HeldOut", "HeldOutSample", "KeptHeldOut"]

# A prediction is perfect if its error is at most this fraction of the error of the means, which may
# be due to rounding.
PERFECT = 1e-10


@dataclass(frozen=True, eq=False)
class KeptHeldOut:
    """The predictors that are always kept in held-out rows, and what they explain in training rows.

    Attributes
    ----------
    basis : array of shape (h, r)
        The basis of the training rows in the held-out rows, multiplied by the roots of the weights.
    loadings_x, loadings_y : arrays of shapes (r, n_features) and (r, n_targets)
        Loadings of the training rows.
    """

    basis: Array
    loadings_x: Array
    loadings_y: Array


@dataclass(frozen=True, eq=False)
class HeldOut:
    """The held-out rows of a split, and the means and scales of the training rows.

    Attributes
    ----------
    index : ndarray of int, of shape (h,)
        Positions of the rows in the data.
    X, Y : Design
        The rows, multiplied by the roots of their weights.
    roots : array of shape (h,)
        The roots of the weights.
    center_x, inverse_scale : arrays of shape (n_features,)
        Means of the predictors in the training rows, and one over their scales.
    center_y : array of shape (n_targets,)
        Means of the responses in the training rows.
    kept : KeptHeldOut or None
        The predictors that are always kept, if there are any.
    """

    index: np.ndarray
    X: Design
    Y: Design
    roots: Array
    center_x: Array
    inverse_scale: Array
    center_y: Array
    kept: KeptHeldOut | None = None


class HeldOutSample(Sample):
    """The training rows of a split, with models scored by the held-out mean squared error.

    Parameters
    ----------
    form : QuadraticForm
        The form of the training rows, without ridge.
    noise : callable
        ``noise() -> float``: the standard deviation of the noise, for convex starts.
    held_out : HeldOut
        The held-out rows.
    **options
        ``start`` and ``seed`` of :class:`thinrank.selection.samples.Sample`.
    """

    def __init__(
        self,
        form: QuadraticForm,
        noise: Callable[[], float],
        held_out: HeldOut,
        **options: Any,
    ) -> None:
        super().__init__(form, noise, **options)
        self.index, self._roots, self._X = held_out.index, held_out.roots, held_out.X
        self._units = held_out
        Y, roots = held_out.Y, held_out.roots
        everything = arrays.indices(range(Y.shape[1]), form.prototype)
        self.targets = Y.columns(everything) - roots[:, None] * held_out.center_y
        if held_out.kept is not None:
            self.targets -= held_out.kept.basis @ held_out.kept.loadings_y
        self.weight = arrays.norm(roots) ** 2
        self.entries = Y.shape[1] * self.weight
        self._null = arrays.norm(self.targets) ** 2 / self.entries

    def null(self) -> float:
        """Mean squared error of the training means, or of the fit on the kept predictors."""
        return self._null

    def view(self, fit: RowFit) -> HeldOutSample:
        """The responses, and the score of the zero matrix, that tables of a fit use."""
        return self

    @property
    def base(self) -> float:
        """Mean squared error of the training means, from which tables count."""
        return self._null

    @property
    def offsets(self) -> None:
        """Nothing, since errors in tables are exact."""
        return None

    def score(self, fit: Fit | None, sizes: Sizes) -> float:
        """Mean squared error, at least 1e-10 times that of the means."""
        return self.score_of(self.errors(fit))

    def score_of(self, errors: HeldOutErrors) -> float:
        """Score of a fit, from its errors."""
        return max(float(np.sum(errors.rows)) / self.entries, PERFECT * self._null)

    def errors(self, fit: Fit | None) -> HeldOutErrors:
        """Squared errors of the held-out rows and of the responses."""
        residual = self.targets
        if fit is not None:
            residual = residual - (self.predictors(fit.rows) @ fit.U) @ fit.Q.T
        sums = arrays.row_norms_squared(residual), arrays.column_norms_squared(residual)
        return HeldOutErrors(*(arrays.to_numpy(x).astype(np.float64) for x in sums))

    def row_errors(self, fit: Fit | None) -> np.ndarray:
        """Squared errors of the held-out rows, summed over the responses; of shape (h,)."""
        return self.errors(fit).rows

    @cached_property
    def total_errors(self) -> np.ndarray:
        """Squared errors without any predictor, summed over the rows; of shape (n_targets,)."""
        kept = self._units.kept
        if kept is None:
            return self.null_errors()
        squares = arrays.column_norms_squared(self.targets + kept.basis @ kept.loadings_y)
        return arrays.to_numpy(squares).astype(np.float64)

    def null_errors(self) -> np.ndarray:
        """Squared errors of the training means, summed over the rows; of shape (n_targets,)."""
        return arrays.to_numpy(arrays.column_norms_squared(self.targets)).astype(np.float64)

    def rows_forecast(self, fit: Fit, sizes: Sizes, rows: np.ndarray) -> np.ndarray:
        """Scores after removing rows of least cost, Q held fixed; inf for more rows."""
        return forecasts([self.removal(fit, sizes.ridge)], rows)[0]

    def removal(self, fit: Fit, ridge: float) -> Removal | RemovalInOrder | None:
        """What forecasts for fewer rows need; None with more rows than samples."""
        if fit.U.shape[0] == 0:  # left out
            return None
        X = self.predictors(fit.rows)
        if can_forecast(fit):
            return removal(fit, X, self.targets, self._null, self.entries)
        return removal_in_order(self._form(ridge), fit, X, self.targets, self._null, self.entries)

    def predictors(self, rows: Array) -> Array:
        """The held-out rows of some predictors, centred and scaled like the training rows."""
        X = self._X.columns(rows)
        X -= self._roots[:, None] * arrays.take_rows(self._units.center_x, rows)
        kept = self._units.kept
        if kept is not None:
            X -= kept.basis @ arrays.take_columns(kept.loadings_x, rows)
        X *= arrays.take_rows(self._units.inverse_scale, rows)
        return X
