"""How a regressor is fitted to targets at state-action pairs.

X is block diagonal over the actions. There are four ways to fit:

- By default, a common part of all tasks and deviations from it, see
  :mod:`thinrank.rl.common_part`.
- Estimators of thinrank share rank and rows over tasks and actions. One fit on X, as a Design.
- Baselines of thinrank share rows over tasks. Their penalties are sums over the rows of Θ, so that
  the problem separates over actions: one fit per action on Φ, with all tasks as responses. An
  automatic penalty is then chosen for each action, and a rank is that of the block of an action.
- Regressors of scikit-learn share nothing: one fit per task and action on Φ. With fixed parameters
  this is the fit on X; automatic parameters are chosen for each task and action.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from scipy import sparse
from sklearn.base import clone

from thinrank.core.checks import is_auto
from thinrank.core.factors import Factors
from thinrank.estimators import SparseReducedRankRegressor, SparseReducedRankRegressorCV
from thinrank.estimators.base import FactorRegressor
from thinrank.minimize import as_solver
from thinrank.rl.action_values import ActionValues, LinearValues, PredictedValues
from thinrank.rl.common_part import CommonPart, CommonPartRegression
from thinrank.rl.features import Features
from thinrank.rl.own_rows import EpisodeLoss, OwnRows, cannot_take_own_rows
from thinrank.rl.targets import Rows
from thinrank.solvers import Pursuit

# Number of rows at which the predictions of a regressor are compared with its coefficients, to find
# out whether it is linear. A few suffice: other link functions differ at every row.
_ROWS_TO_TRY = 8


class Regression(Protocol):
    """A regressor and what it keeps from one iteration to the next."""

    def fit(self, rows: Rows, targets: np.ndarray, tune: bool) -> ActionValues:
        """Fit to targets; automatic parameters are chosen again if ``tune``, otherwise kept."""
        ...


def as_regression(
    regressor: Any, features: Features, *, pooled: bool, warm_start: bool, seed: int
) -> Regression:
    """How to fit a regressor; see the docstring of this module."""
    if regressor is None:
        regressor = CommonPart()
    if isinstance(regressor, CommonPart):
        return CommonPartRegression(regressor, features, pooled, seed)
    for method in ("fit", "predict", "get_params"):
        if isinstance(regressor, type) or not hasattr(regressor, method):
            raise TypeError(
                "regressor must be a regressor of thinrank or scikit-learn, "
                f"got {regressor!r} without a method {method}"
            )
    found: Regression
    if isinstance(regressor, (SparseReducedRankRegressor, SparseReducedRankRegressorCV)):
        found = JointRegression(regressor, features, warm_start, seed)
    else:
        together = isinstance(regressor, FactorRegressor)
        found = BlockwiseRegression(regressor, features, together)
    return PooledRegression(found) if pooled else found


class JointRegression:
    """One fit to all tasks and actions, on the block-diagonal design."""

    def __init__(self, regressor: Any, features: Features, warm_start: bool, seed: int) -> None:
        self._regressor, self._features = regressor, features
        self._warm_start, self._seed = warm_start, seed
        self._settled: Any = None
        self._before: Factors | None = None
        self._own: OwnRows | None = None

    def fit(self, rows: Rows, targets: np.ndarray, tune: bool) -> LinearValues:
        """Fit, starting from the last solution."""
        if rows.owner is not None:
            return self._fit_own_rows(rows, targets, tune)
        est = clone(self._regressor if tune or self._settled is None else self._settled)
        parameters = est.get_params(deep=False)
        if isinstance(parameters.get("cv"), (int, np.integer)):
            est.set_params(cv=rows.folds(int(parameters["cv"]), self._seed))
        if not _searches_by_pursuit(parameters):
            est.set_params(start=self._start(parameters["start"]))
        est.fit(rows.design, targets)
        self._settled = _settled(self._regressor, est) or self._settled
        return self._kept(est.factors_, est.intercept_, rows)

    def _fit_own_rows(self, rows: Rows, targets: np.ndarray, tune: bool) -> LinearValues:
        """Fit the sum of the tasks' own least squares."""
        if self._own is None:
            self._own = OwnRows(self._regressor)
        loss = EpisodeLoss(rows, targets)
        start = self._start(self._regressor.get_params(deep=False)["start"])
        return self._kept(self._own.fit(loss, start, tune), 0.0, rows)

    def _start(self, asked: Any) -> Any:
        """The last solution, unless the user asked for another start."""
        mine = is_auto(asked) and self._warm_start
        return self._before if mine and self._before is not None else asked

    def _kept(self, factors: Factors, intercept: Any, rows: Rows) -> LinearValues:
        self._before = factors if factors.rank else None
        everywhere = np.broadcast_to(intercept, (len(rows.blocks), rows.n_tasks))
        return LinearValues(self._features, factors, everywhere)


class BlockwiseRegression:
    """One fit per action, for all tasks together or for each task separately.

    The regressors are the same objects in all iterations, so that ``warm_start=True`` of
    scikit-learn takes effect.
    """

    def __init__(self, regressor: Any, features: Features, together: bool) -> None:
        self._regressor, self._features, self._together = regressor, features, together
        self._fitted: dict[tuple[int, int], Any] = {}
        self._settled: dict[tuple[int, int], Any] = {}

    def fit(self, rows: Rows, targets: np.ndarray, tune: bool) -> ActionValues:
        """Fit one block after another."""
        if rows.owner is not None and self._together:
            raise cannot_take_own_rows(self._regressor)
        groups = 1 if self._together else rows.n_tasks
        actions, width = len(rows.blocks), rows.n_features
        theta = np.zeros((actions, width, rows.n_tasks))
        intercept = np.zeros((actions, rows.n_tasks))
        linear = True
        for group in range(groups):
            columns = slice(None) if self._together else slice(group, group + 1)
            for action in range(actions):
                X, Y = self._data(rows, targets, group, action)
                est = self._fit_one((group, action), X, Y, tune)
                linear = linear and _is_linear(est, X)
                if linear:
                    theta[action][:, columns] = _coefficients(est)
                    intercept[action, columns] = est.intercept_
        if linear:
            flat = theta.reshape(actions * width, rows.n_tasks)
            factors = Factors.from_theta(flat, rank=min(flat.shape))
            return LinearValues(self._features, factors, intercept)
        each = [[self._fitted[group, a] for a in range(actions)] for group in range(groups)]
        return PredictedValues(self._features, each)

    def _data(
        self, rows: Rows, targets: np.ndarray, group: int, action: int
    ) -> tuple[Any, np.ndarray]:
        block, where = rows.blocks[action], rows.ranges[action]
        if self._together:
            return block, targets[where]
        if rows.owner is None:
            return block, targets[where, group]
        own = np.flatnonzero(rows.owner[where] == group)
        if not len(own):
            raise ValueError(
                f"task {group} has no transition with action {action}, but "
                f"{type(self._regressor).__name__} is fitted for each task and action"
            )
        return block[own], targets[where][own]

    def _fit_one(self, place: tuple[int, int], X: Any, Y: np.ndarray, tune: bool) -> Any:
        if not tune and place in self._settled:
            est = clone(self._settled[place])
        elif place in self._fitted and not self._settled:
            est = self._fitted[place]
        else:
            est = clone(self._regressor)
        est.fit(X, Y)
        settled = _settled(self._regressor, est)
        if settled is not None:
            self._settled[place] = settled
        # a search predicts by its best regressor, which may be linear
        self._fitted[place] = getattr(est, "best_estimator_", est)
        return self._fitted[place]


class PooledRegression:
    """All tasks treated as one task, with a single response.

    If the tasks share their rows, the response is the mean over the tasks, which has the same
    least-squares solution as the data of all tasks stacked.
    """

    def __init__(self, inner: Regression) -> None:
        self._inner = inner
        self._rows: Rows | None = None  # kept, because its design caches results

    def fit(self, rows: Rows, targets: np.ndarray, tune: bool) -> ActionValues:
        """Fit the coefficients of one task, and use them for all tasks."""
        if self._rows is None or self._rows.blocks is not rows.blocks:
            self._rows = Rows(rows.blocks, 1)
        single = targets.mean(axis=1) if rows.owner is None else targets
        return self._inner.fit(self._rows, single[:, None], tune).repeated(rows.n_tasks)


def _searches_by_pursuit(parameters: dict[str, Any]) -> bool:
    """Whether sizes are searched for, and pursuit continues from the result of the search."""
    sizes = [parameters.get(name) for name in ("rank", "row_sparsity", "column_sparsity", "ridge")]
    pursuit = isinstance(as_solver(parameters["solver"]), Pursuit)
    return pursuit and any(isinstance(size, str) for size in sizes)


def _settled(regressor: Any, fitted: Any) -> Any:
    """The regressor with the parameters that a fit chose as fixed parameters.

    None if it chose nothing. Also None if it chose rank 0, which must not be kept for later
    iterations.
    """
    if isinstance(fitted, FactorRegressor) and fitted.factors_.rank == 0:
        return None
    if hasattr(fitted, "best_estimator_"):
        return fitted.best_estimator_
    best = getattr(fitted, "best_params_", None)
    if best is None:
        return None
    if isinstance(regressor, SparseReducedRankRegressorCV):
        given = regressor.get_params(deep=False)
        names = SparseReducedRankRegressor().get_params(deep=False)
        shared = {name: given[name] for name in names if name in given}
        return SparseReducedRankRegressor(**(shared | best))
    return clone(regressor).set_params(**best)


def _coefficients(est: Any) -> np.ndarray:
    """Coefficients of shape (n_features, n_targets)."""
    coef = est.coef_.toarray() if sparse.issparse(est.coef_) else est.coef_
    return np.atleast_2d(coef).T


def _is_linear(est: Any, X: Any) -> bool:
    """Whether it predicts ⟨coef_, x⟩ + intercept_; not so for trees and generalised models."""
    if not (hasattr(est, "coef_") and hasattr(est, "intercept_")):
        return False
    some = X[:_ROWS_TO_TRY]
    predicted = np.asarray(est.predict(some)).reshape(some.shape[0], -1)
    return np.allclose(some @ _coefficients(est) + est.intercept_, predicted)
