"""Choice of rows, rank and penalties by trial iterations on one sample of transitions.

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
from dataclasses import dataclass, replace
from math import inf

import numpy as np

from thinrank.rl.common_part import CommonPartFit, Setting
from thinrank.rl.frozen_transitions import FrozenTransitions
from thinrank.rl.task_rows import Columns, TaskRows

# Iterations of the pilot run, and those after which it selects rows. Q changes quickly at first.
_PILOT, _SELECTING = 20, (1, 2, 4, 8, 14, 20)
# Penalties of the pilot run.
_MIDDLE = 1.0
# Iterations of a trial, from the values of the pilot run.
_TRIAL = 12
# The penalties to choose from, in units of the rows of a task and action.
_ALPHAS = (1e-3, 3e-3, 1e-2, 3e-2, 1e-1, 0.3, 1.0, 3.0, 10.0)
_BETAS = (1e-2, 1e-1, 1.0, 10.0)
# Held-out errors that differ by less than this factor count as equal. Rule of thumb.
_EQUAL = 1.05
# All features are used if they lower the error of the selected ones by more than this factor: if a
# few weak features were not found, all others enter with them. Rule of thumb.
_CLEAR = 1.1
# Number of columns up to which all features compete: systems of this size are solved per task.
_MOST_COLUMNS = 500
# Larger coefficients count as divergence.
_LARGEST = 1e50


def pilot(
    rows: TaskRows,
    frozen: FrozenTransitions,
    select: Callable[[list[np.ndarray], list[np.ndarray]], list[np.ndarray]],
) -> tuple[list[np.ndarray], np.ndarray, np.ndarray]:
    """Select rows while the values of a first fitted Q-iteration grow."""
    k, actions = rows.rows.n_tasks, len(rows.actions)
    coefficients = np.zeros((actions * rows.rows.n_features, k))
    intercepts = np.zeros((actions, k))
    setting = Setting(None, _MIDDLE, _MIDDLE if k > 1 else inf)
    every = [Columns(action, np.arange(action.X.shape[1])) for action in rows.actions]
    used: list[np.ndarray] = []
    for iteration in range(1, _PILOT + 1):
        y = rows.by_action(frozen.targets(coefficients, intercepts))
        if iteration in _SELECTING:
            whole = [c.products(part) for c, part in zip(every, y, strict=True)]
            squares = [a.squares(part) for a, part in zip(rows.actions, y, strict=True)]
            used = select(whole, squares)
            columns = rows.columns(used)
            fit = CommonPartFit([c.gram for c in columns], k, rows.unit, setting)
        theta = fit.theta([c.products(part) for c, part in zip(columns, y, strict=True)])
        coefficients, intercepts = rows.original_units(theta, used)
    return used, coefficients, intercepts


def choose_setting(
    rows: TaskRows,
    frozen: FrozenTransitions,
    used: list[np.ndarray],
    begin: tuple[np.ndarray, np.ndarray],
    *,
    ranks: Sequence[int | None],
    alphas: Sequence[float] | None,
    betas: Sequence[float] | None,
    every_row: bool,
) -> tuple[Setting, list[np.ndarray]]:
    """The setting with the smallest relative held-out Bellman error.

    ``ranks``: 0 is the pooled model, None any rank. ``alphas``, ``betas``: None for a grid.
    """
    few = _Trials(rows, frozen, used, begin)
    few.search(ranks, alphas, betas)
    best = few.best
    every = [np.append(0, np.flatnonzero(action.varies) + 1) for action in rows.actions]
    fewer = any(len(some) < len(whole) for some, whole in zip(used, every, strict=True))
    if every_row and fewer and max(map(len, every)) <= _MOST_COLUMNS:
        whole = _Trials(rows, frozen, every, begin, few.reference)
        # in most problems one trial is enough to see that further features do not help
        whole.run([best])
        if whole.least < few.errors[best]:
            whole.search(ranks, alphas, betas)
            # this search began at the best setting of the first and can go further, but features
            # are to be compared and not searches: the features in use try its settings, too
            few.run(whole.errors)
            if whole.least * _CLEAR < few.least:
                return whole.best, every
    return best, used


def _rounds(
    ranks: Sequence[int | None], alphas: Sequence[float] | None, betas: Sequence[float] | None
) -> list[Callable[[Setting], Iterable[Setting]]]:
    """Rounds of settings; each depends on the best one so far."""
    free = alphas is None
    every_alpha = _ALPHAS if alphas is None else tuple(alphas)
    every_beta = _BETAS if betas is None else tuple(betas)
    low = sorted(r for r in ranks if r is not None and r > 0)
    first = [*low[:1], *([None] if None in ranks else [])]

    def same(best: Setting) -> Iterable[Setting]:
        if 0 in ranks:
            return [Setting(0, a, inf) for a in every_alpha]
        return [Setting(first[0], a, b) for a in every_alpha[::2] for b in every_beta]

    def different(best: Setting) -> Iterable[Setting]:
        return [Setting(r, best.alpha, b) for r in first for b in every_beta]

    def separate(best: Setting) -> Iterable[Setting]:
        # ridge regressions of their own: nothing in common but the level
        return [Setting(None, inf, b) for b in every_beta[:2] if free and None in ranks]

    def further(best: Setting) -> Iterable[Setting]:
        if best.beta == inf or best.alpha == inf:
            return []
        near = [b for b in every_beta if 0.5 < b / best.beta < 20]
        return [Setting(r, best.alpha, b) for r in low[1:] for b in near]

    def nearby(best: Setting) -> Iterable[Setting]:
        return [replace(best, alpha=a) for a in every_alpha if 0.2 < a / best.alpha < 5]

    return [same, different, separate, further, nearby]


def best_setting(errors: dict[Setting, float]) -> Setting:
    """The setting with the smallest error, or the same with a smaller penalty α.

    Of errors that are nearly equal the smallest α is chosen. It biases the common part in every
    iteration, and these biases add up, while the held-out error contains that of one iteration
    only. Rank and β are those of the smallest error: a large β loses little, even if the tasks are
    alike, while a rank of 0 is wrong if they are not.
    """
    least = min(errors, key=lambda s: errors[s], default=None)
    if least is None or errors[least] == inf:
        return Setting(0, _MIDDLE, inf)
    near = [
        s
        for s, error in errors.items()
        if (s.rank, s.beta) == (least.rank, least.beta) and error <= _EQUAL * errors[least]
    ]
    return min(near, key=lambda s: s.alpha)


@dataclass(frozen=True, eq=False)
class _Reference:
    """Targets by which all settings are judged, beside their own, and their sum of squares."""

    targets: list[np.ndarray]
    spread: float


class _Trials:
    """Runs of settings and their errors.

    The reference is the same for trials with other columns.
    """

    def __init__(
        self,
        rows: TaskRows,
        frozen: FrozenTransitions,
        used: list[np.ndarray],
        begin: tuple[np.ndarray, np.ndarray],
        reference: _Reference | None = None,
    ) -> None:
        self._rows, self._frozen, self._used, self._begin = rows, frozen, used, begin
        self._columns = rows.columns(used)
        self._grams = [c.gram for c in self._columns]
        self._k = rows.rows.n_tasks
        self.reference = reference
        self._own: dict[Setting, tuple[float, float]] = {}
        self._common: dict[Setting, float] = {}
        self._targets: dict[Setting, list[np.ndarray]] = {}

    @property
    def errors(self) -> dict[Setting, float]:
        """Mean of the relative errors at the own targets and at those of the reference.

        The variance of the own targets counts at most as much as that of the reference: large
        arbitrary values are easy to predict, relative to their own variance, because next states
        are similar to states.
        """
        if self.reference is None:
            return {s: error / max(spread, 1e-300) for s, (error, spread) in self._own.items()}
        scale = max(self.reference.spread, 1e-300)
        return {
            s: 0.5 * (error / max(min(spread, scale), 1e-300) + self._common[s] / scale)
            for s, (error, spread) in self._own.items()
        }

    @property
    def best(self) -> Setting:
        """The best of the settings so far."""
        return best_setting(self.errors)

    @property
    def least(self) -> float:
        """The smallest error so far; that of ``best`` may be larger."""
        return min(self.errors.values())

    def search(
        self,
        ranks: Sequence[int | None],
        alphas: Sequence[float] | None,
        betas: Sequence[float] | None,
    ) -> None:
        """Measure the errors of several settings, first far apart and then close to the best."""
        first, *others = _rounds(ranks, alphas, betas)
        self.run(first(self.best))
        if self.reference is None:
            self._refer()
        for settings in others:
            self.run(settings(self.best))

    def run(self, settings: Iterable[Setting]) -> None:
        """Measure the errors of settings that are not known yet."""
        for setting in settings:
            if setting in self._own:
                continue
            y = self._trial(setting)
            if y is None:
                self._own[setting], self._common[setting] = (inf, inf), inf
            elif self.reference is None:
                self._targets[setting] = y
                (self._own[setting],) = self._held_out(setting, [y])
            else:
                own, common = self._held_out(setting, [y, self.reference.targets])
                self._own[setting], self._common[setting] = own, common[0]

    def _refer(self) -> None:
        """Make the targets of the best setting so far the reference."""
        best = self.best
        if best not in self._targets:
            return
        self.reference = _Reference(self._targets[best], self._own[best][1])
        for setting in self._own:
            ((self._common[setting], _),) = self._held_out(setting, [self.reference.targets])
        self._targets.clear()

    def _trial(self, setting: Setting) -> list[np.ndarray] | None:
        """The targets that a setting leads to; None if its values diverge."""
        coefficients, intercepts = self._begin
        fit = CommonPartFit(self._grams, self._k, self._rows.unit, setting)
        for _ in range(_TRIAL):
            y = self._rows.by_action(self._frozen.targets(coefficients, intercepts))
            theta = fit.theta([c.products(part) for c, part in zip(self._columns, y, strict=True)])
            coefficients, intercepts = self._rows.original_units(theta, self._used)
            if not np.abs(coefficients).max(initial=0.0) < _LARGEST:
                return None
        return self._rows.by_action(self._frozen.targets(coefficients, intercepts))

    def _held_out(
        self, setting: Setting, several: Sequence[list[np.ndarray]]
    ) -> list[tuple[float, float]]:
        """For several targets, the squared error in held-out rows and the spread within tasks."""
        moments = [
            [c.fold_products(part) for c, part in zip(self._columns, y, strict=True)]
            for y in several
        ]
        errors = np.zeros(len(several))
        for fold in range(self._rows.n_folds):
            grams = [c.gram - c.fold_grams[fold] for c in self._columns]
            fit = CommonPartFit(grams, self._k, self._rows.unit, setting)
            for i, found in enumerate(moments):
                fit.restart()
                theta = fit.theta([b.sum(axis=0) - b[fold] for b, _ in found])
                for column, c, (b, squares) in zip(theta, self._columns, found, strict=True):
                    fitted = np.einsum("tij,jt->ti", c.fold_grams[fold], column, optimize=True)
                    errors[i] += float(squares[fold].sum())
                    errors[i] += float(np.sum(column.T * (fitted - 2 * b[fold])))
        return list(zip(errors.tolist(), map(self._spread, moments), strict=True))

    def _spread(self, found: list[tuple[np.ndarray, np.ndarray]]) -> float:
        """Sum of squares of targets within the tasks."""
        total = np.sum([squares.sum(axis=0) for _, squares in found], axis=0)
        sums = np.sum([b.sum(axis=0)[:, 0] for b, _ in found], axis=0)
        counts = np.sum([action.counts.sum(axis=0) for action in self._rows.actions], axis=0)
        return float(np.sum(total - sums**2 / np.maximum(counts, 1)))
