"""Which features are in use: forward selection by tests of the residuals."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

import numpy as np
from scipy.stats import chi2

from thinrank.rl.common_part import AnyRank
from thinrank.rl.task_rows import ActionRows, TaskRows

# Penalties of the fits between the tests, in units of the rows of a task and action. They only
# have to leave residuals with little signal of the features that are in use.
_ALPHA, _BETA = 1e-3, 0.3
# Part of a feature's variance that counts at least as not explained by the features in use.
_LEAST_NEW = 0.05
# There are at least this number of rows of an action for every feature in use.
_ROWS_PER_FEATURE = 3
# As many features enter at once as are in use already, divided by this.
_BATCH = 4
# Residuals are at least this fraction of the targets: perfect fits leave rounding errors.
_ROUNDING = 1e-12


def select_rows(
    rows: TaskRows,
    products: Sequence[np.ndarray],
    squares: Sequence[np.ndarray],
    level: float,
    most: int | None,
) -> list[np.ndarray]:
    """Columns in use, by forward selection.

    A feature is in use for all actions or for none: greedy actions depend on differences between
    actions, which would be biased by a feature that only some of them use. Given the features in
    use, the score of another feature in a task is its covariance with the residuals. If the
    feature is noise, the squared sum of the scores over the tasks (a common effect), and the sum of
    their squares (effects that differ), have χ² distributions; the second is an approximation if
    all tasks have the same rows, because their residuals are then correlated. Features enter, most
    significant first, while their p-value is below ``level`` divided by the number of features
    (the rule of Bonferroni): ``level`` is the probability that a noise feature enters next if all
    others are in use.
    """
    actions = rows.actions
    remaining = np.any([action.varies for action in actions], axis=0)
    total = int(remaining.sum())
    limit = min(total, max(min(len(action.X) for action in actions) // _ROWS_PER_FEATURE, 1))
    if most is not None:
        limit = min(max(most // len(actions), 1), total)
    used = np.zeros(0, dtype=np.int64)
    while len(used) < limit:
        p = np.where(remaining, _p_values(rows, products, squares, used), 1.0)
        order = np.argsort(p, kind="stable")[: max(1, len(used) // _BATCH)]
        order = order[: limit - len(used)]
        chosen = order[(p[order] <= level / total) & remaining[order]]
        if not len(chosen):
            break
        remaining[chosen] = False
        used = np.append(used, chosen)
    columns = np.append(0, np.sort(used) + 1)
    return [columns] * len(actions)


def _p_values(
    rows: TaskRows,
    products: Sequence[np.ndarray],
    squares: Sequence[np.ndarray],
    used: np.ndarray,
) -> np.ndarray:
    """P-values of all features given those in use."""
    k = rows.rows.n_tasks
    columns = np.append(0, used + 1)
    grams = [action.whole_gram[:, columns][:, :, columns] for action in rows.actions]
    beta = _BETA if k > 1 else inf
    fit = AnyRank(grams, k, _ALPHA * rows.unit, beta * rows.unit)
    own = [b[:, columns] for b in products]
    common, deviations = fit.solve(own)
    same = np.zeros(rows.rows.n_features)
    each = np.zeros_like(same)
    mean = variance = 0.0
    for a, action in enumerate(rows.actions):
        theta = common[a] + deviations[a]
        fitted = _product(action.whole_gram[:, :, columns], theta)
        # tasks without rows of this action say nothing about it
        seen = action.counts.sum(axis=0) > 0
        scores = (products[a] - fitted)[seen, 1:]
        errors = _residual_products(squares[a], theta, own[a], fitted[:, columns], action.shared)
        errors = errors[np.ix_(seen, seen)]
        floor = _ROUNDING * max(float(np.abs(squares[a]).max()), 1e-200)
        size = np.maximum(np.diag(errors), floor)
        new = np.maximum(_new_variance(action, columns), _LEAST_NEW)[1:]
        same += scores.sum(axis=0) ** 2 / (max(float(errors.sum()), floor) * new)
        each += np.sum(scores**2 / size[:, None], axis=0) / new
        correlation = np.clip(errors / np.outer(size**0.5, size**0.5), -1.0, 1.0)
        np.fill_diagonal(correlation, 1.0)  # also of residuals that are rounding errors
        mean += len(size)
        variance += 2 * float(np.sum(correlation**2))
    p = chi2.sf(same, len(rows.actions))
    if k > 1:
        # the sum of squares of correlated scores: χ² with the same mean and variance
        p = 2 * np.minimum(p, chi2.sf(each * 2 * mean / variance, 2 * mean**2 / variance))
    return np.minimum(p, 1.0)


def _residual_products(
    squares: np.ndarray, theta: np.ndarray, own: np.ndarray, fitted: np.ndarray, shared: bool
) -> np.ndarray:
    """RᵀR of the residuals of the tasks; diagonal if tasks have rows of their own."""
    if not shared:
        return np.diag(np.diag(squares) - np.sum(theta * (2 * own - fitted), axis=1))
    cross = theta @ own.T
    return squares - cross - cross.T + theta @ fitted.T


def _product(grams: np.ndarray, theta: np.ndarray) -> np.ndarray:
    """Gₜθₜ for all tasks; G may be the same for all."""
    if len(grams) == 1:
        return theta @ grams[0].T
    return (grams @ theta[..., None])[..., 0]


def _new_variance(action: ActionRows, columns: np.ndarray) -> np.ndarray:
    """The part of every column's variance that the columns in use do not explain."""
    total = action.whole_gram.sum(axis=0)
    total = total / max(float(total[0, 0]), 1.0)
    inner = total[np.ix_(columns, columns)] + 1e-9 * np.eye(len(columns))
    cross = total[columns]
    left = np.diag(total) - np.sum(cross * np.linalg.solve(inner, cross), axis=0)
    # columns in use explain a part of any column by chance, which is no reason to expect less
    rows = len(action.X)
    return left * (rows / max(rows - len(columns), 1))
