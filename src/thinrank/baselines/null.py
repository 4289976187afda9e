"""The baseline that ignores the predictors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from thinrank.baselines.base import Baseline
from thinrank.baselines.sample import Prepared
from thinrank.baselines.tuning import Setting
from thinrank.core.factors import Factors


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

    def __init__(self, *, fit_intercept: bool = True) -> None:
        self.fit_intercept = fit_intercept

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = True
        return tags

    def _settings(self, data: Prepared) -> list[Setting]:
        return [{}]

    def _path(
        self, data: Prepared, settings: Sequence[Setting], final: bool = False
    ) -> Iterator[Factors]:
        _, p, k = data.shape
        for _ in settings:
            yield Factors.zero((p, k), like=data.X)
