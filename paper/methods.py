"""The methods of the paper's tables, with pursuit, an oracle and a null model, in one interface."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from paper.gdt import gdt
from paper.studies.task import Answer, RegressionTask
from thinrank import baselines
from thinrank.estimators import SparseReducedRankRegressor, SparseReducedRankRegressorCV
from thinrank.solvers.reduced_rank import reduced_rank_regression

BASELINES: dict[str, Any] = {
    "DPP": baselines.DoubleProjectedPenalization,
    "TSVD": baselines.ThresholdingSVD,
    "EEA": baselines.ExclusiveExtraction,
    "RCGL": baselines.RankConstrainedGroupLasso,
    "JRRS": baselines.JointRankRowSelection,
    "MTL": baselines.MultiTaskGroupLasso,
}
"""The six baselines of the paper, by the names that it prints."""


def pursuit(task: RegressionTask) -> Answer:
    """Fit pursuit, with rank, sizes and ridge chosen by held-out error."""
    literal: dict[str, Any] = {"fit_intercept": task.intercept, "standardize": False}
    search = SparseReducedRankRegressorCV(
        column_sparsities=[None] if task.columns_free else None, cv=list(task.splits), **literal
    ).fit(*task.pooled)
    est = SparseReducedRankRegressor(**search.best_params_, **literal).fit(task.X, task.Y)
    return _answer(est, search.best_params_)


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


_FIT: dict[str, Callable[[RegressionTask], Answer]] = {
    "GDT": gdt,
    "pursuit": pursuit,
    **{name: partial(baseline, name) for name in BASELINES},
    "oracle": oracle,
    "null": null,
}

METHODS = tuple(_FIT)
"""Names of all methods, in the order of the tables."""


def fit_methods(task: RegressionTask, methods: Sequence[str] = METHODS) -> dict[str, Answer]:
    """Fit several methods to one task."""
    answers = {}
    for name in methods:
        began = time.perf_counter()
        answer = _FIT[name](task)
        seconds = time.perf_counter() - began
        answers[name] = Answer(answer.theta, answer.intercept, answer.chosen, seconds)
    return answers


def _answer(est: Any, chosen: dict[str, Any]) -> Answer:
    return Answer(est.factors_.theta, np.asarray(est.intercept_), dict(chosen))
