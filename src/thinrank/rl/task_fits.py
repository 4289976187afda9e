"""Least squares for several tasks whose coefficients have a common part, from moments.

The coefficients of task t are c + dₜ. The loss is ::

    Σₜ ½‖yₜ − Xₜ(c + dₜ)‖² + α/2·‖c‖² + β/2·Σₜ‖dₜ‖²,

without a penalty on the constant of c: a large β shrinks the tasks towards their common part, and
not towards zero. The deviations D = [d₁ … d_k] of any rank are a closed form. For a low rank,
[c U][1 V]ᵀ is a matrix of low rank with the direction 1 forced into its right factor: V are the
leading right singular vectors of that D, and c and U are fitted again. (Alternating least squares
from there take half as long again; cars with goals on either side return −43.0 ± 2.0 with them and
−43.1 ± 1.5 without, eight seeds.) Only XₜᵀXₜ and Xₜᵀyₜ are needed, for every action. A fit takes
milliseconds, that of :class:`thinrank.losses.PerTask` by pursuit three seconds (12 tasks, 8,500
rows, 332 pairs of action and feature), and the choice of sizes makes some hundreds of fits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import inf
from typing import Any

import numpy as np
from scipy import sparse
from scipy.linalg.lapack import dposv, dpotrf, dpotrs
from scipy.stats import chi2

from thinrank.core.factors import Factors
from thinrank.rl.action_values import LinearValues
from thinrank.rl.features import Features
from thinrank.rl.targets import Rows

# Added to the diagonal of linear systems, relative to that of the Gram matrices: columns may be
# equal.
_JITTER = 1e-10
# Infinite penalties are as large as this, in units of the rows of a task and action.
_INFINITE = 1e6
# Features whose standard deviation is below this fraction of their largest value are constants.
_CONSTANT = 1e-9
# Largest number of cells of a design that is made dense: 1.6 GB.
_MAX_CELLS = 200_000_000
# Tests of features: part of a feature's variance that counts at least as not explained by those in
# use, least number of rows of an action for every feature in use, and how many features are in use
# for every one that enters in a step.
_LEAST_NEW, _ROWS_PER_FEATURE, _BATCH = 0.05, 3, 4

Parts = tuple[list[np.ndarray], list[np.ndarray], np.ndarray]
"""Common parts c of shape (q,) and loadings U of shape (q, r) per action, and V of shape (k, r)."""


@dataclass(frozen=True, eq=False)
class ActionRows:
    """The rows of one action, sorted by task and fold, and some of its columns."""

    # (n_rows, q) of mean 0 and variance 1, except for a constant in column 0
    X: np.ndarray
    # (q,) the features of the columns, counted from 1; 0 is the constant
    index: np.ndarray
    order: np.ndarray  # (n_rows,) the rows in the order in which they were given
    # the rows of every task and fold; one task stands for all if they are shared
    slices: list[list[slice]]
    shared: bool
    n_tasks: int
    mean: np.ndarray  # (n_features,) of all features
    scale: np.ndarray  # (n_features,) 0 for constants

    @classmethod
    def of(
        cls,
        block: Any,
        owner: np.ndarray | None,
        fold: np.ndarray,
        n_tasks: int,
        n_folds: int,
    ) -> ActionRows:
        """All columns of the feature vectors ``block``, of shape (n_rows, n_features).

        Shapes: ``owner`` (n_rows,) or None if all tasks have the same rows.
        """
        n, p = block.shape
        if n * p > _MAX_CELLS:
            raise ValueError(
                f"an action has {n} rows with {p} features, more than the default regressor can "
                "hold in memory; give regressor=SparseReducedRankRegressor(...) or fewer features"
            )
        X = block.toarray() if sparse.issparse(block) else np.asarray(block, dtype=np.float64)
        owners = 1 if owner is None else n_tasks
        key = fold if owner is None else owner * n_folds + fold
        order = np.argsort(key, kind="stable")
        ends = np.append(0, np.cumsum(np.bincount(key, minlength=owners * n_folds))).tolist()
        slices = list(map(slice, ends[:-1], ends[1:]))
        mean = X.mean(axis=0) if n else np.zeros(p)
        scale = X.std(axis=0) if n else np.zeros(p)
        scale = np.where(scale > _CONSTANT * np.abs(X).max(axis=0, initial=0.0), scale, 0.0)
        standard = np.zeros((n, p + 1))
        standard[:, 0] = 1.0
        np.divide(X[order] - mean, scale, out=standard[:, 1:], where=scale > 0)
        each = [slices[i * n_folds : (i + 1) * n_folds] for i in range(owners)]
        shared, index = owner is None, np.arange(p + 1)
        return cls(standard, index, order, each, shared, n_tasks, mean, scale)

    def columns(self, index: np.ndarray) -> ActionRows:
        """Some columns."""
        return replace(self, X=self.X[:, index], index=index)

    @cached_property
    def counts(self) -> np.ndarray:
        """Numbers of rows, of shape (n_tasks,)."""
        sizes = [folds[-1].stop - folds[0].start for folds in self.slices]
        return np.broadcast_to(sizes, (self.n_tasks,))

    @cached_property
    def gram(self) -> np.ndarray:
        """XᵀX of every task, of shape (1 or n_tasks, q, q)."""
        parts = [self.X[folds[0].start : folds[-1].stop] for folds in self.slices]
        return np.stack([part.T @ part for part in parts])

    @cached_property
    def without(self) -> list[np.ndarray]:
        """XᵀX of the rows outside each fold, of shape (1 or n_tasks, q, q)."""
        parts = [[self.X[part] for part in fold] for fold in zip(*self.slices, strict=True)]
        return [self.gram - np.stack([part.T @ part for part in fold]) for fold in parts]

    def products(self, y: np.ndarray) -> np.ndarray:
        """Xᵀy in every fold, of shape (n_folds, n_tasks, q)."""
        y = y[self.order]
        if self.shared:
            return np.stack([y[part].T @ self.X[part] for part in self.slices[0]])
        folds = zip(*self.slices, strict=True)
        return np.stack([[y[part] @ self.X[part] for part in fold] for fold in folds])

    def subtract(self, residuals: np.ndarray, theta: np.ndarray, fold: int) -> None:
        """Subtract the values in the rows of a fold.

        Shapes: ``residuals`` as the targets of the action, ``theta`` (q, n_tasks).
        """
        for owner, folds in enumerate(self.slices):
            own: Any = slice(None) if self.shared else owner
            residuals[self.order[folds[fold]]] -= self.X[folds[fold]] @ theta[:, own]

    def original_units(self, theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Coefficients for all features as given, and intercepts.

        Shapes: ``theta`` (q, r), result (n_features, r) and (r,).
        """
        features = self.index[1:] - 1
        coefficients = np.zeros((len(self.mean), theta.shape[1]))
        coefficients[features] = theta[1:] / self.scale[features][:, None]
        return coefficients, theta[0] - self.mean @ coefficients


class TaskRows:
    """The rows of all actions in standard units."""

    def __init__(self, rows: Rows, n_folds: int, seed: int) -> None:
        self.rows, self.n_folds, self.n_tasks = rows, n_folds, rows.n_tasks
        self.n_groups = int(rows.groups.max()) + 1
        fold, owner = rows.fold_labels(n_folds, seed), rows.owner
        self.actions = []
        for block, at in zip(rows.blocks, rows.ranges, strict=True):
            own = None if owner is None else owner[at]
            self.actions.append(ActionRows.of(block, own, fold[at], rows.n_tasks, n_folds))
        # mean number of rows of a task and action, the unit of the ridge
        self.unit = float(np.mean([action.counts for action in self.actions]))

    def every_column(self) -> list[np.ndarray]:
        """The columns of every action that vary, and the constant."""
        return [np.append(0, np.flatnonzero(action.scale) + 1) for action in self.actions]

    def columns(self, used: Sequence[np.ndarray]) -> list[ActionRows]:
        """The columns in use of every action."""
        return [action.columns(index) for action, index in zip(self.actions, used, strict=True)]

    def products(self, columns: Sequence[ActionRows], targets: np.ndarray) -> list[np.ndarray]:
        """Xᵀy of every action, of shape (n_folds, n_tasks, q)."""
        parts = zip(columns, self.rows.ranges, strict=True)
        return [action.products(targets[where]) for action, where in parts]


def linear_values(
    rows: TaskRows, columns: Sequence[ActionRows], fit: TaskFit, targets: np.ndarray, at: Features
) -> LinearValues:
    """Action values with the coefficients [c U][1 V]ᵀ that a fit has for targets."""
    common, loadings, V = fit.solve([b.sum(axis=0) for b in rows.products(columns, targets)])
    mixing = np.column_stack([np.ones(len(V)), V])
    both = zip(columns, common, loadings, strict=True)
    original = [action.original_units(np.column_stack([c, u])) for action, c, u in both]
    U = np.concatenate([coefficients for coefficients, _ in original])
    levels = np.stack([level for _, level in original])
    if mixing.shape[1] > min(len(U), len(mixing)):
        theta = U @ mixing.T
        factors = Factors.from_theta(theta, rank=min(theta.shape))
    elif not U.any():
        factors = Factors.zero((len(U), len(mixing)), like=np.zeros(0))
    else:
        factors = Factors(U, mixing)
    return LinearValues(at, factors, levels @ mixing.T)


@dataclass(frozen=True)
class Setting:
    """Rank of the deviations and penalties."""

    rank: int | None  # the rank; 0 for none, None for any rank
    # penalties of the common part and of the deviations, in units of the mean number of rows of a
    # task and action; infinity for no common part, or no deviations
    alpha: float
    beta: float


# The fits between the tests of features. Penalties only have to leave residuals with little signal
# of the features that are in use.
_BETWEEN = Setting(None, 1e-3, 0.3)


class TaskFit:
    """Fits with one setting to several targets; inverses are computed once.

    Shapes: ``grams`` (1 or n_tasks, q, q) for every action.
    """

    def __init__(
        self, grams: Sequence[np.ndarray], n_tasks: int, unit: float, setting: Setting
    ) -> None:
        self._k, self._rank = n_tasks, setting.rank
        self._alpha = unit * min(setting.alpha, _INFINITE)
        self._beta = unit * min(setting.beta, _INFINITE)
        self._pooled = setting.rank == 0 or setting.beta == inf
        self._grams = [gram + _jitter(gram) for gram in grams]
        self._inverses = [
            None if self._pooled else np.linalg.inv(gram + self._beta * np.eye(gram.shape[-1]))
            for gram in self._grams
        ]
        self._systems = [self._common_system(a) for a in range(len(grams))]

    def theta(self, products: Sequence[np.ndarray]) -> list[np.ndarray]:
        """The coefficients θ of every action, of shape (q, n_tasks)."""
        common, U, V = self.solve(products)
        return [c[:, None] + u @ V.T for c, u in zip(common, U, strict=True)]

    def solve(self, products: Sequence[np.ndarray]) -> Parts:
        """Common parts c, loadings U and V with θₜ = c + Uvₜ.

        Shapes: ``products`` (n_tasks, q).
        """
        common, deviations = [], []
        for gram, b, inverse, system in zip(
            self._grams, products, self._inverses, self._systems, strict=True
        ):
            # dₜ = (Gₜ + β)⁻¹(bₜ − Gₜc)
            right = b if inverse is None else b - _applied(gram @ inverse, b)
            c = dpotrs(system, right.sum(axis=0))[0]
            common.append(c)
            deviations.append(b if inverse is None else _applied(inverse, b - gram @ c))
        if self._pooled:
            return common, [np.zeros((len(c), 0)) for c in common], np.zeros((self._k, 0))
        if self._rank is None or self._rank >= self._k:
            return common, [d.T for d in deviations], np.eye(self._k)
        joined = np.concatenate(deviations, axis=1)
        V = np.linalg.svd(joined, full_matrices=False)[0][:, : self._rank]
        return *self._loadings(products, V), V

    def _common_system(self, a: int) -> np.ndarray:
        """The factor of the system for c without the deviations, Σ(G − G(G + β)⁻¹G) + α."""
        gram, inverse = self._grams[a], self._inverses[a]
        each = gram if inverse is None else gram - gram @ inverse @ gram
        total = each.sum(axis=0) * (self._k / len(gram))
        penalty = np.full(len(total), self._alpha)
        penalty[0] = 0.0
        # LAPACK is called directly: these systems are small, and checks would take most of the time
        return dpotrf(total + _jitter(gram) + np.diag(penalty))[0]

    def _loadings(
        self, products: Sequence[np.ndarray], V: np.ndarray
    ) -> tuple[list[np.ndarray], list[np.ndarray]]:
        """c and U for given V, action by action."""
        weights = np.concatenate([np.ones((len(V), 1)), V], axis=1)
        width = weights.shape[1]
        pairs = np.einsum("tk,tl->klt", weights, weights).reshape(-1, len(V))
        common, loadings = [], []
        for gram, b in zip(self._grams, products, strict=True):
            q = b.shape[1]
            each = pairs.sum(axis=1, keepdims=True) if len(gram) == 1 else pairs
            system = (each @ gram.reshape(len(gram), -1)).reshape(width, width, q, q)
            system = system.transpose(0, 2, 1, 3).reshape(width * q, width * q)
            penalty = np.full((width, q), self._beta)
            penalty[0] = self._alpha
            penalty[0, 0] = 0.0
            system[np.diag_indices(width * q)] += penalty.ravel()
            solved = dposv(system, (weights.T @ b).ravel())[1].reshape(width, q)
            common.append(solved[0])
            loadings.append(solved[1:].T)
        return common, loadings


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
    actions = rows.actions
    products = [b.sum(axis=0) for b in rows.products(actions, targets)]
    remaining = np.any([action.scale > 0 for action in actions], axis=0)
    total = int(remaining.sum())
    limit = min(total, max(min(len(action.X) for action in actions) // _ROWS_PER_FEATURE, 1))
    if most is not None:
        limit = min(max(most // len(actions), 1), total)
    used = np.zeros(0, dtype=np.int64)
    while len(used) < limit:
        p = np.where(remaining, _p_values(rows, targets, products, used), 1.0)
        order = np.argsort(p, kind="stable")[: max(1, len(used) // _BATCH)]
        order = order[: limit - len(used)]
        chosen = order[(p[order] <= level / total) & remaining[order]]
        if not len(chosen):
            break
        remaining[chosen] = False
        used = np.append(used, chosen)
    return [np.append(0, np.sort(used) + 1)] * len(actions)


def _p_values(
    rows: TaskRows, targets: np.ndarray, products: Sequence[np.ndarray], used: np.ndarray
) -> np.ndarray:
    """P-values of all features given those in use."""
    k, index = rows.n_tasks, np.append(0, used + 1)
    setting = _BETWEEN if k > 1 else Setting(0, _BETWEEN.alpha, 0.0)
    grams = [action.gram[:, index][:, :, index] for action in rows.actions]
    theta = TaskFit(grams, k, rows.unit, setting).theta([b[:, index] for b in products])
    same, each, tests = np.zeros(rows.rows.n_features), np.zeros(rows.rows.n_features), 0
    for action, where, b, own in zip(rows.actions, rows.rows.ranges, products, theta, strict=True):
        # tasks without rows of this action say nothing about it
        seen = action.counts > 0
        some, residuals = action.columns(index), targets[where].copy()
        for fold in range(rows.n_folds):
            some.subtract(residuals, own, fold)
        size = rows.rows.task_sums(residuals**2, where)
        size = np.maximum(size[seen], max(float(size.max(initial=0.0)) * 1e-12, 1e-200))
        fitted = action.gram[:, :, index] @ own.T[:, :, None]
        scores = (b - fitted[..., 0])[seen, 1:]
        new = np.maximum(_new_variance(action, index), _LEAST_NEW)[1:]
        same += scores.sum(axis=0) ** 2 / (size.sum() * new)
        each += np.sum(scores**2 / size[:, None], axis=0) / new
        tests += int(seen.sum())
    p = chi2.sf(same, len(rows.actions))
    if k > 1:
        p = 2 * np.minimum(p, chi2.sf(each, tests))
    return np.minimum(p, 1.0)


def _new_variance(action: ActionRows, index: np.ndarray) -> np.ndarray:
    """The part of every column's variance that the columns in use do not explain."""
    total = action.gram.sum(axis=0)
    total = total / max(float(total[0, 0]), 1.0)
    inner = total[np.ix_(index, index)] + 1e-9 * np.eye(len(index))
    cross = total[index]
    left = np.diag(total) - np.sum(cross * np.linalg.solve(inner, cross), axis=0)
    # columns in use explain a part of any column by chance, which is no reason to expect less
    rows = len(action.X)
    return left * (rows / max(rows - len(index), 1))


def _jitter(gram: np.ndarray) -> np.ndarray:
    return _JITTER * max(float(gram.max(initial=0.0)), 1e-300) * np.eye(gram.shape[-1])


def _applied(matrices: np.ndarray, vectors: np.ndarray) -> np.ndarray:
    """One matrix per task, or the same for all, times one vector per task."""
    if len(matrices) == 1:
        return vectors @ matrices[0].T
    return (matrices @ vectors[..., None])[..., 0]
