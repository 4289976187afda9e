"""Least squares for several tasks whose coefficients have a common part, from moments.

The coefficients of task t are c + dₜ. The loss is ::

    Σₜ ½‖yₜ − Xₜ(c + dₜ)‖² + α/2·‖c‖² + β/2·Σₜ‖dₜ‖²,

without a penalty on the constant of c: a large β shrinks the tasks towards their common part, and
not towards zero. The deviations D = [d₁ … d_k] may have any rank (a closed form) or a low rank:
[c U][1 V]ᵀ is a matrix of low rank with the direction 1 forced into its right factor, and its parts
are fitted by alternating least squares. Only XₜᵀXₜ and Xₜᵀyₜ are needed, for every action. A fit
takes milliseconds, that of :class:`thinrank.losses.PerTask` by pursuit three seconds (12 tasks,
8,500 rows, 332 pairs of action and feature), and the choice of sizes makes some hundreds of fits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import inf
from typing import Any

import numpy as np
from scipy import sparse
from scipy.linalg.lapack import dposv, dpotrf, dpotrs

from thinrank.rl.rows import Rows

# Added to the diagonal of linear systems, relative to that of the Gram matrices: columns may be
# equal.
_JITTER = 1e-10
# Infinite penalties are as large as this, in units of the rows of a task and action.
_INFINITE = 1e6
# Sweeps of alternating least squares: at the first targets, and at later ones, which are similar.
# Held-out errors differ by less than a thousandth from those of many sweeps.
_FIRST_SWEEPS, _SWEEPS = 10, 1
# Features whose standard deviation is below this fraction of their largest value are constants.
_CONSTANT = 1e-9
# Largest number of cells of a design that is made dense: 1.6 GB.
_MAX_CELLS = 200_000_000

Parts = tuple[list[np.ndarray], list[np.ndarray], np.ndarray]
"""Common parts c of shape (q,) and loadings U of shape (q, r) per action, and V of shape (k, r)."""


class ActionRows:
    """The rows of one action: a constant, and features with mean 0 and variance 1.

    Rows are sorted by task and fold, so that those of one task and fold are a slice.

    Shapes: ``block`` (n_rows, n_features), ``owner`` (n_rows,) or None if all tasks have the same
    rows, ``fold`` (n_rows,), ``group`` (n_rows,), ``X`` (n_rows, n_features + 1).
    """

    def __init__(
        self,
        block: Any,
        owner: np.ndarray | None,
        fold: np.ndarray,
        group: np.ndarray,
        n_tasks: int,
        n_folds: int,
    ) -> None:
        n, p = block.shape
        if n * p > _MAX_CELLS:
            raise ValueError(
                f"an action has {n} rows with {p} features, more than the default regressor can "
                "hold in memory; give regressor=SparseReducedRankRegressor(...) or fewer features"
            )
        X = block.toarray() if sparse.issparse(block) else np.asarray(block, dtype=np.float64)
        self.n_tasks, self.n_folds, self.shared = n_tasks, n_folds, owner is None
        key = fold if owner is None else owner * n_folds + fold
        # one task stands for all if they share their rows
        self.owners = 1 if owner is None else n_tasks
        self.order = np.argsort(key, kind="stable")
        self.group = group[self.order]
        ends = np.cumsum(np.bincount(key, minlength=self.owners * n_folds))
        self._ends = np.concatenate([[0], ends])
        self.mean = X.mean(axis=0) if n else np.zeros(p)
        deviation = X.std(axis=0) if n else np.zeros(p)
        self.varies = deviation > _CONSTANT * np.abs(X).max(axis=0, initial=0.0)
        self.scale = np.where(self.varies, deviation, 1.0)
        self.X = np.zeros((n, p + 1))
        self.X[:, 0] = 1.0
        self.X[:, 1:][:, self.varies] = ((X[self.order] - self.mean) / self.scale)[:, self.varies]

    def part(self, owner: int, fold: int | None = None) -> slice:
        """The rows of a task, or of all tasks if they share them, in a fold or in all."""
        place = owner * self.n_folds
        first, last = (place, place + self.n_folds) if fold is None else (place + fold,) * 2
        return slice(self._ends[first], self._ends[last if fold is None else last + 1])

    @cached_property
    def counts(self) -> np.ndarray:
        """Numbers of rows, of shape (n_tasks,)."""
        sizes = np.diff(self._ends).reshape(self.owners, self.n_folds).sum(axis=1)
        return np.broadcast_to(sizes, (self.n_tasks,))

    @cached_property
    def gram(self) -> np.ndarray:
        """XᵀX of every task, of shape (1 or n_tasks, q, q)."""
        parts = [self.X[self.part(owner)] for owner in range(self.owners)]
        return np.stack([rows.T @ rows for rows in parts])

    def squares(self, y: np.ndarray, index: np.ndarray, theta: np.ndarray) -> np.ndarray:
        """Squared residuals of every task, of shape (n_tasks,).

        Shapes: ``index`` (q,), ``theta`` (q, n_tasks).
        """
        y, X = y[self.order], self.X[:, index]
        if self.shared:
            return np.sum((y - X @ theta) ** 2, axis=0)
        parts = [self.part(owner) for owner in range(self.owners)]
        sums = [np.sum((y[s] - X[s] @ theta[:, t]) ** 2) for t, s in enumerate(parts)]
        return np.array(sums)


class Columns:
    """Some columns of an action, with their moments."""

    def __init__(self, rows: ActionRows, index: np.ndarray) -> None:
        self.rows, self.index = rows, index
        self._X = rows.X[:, index]

    @cached_property
    def gram(self) -> np.ndarray:
        """XᵀX of every task, of shape (1 or n_tasks, q, q)."""
        return self.rows.gram[:, self.index][:, :, self.index]

    @cached_property
    def without(self) -> np.ndarray:
        """XᵀX of the rows outside each fold, of shape (n_folds, 1 or n_tasks, q, q)."""
        rows, found = self.rows, []
        for fold in range(rows.n_folds):
            parts = [self._X[rows.part(owner, fold)] for owner in range(rows.owners)]
            found.append(self.gram - np.stack([part.T @ part for part in parts]))
        return np.stack(found)

    def products(self, y: np.ndarray, fold: int | None = None) -> np.ndarray:
        """Xᵀy of every task, of shape (n_tasks, q), in a fold or in all."""
        y = y[self.rows.order]
        parts = [self.rows.part(owner, fold) for owner in range(self.rows.owners)]
        if self.rows.shared:
            return y[parts[0]].T @ self._X[parts[0]]
        return np.stack([y[part] @ self._X[part] for part in parts])

    def add_errors(self, errors: np.ndarray, y: np.ndarray, theta: np.ndarray, fold: int) -> None:
        """Add the squared errors in a fold to those of the episodes or states.

        Shapes: ``errors`` (n_groups,), ``theta`` (q, n_tasks).
        """
        y = y[self.rows.order]
        for owner in range(self.rows.owners):
            part = self.rows.part(owner, fold)
            own = slice(None) if self.rows.shared else slice(owner, owner + 1)
            here = y[part] if self.rows.shared else y[part, None]
            residual = here - self._X[part] @ theta[:, own]
            group = self.rows.group[part]
            errors += np.bincount(group, np.sum(residual**2, axis=1), minlength=len(errors))


class TaskRows:
    """The rows of all actions in standard units."""

    def __init__(self, rows: Rows, n_folds: int, seed: int) -> None:
        self.rows, self.n_folds = rows, n_folds
        self.n_groups = int(rows.groups.max()) + 1
        fold, owner = rows.fold_labels(n_folds, seed), rows.owner
        self.actions = [
            ActionRows(
                block,
                None if owner is None else owner[where],
                fold[where],
                rows.groups[where],
                rows.n_tasks,
                n_folds,
            )
            for block, where in zip(rows.blocks, rows.ranges, strict=True)
        ]
        # mean number of rows of a task and action, the unit of the ridge
        self.unit = float(np.mean([action.counts for action in self.actions]))

    @cached_property
    def whole(self) -> list[Columns]:
        """All columns of every action."""
        return self.columns([np.arange(action.X.shape[1]) for action in self.actions])

    def every_column(self) -> list[np.ndarray]:
        """The columns of every action that vary, and the constant."""
        return [np.append(0, np.flatnonzero(action.varies) + 1) for action in self.actions]

    def columns(self, used: Sequence[np.ndarray]) -> list[Columns]:
        """The columns in use of every action."""
        return [Columns(action, index) for action, index in zip(self.actions, used, strict=True)]

    def by_action(self, targets: np.ndarray) -> list[np.ndarray]:
        """The targets of each action."""
        return [targets[where] for where in self.rows.ranges]

    def original_units(
        self, theta: Sequence[np.ndarray], columns: Sequence[np.ndarray]
    ) -> tuple[np.ndarray, np.ndarray]:
        """Coefficients and intercepts for the features as given.

        Shapes: ``theta`` (q, k), ``columns`` (q,), result (n_actions * n_features, k) and
        (n_actions, k).
        """
        width, k = self.rows.n_features, theta[0].shape[1]
        coefficients = np.zeros((len(self.actions), width, k))
        intercepts = np.zeros((len(self.actions), k))
        for a, (action, index) in enumerate(zip(self.actions, columns, strict=True)):
            features = index[1:] - 1
            slopes = theta[a][1:] / action.scale[features][:, None]
            coefficients[a, features] = slopes
            intercepts[a] = theta[a][0] - action.mean[features] @ slopes
        return coefficients.reshape(-1, k), intercepts


@dataclass(frozen=True)
class Setting:
    """Rank of the deviations and penalties."""

    rank: int | None  # the rank; 0 for none, None for any rank
    # penalties of the common part and of the deviations, in units of the mean number of rows of a
    # task and action; infinity for no common part, or no deviations
    alpha: float
    beta: float


class TaskFit:
    """Repeated fits with one setting; the factors of linear systems are computed once.

    Shapes: ``grams`` (1 or n_tasks, q, q) for every action.
    """

    def __init__(
        self, grams: Sequence[np.ndarray], n_tasks: int, unit: float, setting: Setting
    ) -> None:
        self._k, rank = n_tasks, setting.rank
        self._alpha = unit * min(setting.alpha, _INFINITE)
        self._beta = unit * min(setting.beta, _INFINITE)
        self._pooled = rank == 0 or setting.beta == inf
        self._rank = None if rank is None or rank >= n_tasks else rank
        self._grams = [gram + self._jitter(gram) for gram in grams]
        self._V: np.ndarray | None = None
        q = [gram.shape[-1] for gram in grams]
        self._inverses = [
            None if self._pooled else np.linalg.inv(gram + self._beta * np.eye(size))
            for gram, size in zip(self._grams, q, strict=True)
        ]
        self._systems = [self._common_system(a) for a in range(len(grams))]

    def restart(self) -> None:
        """Forget the last solution: the next fit is to targets that are not similar."""
        self._V = None

    def theta(self, products: Sequence[np.ndarray]) -> list[np.ndarray]:
        """The coefficients θ of every action, of shape (q, n_tasks)."""
        common, U, V = self.solve(products)
        return [c[:, None] + u @ V.T for c, u in zip(common, U, strict=True)]

    def solve(self, products: Sequence[np.ndarray]) -> Parts:
        """Common parts c, loadings U and V with θₜ = c + Uvₜ.

        Shapes: ``products`` (n_tasks, q).
        """
        if self._pooled or self._rank is None or self._V is None:
            common, deviations = self._any_rank(products)
            if self._pooled:
                return common, [np.zeros((len(c), 0)) for c in common], np.zeros((self._k, 0))
            if self._rank is None:
                return common, [d.T for d in deviations], np.eye(self._k)
            start = np.concatenate(deviations, axis=1)
            self._V = np.linalg.svd(start, full_matrices=False)[0][:, : self._rank]
            sweeps = _FIRST_SWEEPS
        else:
            sweeps = _SWEEPS
        common, U = self._loadings(products, self._V)
        for _ in range(sweeps):
            self._V = np.linalg.qr(self._mixing(products, common, U))[0]
            common, U = self._loadings(products, self._V)
        return common, U, self._V

    def _any_rank(self, products: Sequence[np.ndarray]) -> tuple[list[np.ndarray], ...]:
        """Common parts and deviations of any rank: dₜ = (Gₜ + β)⁻¹(bₜ − Gₜc)."""
        common, deviations = [], []
        for gram, b, inverse, system in zip(
            self._grams, products, self._inverses, self._systems, strict=True
        ):
            right = b if inverse is None else b - _applied(gram @ inverse, b)
            c = dpotrs(system, right.sum(axis=0))[0]
            common.append(c)
            deviations.append(b if inverse is None else _applied(inverse, b - gram @ c))
        return common, deviations

    def _common_system(self, a: int) -> np.ndarray:
        """The factor of the system for c without the deviations, Σ(G − G(G + β)⁻¹G) + α."""
        gram, inverse = self._grams[a], self._inverses[a]
        each = gram if inverse is None else gram - gram @ inverse @ gram
        total = each.sum(axis=0) * (self._k / len(gram))
        penalty = np.full(len(total), self._alpha)
        penalty[0] = 0.0
        # LAPACK is called directly: these systems are small, and checks would take most of the time
        return dpotrf(total + self._jitter(gram) + np.diag(penalty))[0]

    def _loadings(
        self, products: Sequence[np.ndarray], V: np.ndarray
    ) -> tuple[list[np.ndarray], list[np.ndarray]]:
        """c and U for given V, action by action."""
        weights = np.concatenate([np.ones((len(V), 1)), V], axis=1)
        width = weights.shape[1]
        common, loadings = [], []
        for gram, b in zip(self._grams, products, strict=True):
            q = b.shape[1]
            pairs = np.einsum("tk,tl->klt", weights, weights).reshape(-1, len(V))
            if len(gram) == 1:
                pairs = pairs.sum(axis=1, keepdims=True)
            system = (pairs @ gram.reshape(len(gram), -1)).reshape(width, width, q, q)
            system = system.transpose(0, 2, 1, 3).reshape(width * q, width * q)
            penalty = np.full((width, q), self._beta)
            penalty[0] = self._alpha
            penalty[0, 0] = 0.0
            system[np.diag_indices(width * q)] += penalty.ravel()
            solved = dposv(system, (weights.T @ b).ravel())[1].reshape(width, q)
            common.append(solved[0])
            loadings.append(solved[1:].T)
        return common, loadings

    def _mixing(
        self, products: Sequence[np.ndarray], common: list[np.ndarray], U: list[np.ndarray]
    ) -> np.ndarray:
        """V for given c and the span of U."""
        lengths = np.cumsum([len(part) for part in U])[:-1]
        span = np.split(np.linalg.qr(np.concatenate(U))[0], lengths)
        r = span[0].shape[1]
        system = np.zeros((self._k, r, r)) + self._beta * np.eye(r)
        right = np.zeros((self._k, r))
        for gram, b, c, basis in zip(self._grams, products, common, span, strict=True):
            system += basis.T @ gram @ basis
            right += (b - gram @ c) @ basis
        return np.linalg.solve(system, right[..., None])[..., 0]

    def _jitter(self, gram: np.ndarray) -> np.ndarray:
        largest = max(float(gram.max(initial=0.0)), 1e-300)
        return _JITTER * largest * np.eye(gram.shape[-1])


def _applied(matrices: np.ndarray, vectors: np.ndarray) -> np.ndarray:
    """One matrix per task, or the same for all, times one vector per task."""
    if len(matrices) == 1:
        return vectors @ matrices[0].T
    return (matrices @ vectors[..., None])[..., 0]
