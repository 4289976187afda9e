"""The base class of the baselines: reading data, choosing tuning parameters, storing the fit."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from thinrank import arrays
from thinrank.baselines.sample import Prepared, TrainingSample
from thinrank.core.checks import check_number, is_auto, positive_integer
from thinrank.core.factors import Factors
from thinrank.core.journal import recalled
from thinrank.designs import Dense
from thinrank.estimators.base import FactorRegressor
from thinrank.estimators.fit import whole_fit
from thinrank.estimators.problem import TrainingData
from thinrank.minimize import check_size
from thinrank.selection import estimate_rank
from thinrank.selection.splits import given_splits
from thinrank.solvers.group_lasso import largest_penalty

# Values of the tuning parameters of a baseline, by name; and one solution for each setting.
Setting = dict[str, Any]
Solutions = Iterator[Factors]

# Parts of the documentation of the baselines, in the place of their names in braces.
_SHARED = {
    "    {rank}\n": """\
    rank : int or "auto", default="auto"
        Largest rank of Θ. "auto" uses the rank selection criterion of Bunea, She & Wegkamp
        (2011), :func:`thinrank.selection.estimate_rank`.
""",
    "    {penalties}\n": """\
    n_penalties : int, default=30
        Number of penalties on the path of ``penalty="auto"``.
    {splits}
""",
    "    {splits}\n": """\
    cv, fit_intercept, standardize : default=5, True and True
        Splits by which "auto" chooses, as in scikit-learn (PredefinedSplit for one validation
        set); whether to center X and Y; whether to scale X to columns of unit root mean square,
        of which penalties and thresholds then judge the coefficients.
""",
    "    {model}\n": """\
    factors_, coef_, intercept_, rank_, row_support_, column_support_
        As for :class:`thinrank.SparseReducedRankRegressor`.
    best_params_, cv_results_ : dict
        The parameters that were used, with which the same model can be fitted to other rows; and
        held-out scores of all candidates, as in scikit-learn's GridSearchCV, if ``cv`` chose.
""",
}
# Parameters that can be chosen by "auto", and other numbers of at least 0.
_CHOSEN = ("column_threshold", "penalty", "ridge", "row_threshold")
_NUMBERS = ("gamma", "tol")


class Baseline(FactorRegressor):
    """A regressor that lists candidate settings and solves for them one after another.

    A subclass is a dataclass of its parameters. It implements :meth:`_path`, and :meth:`_settings`
    if it chooses more than a penalty.
    """

    fit_intercept: bool
    standardize: bool
    cv: Any
    rank: int | str
    penalty: float | str
    n_penalties: int
    max_iter: int
    tol: float
    n_iter_: int
    best_params_: Setting
    cv_results_: dict[str, Any]

    # A path of one parameter stops after this many settings in a row without improvement: rule
    # of thumb, about a quarter of a default path. None on grids of several parameters.
    _patience: ClassVar[int | None] = 8
    # Tolerance while the settings of a path are compared; the final fit uses the user's ``tol``.
    _path_tol: ClassVar[float] = 1e-4
    # Where penalties decide whether the model is empty, the rank is at least 1.
    _least_rank: ClassVar[int] = 1

    def __init_subclass__(cls, **options: Any) -> None:
        for name, text in _SHARED.items():
            if cls.__doc__ is not None:  # python -OO removes it
                cls.__doc__ = cls.__doc__.replace(name, text)
        super().__init_subclass__(**options)

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Baseline:
        """Choose the parameters that are "auto", then fit the coefficients to all rows.

        Parameters
        ----------
        X : array, data frame or scipy sparse matrix of shape (n_samples, n_features)
            Predictors. Converted to a dense NumPy array in double precision.
        y : array or data frame of shape (n_samples, n_targets) or (n_samples,)
            Responses Y.
        sample_weight : array of shape (n_samples,), default=None
            Weights of the rows, used in the fit and in the held-out errors.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        with whole_fit(self, X=X, y=y, sample_weight=sample_weight):
            self._check_parameters()
            sample = TrainingSample.read(self, X, y, sample_weight)
            data = sample.prepared(self.fit_intercept, self.standardize)
            settings = self._settings(data)
            several = len(settings) > 1
            self.best_params_ = self._choose(sample, settings) if several else settings[0]
            # run the path to its end: after the last solution, subclasses store n_iter_ and so on
            *_, solution = self._path(data, [self.best_params_], final=True)
            kept = TrainingData(Dense(sample.X), sample.Y, sample.weight)
            self._keep(data.to_user(solution), kept, sample.single_target)
        return self

    def _choose(self, sample: TrainingSample, settings: list[Setting]) -> Setting:
        """The setting with the smallest held-out error."""
        self.cv_results_ = self._cross_validated(sample, settings)
        scores = self.cv_results_["mean_test_score"]
        finite = np.isfinite(scores)
        # to half of the digits, so that rounding errors decide nothing
        rounded = arrays.half_the_digits(np.where(finite, scores, 0.0))
        return settings[int(np.argmax(np.where(finite, rounded, scores)))]

    def _cross_validated(self, sample: TrainingSample, settings: list[Setting]) -> dict[str, Any]:
        """Held-out mean squared error of every setting."""
        weights = np.ones(len(sample.X)) if sample.weight is None else sample.weight
        splits = given_splits(self.cv, sample.X, sample.Y)
        # with rows of positive weight on both sides
        splits = [(a, b) for a, b in splits if weights[a].any() and weights[b].any()]
        if not splits:
            raise ValueError(
                "cv must have a split with rows of positive weight in both parts, but it has none"
            )
        scores = np.empty((len(splits), len(settings)))
        for fold, (train, test) in enumerate(splits):
            parts = sample.rows(train), sample.rows(test)
            scores[fold] = recalled(f"split {fold}", partial(self._scores, *parts, settings))
        mean = scores.mean(axis=0)
        finite = np.isfinite(mean)
        spread = np.where(finite, np.std(np.where(finite, scores, 0), axis=0), 0)
        results: dict[str, Any] = {"params": settings}
        results |= {f"split{i}_test_score": row for i, row in enumerate(scores)}
        results |= {"mean_test_score": mean, "std_test_score": spread}
        order = np.argsort(-mean, kind="stable")
        results["rank_test_score"] = np.empty(len(settings), dtype=np.int64)
        results["rank_test_score"][order] = np.arange(1, len(settings) + 1)
        return results

    def _scores(
        self, sample: TrainingSample, held_out: TrainingSample, settings: list[Setting]
    ) -> np.ndarray:
        """Negative held-out errors along the path, −∞ for settings that are skipped."""
        data = sample.prepared(self.fit_intercept, self.standardize)
        scores = np.full(len(settings), -np.inf)
        since_best, best = 0, -np.inf
        for i, factors in enumerate(self._path(data, settings)):
            scores[i] = -_mean_squared_error(data, factors, held_out)
            since_best = 0 if scores[i] > best else since_best + 1
            best = max(best, scores[i])
            if self._patience is not None and since_best >= self._patience:
                break
        return scores

    def _check_parameters(self) -> None:
        """Raise a ValueError for invalid parameters, before the data are read."""
        for name, value in self.get_params(deep=False).items():
            if name in _NUMBERS or (name in _CHOSEN and not is_auto(value)):
                words = '"auto" or ' * (name in _CHOSEN) + "a finite number of at least 0"
                check_number(name, value, words)
            elif name == "max_iter" or name.startswith("n_"):
                positive_integer(name, value)

    def _settings(self, data: Prepared) -> list[Setting]:
        """The candidate settings in the order of the path; one if nothing is to be chosen."""
        rank = {"rank": self._rank_of(data)} if hasattr(self, "rank") else {}
        penalties = [self.penalty]
        if is_auto(self.penalty):
            penalties = [*self._penalties(data, **rank)]
        return [{**rank, "penalty": float(penalty)} for penalty in penalties]

    def _penalties(self, data: Prepared, rank: int = 0) -> np.ndarray:
        """Candidates in the order of the path: here those of the group lasso, downwards."""
        return penalty_grid(largest_penalty(data.cross, data.shape[0]), self.n_penalties)

    def _tol(self, final: bool) -> float:
        return self.tol if final else max(self.tol, self._path_tol)

    def _end(self, iterations: int) -> None:
        """Store the number of iterations of the final fit, and warn if it is the limit."""
        self.n_iter_ = iterations
        if iterations == self.max_iter:
            warnings.warn(
                f"Stopped at max_iter={self.max_iter} without convergence to tol={self.tol:g}.",
                ConvergenceWarning,
                stacklevel=4,
            )

    def _path(self, data: Prepared, settings: list[Setting], final: bool = False) -> Solutions:
        """One solution per setting, in the units of ``data``; with full accuracy if ``final``."""
        raise NotImplementedError

    def _rank_of(self, data: Prepared) -> int:
        """The given rank, or that of the rank selection criterion."""
        _, p, k = data.shape
        if is_auto(self.rank):
            return max(self._least_rank, estimate_rank(data.X, data.Y, method="rsc"))
        words = "the smaller of predictors and responses"
        check_size("rank", self.rank, min(p, k), words, least=self._least_rank)
        return int(self.rank)


@dataclass(eq=False, repr=False, kw_only=True)
class TunedBaseline(Baseline):
    """A baseline of which ``cv`` chooses parameters."""

    cv: Any = 5
    fit_intercept: bool = True
    standardize: bool = True


@dataclass(eq=False, repr=False, kw_only=True)
class PenalizedBaseline(TunedBaseline):
    """A baseline with a path of penalties, from convex problems that are solved up to ``tol``."""

    n_penalties: int = 30
    tol: float = 1e-6


def penalty_grid(largest: float, count: int) -> np.ndarray:
    """Decreasing penalties, evenly spaced on a logarithmic scale."""
    # down to 0.003; scikit-learn's lasso paths end at 0.001
    return largest * np.geomspace(1.0, 10**-2.5, count) if largest > 0 else np.zeros(1)


def _mean_squared_error(data: Prepared, factors: Factors, held_out: TrainingSample) -> float:
    """Mean squared error over rows, weighted, and responses."""
    user, intercept, *_ = data.to_user(factors)
    residual = held_out.Y - (held_out.X @ user.U) @ user.V.T - intercept
    return float(np.average(np.mean(residual**2, axis=1), weights=held_out.weight))
