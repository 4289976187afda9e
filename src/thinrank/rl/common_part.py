"""The default regressor of fitted Q-iteration: a common part, and deviations of low rank.

The error of a regression on held-out rows depends on its targets, and these depend on the action
values of the last iteration: settings that fit given targets best may lead to values that grow
from iteration to iteration. Therefore every setting is judged by its own values. A trial runs
fitted Q-iteration with the setting, and then measures how well the setting predicts its own next
targets in held-out episodes, relative to the variance of these targets within the tasks: the
relative held-out Bellman error. Since values can be arbitrary and still predict themselves, the
error at the targets of the best pooled model counts as much.

The error of a step contains the bias of one iteration only, but biases of all iterations add up.
So the penalty α of the common part is judged by the sums of errors along episodes. By single steps
it was so large that MountainCar (10 episodes, seeds 4 and 6) stayed at the lowest return, −50; by
the sums it returns −36 and −35, and pooled ridge regression −40 and −39.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from itertools import product
from math import inf
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from thinrank.core.checks import is_auto
from thinrank.rl.action_values import LinearValues
from thinrank.rl.features import Features
from thinrank.rl.targets import LARGEST, FixedTargets, Rows, Targets
from thinrank.rl.task_fits import Setting, TaskFit, TaskRows, linear_values, select_features

# Iterations of the pilot run, and of a trial from its values.
_PILOT, _TRIAL = 20, 12
# The penalties to choose from, in units of the rows of a task and action.
_ALPHAS, _BETAS = np.geomspace(1e-3, 10, 9).round(3).tolist(), [0.01, 0.1, 1.0, 10.0]
# Ranks of the deviations that compete with the pooled model; None is any rank.
_RANKS = (1, 2, 4, None)
# Deviations from the common part are used if they lower the error by this number of standard
# errors of the difference between episodes.
_EVIDENCE = 2.0


@dataclass(eq=False, repr=False)
class CommonPart(BaseEstimator):
    """Regressor of :class:`MultiTaskFQI`: all tasks have a common part and deviate from it.

    The coefficients of task t are θₜ = c + dₜ, on a few rows. The deviations D = [d₁ … d_k] have a
    low rank. The fit minimizes ::

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
        use already. None for all features.
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
    these targets. Then α is judged by the discounted sums of these errors to the end of the
    episodes, because the bias of a penalty adds up over the iterations.

    See Also
    --------
    MultiTaskFQI : Fitted Q-iteration, whose default regressor this is.

    Examples
    --------
    >>> import thinrank as tr
    >>> tr.rl.CommonPart(rank=1)
    CommonPart(rank=1)
    """

    rank: int | str | None = "auto"
    row_sparsity: int | str | None = "auto"
    ridge: float | str = "auto"
    common_ridge: float | str = "auto"
    _: KW_ONLY
    noise_level: float = 0.1
    cv: int = 5

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
        given, fixed, k = self._given, targets.fixed(), targets.rows.n_tasks
        rows = TaskRows(fixed.rows, int(given.cv), self._seed)
        used, begin = self._pilot(rows, fixed)
        setting = Trials(rows, fixed, used, begin).search(
            self._ranks(k),
            _ALPHAS if is_auto(given.common_ridge) else (float(given.common_ridge),),
            _BETAS if is_auto(given.ridge) else (float(given.ridge),),
        )
        if fixed.rows is not targets.rows:
            rows = TaskRows(targets.rows, int(given.cv), self._seed)
        self._rows, self._columns = rows, rows.columns(used)
        self._fit = TaskFit([c.gram for c in self._columns], k, rows.unit, setting)
        self.best_params = {
            "rank": setting.rank,
            "row_sparsity": sum(len(index) - 1 for index in used),
            "ridge": setting.beta,
            "common_ridge": setting.alpha,
        }

    def fit(self, rows: Rows, targets: np.ndarray, tune: bool) -> LinearValues:
        """Fit to targets, with the chosen sizes."""
        return linear_values(self._rows, self._columns, self._fit, targets, self._features)

    def _ranks(self, n_tasks: int) -> tuple[int | None, ...]:
        given = self._given.rank
        if self._pooled or n_tasks == 1 or given == 0 or self._given.ridge == inf:
            return (0,)
        if is_auto(given):
            return (0, *(rank for rank in _RANKS if rank is None or rank < n_tasks - 1))
        return (None,) if given is None or int(given) >= n_tasks else (int(given),)

    def _pilot(
        self, rows: TaskRows, targets: FixedTargets
    ) -> tuple[list[np.ndarray], LinearValues]:
        """Select features while the values of a first fitted Q-iteration grow."""
        k = rows.n_tasks
        values = LinearValues.zero(self._features, rows.rows.shape)
        setting = Setting(None if k > 1 else 0, 1.0, 1.0)
        for iteration in range(1, _PILOT + 1):
            y = targets.under(values)
            # Q changes quickly at first
            if iteration & (iteration - 1) == 0 or iteration == _PILOT:
                used = self._select(rows, y)
                columns = rows.columns(used)
                fit = TaskFit([c.gram for c in columns], k, rows.unit, setting)
            values = linear_values(rows, columns, fit, y, self._features)
        return used, values

    def _select(self, rows: TaskRows, targets: np.ndarray) -> list[np.ndarray]:
        size = self._given.row_sparsity
        if size is None:
            return rows.every_column()
        if is_auto(size):
            return select_features(rows, targets, float(self._given.noise_level), None)
        return select_features(rows, targets, inf, int(size))


class Trials:
    """Runs of settings and their errors."""

    def __init__(
        self,
        rows: TaskRows,
        targets: FixedTargets,
        used: list[np.ndarray],
        begin: LinearValues,
    ) -> None:
        self._rows, self._targets, self._begin = rows, targets, begin
        self._columns = rows.columns(used)
        # targets by which all settings are judged, beside their own, and their variation
        self._reference: tuple[np.ndarray, float] | None = None
        # error of each episode or state, as a part of the variation
        self.errors: dict[Setting, np.ndarray] = {}
        self._own: dict[Setting, np.ndarray | None] = {}

    def search(
        self, ranks: Sequence[int | None], alphas: Sequence[float], betas: Sequence[float]
    ) -> Setting:
        """The pooled model, or deviations from it that held-out episodes show."""
        low = [rank for rank in ranks if rank != 0]
        if 0 in ranks:
            self.run(Setting(0, alpha, inf) for alpha in alphas)
        else:
            self.run(Setting(low[0], *penalties) for penalties in product(alphas[::2], betas))
        pooled = self._best()
        if (y := self._own[pooled]) is not None:
            self._reference, self.errors = (y, _variation(self._rows.rows, y)), {}
            self.run(list(self._own))
            pooled = self._best()
        self.run(Setting(rank, pooled.alpha, beta) for rank, beta in product(low, betas))
        best = self._best()
        if 0 in ranks and not clearly_smaller(self.errors[best], self.errors[pooled]):
            best = pooled
        return self._harmless_penalty(best, alphas)

    def run(self, settings: Iterable[Setting]) -> None:
        """Measure the errors of settings that are not known yet."""
        for setting in settings:
            if setting not in self.errors:
                self.errors[setting] = self._errors(setting)

    def _best(self) -> Setting:
        return min(self.errors, key=lambda setting: self.errors[setting].sum())

    def _harmless_penalty(self, best: Setting, alphas: Sequence[float]) -> Setting:
        """The largest α whose residuals add up along episodes, within one standard error, least.

        A large α makes values smooth where the log has few transitions, and policies then see
        further than the log. But its bias adds up over the iterations. Unlike noise, it has the
        same sign in successive steps, which the errors of single steps do not tell.
        """
        sums = {}
        for alpha in alphas:
            setting = replace(best, alpha=alpha)
            if (y := self._led_to(setting)) is not None:
                residuals = self._targets.to_the_end(self._residuals(setting, y))
                sums[setting] = self._squares(residuals) / _variation(self._rows.rows, y)
        least = min(sums.values(), key=np.sum, default=np.zeros(0))
        as_good = [s for s, error in sums.items() if not clearly_smaller(least, error, 1.0)]
        return max(as_good, key=lambda setting: setting.alpha, default=best)

    def _errors(self, setting: Setting) -> np.ndarray:
        """Mean of the relative errors at the own targets and at those of the reference.

        Values can be arbitrary and still predict themselves, because next states are similar to
        states. So the variation of the own targets counts at most as much as that of the reference.
        Without the reference Acrobot (even seeds, some tasks reversed) returned −100, −100 and −92
        in place of −80, −76 and −89.
        """
        y = self._led_to(setting)
        if y is None:
            return np.full(self._rows.n_groups, inf)
        own, size = self._squares(self._residuals(setting, y)), _variation(self._rows.rows, y)
        if self._reference is None:
            return own / size
        target, scale = self._reference
        other = self._squares(self._residuals(setting, target))
        return 0.5 * (own / min(size, scale) + other / scale)

    def _led_to(self, setting: Setting) -> np.ndarray | None:
        """The targets that a setting leads to; None if its values diverge."""
        if setting not in self._own:
            self._own[setting] = self._trial(setting)
        return self._own[setting]

    def _trial(self, setting: Setting) -> np.ndarray | None:
        rows, values = self._rows, self._begin
        fit = TaskFit([c.gram for c in self._columns], rows.n_tasks, rows.unit, setting)
        for _ in range(_TRIAL):
            y = self._targets.under(values)
            values = linear_values(rows, self._columns, fit, y, values.features)
            if not np.abs(values.factors.U).max(initial=0.0) < LARGEST:
                return None
        return self._targets.under(values)

    def _squares(self, residuals: np.ndarray) -> np.ndarray:
        """Sums of squares over the rows of every episode or state."""
        squares = residuals**2 if residuals.ndim == 1 else np.sum(residuals**2, axis=1)
        return np.bincount(self._rows.rows.groups, squares, minlength=self._rows.n_groups)

    def _residuals(self, setting: Setting, targets: np.ndarray) -> np.ndarray:
        """Residuals of episodes, or states, when they are held out; shaped as the targets."""
        rows, residuals = self._rows, targets.copy()
        products = rows.products(self._columns, targets)
        for fold in range(rows.n_folds):
            grams = [c.without[fold] for c in self._columns]
            fit = TaskFit(grams, rows.n_tasks, rows.unit, setting)
            theta = fit.theta([b.sum(axis=0) - b[fold] for b in products])
            for column, where, own in zip(self._columns, rows.rows.ranges, theta, strict=True):
                column.subtract(residuals[where], own, fold)
        return residuals


def clearly_smaller(errors: np.ndarray, others: np.ndarray, evidence: float = _EVIDENCE) -> bool:
    """Whether errors of episodes are smaller by some standard errors of the difference."""
    gain = others - errors
    if not np.isfinite(gain).all():
        return bool(np.isfinite(errors).all())
    return float(gain.sum()) > evidence * float(gain.std()) * len(gain) ** 0.5


def _variation(rows: Rows, y: np.ndarray) -> float:
    """Sum of squares of targets within the tasks."""
    means = rows.task_sums(y) / np.maximum(rows.task_sums(np.ones_like(y)), 1)
    return max(float(np.sum((y - (means if y.ndim > 1 else means[rows.owner])) ** 2)), 1e-300)
