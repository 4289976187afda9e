"""All rows as one sample, with models scored by a criterion that is built from the deviance."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from thinrank import arrays
from thinrank.core.sizes import Sizes
from thinrank.forms.working import WorkingForm
from thinrank.losses.generalized_linear import GeneralizedLinear
from thinrank.selection.criteria import Complexity, Criterion
from thinrank.selection.criterion_sample import CriterionSample
from thinrank.selection.loss_sample import LossSample
from thinrank.selection.tables import Directions, RowFit, column_changes
from thinrank.solvers.fits import Fit

# A response is taken to be explained up to this fraction at most: predictions for other ranks and
# columns are approximations, which can be too low. The noise is limited in the same way, at a tenth
# of the standard deviation.
_MIN_LEFT = 0.01

__all__ = ["LossCriterionSample"]


class LossCriterionSample(LossSample, CriterionSample):
    """A sample whose models are scored by the deviance of the training rows plus a penalty.

    Where the noise has a scale that is estimated (Gaussian and Huber families), the sum of the
    logarithms of the deviances of the responses, times their numbers of entries, takes its place.
    It is the likelihood of responses with a noise level each.

    Parameters
    ----------
    loss : GeneralizedLinear
        The loss, without ridge.
    criterion : Criterion
        The criterion.
    select_rows, select_columns : bool
        Whether rows and columns are selected.
    **options
        ``start`` and ``seed`` of :class:`thinrank.selection.loss_sample.LossSample`.
    """

    def __init__(
        self,
        loss: GeneralizedLinear,
        criterion: Criterion,
        select_rows: bool,
        select_columns: bool,
        **options: Any,
    ) -> None:
        LossSample.__init__(self, loss, **options)
        self._criterion = criterion
        self._selects = select_rows, select_columns

    def score(self, fit: Fit | None, sizes: Sizes) -> float:
        """The criterion, with the deviances of the fit itself."""
        if fit is None or fit.U.shape[1] == 0:
            return self.null()
        known = self._directions(fit, sizes.rank, fit.columns)
        if known.weights.shape[0] == 0:
            return self.null()
        overlap = arrays.to_numpy(known.map.T @ known.map).astype(np.float64) * sizes.ridge
        complexity = self._corrected(fit, known, overlap, sizes.ridge)
        place = np.s_[-1:, sizes.columns - 1 : sizes.columns]
        values = 2 * arrays.to_numpy(self._training.at(fit.factors).values).astype(np.float64)
        total = np.asarray(self._residuals(values[None, :])[:, -1:])
        if not self._training.family.units:
            total = np.asarray([[self.form.samples * float(np.sum(values))]])
        degrees = np.broadcast_to(complexity.degrees, known.weights.shape)[place]
        complexity = replace(complexity, degrees=degrees, columns=sizes.columns)
        return float(self._penalised(total, complexity)[0, 0])

    def _form_at(self, fit: Any) -> WorkingForm:
        return self.form_around(getattr(fit, "around", fit))

    def _scores(self, known: Directions, fit: RowFit, ridge: float) -> np.ndarray:
        if not self._training.family.units:
            return super()._scores(known, fit, ridge)
        overlap = arrays.to_numpy(known.map.T @ known.map).astype(np.float64) * ridge
        inner = np.eye(len(overlap)) - overlap
        weights = arrays.to_numpy(known.weights)
        changes = column_changes(weights, weights, inner)
        constants = arrays.to_numpy(self._form_at(fit).constants).astype(np.float64)
        residual = self._residuals(constants[None, :] + changes)
        return self._penalised(residual, self._corrected(fit, known, overlap, ridge))

    def _residuals(self, deviances: np.ndarray) -> np.ndarray:
        """Sums of squares with the same logarithms, for 1, 2, … columns, the best ones first.

        The criterion of least squares has N·log(RSS), this one Σⱼ mⱼ·log(RSSⱼ).
        """
        null = arrays.to_numpy(self.form.constants).astype(np.float64)[None, :]
        left = np.maximum(deviances, _MIN_LEFT * null)
        gains = self._entries * np.log(
            np.where(null > 0, left / np.where(null > 0, null, 1.0), 1.0)
        )
        gains = np.cumsum(np.sort(gains, axis=-1), axis=-1)
        total = self.form.samples * self.form.constant
        return total * np.exp(gains / self.form.observations)

    def _corrected(
        self, fit: RowFit, known: Directions, overlap: np.ndarray, ridge: float
    ) -> Complexity:
        """The complexity, with degrees of freedom as in the AIC for small samples.

        With d degrees of freedom and m entries per response they are counted m/(m − d − 1) times
        (Hurvich & Tsai 1989), since every response has its own noise level.
        """
        lost = ridge * arrays.norm(fit.root) ** 2 if ridge else 0.0
        complexity = self._complexity(fit, known, 1.0 - np.diag(overlap), lost)
        if not self._training.family.units:
            return complexity
        degrees = np.asarray(complexity.degrees, dtype=float)
        entries = float(np.mean(self._entries))
        left = entries - degrees / np.asarray(complexity.columns) - 1
        return replace(
            complexity, degrees=degrees * np.where(left > 0, entries / np.maximum(left, 1e-9), 1e9)
        )

    @cached_property
    def _entries(self) -> np.ndarray:
        """Number of observed entries of every response."""
        weight = self._training.weights()
        xp = arrays.namespace(weight)
        return arrays.to_numpy(xp.sum(xp.astype(weight > 0, weight.dtype), axis=0))

    def _penalised(self, residual: np.ndarray, complexity: Complexity) -> np.ndarray:
        scores = super()._penalised(residual, complexity)
        if self._training.family.units:
            return scores
        penalty = self._criterion.penalty(self.form.observations, complexity)
        deviance = residual - self.form.samples * self.form.constant
        return np.where(np.isfinite(scores), deviance + penalty, np.inf)
