"""A family of related tasks: the specification. Value error against design states."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from paper.lassos import (
    RefittedGroupLasso,
    RefittedLassos,
    ShortPathGroupLasso,
    ShortPathLassos,
)
from paper.studies import Job, Study, StudyRecord
from thinrank.baselines import SeparateRidges
from thinrank.estimators import SparseReducedRankRegressorCV
from thinrank.rl.families import Family, make_linear_family, make_optimal_value_family
from thinrank.rl.fqi import MultiTaskFQI
from thinrank.rl.tabular import value_error

_FIRST_SEED = 71_000
_REPLICATIONS, _QUICK_REPLICATIONS = 20, 1
_STATES, _QUICK_STATES = (20, 40, 80, 160, 320), (40, 80)
_EXTRA_STATES, _EXTRA_REPLICATIONS = (40, 160), 5
_FAMILIES: dict[str, Callable[..., Family]] = {
    "linear": make_linear_family,
    "constructed": make_optimal_value_family,
}
_SIZES = {"n_tasks": 20, "n_features": 200, "n_actions": 3, "row_sparsity": 10, "rank": 3}
_QUICK_METHODS = ("GDT", "pursuit", "group lasso", "ridge")
_ITERATIONS = 20
# All methods are tuned alike: number of folds of the design states, and the iterations in which
# tuning parameters are chosen; in between the last choice is kept.
_FOLDS, _TUNE_AT = 5, (1, 4, 12)
_LITERAL: dict[str, Any] = {"cv": _FOLDS, "fit_intercept": False, "standardize": False}
_PENALTIES: dict[str, Any] = {"n_penalties": 10, **_LITERAL}

METHODS: dict[str, Callable[[], Any]] = {
    "GDT": lambda: SparseReducedRankRegressorCV(
        column_sparsities=[None], solver="gdt", tol=1e-5, **_LITERAL
    ),
    "pursuit": lambda: SparseReducedRankRegressorCV(column_sparsities=[None], **_LITERAL),
    "lasso": lambda: ShortPathLassos(tol=1e-4, **_PENALTIES),
    "lasso, refit": lambda: RefittedLassos(tol=1e-4, **_PENALTIES),
    "group lasso": lambda: ShortPathGroupLasso(tol=1e-4, **_PENALTIES),
    "group lasso, refit": lambda: RefittedGroupLasso(tol=1e-4, **_PENALTIES),
    "ridge": lambda: SeparateRidges(**_PENALTIES),
    "pooled": lambda: SparseReducedRankRegressorCV(column_sparsities=[None], **_LITERAL),
}
"""The regressions by name; cross-validation chooses all tuning parameters."""


def jobs(quick: bool) -> list[Job]:
    """Return one job per replication, family, number of states and method; same draws for all."""
    cells: list[tuple[str, int, tuple[str, ...], int]]
    if quick:
        cells = [("linear", n, _QUICK_METHODS, _QUICK_REPLICATIONS) for n in _QUICK_STATES]
    else:
        every = tuple(METHODS)
        cells = [("linear", n, every, _REPLICATIONS) for n in _STATES]
        cells += [("constructed", n, every, _EXTRA_REPLICATIONS) for n in _EXTRA_STATES]
    return [
        Job(
            "rl-sparse-family",
            {"family": family, "states": n, "method": method},
            _FIRST_SEED + i,
        )
        for i in range(_REPLICATIONS)  # outermost, so that an interrupted run has complete curves
        for family, n, methods, count in cells
        for method in methods
        if i < count
    ]


def run(job: Job) -> list[StudyRecord]:
    """Run fitted Q-iteration with one regression, and evaluate its policies."""
    family = _FAMILIES[job.cell["family"]](**_SIZES, random_state=job.seed)
    everywhere = np.arange(family.tasks[0].n_states)
    rng = np.random.default_rng([job.seed, 1])
    states = rng.choice(everywhere, job.cell["states"], replace=False)
    fqi = MultiTaskFQI(
        family.features,
        _SIZES["n_actions"],
        family.discount,
        METHODS[job.cell["method"]](),
        n_iterations=_ITERATIONS,
        pooled=job.cell["method"] == "pooled",
        tune_at=_TUNE_AT,
        random_state=job.seed,
    )
    began = time.process_time()  # CPU time, because jobs share the machine
    fqi.fit(family.tasks, states)
    seconds = time.process_time() - began
    tasks = range(len(family.tasks))
    policies = [fqi.policy(task) for task in tasks]
    values = np.stack([fqi.q_values(task, everywhere) for task in tasks])
    return [
        {
            "value_error": value_error(
                family.tasks, policies, family.discount, list(family.q_star)
            ),
            "q_error": float(np.mean((values - family.q_star) ** 2)),
            "active": len(fqi.factors_.row_support),
            "found": len(np.intersect1d(fqi.factors_.row_support, family.row_support)),
            "rank": fqi.factors_.rank,
            **_truth(family),
            "seconds": seconds,
        }
    ]


def _truth(family: Family) -> StudyRecord:
    """Return what the page says about the family."""
    return {
        "tasks": len(family.tasks),
        "features": _SIZES["n_features"],
        "actions": _SIZES["n_actions"],
        "rows_true": len(family.row_support),
        "rank_true": _SIZES["rank"],
        "discount": family.discount,
        "feature_norm": float(np.linalg.norm(family.features.table, axis=1).max()),
        "q_variance": float(np.mean(np.var(family.q_star, axis=(1, 2)))),
        "iterations": _ITERATIONS,
        "folds": _FOLDS,
        "tuned_at": list(_TUNE_AT),
    }


_STUDY = Study(
    name="rl-sparse-family",
    title="Reinforcement learning: a family of tasks that share few features",
    claim=(
        "Tasks that share a row-sparse and low-rank Θ* are learned from fewer samples: the error "
        "is of the order (r + s₁/k·(r + log p))/n."
    ),
    jobs=jobs,
    run=run,
)
STUDIES = (_STUDY,)
