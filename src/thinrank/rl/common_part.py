"""The default regressor of fitted Q-iteration: a common part, and deviations of low rank."""

from __future__ import annotations

from math import inf
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from thinrank.core.checks import is_auto
from thinrank.rl.action_values import LinearValues
from thinrank.rl.feature_tests import select_features
from thinrank.rl.features import Features
from thinrank.rl.rows import Rows
from thinrank.rl.sizes import RANKS, choose_setting, linear_values, pilot
from thinrank.rl.targets import Targets
from thinrank.rl.task_fits import TaskFit, TaskRows


class CommonPart(BaseEstimator):
    """Regressor of :class:`MultiTaskFQI`: all tasks have a common part and deviate from it.

    The coefficients of task t are θₜ = c + dₜ, on a few rows. The deviations D = [d₁ … d_k] have a
    low rank. The fit minimises ::

        Σₜ ½‖yₜ − Xₜ(c + dₜ)‖² + α/2·‖c‖² + β/2·Σₜ‖dₜ‖²

    with features in standard units and intercepts. Tasks are shrunk towards their common part and
    not towards zero. A single model for all tasks (rank 0) and separate ridge regressions (α = ∞
    and any rank) are special cases, which compete in the automatic choice.

    Parameters
    ----------
    rank : int, "auto" or None, default="auto"
        Rank of the deviations: 0 for the same coefficients in all tasks, None for any rank.
    row_sparsity : int, "auto" or None, default="auto"
        Largest number of rows, which are pairs of an action and a feature. A feature is used for
        all actions or for none. If "auto", a feature is used if it is significant given those in
        use already, and all features compete with them. None for all features.
    ridge : float or "auto", default="auto"
        β, in units of the mean number of rows of a task and action.
    common_ridge : float or "auto", default="auto"
        α, in the same unit. ``float("inf")`` for no common part beside the intercepts.
    noise_level : float, default=0.1
        Level of the tests that select features. A feature is used if its p-value, given those in
        use, is below this divided by the number of features.
    cv : int, default=5
        Number of folds of the choice. A fold holds out whole episodes, or states.

    Notes
    -----
    Sizes are chosen before the iterations begin, on one sample of transitions: a pilot run selects
    the rows, then trial runs of fitted Q-iteration compare ranks and penalties by the error with
    which a setting predicts its own targets in held-out episodes, relative to the variance of
    these targets. Of values of α with nearly equal errors the smallest is chosen, because the bias
    of a penalty adds up over the iterations. For deviations of any rank a fit is a linear system,
    for a low rank alternating least squares; both need only XᵀX and Xᵀy of every task, of which
    XᵀX never changes.

    See Also
    --------
    MultiTaskFQI : Fitted Q-iteration, whose default regressor this is.

    Examples
    --------
    >>> import thinrank as tr
    >>> tr.rl.CommonPart(rank=1)
    CommonPart(rank=1)
    """

    def __init__(
        self,
        rank: int | str | None = "auto",
        row_sparsity: int | str | None = "auto",
        ridge: float | str = "auto",
        common_ridge: float | str = "auto",
        *,
        noise_level: float = 0.1,
        cv: int = 5,
    ) -> None:
        self.rank = rank
        self.row_sparsity = row_sparsity
        self.ridge = ridge
        self.common_ridge = common_ridge
        self.noise_level = noise_level
        self.cv = cv

    def check(self) -> None:
        """Raise a ValueError that names a parameter with an invalid value."""
        for name, least in (("rank", 0), ("row_sparsity", 1)):
            value = getattr(self, name)
            whole = isinstance(value, Integral) and not isinstance(value, bool)
            if not (value is None or is_auto(value) or (whole and int(value) >= least)):
                raise ValueError(
                    f'{name} must be an integer of at least {least}, "auto" or None, got {value!r}'
                )
        for name in ("ridge", "common_ridge"):
            value = getattr(self, name)
            if not is_auto(value) and not (isinstance(value, Real) and float(value) > 0):
                raise ValueError(f'{name} must be a positive number or "auto", got {value!r}')
        if self.ridge == self.common_ridge == inf:
            raise ValueError("ridge and common_ridge must not both be infinite")
        if not (isinstance(self.noise_level, Real) and 0 < float(self.noise_level) < 1):
            raise ValueError(f"noise_level must be between 0 and 1, got {self.noise_level!r}")
        if not isinstance(self.cv, Integral) or int(self.cv) < 2:
            raise ValueError(f"cv must be an integer of at least 2, got {self.cv!r}")


class CommonPartRegression:
    """Fits with the sizes that were chosen before the first iteration."""

    def __init__(self, regressor: CommonPart, features: Features, pooled: bool, seed: int) -> None:
        regressor.check()
        self._given, self._features, self._seed = regressor, features, seed
        self._pooled = pooled
        self.best_params: dict[str, Any] | None = None

    def prepare(self, targets: Targets) -> None:
        """Choose features, rank and penalties by trial iterations."""
        given, fixed = self._given, targets.fixed()
        trial_rows = TaskRows(fixed.rows, int(given.cv), self._seed)
        used, begin = pilot(
            trial_rows, fixed, self._features, lambda y: self._select(trial_rows, y)
        )
        setting, used = choose_setting(
            trial_rows,
            fixed,
            used,
            begin,
            ranks=self._ranks(targets.rows.n_tasks),
            alphas=None if is_auto(given.common_ridge) else (float(given.common_ridge),),
            betas=None if is_auto(given.ridge) else (float(given.ridge),),
            every_feature=is_auto(given.row_sparsity),
        )
        same = fixed.rows is targets.rows
        self._rows = trial_rows if same else TaskRows(targets.rows, int(given.cv), self._seed)
        self._used, self._columns = used, self._rows.columns(used)
        k = targets.rows.n_tasks
        self._fit = TaskFit([c.gram for c in self._columns], k, self._rows.unit, setting)
        self.best_params = {
            "rank": setting.rank,
            "row_sparsity": sum(len(index) - 1 for index in used),
            "ridge": setting.beta,
            "common_ridge": setting.alpha,
        }

    def fit(self, rows: Rows, targets: np.ndarray, tune: bool) -> LinearValues:
        """Fit to targets, with the chosen sizes."""
        y = self._rows.by_action(targets)
        products = [c.products(part) for c, part in zip(self._columns, y, strict=True)]
        return linear_values(self._rows, self._fit.solve(products), self._used, self._features)

    def _ranks(self, n_tasks: int) -> tuple[int | None, ...]:
        given = self._given.rank
        if self._pooled or n_tasks == 1 or given == 0 or self._given.ridge == inf:
            return (0,)
        if is_auto(given):
            return (0, *(rank for rank in RANKS if rank is None or rank < n_tasks - 1))
        return (None,) if given is None or int(given) >= n_tasks else (int(given),)

    def _select(self, rows: TaskRows, targets: np.ndarray) -> list[np.ndarray]:
        size = self._given.row_sparsity
        if size is None:
            return rows.every_column()
        if is_auto(size):
            return select_features(rows, targets, float(self._given.noise_level), None)
        return select_features(rows, targets, inf, int(size))
