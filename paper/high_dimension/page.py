"""High dimension: the page, and its claims."""

from __future__ import annotations

from typing import Any

from paper.claims import Claim, Finding
from paper.statistics import number, percent, seconds
from paper.studies import StudyRecord
from paper.style import count_iterations, label_ends, panels, value_scale
from thinrank.report.document import Page, Picture, Section, Table, Text

_COLOURS = ("#c8102e", "#0b3c5d", "#7d7d7d", "#e08e0b")


def make_page(name: str, records: list[StudyRecord]) -> Page:
    """Return the page of the two figures."""
    curves = sorted(records, key=lambda r: (r.get("n") or 0, r.get("seed") or 0))
    page = Page("High dimension")
    page.add(Text(_verdict(curves), stress=True))
    page.add(Text(_sizes(curves)))
    if curves:
        page.add(
            Picture(
                "estimation",
                _plot(curves, "errors", "relative estimation error, Frobenius norm", mark=True),
                "Estimation error by iteration. Squares: lasso start; circles: lowest error.",
            ),
            Picture(
                "objective",
                _plot(curves, "objectives", "objective", mark=False),
                "Objective by iteration. Squares: the lasso start.",
            ),
        )
    page.add(Section("Early stopping"), _errors(curves))
    page.add(
        Text("‖Θ − Θ*‖ / ‖Θ*‖ in the Frobenius norm; “lasso” is the lasso before truncation."),
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


def best_error(record: StudyRecord) -> float:
    """Return the lowest error over the iterations."""
    value = record.get("best_error")
    return float(min(record["errors"]) if value is None else value)


def last_error(record: StudyRecord) -> float:
    """Return the error at the last iteration."""
    value = record.get("last_error")
    return float(record["errors"][-1] if value is None else value)


def _sizes(records: list[StudyRecord]) -> str:
    text = (
        "The paper has p = 5000, k = 3000, r = 50 and s₁* = s₂* = 100. Iteration 0 is the lasso "
        "start, truncated to the rank and the sizes that GDT is given."
    )
    names = {"p": "p", "k": "k", "rank": "r", "size": "s₁* = s₂*", "asked": "s₁ = s₂"}
    first = records[0] if records else {}
    told = [f"{letter} = {first[name]}" for name, letter in names.items() if name in first]
    return f"{text} Here, {', '.join(told)}." if told else text


def _verdict(records: list[StudyRecord]) -> str:
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


def _errors(records: list[StudyRecord]) -> Table:
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
    return Table((*header, "last relative to best"), list(rows))


def _spectral(records: list[StudyRecord]) -> Table:
    rows = []
    for record in records:
        errors = record.get("spectral_errors")
        if errors:
            at, last = errors.index(min(errors)), errors[-1]
            where = f"{record['iterations'][at]:g}"
            change = percent(last / errors[at])
            row = (number(errors[0]), where, number(errors[at]), number(last), change)
            rows.append((str(record.get("n", "")), *row))
    header = ("n", "iteration 0", "best at", "best error", "last error", "last relative to best")
    return Table(header, list(rows))


def _best_iteration(record: StudyRecord) -> int:
    value = record.get("best_iteration")
    if value is None:
        value = record["iterations"][record["errors"].index(min(record["errors"]))]
    return int(value)


def _early_words(records: list[StudyRecord]) -> str:
    quote = (
        "The paper: “early stopping can help to avoid overfitting (although not too much), "
        "especially when n is small”."
    )
    if not records:
        return quote
    told = "; ".join(
        f"at n = {r.get('n', '?')} the last error differs by "
        f"{percent(last_error(r) / best_error(r))} from the best, which is reached at iteration "
        f"{_best_iteration(r)} of {r['iterations'][-1]:g}"
        for r in records
    )
    return f"{quote} Here, {told}."


def _costs(records: list[StudyRecord]) -> Table:
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
    header = ("n", "first objective", "last objective", "change", "seconds of start")
    return Table((*header, "seconds of solver", "lasso tolerance"), list(rows))


def _plot(records: list[StudyRecord], field: str, label: str, mark: bool) -> Any:
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


def both_fall(name: str, records: list[StudyRecord]) -> Finding | None:
    """Check whether error and objective both fall from the lasso start."""
    told = [
        f"n = {r.get('n', '?')}: error {r['errors'][0]:.4f} to {last_error(r):.4f}, "
        f"objective {r['objectives'][0]:.4g} to {r['objectives'][-1]:.4g}"
        for r in records
    ]
    fall = all(
        last_error(r) < r["errors"][0] and r["objectives"][-1] < r["objectives"][0] for r in records
    )
    return fall, "; ".join(told)


def early_stopping(name: str, records: list[StudyRecord]) -> Finding | None:
    """Check whether the last error is above the lowest one for some n."""
    gains = _gains(records)
    told = ", ".join(f"{percent(gain)} at n = {n}" for n, gain in gains.items())
    return max(gains.values()) > 1.001, f"last error relative to the lowest: {told}"


def most_when_n_is_small(name: str, records: list[StudyRecord]) -> Finding | None:
    """Check whether early stopping gains most at the smallest n."""
    gains = _gains(records)
    if len(gains) < 2:
        return None
    most = max(gains, key=lambda n: gains[n])
    told = f"most at n = {most}, {percent(gains[most])}"
    smallest = next(iter(gains))
    if most != smallest:
        told += f"; {percent(gains[smallest])} at n = {smallest}"
    return most == smallest and gains[most] > 1.001, told


def _gains(records: list[StudyRecord]) -> dict[int, float]:
    """Return the last error divided by the lowest one, in increasing order of n."""
    ratios = {int(r.get("n") or 0): last_error(r) / best_error(r) for r in records}
    return dict(sorted(ratios.items()))


CLAIMS = (
    Claim(
        "In high dimension estimation error and objective both fall from the lasso start",
        ("figure-high-dimension",),
        both_fall,
    ),
    Claim(
        "Early stopping helps, if not much: for some n the last error is more than 0.1 % above "
        "the lowest one",
        ("figure-high-dimension",),
        early_stopping,
    ),
    Claim(
        "Early stopping helps most when n is small: at the smallest n of the figure",
        ("figure-high-dimension",),
        most_when_n_is_small,
    ),
)
