"""Blackjack under several rules: the house edge against design states."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from thinrank.report.page import Page, Picture, Section, Table, Text
from thinrank.report.statistics import Record, Spread, group, paired_difference, seconds, spread
from thinrank.report.style import label_ends, panels

__all__ = ["OPTIMUM", "against_best_rival", "edges", "rl_blackjack_page"]

OPTIMUM = "optimum"
"""The best policies for infinite decks, in the records beside the methods."""

_OURS = ("GDT", "pursuit")
_RIVALS = ("lasso", "group lasso", "ridge", "pooled")
_METHODS = (*_OURS, *_RIVALS)
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


def rl_blackjack_page(name: str, records: list[Record]) -> Page:
    """Return the page."""
    page = Page("Blackjack: games with other rules, learned together")
    page.add(Text(_verdict(records), stress=True), Text(_losses(records)), Text(_about(records)))
    caption = (
        "House edge against design states, mean over games and seeds, with one standard error over "
        "the seeds to either side. Dashed: the best policies for infinite decks."
    )
    page.add(Picture("house_edge", _plot(records), caption))
    for field, title in _FIELDS.items():
        page.add(Section(f"House edge in percent: {title}"), _edge_table(records, field))
    page.add(Text(_error_words(records)))
    page.add(Section("The standard game"), _edge_table(records, "edge_standard"))
    page.add(
        Text(
            "Infinite decks, and a dealer who stays at every 17; exact. This game is one of those "
            "that are learned together, so a method that takes all games for one can be good here "
            "and bad at the others."
        )
    )
    page.add(Section("Models and seconds"), _model_table(records))
    return page


def edges(records: list[Record], field: str) -> dict[str, Curve]:
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


def _verdict(records: list[Record]) -> str:
    told = []
    for method in _OURS:
        by_size = group(records, lambda r: int(r["states"]))
        gaps = [(n, against_best_rival(by_size[n], method)) for n in sorted(by_size)]
        found = [f"{gap} with {n} states" for n, gap in gaps if gap is not None]
        if found:
            told.append(f"{method}-FQI {', '.join(found)}")
    if not told:
        return "GDT or pursuit and a rival are not both in the records."
    return (
        "House edge minus that of the best rival, in percentage points, over the games with "
        f"infinite decks (negative is better): {'; '.join(told)}."
    )


def against_best_rival(records: list[Record], method: str) -> str | None:
    """Return how much the edge of a method exceeds that of the best rival, and who that is.

    With the standard error of the difference over the seeds, which both had.
    """
    by_method = group(records, "method")
    means = {m: spread(by_method[m], "edge_exact") for m in _RIVALS if m in by_method}
    known = {m: edge.mean for m, edge in means.items() if edge is not None}
    if not known or method not in by_method:
        return None
    rival = min(known, key=lambda m: known[m])
    gap = paired_difference(by_method[method], by_method[rival], "edge_exact")
    if gap is None:
        own = spread(by_method[method], "edge_exact")
        return None if own is None else f"{100 * (own.mean - known[rival]):+.2f} ({rival})"
    return f"{100 * gap.mean:+.2f} ± {100 * gap.sd:.2f} ({rival})"


def _losses(records: list[Record]) -> str:
    curves = edges(records, "edge_exact")
    best = curves.pop(OPTIMUM, {})
    told = [
        f"{method} " + ", ".join(f"{curve[n].mean - best[n].mean:.2f}" for n in curve if n in best)
        for method, curve in curves.items()
    ]
    sizes = ", ".join(map(str, sorted(best)))
    return (
        f"Percentage points that the learned policies lose to the optimum there, with {sizes} "
        f"states: {'; '.join(told)}."
    )


def _about(records: list[Record]) -> str:
    first = records[0]
    return (
        f"{first.get('tasks')} games that differ in the decks (two or infinitely many), in the "
        "total at which the dealer stays and in whether the dealer hits a soft total there; hit or "
        f"stay, {first.get('features')} features of the hand and of the cards seen. The games are "
        f"learned by {first.get('iterations')} fitted Q-iterations from fresh samples at the same "
        "states, those that a player meets who tosses a coin. All regressions are tuned by "
        f"{first.get('folds')}-fold cross-validation over the states: penalties, or rank and rows "
        "beside a small fixed ridge for GDT and pursuit. “Ridge” learns every game by itself, "
        "“pooled” is a ridge that takes all games for one. For infinite decks policies are "
        f"valued exactly; for two decks they play {first.get('hands', 0):,} hands of each game."
    )


def _error_words(records: list[Record]) -> str:
    error = spread(records, "edge_played_error")
    noise = "" if error is None else f" (standard error of playing: {100 * error.mean:.2f})"
    return (
        f"Mean over the games ± standard deviation over the seeds{noise}. The optimum is that of "
        "infinite decks; played with two decks it is a good policy, but it counts no cards."
    )


def _edge_table(records: list[Record], field: str) -> Table:
    curves = edges(records, field)
    sizes = sorted({n for curve in curves.values() for n in curve})
    rows = [(m, *(_figures(curve.get(n)) for n in sizes)) for m, curve in curves.items()]
    return Table(("states", *map(str, sizes)), list(rows))


def _figures(edge: Spread | None) -> str:
    if edge is None:
        return ""
    return f"{edge.mean:.2f}" + ("" if math.isnan(edge.sd) else f" ± {edge.sd:.2f}")


def _model_table(records: list[Record]) -> Table:
    by_method = group(records, "method")
    rows = []
    for method in (m for m in _METHODS if m in by_method):
        for n, part in sorted(group(by_method[method], lambda r: int(r["states"])).items()):
            found = [spread(part, field) for field in ("active", "rank", "seconds")]
            active, rank, time = (None if cell is None else cell.mean for cell in found)
            figures = ("" if x is None else f"{x:.1f}" for x in (active, rank))
            rows.append((method, str(n), *figures, seconds(time)))
    return Table(("method", "states", "active rows", "rank", "seconds"), list(rows))


def _plot(records: list[Record]) -> Any:
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
    axes[0].set_ylabel("house edge, percent of the stake")
    return figure
