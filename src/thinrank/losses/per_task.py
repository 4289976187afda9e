"""Least squares where every response has its own rows."""

from __future__ import annotations

import copy
import math
from functools import cached_property
from typing import Any

import numpy as np

from thinrank import arrays, linalg
from thinrank.arrays import Array
from thinrank.core.checks import check_number
from thinrank.core.contracts import Design
from thinrank.core.factors import Factors
from thinrank.designs import as_design, take_rows
from thinrank.forms.working import WorkingForm
from thinrank.losses.families import Gaussian
from thinrank.losses.generalized_linear import RESTRICTABLE, GeneralizedLinear, as_array


class PerTask:
    """f(Θ) = Σₜ 1/(2nₜ)·‖yₜ − Xₜθₜ‖² + ridge/2·‖Θ‖²_F, θₜ the columns of Θ.

    Every task t has its own nₜ rows Xₜ; the rows of all tasks are given, in any order, as one X.
    If all tasks have the same rows, this is :class:`LeastSquares`. Otherwise the curvature
    differs between the columns of Θ, so that the loss is not a quadratic form with one H; pursuit
    minimizes approximations of it (see :meth:`majorizer`).

    An evaluation at Θ = UVᵀ multiplies X and Xᵀ by blocks with r columns: the prediction for a
    row x is ⟨Uᵀx, v⟩, where v is the row of V of its task.

    Parameters
    ----------
    X : array, scipy sparse matrix, LinearOperator or Design of shape (n_samples, n_features)
        The rows of all tasks.
    y : array of shape (n_samples,)
        Responses.
    task : array-like of int, of shape (n_samples,)
        The task of each row, counted from 0.
    n_tasks : int, default=None
        Number of columns of Θ; None for the largest entry of ``task`` plus one. A task without
        rows contributes nothing to the loss.
    ridge : float, default=0.0
        Weight of ½‖Θ‖².

    Examples
    --------
    Two tasks with different rows and the same one of three predictors:

    >>> import numpy as np, thinrank as tr
    >>> X = np.random.default_rng(0).standard_normal((50, 3))
    >>> task = np.arange(50) % 2
    >>> y = X[:, 1] * np.array([1.0, 2.0])[task]
    >>> loss = tr.losses.PerTask(X, y, task)
    >>> tr.minimize(loss, rank=1, row_sparsity=1).factors.theta.round(4)
    array([[0., 0.],
           [1., 2.],
           [0., 0.]])
    """

    capabilities = RESTRICTABLE | {"curvature", "folds", "smoothness"}

    def __init__(
        self, X: Any, y: Any, task: Any, n_tasks: int | None = None, *, ridge: Any = 0.0
    ) -> None:
        self.X: Design = as_design(X)
        self.prototype = self.X.prototype
        check_number("ridge", ridge)
        self.ridge = float(ridge)
        labels = _labels(task, self.X.shape[0])
        count = int(labels.max(initial=-1)) + 1 if n_tasks is None else int(n_tasks)
        if count < 1 or labels.max(initial=-1) >= count:
            raise ValueError(
                f"task must contain integers from 0 to n_tasks − 1 = {count - 1}, "
                f"got {labels.max(initial=-1)}"
            )
        self.shape = (self.X.shape[1], count)
        self.y = as_array("y", y, (self.X.shape[0],), self.prototype)
        self._labels = labels
        self.task = arrays.indices(labels.tolist(), self.prototype)
        self.counts = np.bincount(labels, minlength=count)
        share = 1.0 / np.maximum(self.counts, 1)
        self._share = arrays.from_numpy(share[labels], self.prototype)
        self._order = arrays.indices(np.argsort(labels, kind="stable").tolist(), self.prototype)
        self._ends = np.concatenate([[0], np.cumsum(self.counts)]).tolist()
        self._tasks = max(int(np.count_nonzero(self.counts)), 1)  # that have rows
        # mean number of rows per task, which corresponds to n in 1/(2n)
        self.samples = self.X.shape[0] / self._tasks
        self.magnitude = arrays.inner(self.y, self._share * self.y)

    def value_and_gradient(self, factors: Factors) -> tuple[float, Array, Array]:
        """f(UVᵀ), ∇f·V and ∇fᵀ·U, without an array of the size of Θ."""
        xp = arrays.namespace(self.prototype)
        U, V = factors.U, factors.V
        scores, mixing = self.X @ U, arrays.take_rows(V, self.task)
        residual = xp.sum(scores * mixing, axis=1) - self.y
        scaled = self._share * residual
        value = 0.5 * arrays.inner(scaled, residual)
        gradient_u = self.X.transposed_product(scaled[:, None] * mixing)
        gradient_v = self._sums(scaled[:, None] * scores)
        if self.ridge:
            UU, VV = U.T @ U, V.T @ V
            value += 0.5 * self.ridge * arrays.inner(UU, VV)
            gradient_u = gradient_u + self.ridge * (U @ VV)
            gradient_v = gradient_v + self.ridge * (V @ UU)
        return value, gradient_u, gradient_v

    def full_gradient(self, theta: Array) -> tuple[float, Array]:
        """Value and gradient of f at a dense Θ."""
        factors = Factors(theta, arrays.identity(self.shape[1], like=theta))
        value, gradient, _ = self.value_and_gradient(factors)
        return value, gradient

    def majorizer(self, factors: Factors, rows: Array | None = None) -> WorkingForm:
        """The quadratic form around UVᵀ, with the mean of the Gram matrices of the tasks."""
        return self._general.majorizer(factors)

    def restrict(self, rows: Array, columns: Array) -> GeneralizedLinear:
        """f over the Θ that vanish outside ``rows`` and ``columns``; values equal those of f."""
        return self._general.restrict(rows, columns)

    def column_steps(self, factors: Factors) -> tuple[Array, Array] | None:
        """V with exact steps for all tasks, and their gains."""
        return self._general.column_steps(factors)

    @cached_property
    def _general(self) -> GeneralizedLinear:
        """The same loss with one column per task, where a row has one entry that is not missing."""
        xp = arrays.namespace(self.prototype)
        own = xp.astype(
            self.task[:, None] == arrays.indices(range(self.shape[1]), self.task), self.y.dtype
        )
        return GeneralizedLinear(
            self.X,
            own * self.y[:, None],
            Gaussian(),
            entry_weight=self._tasks * own,
            sample_weight=self._share * (self.samples / self._tasks),
            ridge=self.ridge,
        )

    def with_ridge(self, ridge: float) -> PerTask:
        """The same loss with another ridge."""
        other = copy.copy(self)
        check_number("ridge", ridge)
        other.ridge = float(ridge)
        other.__dict__.pop("_general", None)
        return other

    def smoothness(self) -> float:
        """L: the largest eigenvalue of XₜᵀXₜ/nₜ over the tasks, plus the ridge."""
        return self.curvature(arrays.indices(range(self.shape[0]), self.prototype))[1]

    def curvature(self, rows: Array) -> tuple[float, float]:
        """Extreme eigenvalues of the tasks' Gram matrices over ``rows``, plus the ridge."""
        low, high = math.inf, 0.0
        for t in np.flatnonzero(self.counts):
            own = take_rows(self.X, self._order[self._ends[t] : self._ends[t + 1]])
            ends = linalg.extreme_eigenvalues(own.gram(rows) / own.shape[0])
            low, high = min(low, ends[0]), max(high, ends[1])
        return max(min(low, high), 0.0) + self.ridge, high + self.ridge

    def row_scales(self) -> Array:
        """Root of the mean over the tasks of the mean squares of the columns of Xₜ."""
        xp = arrays.namespace(self.prototype)
        return self.X.column_norms(xp.sqrt(self._share)) / self._tasks**0.5

    def folds(self, count: int, seed: int) -> list[tuple[PerTask, PerTask]]:
        """Training and held-out losses of ``count`` folds; the rows of every task are split."""
        rng = np.random.default_rng(seed)
        fold = np.empty(len(self._labels), dtype=np.int64)
        for t in range(self.shape[1]):
            own = np.flatnonzero(self._labels == t)
            fold[own] = rng.permutation(len(own)) % count
        return [(self._rows(fold != i), self._rows(fold == i)) for i in range(count)]

    def _rows(self, kept: np.ndarray) -> PerTask:
        chosen = np.flatnonzero(kept)
        index = arrays.indices(chosen.tolist(), self.prototype)
        return PerTask(
            take_rows(self.X, index),
            arrays.take_rows(self.y, index),
            self._labels[chosen],
            self.shape[1],
            ridge=self.ridge,
        )

    def _sums(self, block: Array) -> Array:
        """Sums over the rows of each task, of shape (tasks, r)."""
        xp = arrays.namespace(block)
        sorted_rows = arrays.take_rows(block, self._order)
        parts = zip(self._ends[:-1], self._ends[1:], strict=True)
        return xp.stack([xp.sum(sorted_rows[first:last, :], axis=0) for first, last in parts])


def _labels(task: Any, rows: int) -> np.ndarray:
    labels = arrays.to_numpy(task) if arrays.is_array(task) else np.asarray(task)
    whole = labels.dtype.kind in "iu" and labels.shape == (rows,)
    if not whole or (rows and labels.min() < 0):
        raise ValueError(
            f"task must contain {rows} non-negative integers, one per row of X; got an array of "
            f"dtype {labels.dtype} and shape {labels.shape}"
        )
    return labels.astype(np.int64)
