"""Blackjack under several rules, learned together: the house edge against design states."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from thinrank.estimators import SparseReducedRankRegressorCV
from thinrank.rl import MultiTaskFQI
from thinrank.rl.blackjack import (
    Blackjack,
    BlackjackFamily,
    Rules,
    edge_of,
    exact_house_edge,
    make_blackjack_family,
    optimal_policy,
    play,
)
from thinrank.studies.compact_lassos import CompactGroupLasso, CompactLassos
from thinrank.studies.rl_regressors import SeparateRidges
from thinrank.studies.spec import Job, Record, Study

__all__ = ["METHODS", "RL_BLACKJACK"]

_FIRST_SEED = 72_000
_REPLICATIONS, _QUICK_REPLICATIONS = 10, 1
_STATES, _QUICK_STATES = (250, 1000, 4000), (150, 300)
_QUICK_METHODS = ("GDT", "ridge", "pooled")
_FOLDS = 3
# A hand takes few cards: what a sixth could bring does not change the first decision.
_ITERATIONS = 5
# The first regression is of rewards alone, the third the first that looks more than a card ahead.
_TUNE_AT = (1, 3)

_LITERAL: dict[str, Any] = {"standardize": False, "fit_intercept": False, "cv": _FOLDS}
_SIZES: dict[str, Any] = {
    "ranks": (1, 2, 3),
    "row_sparsities": (20, 40, 80),
    "column_sparsities": (None,),
    "ridges": (0.004,),  # helps against few states; this one on seeds of development
}
_PENALTIES: dict[str, Any] = {"n_penalties": 12}
_LASSO: dict[str, Any] = {**_PENALTIES, "tol": 3e-4}

METHODS: dict[str, Callable[[], Any]] = {
    "GDT": lambda: SparseReducedRankRegressorCV(
        solver="gdt", max_iter=2000, tol=1e-3, **_SIZES, **_LITERAL
    ),
    "pursuit": lambda: SparseReducedRankRegressorCV(**_SIZES, **_LITERAL),
    "lasso": lambda: CompactLassos(**_LASSO, **_LITERAL),
    "group lasso": lambda: CompactGroupLasso(**_LASSO, **_LITERAL),
    "ridge": lambda: SeparateRidges(**_PENALTIES, **_LITERAL),
    "pooled": lambda: SeparateRidges(**_PENALTIES, **_LITERAL),
}
"""Regressors by name; "pooled" takes all games for one."""


def jobs(quick: bool) -> list[Job]:
    """One job a number of states and replication: all methods, on the same states and cards."""
    methods = [name for name in METHODS if not quick or name in _QUICK_METHODS]
    cell: Record = {"decks": [2, None], "dealer_stays": [16, 17, 18], "hands": 200_000}
    if quick:
        cell |= {"dealer_stays": [17], "hands": 20_000}
    return [
        Job("rl-blackjack", {"states": states, **cell, "methods": methods}, _FIRST_SEED + i)
        # replications first, so that a run that was stopped has curves
        for i in range(_QUICK_REPLICATIONS if quick else _REPLICATIONS)
        for states in (_QUICK_STATES if quick else _STATES)
    ]


def run(job: Job) -> list[Record]:
    """Learn with each method, and play."""
    family = make_blackjack_family(job.cell["decks"], job.cell["dealer_stays"])
    states = family.design(job.cell["states"], job.seed)
    policies = {"optimum": [optimal_policy(_endless(task)) for task in family.tasks]}
    learned: dict[str, Record] = {"optimum": {}}
    for name in job.cell["methods"]:
        fqi = MultiTaskFQI(
            family.features,
            family.n_actions,
            family.discount,
            METHODS[name](),
            n_iterations=_ITERATIONS,
            pooled=name == "pooled",
            tune_at=_TUNE_AT,
            random_state=job.seed,
        )
        began = time.thread_time()
        fqi.fit(family.tasks, states)
        learned[name] = {
            "active": len(fqi.factors_.row_support),
            "rank": fqi.factors_.rank,
            "seconds": time.thread_time() - began,
        }
        policies[name] = [fqi.policy(task) for task in range(len(family.tasks))]
    edges = _edges(family, policies, job)
    about = {
        "features": len(family.features.names),
        "tasks": len(family.tasks),
        "iterations": _ITERATIONS,
        "folds": _FOLDS,
    }
    return [{"method": name, **edges[name], **learned[name], **about} for name in policies]


def _edges(family: BlackjackFamily, policies: dict[str, list[Any]], job: Job) -> dict[str, Record]:
    """House edges of each method: exact ones of infinite decks, played ones of the others.

    Every method plays the same hands; the cards after the first differ. The standard game has
    infinite decks and a dealer who stays at every 17.
    """
    exact: dict[str, list[float]] = {name: [] for name in policies}
    played: dict[str, list[tuple[float, float]]] = {name: [] for name in policies}
    standard = {}
    for index, task in enumerate(family.tasks):
        if task.rules.n_decks is not None:
            rng = np.random.default_rng([job.seed, index])
            dealt = task.deal(job.cell["hands"], rng)
        for name, policy in ((name, each[index]) for name, each in policies.items()):
            if task.rules.n_decks is not None:
                played[name].append(edge_of(play(task, policy, dealt, rng)[0]))
            else:
                exact[name].append(exact_house_edge(task, policy))
                if task.rules == Rules():
                    standard[name] = exact[name][-1]
    return {
        name: {
            "edge_exact": float(np.mean(exact[name])),
            "edge_standard": standard[name],
            "edge_played": float(np.mean([edge for edge, _ in played[name]])),
            # of the mean: the games are played independently of each other
            "edge_played_error": float(np.linalg.norm([e for _, e in played[name]]))
            / len(played[name]),
            "edges_exact": exact[name],
            "edges_played": [edge for edge, _ in played[name]],
        }
        for name in policies
    }


def _endless(task: Blackjack) -> Blackjack:
    """The same game with infinitely many decks."""
    return Blackjack(replace(task.rules, n_decks=None))


RL_BLACKJACK = Study(
    name="rl-blackjack",
    title="Blackjack under several rules, learned together",
    claim="Sharing rows and rank between related games costs fewer samples for the same edge.",
    jobs=jobs,
    run=run,
)
