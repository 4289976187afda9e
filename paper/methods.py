"""The methods of the paper's tables, with pursuit, an oracle and a null model, in one interface."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from paper.study import Record
from thinrank import baselines
from thinrank.core.factors import Factors
from thinrank.estimators import SparseReducedRankRegressor, SparseReducedRankRegressorCV
from thinrank.losses import LeastSquares
from thinrank.minimize import minimize
from thinrank.solvers.reduced_rank import reduced_rank_regression
from thinrank.starts import Lasso

Sizes = tuple[int, int, int | None]
"""Rank, s1 and s2."""

BASELINES: dict[str, Any] = {
    "DPP": baselines.DoubleProjectedPenalization,
    "TSVD": baselines.ThresholdingSVD,
    "EEA": baselines.ExclusiveExtraction,
    "RCGL": baselines.RankConstrainedGroupLasso,
    "JRRS": baselines.JointRankRowSelection,
    "MTL": baselines.MultiTaskGroupLasso,
}
"""The six baselines of the paper, by the names that it prints."""

# Relative change of the factors at which gradient descent stops: in the search for the sizes, and
# in the final fit.
_TOL_SEARCH, _TOL = 1e-5, 1e-7
# Alternations between s2 and s1; most searches settle after two.
_ROUNDS = 3


@dataclass(frozen=True)
class RegressionTask:
    """Training rows, and splits by which tuning parameters are chosen."""

    X: np.ndarray  # (n_samples, n_features) predictors of the rows of the final fit
    Y: np.ndarray  # (n_samples, n_targets) their responses
    # predictors and responses of the rows that ``splits`` refer to: training and validation rows
    # together, or X and Y themselves
    pooled: tuple[np.ndarray, np.ndarray]
    # index arrays. Tuning parameters minimize the squared error over the test parts
    splits: Sequence[tuple[np.ndarray, np.ndarray]]
    ranks: tuple[int, ...]  # candidate ranks, for methods that take a rank
    row_sizes: tuple[int, ...]  # candidate values of s1, for GDT
    column_sizes: tuple[int | None, ...]  # candidate values of s2, for GDT; (None,) for no limit
    intercept: bool = False  # whether to fit an intercept, by centering every training part
    truth: Factors | None = None  # true coefficients; only the oracle uses them


@dataclass(frozen=True)
class Answer:
    """What a method returns."""

    theta: np.ndarray  # (n_features, n_targets) coefficients
    intercept: np.ndarray  # (n_targets,) intercept of each response
    chosen: dict[str, Any]  # chosen tuning parameters
    seconds: float = 0.0  # time for tuning and fitting


class FixedDataGDT:
    """GDT on one data set with varying sizes; loss and start are computed once."""

    def __init__(self, X: np.ndarray, Y: np.ndarray, intercept: bool = False) -> None:
        self.x_mean = X.mean(axis=0) if intercept else np.zeros(X.shape[1])
        self.y_mean = Y.mean(axis=0) if intercept else np.zeros(Y.shape[1])
        self.loss = LeastSquares(X - self.x_mean, Y - self.y_mean)
        self.start = Lasso().solution(self.loss)

    def fit(self, sizes: Sizes, tol: float = _TOL) -> tuple[np.ndarray, np.ndarray]:
        """Coefficients of shape (n_features, n_targets), and intercepts."""
        rank, rows, columns = sizes
        rank = min(rank, rows, columns or rank)
        limits: dict[str, Any] = {"rank": rank, "row_sparsity": rows, "column_sparsity": columns}
        solution = minimize(self.loss, **limits, start=self.start, solver="gdt", tol=tol)
        theta = solution.factors.theta
        return theta, self.y_mean - self.x_mean @ theta


def gdt(task: RegressionTask) -> Answer:
    """Run Algorithm 1 from the lasso, without ridge.

    s2 and s1 minimize the held-out error alternately, for every candidate rank.
    """
    X, Y = task.pooled
    parts = [
        (FixedDataGDT(X[train], Y[train], task.intercept), test) for train, test in task.splits
    ]
    errors: dict[Sizes, float] = {}

    def held_out(sizes: Sizes) -> float:
        if sizes not in errors:
            fits = [(*part.fit(sizes, _TOL_SEARCH), test) for part, test in parts]
            errors[sizes] = sum(
                float(np.sum((Y[test] - X[test] @ theta - intercept) ** 2))
                for theta, intercept, test in fits
            )
        return errors[sizes]

    for rank in task.ranks:
        rows = task.row_sizes[len(task.row_sizes) * 3 // 5]
        columns = task.column_sizes[len(task.column_sizes) * 3 // 5]
        for _ in range(_ROUNDS):
            before = rows, columns
            columns = min(task.column_sizes, key=lambda s: held_out((rank, rows, s)))
            rows = min(task.row_sizes, key=lambda s: held_out((rank, s, columns)))
            if (rows, columns) == before:
                break
    sizes = min(errors, key=errors.__getitem__)
    theta, intercept = FixedDataGDT(task.X, task.Y, task.intercept).fit(sizes)
    names = ("rank", "row_sparsity", "column_sparsity")
    return Answer(theta, intercept, dict(zip(names, sizes, strict=True)))


def pursuit(task: RegressionTask) -> Answer:
    """Fit pursuit, with rank, sizes and ridge chosen by held-out error."""
    literal: dict[str, Any] = {"fit_intercept": task.intercept, "standardize": False}
    columns = [None] if task.column_sizes == (None,) else None
    search = SparseReducedRankRegressorCV(
        column_sparsities=columns, cv=list(task.splits), **literal
    ).fit(*task.pooled)
    est = SparseReducedRankRegressor(**search.best_params_, **literal).fit(task.X, task.Y)
    return _answer(est, search.best_params_)


def baseline(name: str, task: RegressionTask) -> Answer:
    """Fit a baseline, with penalties and rank (if there are several) chosen by held-out error."""
    literal: dict[str, Any] = {"fit_intercept": task.intercept, "standardize": False}
    ranks: list[dict[str, Any]] = [{"rank": rank} for rank in task.ranks]
    tuned = [
        BASELINES[name](cv=list(task.splits), **rank, **literal).fit(*task.pooled)
        for rank in (ranks if name != "MTL" else [{}])
    ]
    best = max(tuned, key=lambda est: np.max(est.cv_results_["mean_test_score"])).best_params_
    return _answer(BASELINES[name](**best, **literal).fit(task.X, task.Y), best)


def oracle(task: RegressionTask) -> Answer:
    """Fit reduced-rank regression with the true rank to the true rows and columns."""
    assert task.truth is not None
    rows, columns = task.truth.row_support, task.truth.column_support
    theta = np.zeros(task.truth.shape)
    found = reduced_rank_regression(task.X[:, rows], task.Y[:, columns], task.truth.rank)
    theta[np.ix_(rows, columns)] = found.theta
    return Answer(theta, np.zeros(theta.shape[1]), {"rank": task.truth.rank})


def null(task: RegressionTask) -> Answer:
    """Fit zero coefficients, with the mean of each response as intercept if there is one."""
    return _answer(baselines.NullRegressor(fit_intercept=task.intercept).fit(task.X, task.Y), {})


def _answer(est: Any, chosen: dict[str, Any]) -> Answer:
    return Answer(est.factors_.theta, np.asarray(est.intercept_), dict(chosen))


METHODS: dict[str, Callable[[RegressionTask], Answer]] = {
    "GDT": gdt,
    "pursuit": pursuit,
    **{name: partial(baseline, name) for name in BASELINES},
    "oracle": oracle,
    "null": null,
}
"""All methods, in the order of the tables."""


def fit_methods(task: RegressionTask, methods: Sequence[str]) -> dict[str, Answer]:
    answers = {}
    for name in methods:
        began = time.perf_counter()
        answer = METHODS[name](task)
        answers[name] = replace(answer, seconds=time.perf_counter() - began)
    return answers


def score_coefficients(theta: np.ndarray, task: RegressionTask) -> Record:
    """Score estimated coefficients in a simulation with noise of variance 1."""
    assert task.truth is not None
    target = task.truth.theta
    error = theta - target
    rows, columns = np.flatnonzero(theta.any(axis=1)), np.flatnonzero(theta.any(axis=0))
    same_rows = np.array_equal(rows, task.truth.row_support)
    return {
        "spectral": float(np.linalg.norm(error, 2) / np.linalg.norm(target, 2)),
        "frobenius": float(np.linalg.norm(error) / np.linalg.norm(target)),
        "prediction": float(np.sqrt(1 + np.sum(error**2) / theta.shape[1])),
        "same_rows": float(np.sqrt(1 + np.mean((task.X @ error) ** 2))),
        "rows": len(rows),
        "columns": len(columns),
        "rank": int(np.linalg.matrix_rank(theta)),
        "exact": same_rows and np.array_equal(columns, task.truth.column_support),
    }
