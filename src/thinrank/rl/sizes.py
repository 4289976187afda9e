"""Choice of features, rank and penalties by trial iterations on one sample of transitions.

The error of a regression on held-out rows depends on its targets, and these depend on the action
values of the last iteration: settings that fit given targets best may lead to values that grow
from iteration to iteration. Therefore every setting is judged by its own values. A trial runs
fitted Q-iteration with the setting, and then measures how well the setting predicts its own next
targets in held-out episodes, relative to the variance of these targets within the tasks: the
relative held-out Bellman error. Since values can be arbitrary and still predict themselves, the
error at the targets of the best pooled model counts as much.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from math import inf

import numpy as np

from thinrank.core.factors import Factors
from thinrank.rl.action_values import LinearValues
from thinrank.rl.features import Features
from thinrank.rl.rows import Rows
from thinrank.rl.targets import FixedTargets
from thinrank.rl.task_fits import Parts, Setting, TaskFit, TaskRows

# Iterations of the pilot run, and those after which it selects features. Q changes quickly at
# first.
_PILOT, _SELECTING = 20, (1, 2, 4, 8, 14, 20)
# Iterations of a trial, from the values of the pilot run.
_TRIAL = 12
# The penalties to choose from, in units of the rows of a task and action.
_ALPHAS = (1e-3, 3e-3, 1e-2, 3e-2, 1e-1, 0.3, 1.0, 3.0, 10.0)
_BETAS = (1e-2, 1e-1, 1.0, 10.0)
# Ranks of the deviations that compete with the pooled model; None is any rank.
RANKS = (1, 2, 4, None)
# The smallest α with an error within the first factor of the least is the base. The largest α is
# taken with an error within the second one and values that vary as much as with the base, within
# the third. With the base alone CartPole (500 steps, 50 episodes) returned 93 to 277 in three
# families, with this rule 381 to 500; wider factors than .9 made goals of carts worse.
_EQUAL, _NEAR, _ALIKE = 1.05, 1.25, 0.9
# Deviations from the common part, and features that the tests left out, are used if they lower the
# error by this number of standard errors of the difference between episodes.
_EVIDENCE = 2.0
# Number of columns up to which all features compete: systems of this size are solved per task.
_MOST_COLUMNS = 500
# Larger coefficients count as divergence.
_LARGEST = 1e50


def linear_values(
    rows: TaskRows, parts: Parts, used: list[np.ndarray], at: Features
) -> LinearValues:
    """Action values with the coefficients [c U][1 V]ᵀ."""
    common, loadings, V = parts
    both = [np.column_stack([c, u]) for c, u in zip(common, loadings, strict=True)]
    mixing = np.column_stack([np.ones(len(V)), V])
    U, levels = rows.original_units(both, used)
    if mixing.shape[1] > min(len(U), len(mixing)):
        theta = U @ mixing.T
        factors = Factors.from_theta(theta, rank=min(theta.shape))
    elif not U.any():
        factors = Factors.zero((len(U), len(mixing)), like=np.zeros(0))
    else:
        factors = Factors(U, mixing)
    return LinearValues(at, factors, levels @ mixing.T)


def pilot(
    rows: TaskRows,
    targets: FixedTargets,
    features: Features,
    select: Callable[[np.ndarray], list[np.ndarray]],
) -> tuple[list[np.ndarray], LinearValues]:
    """Select features while the values of a first fitted Q-iteration grow."""
    k = rows.rows.n_tasks
    values = LinearValues.zero(features, rows.rows)
    setting = Setting(None if k > 1 else 0, 1.0, 1.0)
    for iteration in range(1, _PILOT + 1):
        y = targets.under(values)
        if iteration in _SELECTING:
            used = select(y)
            columns = rows.columns(used)
            fit = TaskFit([c.gram for c in columns], k, rows.unit, setting)
        by_action = rows.by_action(y)
        parts = fit.solve([c.products(p) for c, p in zip(columns, by_action, strict=True)])
        values = linear_values(rows, parts, used, features)
    return used, values


def choose_setting(
    rows: TaskRows,
    targets: FixedTargets,
    used: list[np.ndarray],
    begin: LinearValues,
    *,
    ranks: Sequence[int | None],
    alphas: Sequence[float] | None,
    betas: Sequence[float] | None,
    every_feature: bool,
) -> tuple[Setting, list[np.ndarray]]:
    """The setting with the smallest relative held-out Bellman error, and the columns in use.

    ``ranks``: 0 is the pooled model, None any rank. ``alphas``, ``betas``: None for a grid.
    """
    trials = Trials(rows, targets, used, begin)
    best = trials.search(ranks, alphas or _ALPHAS, betas or _BETAS)
    every = rows.every_column()
    fewer = any(len(some) < len(whole) for some, whole in zip(used, every, strict=True))
    if every_feature and fewer and max(map(len, every)) <= _MOST_COLUMNS:
        whole = Trials(rows, targets, every, begin, trials.reference)
        whole.run([best])
        if whole.clearly_better(best, trials.errors[best]):
            return whole.search(ranks, alphas or _ALPHAS, betas or _BETAS), every
    return best, used


class Trials:
    """Runs of settings and their errors; the reference is the same for other columns."""

    def __init__(
        self,
        rows: TaskRows,
        targets: FixedTargets,
        used: list[np.ndarray],
        begin: LinearValues,
        reference: tuple[np.ndarray, float] | None = None,
    ) -> None:
        self._rows, self._targets, self._used, self._begin = rows, targets, used, begin
        self._columns = rows.columns(used)
        # targets by which all settings are judged, beside their own, and their variation
        self.reference = reference
        # error of each episode or state, as a part of the variation
        self.errors: dict[Setting, np.ndarray] = {}
        self._own: dict[Setting, np.ndarray] = {}

    def search(
        self, ranks: Sequence[int | None], alphas: Sequence[float], betas: Sequence[float]
    ) -> Setting:
        """The pooled model, or deviations from it that held-out episodes show."""
        low = [rank for rank in ranks if rank is not None and rank > 0]
        first = [*low[:1], *([None] if None in ranks else [])]
        if 0 in ranks:
            self.run(Setting(0, alpha, inf) for alpha in alphas)
        else:
            self.run(Setting(first[0], alpha, beta) for alpha in alphas[::2] for beta in betas)
        pooled = best = self._best()
        if self.reference is None and best in self._own:
            y = self._own[best]
            self.reference, self.errors = (y, _variation(self._rows.rows, y)), {}
            self.run(list(self._own))
            pooled = self._best()
        self.run(Setting(rank, pooled.alpha, beta) for rank in first for beta in betas)
        best = self._best()
        if best.beta < inf:
            near = [beta for beta in betas if 0.5 < beta / best.beta < 20]
            self.run(Setting(rank, best.alpha, beta) for rank in low[1:] for beta in near)
            best = self._best()
            if 0 in ranks and not self.clearly_better(best, self.errors[pooled]):
                best = pooled
        self.run(replace(best, alpha=alpha) for alpha in alphas if 0.2 < alpha / best.alpha < 12)
        return self._harmless_penalty(best)

    def clearly_better(self, setting: Setting, others: np.ndarray) -> bool:
        """Whether the error of a setting is smaller by two standard errors of the difference."""
        gain = others - self.errors[setting]
        if not np.isfinite(gain).all():
            return bool(np.isfinite(self.errors[setting]).all())
        return float(gain.sum()) > _EVIDENCE * float(gain.std()) * len(gain) ** 0.5

    def run(self, settings: Iterable[Setting]) -> None:
        """Measure the errors of settings that are not known yet."""
        for setting in settings:
            if setting not in self.errors:
                self.errors[setting] = self._errors(setting)

    def _best(self) -> Setting:
        return min(self.errors, key=lambda setting: self.errors[setting].sum())

    def _harmless_penalty(self, best: Setting) -> Setting:
        """The largest α that does not change the variation of the values or have a large error.

        A large α makes values smooth where the log has few transitions, and policies then see
        further than the log. But where it biases the common part, the biases of all iterations add
        up, while the held-out error contains that of one iteration only: then the values vary less
        or more than with the smallest α of nearly the least error.
        """
        least = self.errors[best].sum()
        same = {
            setting.alpha: (error.sum(), _variation(self._rows.rows, self._own[setting]))
            for setting, error in self.errors.items()
            if (setting.rank, setting.beta) == (best.rank, best.beta) and setting in self._own
        }
        if not same:
            return best
        base = min(alpha for alpha, (error, _) in same.items() if error <= _EQUAL * least)
        harmless = [
            alpha
            for alpha, (error, size) in same.items()
            if error <= _NEAR * least and _ALIKE < size / same[base][1] < 1 / _ALIKE
        ]
        return replace(best, alpha=max(base, *harmless))

    def _errors(self, setting: Setting) -> np.ndarray:
        """Mean of the relative errors at the own targets and at those of the reference.

        The variation of the own targets counts at most as much as that of the reference: large
        arbitrary values are easy to predict, relative to their own variance, because next states
        are similar to states.
        """
        if setting not in self._own:
            y = self._trial(setting)
            if y is None:
                return np.full(self._rows.n_groups, inf)
            self._own[setting] = y
        y = self._own[setting]
        variation = _variation(self._rows.rows, y)
        if self.reference is None:
            return self._held_out(setting, y) / variation
        target, scale = self.reference
        own = self._held_out(setting, y) / min(variation, scale)
        return 0.5 * (own + self._held_out(setting, target) / scale)

    def _trial(self, setting: Setting) -> np.ndarray | None:
        """The targets that a setting leads to; None if its values diverge."""
        rows, values = self._rows, self._begin
        fit = TaskFit([c.gram for c in self._columns], rows.rows.n_tasks, rows.unit, setting)
        for _ in range(_TRIAL):
            y = rows.by_action(self._targets.under(values))
            parts = fit.solve([c.products(p) for c, p in zip(self._columns, y, strict=True)])
            values = linear_values(rows, parts, self._used, values.features)
            if not np.abs(values.factors.U).max(initial=0.0) < _LARGEST:
                return None
        return self._targets.under(values)

    def _held_out(self, setting: Setting, targets: np.ndarray) -> np.ndarray:
        """Squared errors of episodes, or states, when they are held out."""
        y, errors = self._rows.by_action(targets), np.zeros(self._rows.n_groups)
        k = self._rows.rows.n_tasks
        whole = [c.products(part) for c, part in zip(self._columns, y, strict=True)]
        for fold in range(self._rows.n_folds):
            fit = TaskFit([c.without[fold] for c in self._columns], k, self._rows.unit, setting)
            own = [c.products(part, fold) for c, part in zip(self._columns, y, strict=True)]
            theta = fit.theta([b - out for b, out in zip(whole, own, strict=True)])
            for column, part, coefficients in zip(self._columns, y, theta, strict=True):
                column.add_errors(errors, part, coefficients, fold)
        return errors


def _variation(rows: Rows, y: np.ndarray) -> float:
    """Sum of squares of targets within the tasks."""
    if rows.owner is None:
        return max(float(np.sum((y - y.mean(axis=0)) ** 2)), 1e-300)
    means = np.bincount(rows.owner, y) / np.maximum(np.bincount(rows.owner), 1)
    return max(float(np.sum((y - means[rows.owner]) ** 2)), 1e-300)
