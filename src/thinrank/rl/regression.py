"""How a regressor is fitted to targets at state-action pairs.

X is block diagonal over the actions. By default, tasks have a common part and deviations. Other
estimators of thinrank are fitted to X at once, baselines to every action, since their penalties are
sums over the rows of Θ, and regressors of scikit-learn to every task and action.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Protocol

import numpy as np
from scipy import sparse
from sklearn.base import clone

from thinrank.core.checks import is_auto
from thinrank.core.contracts import Solver
from thinrank.core.factors import Factors
from thinrank.core.result import Sizes
from thinrank.designs import take_rows
from thinrank.estimators import SparseReducedRankRegressor, SparseReducedRankRegressorCV
from thinrank.estimators.base import FactorRegressor
from thinrank.estimators.fit import SIZES, automatic_ridges
from thinrank.losses import PerTask
from thinrank.minimize import as_solver, as_start, minimize, seed_from
from thinrank.rl.action_values import ActionValues, LinearValues, PredictedValues
from thinrank.rl.common_part import CommonPart, CommonPartRegression
from thinrank.rl.features import Features
from thinrank.rl.targets import Rows, Targets
from thinrank.selection.choice import check_refit_rule
from thinrank.selection.search import Search
from thinrank.selection.space import make_space
from thinrank.selection.splits import TaskSplit
from thinrank.solvers import Pursuit


class Regression(Protocol):
    """A regressor, its rows, and what it keeps from one iteration to the next."""

    def fit(self, targets: np.ndarray, tune: bool) -> ActionValues:
        """Fit to targets; automatic parameters are chosen again if ``tune``, otherwise kept."""
        ...


def as_regression(
    regressor: Any, features: Features, targets: Targets, pooled: bool, warm_start: bool, seed: int
) -> Regression:
    """How to fit a regressor; see the docstring of this module."""
    rows = targets.rows
    if regressor is None or isinstance(regressor, CommonPart):
        return CommonPartRegression(regressor or CommonPart(), features, targets, pooled, seed)
    for method in ("fit", "predict", "get_params"):
        if isinstance(regressor, type) or not hasattr(regressor, method):
            raise TypeError(
                "regressor must be a regressor of thinrank or scikit-learn, "
                f"got {regressor!r} without a method {method}"
            )
    used = Rows(rows.blocks, 1, rows.episodes) if pooled else rows
    found: Regression
    if not isinstance(regressor, (SparseReducedRankRegressor, SparseReducedRankRegressorCV)):
        found = BlockwiseRegression(regressor, features, used)
    elif used.owner is None:
        found = JointRegression(regressor, features, used, warm_start, seed)
    else:
        found = OwnRowsRegression(regressor, features, used, warm_start)
    return PooledRegression(found, rows) if pooled else found


class JointRegression:
    """One fit to all tasks and actions, on the block-diagonal design."""

    def __init__(
        self, regressor: Any, features: Features, rows: Rows, warm_start: bool, seed: int
    ) -> None:
        self._regressor, self._features, self._rows = regressor, features, rows
        self._warm_start, self._seed = warm_start, seed
        self._settled: Any = None
        self._before: Factors | None = None

    def fit(self, targets: np.ndarray, tune: bool) -> LinearValues:
        """Fit, starting from the last solution."""
        rows = self._rows
        est = clone(self._regressor if tune or self._settled is None else self._settled)
        parameters = est.get_params(deep=False)
        if isinstance(parameters.get("cv"), (int, np.integer)):
            est.set_params(cv=rows.folds(int(parameters["cv"]), self._seed))
        again = self._warm_start and self._before is not None and is_auto(parameters["start"])
        if again and not _searches_by_pursuit(parameters):
            est.set_params(start=self._before)
        est.fit(rows.design, targets)
        self._settled = _settled(self._regressor, est) or self._settled
        self._before = est.factors_ if est.factors_.rank else None
        everywhere = np.broadcast_to(est.intercept_, (len(rows.blocks), rows.n_tasks))
        return LinearValues(self._features, est.factors_, everywhere)


class OwnRowsRegression:
    """One fit to the sum of the tasks' own least squares, for tasks with rows of their own.

    Sizes that are "auto" are chosen by the loss on held-out episodes: criteria that are computed
    on the training rows are defined for tasks with common rows only.
    """

    def __init__(self, regressor: Any, features: Features, rows: Rows, warm_start: bool) -> None:
        if regressor.standardize or regressor.fit_intercept:
            raise _cannot_take_own_rows(regressor)
        self._regressor, self._features, self._rows = regressor, features, rows
        self._warm_start = warm_start and is_auto(regressor.start)
        self._chosen: Sizes | None = None
        self._before: Factors | None = None

    def fit(self, targets: np.ndarray, tune: bool) -> LinearValues:
        """Fit, starting from the last solution."""
        given, rows, loss = self._regressor, self._rows, self._loss(targets)
        tol = given.tol if isinstance(given.solver, str) else None
        solver = as_solver(given.solver, given.max_iter, tol, loss)
        if self._chosen is None or tune:
            self._chosen = self._choose(targets, loss, solver)
        sizes, found = self._chosen, Factors.zero(loss.shape, like=loss.prototype)
        if sizes.rank == 0:
            self._chosen = None  # must not be kept for later iterations
        else:
            found = minimize(
                loss.with_ridge(sizes.ridge),
                rank=sizes.rank,
                row_sparsity=sizes.rows,
                column_sparsity=sizes.columns,
                start=given.start if self._before is None else self._before,
                solver=solver,
                random_state=given.random_state,
                callback=given.callback,
            ).factors
        self._before = found if found.rank and self._warm_start else None
        return LinearValues(self._features, found, np.zeros((len(rows.blocks), rows.n_tasks)))

    def _loss(self, targets: np.ndarray, part: Any = None) -> PerTask:
        """The loss at all rows, or at some of them."""
        X: Any = self._rows.design
        owner = np.asarray(self._rows.owner)
        if part is not None:
            X, targets, owner = take_rows(X, part), targets[part], owner[part]
        return PerTask(X, targets, owner, self._rows.n_tasks)

    def _choose(self, targets: np.ndarray, loss: PerTask, solver: Solver) -> Sizes:
        """The sizes as given, or chosen where they are "auto"."""
        given, grid = self._regressor, self._regressor._grid()
        if grid is None:  # all are given; no ridge unless there is one, as in the regressor
            ridge = 0.0 if is_auto(given.ridge) else given.ridge
            grid = [[value] for value in (*(getattr(given, name) for name in SIZES), ridge)]
        axes = dict(zip(("ranks", "rows", "columns", "ridges"), grid, strict=True))
        if axes["ridges"] is None:
            axes["ridges"] = automatic_ridges(loss.row_scales() ** 2)
        folds = int(given.cv) if isinstance(given.cv, (int, np.integer)) else 5
        samples = max(loss.samples * (1 - 1 / folds), 1.0)
        space = make_space(loss.shape, samples, thick=True, exchanges=(True,), **axes)
        if space.exhaustive is not None and len(space.exhaustive) == 1:
            return space.exhaustive[0]
        seed, start = seed_from(given.random_state), as_start(given.start, solver.exchanges_rows)
        splits = [
            TaskSplit(self._loss(targets, train), self._loss(targets, held_out), start, seed)
            for train, held_out in self._rows.folds(folds, seed)
        ]
        if isinstance(solver, Pursuit):  # held-out losses of models differ by more
            solver = replace(solver, tol=max(solver.tol, 1e-4))
        options: dict[str, Any] = {"rule": check_refit_rule(given.refit_rule), "rows": 0}
        search = Search([splits], space, solver=solver, callback=given.callback, **options)
        search.run()
        return search.chosen.sizes


class BlockwiseRegression:
    """One fit per action, for all tasks together or for each task separately.

    The regressors are the same objects in all iterations, for ``warm_start=True`` of scikit-learn.
    """

    def __init__(self, regressor: Any, features: Features, rows: Rows) -> None:
        self._regressor, self._features, self._rows = regressor, features, rows
        self._together = isinstance(regressor, FactorRegressor)
        if rows.owner is not None and self._together:
            raise _cannot_take_own_rows(regressor)
        self._fitted: dict[tuple[int, int], Any] = {}
        self._settled: dict[tuple[int, int], Any] = {}

    def fit(self, targets: np.ndarray, tune: bool) -> ActionValues:
        """Fit one block after another."""
        rows = self._rows
        groups = 1 if self._together else rows.n_tasks
        actions, width = len(rows.blocks), rows.n_features
        theta = np.zeros((actions, width, rows.n_tasks))
        intercept = np.zeros((actions, rows.n_tasks))
        linear = True
        for group in range(groups):
            columns = slice(None) if self._together else slice(group, group + 1)
            for action in range(actions):
                X, Y = self._data(targets, group, action)
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

    def _data(self, targets: np.ndarray, group: int, action: int) -> tuple[Any, np.ndarray]:
        rows = self._rows
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
    """All tasks as one; if they share their rows, the response is the mean over the tasks."""

    def __init__(self, inner: Regression, rows: Rows) -> None:
        self._inner, self._rows = inner, rows

    def fit(self, targets: np.ndarray, tune: bool) -> ActionValues:
        """Fit the coefficients of one task, and use them for all tasks."""
        single = targets.mean(axis=1) if self._rows.owner is None else targets
        return self._inner.fit(single[:, None], tune).repeated(self._rows.n_tasks)


def _searches_by_pursuit(parameters: dict[str, Any]) -> bool:
    """Whether sizes are searched for, and pursuit continues from the result of the search."""
    sizes = [parameters.get(name) for name in ("rank", "row_sparsity", "column_sparsity", "ridge")]
    pursuit = isinstance(as_solver(parameters["solver"]), Pursuit)
    return pursuit and any(isinstance(size, str) for size in sizes)


def _settled(regressor: Any, fitted: Any) -> Any:
    """The regressor with the parameters that a fit chose; None for none or rank 0."""
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
    """Whether it predicts ⟨coef_, x⟩ + intercept_; not so for trees and generalized models."""
    if not (hasattr(est, "coef_") and hasattr(est, "intercept_")):
        return False
    some = X[:8]  # a few rows suffice: other link functions differ at every row
    predicted = np.asarray(est.predict(some)).reshape(some.shape[0], -1)
    return np.allclose(some @ _coefficients(est) + est.intercept_, predicted)


def _cannot_take_own_rows(regressor: Any) -> TypeError:
    """The error for a regressor that needs the same rows for all tasks."""
    return TypeError(
        f"the tasks have transitions at states of their own, which {regressor!r} cannot take; "
        "what can: SparseReducedRankRegressor and SparseReducedRankRegressorCV with "
        "standardize=False and fit_intercept=False, any regressor of scikit-learn (one is fitted "
        "per task and action), and every regressor with pooled=True"
    )
