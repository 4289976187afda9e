"""Which features are in use: forward selection by tests of the residuals."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.stats import chi2

from thinrank.rl.task_fits import ActionRows, Setting, TaskFit, TaskRows

# The fits between the tests. Penalties only have to leave residuals with little signal of the
# features that are in use.
_BETWEEN = Setting(None, 1e-3, 0.3)
# Part of a feature's variance that counts at least as not explained by the features in use.
_LEAST_NEW = 0.05
# There are at least this number of rows of an action for every feature in use.
_ROWS_PER_FEATURE = 3
# As many features enter in a step as are in use already, divided by this.
_BATCH = 4


def select_features(
    rows: TaskRows, targets: np.ndarray, level: float, most: int | None
) -> list[np.ndarray]:
    """Columns in use, by forward selection.

    A feature is in use for all actions or for none: greedy actions depend on differences between
    actions, which would be biased by a feature that only some of them use. Given the features in
    use, the score of another feature in a task is its covariance with the residuals. If the
    feature is noise, the squared sum of the scores over the tasks (a common effect), and the sum of
    their squares (effects that differ), have χ² distributions. Features enter, most significant
    first, while their p-value is below ``level`` divided by the number of features (the rule of
    Bonferroni).
    """
    actions, y = rows.actions, rows.by_action(targets)
    products = [c.products(part) for c, part in zip(rows.whole, y, strict=True)]
    remaining = np.any([action.varies for action in actions], axis=0)
    total = int(remaining.sum())
    limit = min(total, max(min(len(action.X) for action in actions) // _ROWS_PER_FEATURE, 1))
    if most is not None:
        limit = min(max(most // len(actions), 1), total)
    used = np.zeros(0, dtype=np.int64)
    while len(used) < limit:
        p = np.where(remaining, _p_values(rows, y, products, used), 1.0)
        order = np.argsort(p, kind="stable")[: max(1, len(used) // _BATCH)]
        order = order[: limit - len(used)]
        chosen = order[(p[order] <= level / total) & remaining[order]]
        if not len(chosen):
            break
        remaining[chosen] = False
        used = np.append(used, chosen)
    return [np.append(0, np.sort(used) + 1)] * len(actions)


def _p_values(
    rows: TaskRows, y: list[np.ndarray], products: Sequence[np.ndarray], used: np.ndarray
) -> np.ndarray:
    """P-values of all features given those in use."""
    k, columns = rows.rows.n_tasks, np.append(0, used + 1)
    setting = _BETWEEN if k > 1 else Setting(0, _BETWEEN.alpha, 0.0)
    grams = [action.gram[:, columns][:, :, columns] for action in rows.actions]
    theta = TaskFit(grams, k, rows.unit, setting).theta([b[:, columns] for b in products])
    same = np.zeros(rows.rows.n_features)
    each = np.zeros_like(same)
    tests = 0
    for action, part, b, coefficients in zip(rows.actions, y, products, theta, strict=True):
        # tasks without rows of this action say nothing about it
        seen = action.counts > 0
        size = action.squares(part, columns, coefficients)[seen]
        size = np.maximum(size, max(float(size.max(initial=0.0)) * 1e-12, 1e-200))
        fitted = action.gram[:, :, columns] @ coefficients.T[:, :, None]
        scores = (b - fitted[..., 0])[seen, 1:]
        new = np.maximum(_new_variance(action, columns), _LEAST_NEW)[1:]
        same += scores.sum(axis=0) ** 2 / (size.sum() * new)
        each += np.sum(scores**2 / size[:, None], axis=0) / new
        tests += int(seen.sum())
    p = chi2.sf(same, len(rows.actions))
    if k > 1:
        p = 2 * np.minimum(p, chi2.sf(each, tests))
    return np.minimum(p, 1.0)


def _new_variance(action: ActionRows, columns: np.ndarray) -> np.ndarray:
    """The part of every column's variance that the columns in use do not explain."""
    total = action.gram.sum(axis=0)
    total = total / max(float(total[0, 0]), 1.0)
    inner = total[np.ix_(columns, columns)] + 1e-9 * np.eye(len(columns))
    cross = total[columns]
    left = np.diag(total) - np.sum(cross * np.linalg.solve(inner, cross), axis=0)
    # columns in use explain a part of any column by chance, which is no reason to expect less
    rows = len(action.X)
    return left * (rows / max(rows - len(columns), 1))
