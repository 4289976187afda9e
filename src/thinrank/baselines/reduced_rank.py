"""Reduced-rank regression as an estimator, with or without a ridge penalty."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np

from thinrank.baselines.base import Baseline, Setting, Solutions, TunedBaseline
from thinrank.baselines.sample import Prepared
from thinrank.core.checks import is_auto
from thinrank.core.factors import Factors


@dataclass(eq=False, repr=False)
class ReducedRankRegression(TunedBaseline):
    """Reduced-rank regression: low rank, no sparsity.

    Minimizes 1/(2n)·‖Y − XΘ‖² + ridge/2·‖Θ‖² in closed form, over Θ of rank at most ``rank``, which
    may be 0. If predictors are linearly dependent, or nearly so (singular values of X below 1e-6
    times the largest), the solution is that of least norm.

    Parameters
    ----------
    {rank}
    ridge : float or "auto", default=0.0
        Weight of ½‖Θ‖². "auto" chooses by ``cv``.
    n_ridges : int, default=12
        Number of positive candidates for ``ridge="auto"``, evenly spaced on a logarithmic scale;
        0 is a candidate too.
    {splits}

    Attributes
    ----------
    {model}

    References
    ----------
    A. Izenman, Reduced-rank regression for the multivariate linear model, Journal of Multivariate
    Analysis 5 (1975). A. Mukherjee and J. Zhu, Reduced rank ridge regression and its kernel
    extensions, Statistical Analysis and Data Mining 4 (2011).

    Examples
    --------
    >>> import thinrank as tr
    >>> X, Y, truth = tr.datasets.make_two_way_sparse(200, 50, 40, rank=3, random_state=0)
    >>> tr.baselines.ReducedRankRegression().fit(X, Y).rank_
    3
    """

    _least_rank = 0

    rank: int | str = "auto"
    ridge: float | str = 0.0
    _: KW_ONLY
    n_ridges: int = 12

    def _settings(self, data: Prepared) -> list[Setting]:
        rank = self._rank_of(data)
        if not is_auto(self.ridge):
            return [{"rank": rank, "ridge": float(self.ridge)}]
        typical = float(np.mean(data.svd[1] ** 2)) / data.shape[0] if data.svd[1].size else 1.0
        ridges = [*(float(x) for x in typical * np.geomspace(10, 1e-4, self.n_ridges)), 0.0]
        return [{"rank": rank, "ridge": ridge} for ridge in ridges]

    def _path(self, data: Prepared, settings: list[Setting], final: bool = False) -> Solutions:
        for setting in settings:
            yield data.reduced_rank(setting["rank"], setting["ridge"])


@dataclass(eq=False, repr=False)
class NullRegressor(Baseline):
    """Predict the mean of the training rows, whatever the predictors are.

    Any useful method has a smaller error than this one.

    Parameters
    ----------
    fit_intercept : bool, default=True
        Whether to predict the means of the responses. If False, predict zero.

    Attributes
    ----------
    factors_, coef_, intercept_, rank_, row_support_, column_support_
        Of rank 0, with empty supports.

    Examples
    --------
    >>> import thinrank as tr
    >>> X, Y, _ = tr.datasets.make_two_way_sparse(random_state=0)
    >>> tr.baselines.NullRegressor().fit(X, Y).rank_
    0
    """

    standardize = False

    _: KW_ONLY
    fit_intercept: bool = True

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = True
        return tags

    def _settings(self, data: Prepared) -> list[Setting]:
        return [{}]

    def _path(self, data: Prepared, settings: list[Setting], final: bool = False) -> Solutions:
        _, p, k = data.shape
        for _ in settings:
            yield Factors.zero((p, k), like=data.X)
