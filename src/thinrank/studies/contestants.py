"""The methods of the paper's tables, and three more, behind one interface."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from thinrank import baselines
from thinrank.estimators import SparseReducedRankRegressor, SparseReducedRankRegressorCV
from thinrank.studies.closed_form import reduced_rank_regression
from thinrank.studies.descent import gdt
from thinrank.studies.task import Answer, Task

__all__ = ["CONTESTANTS", "METHODS", "RIVALS", "compete"]

RIVALS: dict[str, Any] = {
    "DPP": baselines.DoubleProjectedPenalization,
    "TSVD": baselines.ThresholdingSVD,
    "EEA": baselines.ExclusiveExtraction,
    "RCGL": baselines.RankConstrainedGroupLasso,
    "JRRS": baselines.JointRankRowSelection,
    "MTL": baselines.MultiTaskGroupLasso,
}
"""The six rivals of the paper by the names that it prints."""


def pursuit(task: Task) -> Answer:
    """Pursuit with rank, sizes and ridge by held-out error."""
    literal: dict[str, Any] = {"fit_intercept": task.intercept, "standardize": False}
    search = SparseReducedRankRegressorCV(
        column_sparsities=[None] if task.columns_free else None, cv=list(task.splits), **literal
    ).fit(*task.pooled)
    est = SparseReducedRankRegressor(**search.best_params_, **literal).fit(task.X, task.Y)
    return _answer(est, search.best_params_)


def rival(name: str, task: Task) -> Answer:
    """A rival with its penalties, and its rank if more than one is open, by held-out error."""
    literal = {"fit_intercept": task.intercept, "standardize": False}
    told: list[dict[str, Any]] = [{"rank": rank} for rank in task.ranks]
    candidates = []
    for options in told if name != "MTL" else [{}]:
        tuned = RIVALS[name](cv=list(task.splits), **options, **literal).fit(*task.pooled)
        candidates.append((float(np.max(tuned.cv_results_["mean_test_score"])), tuned.best_params_))
    best = max(candidates, key=lambda candidate: candidate[0])[1]
    return _answer(RIVALS[name](**best, **literal).fit(task.X, task.Y), best)


def oracle(task: Task) -> Answer:
    """Least squares of the true rank on the true rows and columns."""
    if task.truth is None:
        raise ValueError("the oracle needs the truth")
    rows, columns = task.truth.row_support, task.truth.column_support
    theta = np.zeros(task.truth.shape)
    theta[np.ix_(rows, columns)] = reduced_rank_regression(
        task.X[:, rows], task.Y[:, columns], task.truth.rank
    )
    return Answer(theta, np.zeros(theta.shape[1]), {"rank": task.truth.rank})


def null(task: Task) -> Answer:
    """Nothing but the means, or zero."""
    return _answer(baselines.NullRegressor(fit_intercept=task.intercept).fit(task.X, task.Y), {})


CONTESTANTS: dict[str, Callable[[Task], Answer]] = {
    "GDT": gdt,
    "pursuit": pursuit,
    **{name: partial(rival, name) for name in RIVALS},
    "oracle": oracle,
    "null": null,
}

METHODS = tuple(CONTESTANTS)
"""All names, in the order of the tables."""


def compete(task: Task, methods: Sequence[str] = METHODS) -> dict[str, Answer]:
    """The answers of the named methods, with their seconds."""
    answers = {}
    for name in methods:
        began = time.perf_counter()
        answer = CONTESTANTS[name](task)
        seconds = time.perf_counter() - began
        answers[name] = Answer(answer.theta, answer.intercept, answer.chosen, seconds)
    return answers


def _answer(est: Any, chosen: dict[str, Any]) -> Answer:
    return Answer(est.factors_.theta, np.asarray(est.intercept_), dict(chosen))
