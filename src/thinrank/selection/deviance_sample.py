"""The training rows of a split under any family, with models scored by held-out deviance."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from thinrank import arrays
from thinrank.arrays import Array
from thinrank.core.contracts import Design
from thinrank.core.factors import Factors
from thinrank.core.sizes import Sizes
from thinrank.losses.generalized_linear import GeneralizedLinear
from thinrank.losses.profile import profiled
from thinrank.selection.elimination import Removal, can_forecast, forecasts, removal
from thinrank.selection.evaluation import HeldOutErrors
from thinrank.selection.held_out_sample import PERFECT
from thinrank.selection.loss_sample import LossSample
from thinrank.solvers.fits import Fit

__all__ = ["DevianceSample", "HeldOutEntries"]


@dataclass(frozen=True, eq=False)
class HeldOutEntries:
    """The held-out rows of a split.

    Attributes
    ----------
    index : ndarray of int, of shape (h,)
        Positions of the rows in the data.
    X : Design of shape (h, n_features)
        Predictors, centred and scaled like the training rows.
    Y : array of shape (h, n_targets)
        Responses.
    weight : array of shape (h, n_targets)
        Weights of the entries, 0 for missing ones.
    offset : array of shape (h, n_targets) or None
        Offsets.
    free : array of shape (h, n_free) or None
        Free predictors.
    intercepts : int
        Number of free predictors that are intercepts, 0 or 1; the first is. The others are
        predictors that are always kept.
    """

    index: np.ndarray
    X: Design
    Y: Array
    weight: Array
    offset: Array | None
    free: Array | None
    intercepts: int = 1


@dataclass(frozen=True, eq=False)
class _View:
    """Held-out responses that squared errors approximate the held-out deviance with.

    Attributes
    ----------
    targets : array of shape (h, n_targets)
        Working responses.
    base : float
        Score of the zero matrix, by this approximation unless there are offsets.
    offsets : ndarray of shape (n_targets,) or None
        What the approximation adds to the deviances of the responses without predictors.
    """

    targets: Array
    base: float
    offsets: np.ndarray | None = None


class DevianceSample(LossSample):
    """The training rows of a split, with models scored by the mean deviance of held-out entries.

    Tables and forecasts come from a quadratic approximation of the deviance around a fit, with the
    mean curvature of every response, so that they agree with the deviance at the fit itself.

    Parameters
    ----------
    training : GeneralizedLinear
        The loss of the training rows, without ridge.
    held_out : HeldOutEntries
        The held-out rows.
    **options
        ``start`` and ``seed`` of :class:`thinrank.selection.loss_sample.LossSample`.
    """

    def __init__(
        self,
        training: GeneralizedLinear,
        held_out: HeldOutEntries,
        **options: Any,
    ) -> None:
        super().__init__(training, **options)
        self._held_out = held_out
        self.index = held_out.index
        xp = arrays.namespace(held_out.weight)
        self.entries = float(xp.sum(held_out.weight))
        self.weight = self.entries / training.shape[1]
        self._null_deviances = self._deviances(self._linear(None))
        self._null = float(xp.sum(self._null_deviances)) / self.entries

    # ------------------------------------------------------------------ scores

    def null(self) -> float:
        """Mean deviance without predictors."""
        return self._null

    def null_errors(self) -> np.ndarray:
        """Deviances without predictors, summed over the rows; of shape (n_targets,)."""
        total = arrays.namespace(self._null_deviances).sum(self._null_deviances, axis=0)
        return arrays.to_numpy(total).astype(np.float64)

    def score(self, fit: Fit | None, sizes: Sizes) -> float:
        """Mean deviance, at least 1e-10 times that without predictors."""
        return self.score_of(self.errors(fit))

    def score_of(self, errors: HeldOutErrors) -> float:
        """Score of a fit, from its errors."""
        return max(float(np.sum(errors.rows)) / self.entries, PERFECT * self._null)

    def errors(self, fit: Fit | None) -> HeldOutErrors:
        """Deviances of the held-out rows and of the responses."""
        deviances = self._null_deviances
        if fit is not None and fit.U.shape[1] > 0:
            deviances = self._deviances(self._linear(fit.factors, fit.rows))
        xp = arrays.namespace(deviances)
        sums = xp.sum(deviances, axis=1), xp.sum(deviances, axis=0)
        return HeldOutErrors(*(arrays.to_numpy(x).astype(np.float64) for x in sums))

    def row_errors(self, fit: Fit | None) -> np.ndarray:
        """Deviances of the held-out rows, summed over the responses; of shape (h,)."""
        return self.errors(fit).rows

    @cached_property
    def total_errors(self) -> np.ndarray:
        """Deviances without any predictor, summed over the rows; of shape (n_targets,)."""
        held_out, training = self._held_out, self._training
        ones = held_out.intercepts
        if held_out.free is None or training.free is None or held_out.free.shape[1] == ones:
            return self.null_errors()
        inside = training.Y * 0 if training.offset is None else training.offset
        free = training.free[:, :ones]
        own = profiled(training.family, training.Y, training.weights(), inside, free, None)[0]
        linear = held_out.free[:, :ones] @ own
        if held_out.offset is not None:
            linear = linear + held_out.offset
        total = arrays.namespace(linear).sum(self._deviances(linear), axis=0)
        return arrays.to_numpy(total).astype(np.float64)

    def _linear(self, factors: Factors | None, rows: Array | None = None) -> Array:
        """Linear predictors of the held-out entries, for factors that vanish outside ``rows``."""
        point = self._training.null if factors is None else self._training.at(factors)
        held_out = self._held_out
        linear = held_out.Y * 0
        if factors is not None and rows is not None:
            scores = self.predictors(rows) @ arrays.take_rows(factors.U, rows)
            linear = linear + scores @ (factors.V * self._training.unit[:, None]).T
        if held_out.offset is not None:
            linear = linear + held_out.offset
        if held_out.free is not None:
            linear = linear + held_out.free @ point.free
        return linear

    def _deviances(self, linear: Array) -> Array:
        held_out = self._held_out
        return self._training.family.deviance(held_out.Y, linear) * held_out.weight

    def predictors(self, rows: Array) -> Array:
        """The held-out rows of some predictors, centred and scaled like the training rows."""
        return self._held_out.X.columns(rows)

    # ------------------------------------------------------------------ tables

    def view(self, fit: Any) -> _View:
        """Working responses of the held-out entries, around a fit."""
        around = getattr(fit, "around", fit)
        if around is None:
            targets, _ = self._working(None, None, self.form.column_scale)
            return _View(targets, self._null)
        completed = around.completed
        factors = around.factors if completed is None else completed
        targets, at_zero = self._working(factors, around.rows, around.column_scale)
        if completed is None:
            return _View(targets, self._mean(at_zero))
        # so that responses that are left out have their deviance without predictors
        offsets = arrays.to_numpy(at_zero).astype(np.float64) - self.null_errors()
        return _View(targets, self._null, offsets)

    def _mean(self, totals: Array) -> float:
        return float(arrays.namespace(totals).sum(totals)) / self.entries

    def _working(
        self, factors: Factors | None, rows: Array | None, scale: Array | None
    ) -> tuple[Array, Array]:
        """Working responses, and the approximate deviances of the responses at zero."""
        training, held_out = self._training, self._held_out
        linear = self._linear(factors, rows)
        assert scale is not None
        xp = arrays.namespace(scale)
        derivative = training.family.derivative(held_out.Y, linear) * held_out.weight
        targets = -derivative * (training.unit / scale)
        if factors is None or rows is None:
            return targets, xp.sum(self._null_deviances, axis=0)
        scores = self.predictors(rows) @ arrays.take_rows(factors.U, rows)
        fitted = scores @ (factors.V * scale[:, None]).T
        targets = targets + fitted
        at_zero = self._deviances(linear) - fitted * (fitted - 2 * targets)
        return targets, xp.sum(at_zero, axis=0)

    def rows_forecast(self, fit: Fit, sizes: Sizes, rows: np.ndarray) -> np.ndarray:
        """Scores after removing rows of least cost one by one, Q held fixed; inf for more rows."""
        return forecasts([self.removal(fit, sizes.ridge)], rows)[0]

    def removal(self, fit: Fit, ridge: float) -> Removal | None:
        """What forecasts for fewer rows need; None if there are too many rows for them."""
        if not can_forecast(fit):
            return None
        targets, at_zero = self._working(fit.factors, fit.rows, fit.column_scale)
        X = self.predictors(fit.rows)
        return removal(fit, X, targets, self._mean(at_zero), self.entries)
