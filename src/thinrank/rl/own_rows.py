"""Fits of thinrank's regressors to tasks with rows of their own: sizes given or chosen."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

import numpy as np

from thinrank.core.checks import is_auto
from thinrank.core.contracts import Solver
from thinrank.core.factors import Factors
from thinrank.core.result import Sizes
from thinrank.estimators import SparseReducedRankRegressorCV
from thinrank.estimators.fit import automatic_ridges
from thinrank.losses import PerTask
from thinrank.minimize import as_solver, as_start, minimize, seed_from
from thinrank.rl.targets import Rows
from thinrank.selection.choice import check_refit_rule
from thinrank.selection.search import Search
from thinrank.selection.space import make_space
from thinrank.selection.splits import TaskSplit
from thinrank.solvers import Pursuit
from thinrank.starts import Given

# Folds of a search for sizes if the regressor's ``cv`` is not a number.
_FOLDS = 5
# Tolerance of pursuit in a search: held-out losses of models differ by more than this.
_TOLERANCE = 1e-4


def cannot_take_own_rows(regressor: Any) -> TypeError:
    """The error for a regressor that needs the same rows for all tasks."""
    return TypeError(
        f"the tasks have transitions at states of their own, which {regressor!r} cannot take; "
        "what can: SparseReducedRankRegressor and SparseReducedRankRegressorCV with "
        "standardize=False and fit_intercept=False, any regressor of scikit-learn (one is fitted "
        "per task and action), and every regressor with pooled=True"
    )


class EpisodeLoss(PerTask):
    """The loss of :class:`thinrank.losses.PerTask`, whose folds hold out whole episodes."""

    def __init__(self, rows: Rows, targets: np.ndarray) -> None:
        super().__init__(rows.design, targets, rows.owner, rows.n_tasks)
        self._groups = rows

    def folds(self, count: int, seed: int) -> list[tuple[PerTask, PerTask]]:
        """Training and held-out losses of ``count`` folds."""
        label = self._groups.fold_labels(count, seed)
        return [(self._rows(label != i), self._rows(label == i)) for i in range(count)]


class OwnRows:
    """A regressor of thinrank on the sum of the tasks' own least squares.

    Sizes that are "auto" are chosen by the loss on held-out episodes of every task, whatever the
    regressor's criterion: criteria that are computed on the training rows are defined for tasks
    with common rows only.
    """

    def __init__(self, regressor: Any) -> None:
        self._grids = isinstance(regressor, SparseReducedRankRegressorCV)
        self._given = regressor.get_params(deep=False)
        if self._given["standardize"] or self._given["fit_intercept"]:
            raise cannot_take_own_rows(regressor)
        self._chosen: Sizes | None = None

    def fit(self, loss: EpisodeLoss, start: Any, tune: bool) -> Factors:
        """Fit from a start; sizes are chosen again if ``tune``, otherwise kept."""
        given = self._given
        tol = given["tol"] if isinstance(given["solver"], str) else None
        solver = as_solver(given["solver"], given["max_iter"], tol, loss)
        if self._chosen is None or tune:
            self._chosen = self._choose(loss, solver, start)
        sizes = self._chosen
        if sizes.rank == 0:
            self._chosen = None  # must not be kept for later iterations
            return Factors.zero(loss.shape, like=loss.prototype)
        return minimize(
            loss.with_ridge(sizes.ridge),
            rank=sizes.rank,
            row_sparsity=sizes.rows,
            column_sparsity=sizes.columns,
            start=start,
            solver=solver,
            random_state=given["random_state"],
            callback=given["callback"],
        ).factors

    def _choose(self, loss: PerTask, solver: Solver, start: Any) -> Sizes:
        """The sizes as given, or chosen where they are "auto"."""
        folds = self._given["cv"]
        folds = int(folds) if isinstance(folds, (int, np.integer)) else _FOLDS
        space = make_space(
            loss.shape,
            max(loss.samples * (1 - 1 / folds), 1.0),
            thick=True,
            exchanges=(True,),
            **cast(Any, self._axes(loss)),
        )
        only = space.exhaustive
        if only is not None and len(only) == 1:
            return only[0]
        first = as_start(start, solver.exchanges_rows)
        if isinstance(first, Given):  # fitted to rows that are held out
            first = as_start("auto", solver.exchanges_rows)
        seed = seed_from(self._given["random_state"])
        splits = [TaskSplit(*pair, first, seed) for pair in loss.folds(folds, seed)]
        if isinstance(solver, Pursuit):
            solver = replace(solver, tol=max(solver.tol, _TOLERANCE))
        search = Search(
            [splits],
            space,
            rule=check_refit_rule(self._given["refit_rule"]),
            rows=0,
            solver=solver,
            callback=self._given["callback"],
        )
        search.run()
        return search.chosen.sizes

    def _axes(self, loss: PerTask) -> dict[str, list[Any] | None]:
        """Values to choose from; None for all ranks, rows or columns."""
        given = self._given
        if self._grids:
            axes = {
                "ranks": given["ranks"],
                "rows": given["row_sparsities"],
                "columns": given["column_sparsities"],
                "ridges": given["ridges"],
            }
        else:
            one = {
                "ranks": given["rank"],
                "rows": given["row_sparsity"],
                "columns": given["column_sparsity"],
                "ridges": given["ridge"],
            }
            axes = {name: None if is_auto(value) else [value] for name, value in one.items()}
            if axes["ridges"] is None and None not in (
                axes["ranks"],
                axes["rows"],
                axes["columns"],
            ):
                axes["ridges"] = [0.0]  # as in the regressor with given sizes
        if axes["ridges"] is None:
            axes["ridges"] = automatic_ridges(loss.row_scales() ** 2)
        return axes
