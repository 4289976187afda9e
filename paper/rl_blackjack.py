"""Blackjack under several rules, learned together: the house edge against design states."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from paper.blackjack import (
    Blackjack,
    HandFeatures,
    Policy,
    Rules,
    design_states,
    edge_of,
    exact_house_edge,
    make_family,
    optimal_policy,
    play,
)
from paper.figures import curves, panels, states_axis
from paper.q_iteration import CompactGroupLasso, CompactLassos, learned, model_table
from paper.statistics import cross_table, means, paired_difference, pm
from paper.study import Job, Record, Study, replicated
from thinrank.baselines import SeparateRidges
from thinrank.estimators import SparseReducedRankRegressorCV
from thinrank.report.document import Block, Picture, Section, Table, Text

_STATES, _QUICK_STATES = (250, 1000, 4000), (150, 300)
_QUICK_METHODS = ("GDT", "ridge", "pooled")
_FOLDS = 3
# A hand takes few cards: further iterations do not change the first decision.
_ITERATIONS = 5
# The first regression fits rewards alone; the third is the first to look further than one card.
_TUNE_AT = (1, 3)

_LITERAL: dict[str, Any] = {"standardize": False, "fit_intercept": False, "cv": _FOLDS}
_SIZES: dict[str, Any] = {
    "ranks": (1, 2, 3),
    "row_sparsities": (20, 40, 80),
    "column_sparsities": (None,),
    "ridges": (0.004,),  # helps with few states; chosen on other seeds than those of the study
}
_PENALTIES: dict[str, Any] = {"n_penalties": 12}
_LASSO: dict[str, Any] = {**_PENALTIES, "tol": 3e-4}

REGRESSORS: dict[str, Callable[[], Any]] = {
    "GDT": lambda: SparseReducedRankRegressorCV(
        solver="gdt", max_iter=2000, tol=1e-3, **_SIZES, **_LITERAL
    ),
    "pursuit": lambda: SparseReducedRankRegressorCV(**_SIZES, **_LITERAL),
    "lasso": lambda: CompactLassos(**_LASSO, **_LITERAL),
    "group lasso": lambda: CompactGroupLasso(**_LASSO, **_LITERAL),
    "ridge": lambda: SeparateRidges(**_PENALTIES, **_LITERAL),
    "pooled": lambda: SeparateRidges(**_PENALTIES, **_LITERAL),
}
"""Regressors by name; "pooled" treats all games as one."""

_BASELINES = ("lasso", "group lasso", "ridge", "pooled")
_FIELDS = {"edge_exact": "infinite decks, exact", "edge_played": "two decks, played"}


@replicated(72_000, full=10, small=1)
def jobs(quick: bool) -> list[Record]:
    methods = [name for name in REGRESSORS if not quick or name in _QUICK_METHODS]
    cell: Record = {"decks": [2, None], "dealer_stays": [16, 17, 18], "hands": 200_000}
    if quick:
        cell |= {"dealer_stays": [17], "hands": 20_000}
    every = _QUICK_STATES if quick else _STATES
    return [{"states": states, **cell, "methods": methods} for states in every]


def run(job: Job) -> list[Record]:
    """Learn the games with each method, and evaluate the policies."""
    tasks, features = make_family(job.cell["decks"], job.cell["dealer_stays"]), HandFeatures()
    states = design_states(tasks, job.cell["states"], job.seed)
    infinite = [Blackjack(replace(task.rules, n_decks=None)) for task in tasks]
    policies = {"optimum": [optimal_policy(task) for task in infinite]}
    about: dict[str, Record] = {"optimum": {}}
    for name in job.cell["methods"]:
        given = features, Blackjack.n_actions, 1.0, REGRESSORS[name]()
        options = {"n_iterations": _ITERATIONS, "tune_at": _TUNE_AT, "random_state": job.seed}
        fqi, about[name] = learned(name, tasks, states, *given, **options)
        policies[name] = [fqi.policy(task) for task in range(len(tasks))]
    edges = _edges(tasks, policies, job)
    sizes = {"features": features.n_features, "tasks": len(tasks)}
    order = [*job.cell["methods"], "optimum"]
    return [{"method": name, **edges[name], **about[name], **sizes} for name in order]


def _edges(
    tasks: tuple[Blackjack, ...], policies: dict[str, list[Policy]], job: Job
) -> dict[str, Record]:
    """House edges of each method: exact for infinite decks, by playing for others.

    All methods play the same initial hands; the cards that follow differ. The standard game has
    infinite decks and a dealer who stays at every 17.
    """
    exact: dict[str, dict[Rules, float]] = {name: {} for name in policies}
    played: dict[str, list[tuple[float, float]]] = {name: [] for name in policies}
    for index, task in enumerate(tasks):
        if task.rules.n_decks is None:
            for name, own in policies.items():
                exact[name][task.rules] = exact_house_edge(task, own[index])
        else:
            rng = np.random.default_rng([job.seed, index])
            dealt = task.deal(job.cell["hands"], rng)
            for name, own in policies.items():
                played[name].append(edge_of(play(task, own[index], dealt, rng)[1]))
    records = {}
    for name in policies:
        edges, errors = np.transpose(played[name])
        records[name] = {
            "edge_exact": np.mean(list(exact[name].values())),
            "edge_standard": exact[name][Rules()],
            "edge_played": np.mean(edges),
            # standard error of the mean over games, which are played independently
            "edge_played_error": np.linalg.norm(errors) / len(errors),
        }
    return records


def page(records: pd.DataFrame) -> list[Block]:
    first = records.iloc[0]
    noise = 100 * records["edge_played_error"].mean()
    blocks: list[Block] = [
        Text(_verdict(records), stress=True),
        Text(
            f"{first['tasks']} games that differ in the decks (two or infinitely many), in the "
            "total at which the dealer stays and in whether the dealer hits a soft total there. "
            f"The player hits or stays; there are {first['features']} features of the hand and of "
            f"the cards seen. The games are learned by {_ITERATIONS} fitted Q-iterations from "
            "new samples at the same states, which are those of a player who acts at random. All "
            f"regressions are tuned by {_FOLDS}-fold cross-validation over the states: the "
            "penalty, or rank and rows with a small fixed ridge for GDT and pursuit. “Ridge” "
            "learns every game separately, “pooled” is a ridge regression that treats all games as "
            "one. For infinite decks policies are evaluated exactly; for two decks they play "
            f"{first['hands']:,} hands of each game."
        ),
        Picture(
            "house_edge",
            _plot(records),
            "House edge against design states, mean over games and seeds, plus and minus one "
            "standard error over the seeds. Dashed: the best policies for infinite decks.",
        ),
    ]
    for field, title in _FIELDS.items():
        blocks += [Section(f"House edge in percent: {title}"), _edge_table(records, field)]
    return [
        *blocks,
        Text(
            "Mean over the games ± standard deviation over the seeds (standard error from playing: "
            f"{noise:.2f}). The optimum is that of infinite decks; with two decks it is a good "
            "policy, but it does not count cards."
        ),
        Section("The standard game"),
        _edge_table(records, "edge_standard"),
        Text(
            "Infinite decks, and a dealer who stays at every 17; exact values. This game is one of "
            "those that are learned together, so a method that treats all games as one can be good "
            "here and bad at the others."
        ),
        Section("Models and seconds"),
        model_table(records[records["method"] != "optimum"]),
    ]


def _verdict(records: pd.DataFrame) -> str:
    """The difference of GDT and pursuit to the best baseline, by number of states."""
    told = []
    for method in ("GDT", "pursuit"):
        gaps = []
        for states, own in records.groupby("states"):
            edges = means(own, "method", "edge_exact")["mean"]
            if method in edges:
                best = edges[edges.index.isin(_BASELINES)].idxmin()
                gap, error = paired_difference(own, method, best, "edge_exact")
                shown = f"{100 * gap:+.2f}" + ("" if math.isnan(error) else f" ± {100 * error:.2f}")
                gaps.append(f"{shown} ({best}) with {states} states")
        told += [f"{method}-FQI {', '.join(gaps)}"] if gaps else []
    return (
        "House edge minus that of the best baseline, in percentage points, over the games with "
        f"infinite decks (negative is better): {'; '.join(told)}."
    )


def _edge_table(records: pd.DataFrame, field: str) -> Table:
    return cross_table(
        records,
        *("method", "states", field),
        lambda mean, sd: pm(100 * mean, 100 * sd, 2),
        corner="method / states",
    )


def _plot(records: pd.DataFrame) -> Any:
    figure, axes = panels(len(_FIELDS), height=3.8)
    for axis, (field, title) in zip(axes, _FIELDS.items(), strict=True):
        axis.set_title(title)
        states_axis(axis, records["states"].unique(), "design states")
        found = means(records, ["method", "states"], field)
        curves(axis, found * [100, 100, 1])
    axes[0].set_ylabel("house edge, per cent of the stake")
    return figure


_TITLE = "Blackjack: games with different rules, learned together"

STUDIES = (Study("rl-blackjack", _TITLE, jobs, run, page),)
