"""All rows as one sample, with models scored by a criterion that is built from the deviance."""

from __future__ import annotations

from typing import Any

import numpy as np

from thinrank.core.contracts import QuadraticForm
from thinrank.losses.generalized_linear import GeneralizedLinear
from thinrank.selection.criteria import Complexity, Criterion
from thinrank.selection.criterion_sample import CriterionSample
from thinrank.selection.loss_sample import LossSample
from thinrank.selection.tables import RowFit

__all__ = ["LossCriterionSample"]


class LossCriterionSample(LossSample, CriterionSample):
    """A sample whose models are scored by the deviance of the training rows plus a penalty.

    Where the noise has a scale that is estimated (Gaussian and Huber families), the logarithm of
    the deviance takes its place, as for least squares.

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

    def _form_at(self, fit: RowFit) -> QuadraticForm:
        return self.form_around(getattr(fit, "around", fit))

    def _penalised(self, residual: np.ndarray, complexity: Complexity) -> np.ndarray:
        scores = super()._penalised(residual, complexity)
        if self._training.family.units:
            return scores
        penalty = self._criterion.penalty(self.form.observations, complexity)
        deviance = residual - self.form.samples * self.form.constant
        return np.where(np.isfinite(scores), deviance + penalty, np.inf)
