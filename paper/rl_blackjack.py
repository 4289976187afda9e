"""Blackjack under several rules, learned together: the house edge against design states."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from paper.blackjack import (
    Blackjack,
    BlackjackFamily,
    Rules,
    edge_of,
    exact_house_edge,
    make_blackjack_family,
    optimal_policy,
    play,
)
from paper.claims import Claim
from paper.studies import Job, Study, StudyRecord
from thinrank.baselines import SeparateRidges
from thinrank.baselines.compact_lassos import CompactGroupLasso, CompactLassos
from thinrank.estimators import SparseReducedRankRegressorCV
from thinrank.report.page import Page, Picture, Section, Table, Text
from thinrank.report.statistics import Spread, group, paired_difference, seconds, spread
from thinrank.report.style import label_ends, panels
from thinrank.rl import MultiTaskFQI

_FIRST_SEED = 72_000
_REPLICATIONS, _QUICK_REPLICATIONS = 10, 1
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


def jobs(quick: bool) -> list[Job]:
    """Return one job per replication and number of states, with all methods on the same cards."""
    methods = [name for name in REGRESSORS if not quick or name in _QUICK_METHODS]
    cell: StudyRecord = {"decks": [2, None], "dealer_stays": [16, 17, 18], "hands": 200_000}
    if quick:
        cell |= {"dealer_stays": [17], "hands": 20_000}
    return [
        Job("rl-blackjack", {"states": states, **cell, "methods": methods}, _FIRST_SEED + i)
        # replications outermost, so that an interrupted run has complete curves
        for i in range(_QUICK_REPLICATIONS if quick else _REPLICATIONS)
        for states in (_QUICK_STATES if quick else _STATES)
    ]


def run(job: Job) -> list[StudyRecord]:
    """Learn the games with each method, and evaluate the policies."""
    family = make_blackjack_family(job.cell["decks"], job.cell["dealer_stays"])
    states = family.design(job.cell["states"], job.seed)
    policies = {"optimum": [optimal_policy(_with_infinite_decks(task)) for task in family.tasks]}
    learned: dict[str, StudyRecord] = {"optimum": {}}
    for name in job.cell["methods"]:
        fqi = MultiTaskFQI(
            family.features,
            family.n_actions,
            family.discount,
            REGRESSORS[name](),
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


def _edges(
    family: BlackjackFamily, policies: dict[str, list[Any]], job: Job
) -> dict[str, StudyRecord]:
    """Return the house edges of each method: exact for infinite decks, by playing for others.

    All methods play the same initial hands; the cards that follow differ. The standard game has
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
            # standard error of the mean over games, which are played independently
            "edge_played_error": float(np.linalg.norm([e for _, e in played[name]]))
            / len(played[name]),
            "edges_exact": exact[name],
            "edges_played": [edge for edge, _ in played[name]],
        }
        for name in policies
    }


def _with_infinite_decks(task: Blackjack) -> Blackjack:
    """Return the same game with infinitely many decks."""
    return Blackjack(replace(task.rules, n_decks=None))


STUDIES = (
    Study(
        name="rl-blackjack",
        title="Blackjack under several rules, learned together",
        claim="Sharing rows and rank between related games takes fewer samples for the same edge.",
        jobs=jobs,
        run=run,
    ),
)
CLAIMS: tuple[Claim, ...] = ()  # the paper has no such experiment

OPTIMUM = "optimum"
"""Name under which the records hold the best policies for infinite decks."""

_OURS = ("GDT", "pursuit")
_BASELINES = ("lasso", "group lasso", "ridge", "pooled")
_METHODS = (*_OURS, *_BASELINES)
_COLOURS = dict(
    zip(
        _METHODS,
        ("#0b3c5d", "#c8102e", "#e08e0b", "#12805c", "#b565a7", "#7d7d7d"),
        strict=True,
    )
)
_MARKERS = dict(zip(_METHODS, "osDv*X", strict=True))
_LINE = "#1d1d1f"
_FIELDS = {"edge_exact": "infinite decks, exact", "edge_played": "two decks, played"}

Curve = dict[int, Spread]


def make_page(name: str, records: list[StudyRecord]) -> Page:
    """Return the page of the study."""
    page = Page("Blackjack: games with different rules, learned together")
    page.add(Text(_verdict(records), stress=True), Text(_losses(records)), Text(_about(records)))
    caption = (
        "House edge against design states, mean over games and seeds, plus and minus one standard "
        "error over the seeds. Dashed: the best policies for infinite decks."
    )
    page.add(Picture("house_edge", _plot(records), caption))
    for field, title in _FIELDS.items():
        page.add(Section(f"House edge in percent: {title}"), _edge_table(records, field))
    page.add(Text(_error_words(records)))
    page.add(Section("The standard game"), _edge_table(records, "edge_standard"))
    page.add(
        Text(
            "Infinite decks, and a dealer who stays at every 17; exact values. This game is one of "
            "those that are learned together, so a method that treats all games as one can be good "
            "here and bad at the others."
        )
    )
    page.add(Section("Models and seconds"), _model_table(records))
    return page


def edges(records: list[StudyRecord], field: str) -> dict[str, Curve]:
    """Return the house edge in percent by method and number of states."""
    by_method = group(records, "method")
    result: dict[str, Curve] = {}
    for method in (m for m in (*_METHODS, OPTIMUM) if m in by_method):
        sizes = group(by_method[method], lambda r: int(r["states"]))
        found = {n: spread(sizes[n], field) for n in sorted(sizes)}
        result[method] = {
            n: Spread(100 * e.mean, 100 * e.sd, e.count) for n, e in found.items() if e is not None
        }
    return result


def _verdict(records: list[StudyRecord]) -> str:
    told = []
    for method in _OURS:
        by_size = group(records, lambda r: int(r["states"]))
        gaps = [(n, against_best_baseline(by_size[n], method)) for n in sorted(by_size)]
        found = [f"{gap} with {n} states" for n, gap in gaps if gap is not None]
        if found:
            told.append(f"{method}-FQI {', '.join(found)}")
    if not told:
        return "The records do not contain both GDT or pursuit and a baseline."
    return (
        "House edge minus that of the best baseline, in percentage points, over the games with "
        f"infinite decks (negative is better): {'; '.join(told)}."
    )


def against_best_baseline(records: list[StudyRecord], method: str) -> str | None:
    """Return the difference of the house edge to that of the best baseline, and its name.

    With the standard error over the seeds that both have in common.
    """
    by_method = group(records, "method")
    means = {m: spread(by_method[m], "edge_exact") for m in _BASELINES if m in by_method}
    known = {m: edge.mean for m, edge in means.items() if edge is not None}
    if not known or method not in by_method:
        return None
    best = min(known, key=lambda m: known[m])
    gap = paired_difference(by_method[method], by_method[best], "edge_exact")
    if gap is None:
        own = spread(by_method[method], "edge_exact")
        return None if own is None else f"{100 * (own.mean - known[best]):+.2f} ({best})"
    return f"{100 * gap.mean:+.2f} ± {100 * gap.sd:.2f} ({best})"


def _losses(records: list[StudyRecord]) -> str:
    curves = edges(records, "edge_exact")
    best = curves.pop(OPTIMUM, {})
    told = [
        f"{method} " + ", ".join(f"{curve[n].mean - best[n].mean:.2f}" for n in curve if n in best)
        for method, curve in curves.items()
    ]
    sizes = ", ".join(map(str, sorted(best)))
    return (
        f"House edge minus that of the optimum in these games, in percentage points, with {sizes} "
        f"states: {'; '.join(told)}."
    )


def _about(records: list[StudyRecord]) -> str:
    first = records[0]
    return (
        f"{first.get('tasks')} games that differ in the decks (two or infinitely many), in the "
        "total at which the dealer stays and in whether the dealer hits a soft total there. The "
        f"player hits or stays; there are {first.get('features')} features of the hand and of the "
        f"cards seen. The games are learned by {first.get('iterations')} fitted Q-iterations from "
        "new samples at the same states, which are those of a player who acts at random. All "
        f"regressions are tuned by {first.get('folds')}-fold cross-validation over the states: the "
        "penalty, or rank and rows with a small fixed ridge for GDT and pursuit. “Ridge” learns "
        "every game separately, “pooled” is a ridge regression that treats all games as one. For "
        "infinite decks policies are evaluated exactly; for two decks they play "
        f"{first.get('hands', 0):,} hands of each game."
    )


def _error_words(records: list[StudyRecord]) -> str:
    error = spread(records, "edge_played_error")
    noise = "" if error is None else f" (standard error from playing: {100 * error.mean:.2f})"
    return (
        f"Mean over the games ± standard deviation over the seeds{noise}. The optimum is that of "
        "infinite decks; with two decks it is a good policy, but it does not count cards."
    )


def _edge_table(records: list[StudyRecord], field: str) -> Table:
    curves = edges(records, field)
    sizes = sorted({n for curve in curves.values() for n in curve})
    rows = [(m, *(_figures(curve.get(n)) for n in sizes)) for m, curve in curves.items()]
    return Table(("method / states", *map(str, sizes)), list(rows))


def _figures(edge: Spread | None) -> str:
    if edge is None:
        return ""
    return f"{edge.mean:.2f}" + ("" if math.isnan(edge.sd) else f" ± {edge.sd:.2f}")


def _model_table(records: list[StudyRecord]) -> Table:
    by_method = group(records, "method")
    rows = []
    for method in (m for m in _METHODS if m in by_method):
        for n, part in sorted(group(by_method[method], lambda r: int(r["states"])).items()):
            found = [spread(part, field) for field in ("active", "rank", "seconds")]
            active, rank, time = (None if cell is None else cell.mean for cell in found)
            figures = ("" if x is None else f"{x:.1f}" for x in (active, rank))
            rows.append((method, str(n), *figures, seconds(time)))
    return Table(("method", "states", "active rows", "rank", "seconds"), list(rows))


def _plot(records: list[StudyRecord]) -> Any:
    figure, axes = panels(len(_FIELDS), height=3.8)
    for axis, (field, title) in zip(axes, _FIELDS.items(), strict=True):
        ends = []
        curves = edges(records, field)
        for method, curve in curves.items():
            x, mean = list(curve), np.array([e.mean for e in curve.values()])
            if method == OPTIMUM:
                axis.plot(x, mean, "--", color=_LINE, lw=1.2)
                ends.append((x[-1], mean[-1], method, _LINE))
                continue
            colour = _COLOURS[method]
            error = np.array([e.sd / math.sqrt(e.count) for e in curve.values()])
            axis.plot(x, mean, color=colour, marker=_MARKERS[method])
            if not np.isnan(error).any():
                axis.fill_between(x, mean - error, mean + error, color=colour, alpha=0.18, lw=0)
            ends.append((x[-1], mean[-1], method, colour))
        sizes = sorted({n for curve in curves.values() for n in curve})
        axis.set(xscale="log", title=title, xlabel="design states (log scale)")
        axis.set_xticks(sizes, [str(n) for n in sizes])
        axis.minorticks_off()
        axis.margins(x=0.25)
        label_ends(axis, ends)
    axes[0].set_ylabel("house edge, per cent of the stake")
    return figure
