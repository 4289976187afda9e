"""The base class of the baselines: reading data, choosing tuning parameters, storing the fit."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from thinrank import arrays
from thinrank.baselines.sample import Prepared, TrainingSample
from thinrank.baselines.tuning import Setting, cross_validate, penalty_grid
from thinrank.core.checks import check_number, is_auto, positive_integer
from thinrank.core.factors import Factors
from thinrank.estimators.base import FactorRegressor
from thinrank.estimators.fit import whole_fit
from thinrank.minimize import check_size
from thinrank.selection import estimate_rank
from thinrank.solvers.group_lasso import largest_penalty

# Parts of the documentation of all baselines, in the place of their names in braces.
_SHARED = {
    "    {splits}\n": """\
    cv, fit_intercept, standardize : default=5, True and True
        Splits by which "auto" chooses, as in scikit-learn (PredefinedSplit for one validation
        set); whether to center X and Y; whether to scale X to columns of unit root mean square,
        of which penalties and thresholds then judge the coefficients.
""",
    "    {chosen}\n": """\
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
    if it has more than one penalty to choose. This class chooses the setting, converts between
    units and stores the fit.
    """

    fit_intercept: bool
    standardize: bool
    cv: Any
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
            self._keep(data.to_user(solution), sample.data, sample.single_target)
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
        scores = self.cv_results_["mean_test_score"]
        finite = np.isfinite(scores)
        # to half of the digits, so that rounding errors decide nothing
        rounded = arrays.half_the_digits(np.where(finite, scores, 0.0))
        return settings[int(np.argmax(np.where(finite, rounded, scores)))]

    def _check_parameters(self) -> None:
        """Raise a ValueError for invalid parameters, before the data are read."""
        for name, value in self.get_params(deep=False).items():
            if name in _NUMBERS or (name in _CHOSEN and not is_auto(value)):
                words = '"auto" or ' * (name in _CHOSEN) + "a finite number of at least 0"
                check_number(name, value, words)
            elif name == "max_iter" or name.startswith("n_"):
                positive_integer(name, value)

    def _settings(self, data: Prepared) -> list[Setting]:
        """The candidate settings in the order of the path; one if nothing is to be chosen.

        Here: one penalty, from the smallest one with all coefficients zero downwards.
        """
        rank = {"rank": self._rank_of(data)} if hasattr(self, "rank") else {}
        if not is_auto(self.penalty):
            return [{**rank, "penalty": float(self.penalty)}]
        grid = penalty_grid(self._largest_penalty(data), self.n_penalties)
        return [{**rank, "penalty": penalty} for penalty in grid]

    def _largest_penalty(self, data: Prepared) -> float:
        """The smallest penalty with all coefficients zero: here that of the group lasso."""
        return largest_penalty(data.cross, data.shape[0])

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

    def _path(
        self, data: Prepared, settings: Sequence[Setting], final: bool = False
    ) -> Iterator[Factors]:
        """One solution per setting, in the units of ``data``; with full accuracy if ``final``."""
        raise NotImplementedError

    def _rank_of(self, data: Prepared) -> int:
        """The given rank, or that of the rank selection criterion, at least 1.

        At least 1, since it is the penalties that decide whether the model is empty.
        """
        rank = getattr(self, "rank", None)
        _, p, k = data.shape
        if is_auto(rank):
            return max(1, estimate_rank(data.X, data.Y, method="rsc"))
        check_size("rank", rank, min(p, k), "the smaller of predictors and responses")
        return int(rank)  # type: ignore[arg-type]


@dataclass(eq=False, repr=False, kw_only=True)
class PenalizedBaseline(Baseline):
    """A baseline with a path of penalties, of which ``cv`` chooses one."""

    n_penalties: int = 30
    cv: Any = 5
    fit_intercept: bool = True
    standardize: bool = True
