"""GDT as the paper runs it: from the lasso, with s1 and s2 chosen by held-out error."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from paper.studies.task import Answer, RegressionTask
from thinrank.losses import LeastSquares
from thinrank.minimize import minimize
from thinrank.starts import Lasso

GDTSizes = tuple[int, int, int | None]
"""Rank, s1 and s2."""

# Relative change of the factors at which gradient descent stops: in the search for the sizes, and
# in the final fit.
_TOL_SEARCH, _TOL = 1e-5, 1e-7
# Alternations between s2 and s1; most searches settle after two.
_ROUNDS = 3


class FixedDataGDT:
    """GDT on one data set with varying sizes; loss and start are computed once."""

    def __init__(
        self, X: np.ndarray, Y: np.ndarray, intercept: bool = False, start: str = "lasso"
    ) -> None:
        p, k = X.shape[1], Y.shape[1]
        self.x_mean = X.mean(axis=0) if intercept else np.zeros(p)
        self.y_mean = Y.mean(axis=0) if intercept else np.zeros(k)
        self.loss = LeastSquares(X - self.x_mean, Y - self.y_mean)
        self.start: Any = Lasso().solution(self.loss, 0) if start == "lasso" else start

    def fit(self, sizes: GDTSizes, tol: float = _TOL) -> tuple[np.ndarray, np.ndarray]:
        """Fit with the given sizes.

        Shapes: ``theta`` (n_features, n_targets).
        """
        rank, rows, columns = sizes
        solution = minimize(
            self.loss,
            rank=min(rank, rows, columns or rank),
            row_sparsity=rows,
            column_sparsity=columns,
            start=self.start,
            solver="gdt",
            tol=tol,
        )
        theta = solution.factors.theta
        return theta, self.y_mean - self.x_mean @ theta


def gdt(task: RegressionTask) -> Answer:
    """Run Algorithm 1 from the lasso, without ridge, with sizes chosen by held-out error."""
    X, Y = task.pooled
    parts = [
        (FixedDataGDT(X[train], Y[train], task.intercept), test) for train, test in task.splits
    ]

    def held_out(sizes: GDTSizes) -> float:
        total = 0.0
        for part, test in parts:
            theta, intercept = part.fit(sizes, _TOL_SEARCH)
            total += float(np.sum((Y[test] - X[test] @ theta - intercept) ** 2))
        return total

    sizes = choose_sizes(held_out, task)
    theta, intercept = FixedDataGDT(task.X, task.Y, task.intercept).fit(sizes)
    names = ("rank", "row_sparsity", "column_sparsity")
    return Answer(theta, intercept, dict(zip(names, sizes, strict=True)))


def choose_sizes(held_out: Callable[[GDTSizes], float], task: RegressionTask) -> GDTSizes:
    """Minimise the held-out error over s2 and s1 alternately, for every candidate rank."""
    errors: dict[GDTSizes, float] = {}

    def error(sizes: GDTSizes) -> float:
        if sizes not in errors:
            errors[sizes] = held_out(sizes)
        return errors[sizes]

    for rank in task.ranks:
        middle = len(task.row_sizes) * 3 // 5
        rows = task.row_sizes[middle]
        columns: int | None = task.column_sizes[len(task.column_sizes) * 3 // 5]
        for _ in range(_ROUNDS):
            before = rows, columns
            columns = min(task.column_sizes, key=lambda s: error((rank, rows, s)))
            rows = min(task.row_sizes, key=lambda s: error((rank, s, columns)))
            if (rows, columns) == before:
                break
    return min(errors, key=errors.__getitem__)
