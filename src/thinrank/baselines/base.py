"""What the rivals share: reading data, choosing tuning parameters, keeping the answer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np

from thinrank.baselines.sample import Prepared, TrainingSample
from thinrank.baselines.tuning import Setting, cross_validate
from thinrank.core.checks import is_auto
from thinrank.core.factors import Factors
from thinrank.estimators.base import FactorRegressor
from thinrank.minimize import check_size
from thinrank.selection import estimate_rank

__all__ = ["Baseline", "check_count", "check_number"]


class Baseline(FactorRegressor):
    """A regressor that lists its candidate settings and solves for them one after another.

    A subclass supplies :meth:`_settings` and :meth:`_path`; tuning, units and storage are here.
    """

    fit_intercept: bool
    standardize: bool
    cv: Any
    best_params_: Setting
    cv_results_: dict[str, Any]

    # Settings without improvement after which a path of one parameter is left; None on grids.
    _patience: ClassVar[int | None] = 8

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Baseline:
        """Choose what is "auto", then fit the coefficients on all rows.

        Parameters
        ----------
        X : array, data frame or scipy sparse matrix of shape (n, p)
            NumPy only; made dense, in double precision.
        y : array or data frame of shape (n, k) or (n,)
            Responses Y.
        sample_weight : array of shape (n,), optional
            Weights of the rows, in the fit and in the held-out errors.

        Returns
        -------
        self
        """
        self._check_parameters()
        sample = TrainingSample.read(self, X, y, sample_weight)
        data = sample.prepared(self.fit_intercept, self.standardize)
        settings = self._settings(data)
        self.best_params_ = settings[0] if len(settings) == 1 else self._choose(sample, settings)
        # to the end of the path: what follows the last solution records how it went
        *_, solution = self._path(data, [self.best_params_], final=True)
        self._keep(*data.to_user(solution), sample.single_target)
        return self

    def _choose(self, sample: TrainingSample, settings: list[Setting]) -> Setting:
        """The setting with the smallest held-out error."""
        self.cv_results_ = cross_validate(
            self._path,
            sample,
            settings,
            self.cv,
            fit_intercept=self.fit_intercept,
            standardize=self.standardize,
            patience=self._patience,
        )
        return settings[int(np.argmax(self.cv_results_["mean_test_score"]))]

    def _check_parameters(self) -> None:
        """Refuse what cannot be meant, before the data are looked at."""

    def _settings(self, data: Prepared) -> list[Setting]:
        """The candidates, in the order of the path; one when nothing is to be chosen."""
        raise NotImplementedError

    def _path(
        self, data: Prepared, settings: Sequence[Setting], final: bool = False
    ) -> Iterator[Factors]:
        """Solutions in the units of ``data``; ``final`` asks for full accuracy."""
        raise NotImplementedError

    def _rank_of(self, data: Prepared) -> int:
        """The rank asked for, or the rank selection criterion's, at least 1.

        The penalties decide whether anything is in the model at all.
        """
        rank = getattr(self, "rank", None)
        _, p, k = data.shape
        if is_auto(rank):
            return max(1, estimate_rank(data.X, data.Y, method="rsc"))
        check_size("rank", rank, min(p, k), "the smaller of predictors and responses")
        return int(rank)  # type: ignore[arg-type]


def check_number(name: str, value: Any) -> None:
    """Raise a ValueError unless ``value`` is "auto" or a finite number of at least 0."""
    number = isinstance(value, Real) and not isinstance(value, (bool, np.bool_))
    if is_auto(value) or (number and 0 <= float(value) < float("inf")):
        return
    raise ValueError(f'{name} must be "auto" or a finite number of at least 0, got {value!r}')


def check_count(name: str, value: Any, least: int = 1) -> None:
    """Raise a ValueError unless ``value`` is an integer of at least ``least``."""
    integral = isinstance(value, Integral) and not isinstance(value, (bool, np.bool_))
    if not (integral and value >= least):
        raise ValueError(f"{name} must be an integer of at least {least}, got {value!r}")
