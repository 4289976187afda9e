"""Ridge regression of each response, with one penalty for all."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from thinrank.baselines.base import Baseline, check_count, check_number
from thinrank.baselines.sample import Prepared
from thinrank.baselines.separate_columns import factors_of_columns
from thinrank.baselines.tuning import Setting
from thinrank.core.checks import is_auto
from thinrank.core.factors import Factors

# Range of the penalties that "auto" tries, relative to the largest eigenvalue of XᵀX/n: from all
# coefficients close to zero to almost ordinary least squares.
_LARGEST, _SMALLEST = 10.0, 1e-5


class SeparateRidges(Baseline):
    """Ridge regression of each response, with one penalty for all.

    Minimises 1/(2n)·‖Y − XΘ‖² + penalty/2·‖Θ‖².

    Parameters
    ----------
    penalty : float or "auto", default="auto"
        Weight of the ridge penalty; "auto" chooses it by cross-validation.
    n_penalties : int, default=30
        Number of penalties that "auto" tries.
    cv : int, splitter or iterable of splits, default=5
        How "auto" splits the rows.
    fit_intercept : bool, default=True
        Whether to fit an intercept.
    standardize : bool, default=True
        Whether to scale the predictors to unit variance.

    Examples
    --------
    >>> import thinrank as tr
    >>> X, Y, truth = tr.datasets.make_two_way_sparse(60, 10, 4, 2, 5, 4, random_state=0)
    >>> tr.baselines.SeparateRidges(cv=3).fit(X, Y).coef_.shape
    (4, 10)
    """

    def __init__(
        self,
        penalty: float | str = "auto",
        *,
        n_penalties: int = 30,
        cv: Any = 5,
        fit_intercept: bool = True,
        standardize: bool = True,
    ) -> None:
        self.penalty = penalty
        self.n_penalties = n_penalties
        self.cv = cv
        self.fit_intercept = fit_intercept
        self.standardize = standardize

    def _check_parameters(self) -> None:
        check_number("penalty", self.penalty)
        check_count("n_penalties", self.n_penalties)

    def _settings(self, data: Prepared) -> list[Setting]:
        if not is_auto(self.penalty):
            return [{"penalty": float(self.penalty)}]
        values = data.svd[1]  # none if all predictors are constant
        largest = float(values[0]) ** 2 / data.shape[0] if values.size else 1.0
        parts = np.geomspace(_LARGEST, _SMALLEST, self.n_penalties)
        return [{"penalty": largest * float(part)} for part in parts]

    def _path(
        self, data: Prepared, settings: Sequence[Setting], final: bool = False
    ) -> Iterator[Factors]:
        left, values, right = data.svd
        scores = left.T @ data.Y
        for setting in settings:
            shrunk = values / (values**2 + data.shape[0] * setting["penalty"])
            theta = right @ (shrunk[:, None] * scores)
            yield factors_of_columns(theta)
