"""GDT as the paper runs it: from the lasso, with s1 and s2 by held-out error."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from thinrank.losses import LeastSquares
from thinrank.minimize import minimize
from thinrank.starts import Lasso
from thinrank.studies.task import Answer, Task

__all__ = ["Descent", "choose_sizes", "gdt"]

Sizes = tuple[int, int, int | None]

# Relative change of the factors below which gradient descent stops: while choosing, at last.
_TOL_CHOOSING, _TOL = 1e-5, 1e-7
# Rounds over s2 and s1 in turn; most searches settle in two.
_ROUNDS = 3


class Descent:
    """One training part: its loss and its lasso, computed once for all sizes.

    Parameters
    ----------
    X, Y : ndarray
    intercept : bool
        Whether to centre both by their means.
    start : str
        Where gradient descent begins: "lasso" as in the paper, or "spectral".
    """

    def __init__(
        self, X: np.ndarray, Y: np.ndarray, intercept: bool = False, start: str = "lasso"
    ) -> None:
        p, k = X.shape[1], Y.shape[1]
        self.x_mean = X.mean(axis=0) if intercept else np.zeros(p)
        self.y_mean = Y.mean(axis=0) if intercept else np.zeros(k)
        self.loss = LeastSquares(X - self.x_mean, Y - self.y_mean)
        self.start: Any = Lasso().solution(self.loss, 0) if start == "lasso" else start

    def fit(self, sizes: Sizes, tol: float = _TOL) -> tuple[np.ndarray, np.ndarray]:
        """Coefficients and intercept."""
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


def gdt(task: Task) -> Answer:
    """Algorithm 1 from the lasso, sizes by held-out error, no ridge."""
    X, Y = task.pooled
    parts = [(Descent(X[train], Y[train], task.intercept), test) for train, test in task.splits]

    def held_out(sizes: Sizes) -> float:
        total = 0.0
        for part, test in parts:
            theta, intercept = part.fit(sizes, _TOL_CHOOSING)
            total += float(np.sum((Y[test] - X[test] @ theta - intercept) ** 2))
        return total

    sizes = choose_sizes(held_out, task)
    theta, intercept = Descent(task.X, task.Y, task.intercept).fit(sizes)
    names = ("rank", "row_sparsity", "column_sparsity")
    return Answer(theta, intercept, dict(zip(names, sizes, strict=True)))


def choose_sizes(held_out: Callable[[Sizes], float], task: Task) -> Sizes:
    """Minimise the held-out error over s2 and s1 in turn, for every rank that is open."""
    errors: dict[Sizes, float] = {}

    def error(sizes: Sizes) -> float:
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
