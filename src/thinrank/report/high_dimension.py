"""The figures in high dimension: estimation error and objective from the lasso start on."""

from __future__ import annotations

from typing import Any

from thinrank.report.page import Page, Picture, Section, Table, Text
from thinrank.report.statistics import Record, number, percent, seconds
from thinrank.report.style import count_iterations, label_ends, panels, value_scale

__all__ = ["best_error", "high_dimension_page", "last_error"]

_COLOURS = ("#c8102e", "#0b3c5d", "#7d7d7d", "#e08e0b")


def high_dimension_page(name: str, records: list[Record]) -> Page:
    """Return the page of the two figures."""
    curves = sorted(records, key=lambda r: (r.get("n") or 0, r.get("seed") or 0))
    page = Page("High dimension")
    page.add(Text(_verdict(curves), stress=True))
    page.add(Text(_sizes(curves)))
    if curves:
        page.add(
            Picture(
                "estimation",
                _plot(curves, "errors", "estimation error, Frobenius, relative", mark=True),
                "Estimation error by iteration. Squares: the lasso start; circles: the best.",
            ),
            Picture(
                "objective",
                _plot(curves, "objectives", "objective", mark=False),
                "Objective by iteration. Squares: the lasso start.",
            ),
        )
    page.add(Section("Early stopping"), _errors(curves))
    page.add(
        Text(
            "‖Θ − Θ*‖ / ‖Θ*‖ in the Frobenius norm; “lasso” is the lasso itself, before it is cut."
        ),
        Text(_early_words(curves)),
    )
    if any(r.get("spectral_errors") for r in curves):
        page.add(Section("The same in the spectral norm"), _spectral(curves))
    page.add(Section("Objective and time"), _costs(curves))
    page.add(
        Text(
            "The lasso stops when no entry of its gradient mapping exceeds the tolerance times the "
            "penalty; a smaller tolerance would take longer."
        )
    )
    return page


def best_error(record: Record) -> float:
    """Return the lowest error on the way."""
    value = record.get("best_error")
    return float(min(record["errors"]) if value is None else value)


def last_error(record: Record) -> float:
    """Return the error at the last iteration."""
    value = record.get("last_error")
    return float(record["errors"][-1] if value is None else value)


def _sizes(records: list[Record]) -> str:
    text = (
        "The paper has p = 5000, k = 3000, r = 50 and s₁* = s₂* = 100. Iteration 0 is the lasso "
        "start, cut to the rank and the sizes that GDT is told."
    )
    names = {"p": "p", "k": "k", "rank": "r", "size": "s₁* = s₂*", "asked": "s₁ = s₂"}
    first = records[0] if records else {}
    told = [f"{letter} = {first[name]}" for name, letter in names.items() if name in first]
    return f"{text} Here {', '.join(told)}." if told else text


def _verdict(records: list[Record]) -> str:
    if not records:
        return "No run is finished."
    both = all(
        last_error(r) < r["errors"][0] and r["objectives"][-1] < r["objectives"][0] for r in records
    )
    told = ", ".join(
        f"{r['errors'][0]:.4f} to {last_error(r):.4f} at n = {r.get('n', '?')}" for r in records
    )
    word = "fall" if both else "do not both fall"
    return f"Estimation error and objective {word} from the lasso start; the error: {told}."


def _errors(records: list[Record]) -> Table:
    rows = [
        (
            str(r.get("n", "")),
            number(r.get("lasso_error")),
            number(r["errors"][0]),
            str(_best_iteration(r)),
            number(best_error(r)),
            f"{r['iterations'][-1]:g}",
            number(last_error(r)),
            percent(last_error(r) / best_error(r)),
        )
        for r in records
    ]
    header = ("n", "lasso", "iteration 0", "best at", "best error", "last at", "last error")
    return Table((*header, "last from best"), list(rows))


def _spectral(records: list[Record]) -> Table:
    rows = []
    for record in records:
        errors = record.get("spectral_errors")
        if errors:
            at, last = errors.index(min(errors)), errors[-1]
            where = f"{record['iterations'][at]:g}"
            change = percent(last / errors[at])
            row = (number(errors[0]), where, number(errors[at]), number(last), change)
            rows.append((str(record.get("n", "")), *row))
    header = ("n", "iteration 0", "best at", "best error", "last error", "last from best")
    return Table(header, list(rows))


def _best_iteration(record: Record) -> int:
    value = record.get("best_iteration")
    if value is None:
        value = record["iterations"][record["errors"].index(min(record["errors"]))]
    return int(value)


def _early_words(records: list[Record]) -> str:
    quote = (
        "The paper: “early stopping can help to avoid overfitting (although not too much), "
        "especially when n is small”."
    )
    if not records:
        return quote
    told = "; ".join(
        f"at n = {r.get('n', '?')} the last error is {percent(last_error(r) / best_error(r))} from "
        f"the best, which is reached at iteration {_best_iteration(r)} of {r['iterations'][-1]:g}"
        for r in records
    )
    return f"{quote} Here {told}."


def _costs(records: list[Record]) -> Table:
    rows = [
        (
            str(r.get("n", "")),
            f"{r['objectives'][0]:.6g}",
            f"{r['objectives'][-1]:.6g}",
            percent(r["objectives"][-1] / r["objectives"][0]),
            seconds(r.get("seconds_start")),
            seconds(r.get("seconds_solver")),
            "" if r.get("tolerance") is None else f"{float(r['tolerance']):g}",
        )
        for r in records
    ]
    header = ("n", "objective at 0", "at the end", "change", "seconds of start")
    return Table((*header, "of solver", "lasso tolerance"), list(rows))


def _plot(records: list[Record], field: str, label: str, mark: bool) -> Any:
    figure, (axis,) = panels()
    every = [value for record in records for value in record[field]]
    axis.set_ylabel(label + value_scale(axis, "y", min(every), max(every)))
    count_iterations(axis)
    ends = []
    for i, record in enumerate(records):
        colour = _COLOURS[i % len(_COLOURS)]
        x, y = record["iterations"], record[field]
        axis.plot(x, y, color=colour)
        axis.plot(x[0], y[0], "s", color=colour, ms=4)
        if mark:
            at, lowest = _best_iteration(record), best_error(record)
            axis.plot(at, lowest, "o", mfc="white", mec=colour, ms=6)
        ends.append((x[-1], y[-1], f"n = {record.get('n', '?')}", colour))
    label_ends(axis, ends)
    return figure
