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
from thinrank.solvers.reduced_rank import reduced_rank_regression
from thinrank.starts import Lasso

BASELINES: dict[str, Any] = {
    "DPP": baselines.DoubleProjectedPenalization,
    "TSVD": baselines.ThresholdingSVD,
    "EEA": baselines.ExclusiveExtraction,
    "RCGL": baselines.RankConstrainedGroupLasso,
    "JRRS": baselines.JointRankRowSelection,
    "MTL": baselines.MultiTaskGroupLasso,
}
"""The six baselines of the paper, by the names that it prints."""

GDT: dict[str, Any] = {"solver": "gdt", "start": Lasso(), "tol": 1e-5}
"""What makes an estimator Algorithm 1 of the paper, from the lasso."""


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


def searched(task: RegressionTask, grid: dict[str, Any], options: dict[str, Any]) -> Answer:
    """Fit the sparse reduced-rank regression whose sizes and ridge minimize the held-out error."""
    options = {"fit_intercept": task.intercept, "standardize": False, **options}
    search = SparseReducedRankRegressorCV(cv=list(task.splits), **grid, **options).fit(*task.pooled)
    best = search.best_params_
    return _answer(SparseReducedRankRegressor(**{**options, **best}).fit(task.X, task.Y), best)


def gdt(task: RegressionTask) -> Answer:
    """Run Algorithm 1 from the lasso, without ridge."""
    sizes = {"row_sparsities": task.row_sizes, "column_sparsities": task.column_sizes}
    return searched(task, {"ranks": task.ranks, "ridges": [0.0], **sizes}, GDT)


def pursuit(task: RegressionTask) -> Answer:
    """Fit pursuit, with all sizes possible."""
    columns = [None] if task.column_sizes == (None,) else None
    return searched(task, {"column_sparsities": columns}, {})


def baseline(name: str, task: RegressionTask) -> Answer:
    """Fit a baseline, with penalties and rank (if there are several) chosen by held-out error."""
    literal = {"fit_intercept": task.intercept, "standardize": False}
    told: list[dict[str, Any]] = [{"rank": rank} for rank in task.ranks]
    candidates = []
    for options in told if name != "MTL" else [{}]:
        tuned = BASELINES[name](cv=list(task.splits), **options, **literal).fit(*task.pooled)
        candidates.append((float(np.max(tuned.cv_results_["mean_test_score"])), tuned.best_params_))
    best = max(candidates, key=lambda candidate: candidate[0])[1]
    return _answer(BASELINES[name](**best, **literal).fit(task.X, task.Y), best)


def oracle(task: RegressionTask) -> Answer:
    """Fit reduced-rank regression with the true rank to the true rows and columns."""
    if task.truth is None:
        raise ValueError("the oracle needs the true coefficients")
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


def fit_methods(task: RegressionTask, methods: Sequence[str] = tuple(METHODS)) -> dict[str, Answer]:
    answers = {}
    for name in methods:
        began = time.perf_counter()
        answer = METHODS[name](task)
        answers[name] = replace(answer, seconds=time.perf_counter() - began)
    return answers


def score_coefficients(theta: np.ndarray, truth: Factors, X: np.ndarray) -> Record:
    """Score estimated coefficients in a simulation with noise of variance 1."""
    target = truth.theta
    error = theta - target
    n, k = X.shape[0], target.shape[1]
    rows, columns = np.flatnonzero(theta.any(axis=1)), np.flatnonzero(theta.any(axis=0))
    true_rows, true_columns = np.asarray(truth.row_support), np.asarray(truth.column_support)
    return {
        "spectral": float(np.linalg.norm(error, 2) / np.linalg.norm(target, 2)),
        "frobenius": float(np.linalg.norm(error) / np.linalg.norm(target)),
        "prediction": float(np.sqrt(1 + np.sum(error**2) / k)),
        "same_rows": float(np.sqrt(1 + np.sum((X @ error) ** 2) / (n * k))),
        "rows": len(rows),
        "columns": len(columns),
        "rank": int(np.linalg.matrix_rank(theta)) if len(rows) else 0,
        "exact": bool(np.array_equal(rows, true_rows) and np.array_equal(columns, true_columns)),
    }
