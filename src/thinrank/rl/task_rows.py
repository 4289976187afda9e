"""The rows of several tasks in standard units, and their moments by task and fold."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from thinrank.rl.rows import Rows

# Features whose standard deviation is below this fraction of their largest value are constants.
_CONSTANT = 1e-9
# Largest number of cells of a design that is made dense: 1.6 GB.
_MAX_CELLS = 200_000_000


class ActionRows:
    """The rows of one action: a constant, and features with mean 0 and variance 1.

    Rows are sorted by task and fold, so that those of one task and fold are a slice.

    Shapes: ``block`` (n_rows, n_features), ``owner`` (n_rows,), ``fold`` (n_rows,). ``owner``:
    None if all tasks have the same rows.
    """

    def __init__(
        self, block: Any, owner: np.ndarray | None, fold: np.ndarray, n_tasks: int, n_folds: int
    ) -> None:
        n, p = block.shape
        if n * p > _MAX_CELLS:
            raise ValueError(
                f"an action has {n} rows with {p} features, more than the default regressor can "
                "hold in memory; give regressor=SparseReducedRankRegressor(...) or fewer features"
            )
        X = block.toarray() if sparse.issparse(block) else np.asarray(block, dtype=np.float64)
        self.n_tasks, self.shared = n_tasks, owner is None
        label = np.zeros(n, dtype=np.int64) if owner is None else owner
        groups = 1 if owner is None else n_tasks
        key = label * n_folds + fold
        self.order = np.argsort(key, kind="stable")
        ends = np.cumsum(np.bincount(key, minlength=groups * n_folds))
        self.ends = np.concatenate([[0], ends])
        self.groups, self.n_folds = groups, n_folds
        self.mean = X.mean(axis=0) if n else np.zeros(p)
        deviation = X.std(axis=0) if n else np.zeros(p)
        largest = np.abs(X).max(axis=0, initial=0.0)
        self.varies = deviation > _CONSTANT * largest
        self.scale = np.where(self.varies, deviation, 1.0)
        self.X = np.empty((n, p + 1))
        self.X[:, 0] = 1.0
        self.X[:, 1:] = (X[self.order] - self.mean) / self.scale
        self.X[:, 1:][:, ~self.varies] = 0.0

    def part(self, group: int, fold: int) -> slice:
        """The rows of a task, or of all tasks if they share them, in a fold."""
        place = group * self.n_folds + fold
        return slice(self.ends[place], self.ends[place + 1])

    @cached_property
    def counts(self) -> np.ndarray:
        """Numbers of rows, of shape (n_folds, n_tasks)."""
        sizes = np.diff(self.ends).reshape(self.groups, self.n_folds).T
        return np.broadcast_to(sizes, (self.n_folds, self.n_tasks))

    def squares(self, targets: np.ndarray) -> np.ndarray:
        """YᵀY of the tasks, of shape (n_tasks, n_tasks), for targets in the order of the rows.

        Tasks with rows of their own have no products with each other: the matrix is diagonal.
        """
        y = targets[self.order]
        if self.shared:
            return y.T @ y
        sums = np.add.reduceat(np.append(y**2, 0.0), self.ends[: -1 : self.n_folds])
        return np.diag(np.where(self.counts.sum(axis=0) > 0, sums, 0.0))

    @cached_property
    def whole_gram(self) -> np.ndarray:
        """XᵀX of every task over all columns, of shape (1 or n_tasks, q, q)."""
        parts = []
        for group in range(self.groups):
            rows = self.X[self.ends[group * self.n_folds] : self.ends[(group + 1) * self.n_folds]]
            parts.append(rows.T @ rows)
        return np.stack(parts)


class Columns:
    """Some columns of an action, with their moments.

    Shapes: ``index`` (q,).
    """

    def __init__(self, rows: ActionRows, index: np.ndarray) -> None:
        self.rows, self.index = rows, index
        whole = len(index) == rows.X.shape[1]
        self._X = rows.X if whole else np.ascontiguousarray(rows.X[:, index])

    @cached_property
    def gram(self) -> np.ndarray:
        """XᵀX of every task, of shape (1 or n_tasks, q, q)."""
        return self.rows.whole_gram[:, self.index][:, :, self.index]

    @cached_property
    def fold_grams(self) -> np.ndarray:
        """XᵀX of every fold and task, of shape (n_folds, 1 or n_tasks, q, q)."""
        q = len(self.index)
        found = np.empty((self.rows.n_folds, self.rows.groups, q, q))
        for fold in range(self.rows.n_folds):
            for group in range(self.rows.groups):
                part = self._X[self.rows.part(group, fold)]
                found[fold, group] = part.T @ part
        return found

    def products(self, targets: np.ndarray) -> np.ndarray:
        """Xᵀy of every task, of shape (n_tasks, q), for targets in the order of the rows."""
        rows, y = self.rows, targets[self.rows.order]
        if rows.shared:
            return y.T @ self._X
        found = np.empty((rows.n_tasks, len(self.index)))
        for task in range(rows.n_tasks):
            own = slice(rows.ends[task * rows.n_folds], rows.ends[(task + 1) * rows.n_folds])
            found[task] = y[own] @ self._X[own]
        return found

    def fold_products(self, targets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Xᵀy and yᵀy by fold, of shapes (n_folds, n_tasks, q) and (n_folds, n_tasks)."""
        rows, y = self.rows, targets[self.rows.order]
        products = np.zeros((rows.n_folds, rows.n_tasks, len(self.index)))
        squares = np.zeros((rows.n_folds, rows.n_tasks))
        for fold in range(rows.n_folds):
            for group in range(rows.groups):
                part = rows.part(group, fold)
                where = slice(None) if rows.shared else slice(group, group + 1)
                own = y[part] if rows.shared else y[part][:, None]
                products[fold, where] = own.T @ self._X[part]
                squares[fold, where] = np.sum(own**2, axis=0)
        return products, squares


class TaskRows:
    """The rows of all actions in standard units."""

    def __init__(self, rows: Rows, n_folds: int, seed: int) -> None:
        self.rows, self.n_folds = rows, n_folds
        fold = rows.fold_labels(n_folds, seed)
        self.actions = [
            ActionRows(
                block,
                None if rows.owner is None else rows.owner[where],
                fold[where],
                rows.n_tasks,
                n_folds,
            )
            for block, where in zip(rows.blocks, rows.ranges, strict=True)
        ]
        counts = sum(int(action.counts.sum()) for action in self.actions)
        # mean number of rows of a task and action, the unit of the ridge
        self.unit = counts / (rows.n_tasks * len(self.actions))

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

        Shapes: ``theta`` (q, k), ``columns`` (q,), ``coefficients`` (n_actions *
        n_features, k), ``intercepts`` (n_actions, k).
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
