"""Tables 1 to 4: errors and supports of all methods in one setting."""

from __future__ import annotations

from typing import Any

from thinrank.report.page import Page, Picture, Section, Table, Text
from thinrank.report.printed import printed
from thinrank.report.statistics import (
    Record,
    Spread,
    distance,
    group,
    number,
    paired_difference,
    pm,
    spread,
    values,
)
from thinrank.report.style import COLOURS, in_order, panels, value_scale

__all__ = ["OURS", "accuracy_page", "mean_errors", "verdict"]

OURS = ("GDT", "pursuit")
"""The two solvers of this package."""

_NOT_CONTESTANTS = ("oracle", "null")


def accuracy_page(name: str, records: list[Record]) -> Page:
    """Return the page of one of the four tables."""
    table = printed()["tables"][name]
    methods = _by_method(records)
    page = Page(f"Table {name.removeprefix('table')}: {table['title'].lower()}")
    page.add(Text(verdict(records), stress=True), Text(_setting(table["sizes"])))
    page.add(
        Section("Estimation error"),
        _estimation(methods, table["methods"]),
        Text(
            "Mean ± standard deviation over the replications; ‖Θ̂ − Θ*‖ / ‖Θ*‖. The spectral norm "
            "is what the paper prints; the Frobenius norm is beside it. “Apart” is the "
            "distance from the printed mean in printed standard deviations, negative where the "
            "error is lower here. The oracle is told the true supports and the rank; the null "
            "estimates zero."
        ),
        Picture("estimation", _dots(methods, table["methods"]), _caption(methods)),
    )
    page.add(
        Section("Prediction error"),
        _prediction(methods, table["methods"]),
        Text(
            "Expected root mean squared error on fresh rows, and of new responses at the same rows "
            "of X; 1 is the noise. "
            "The paper does not say which of the two it prints, so each has its distance from the "
            "printed mean."
        ),
        Text(_prediction_words(records)),
    )
    page.add(Section("What was selected, and the time"), _supports(methods, table["methods"]))
    page.add(
        Text(
            "Numbers of non-zero rows and columns. “Exact” is the share of replications in "
            "which the support is the true one. Seconds include the choice of tuning parameters."
        )
    )
    return page


def mean_errors(records: list[Record], field: str = "spectral") -> dict[str, Spread]:
    """Return an error of each contestant, the lowest mean first."""
    found = {method: spread(rows, field) for method, rows in _by_method(records).items()}
    errors = {m: e for m, e in found.items() if e is not None and m not in _NOT_CONTESTANTS}
    return dict(sorted(errors.items(), key=lambda item: item[1].mean))


def verdict(records: list[Record]) -> str:
    """Say which method has the lowest mean error, and whether GDT and pursuit come first."""
    errors = mean_errors(records)
    if not errors:
        return "No replication is finished."
    ranking = list(errors)
    best = ranking[0]
    text = (
        f"{best} has the lowest mean estimation error among the non-oracle methods, "
        f"{number(errors[best].mean)}"
    )
    text += f"; next is {ranking[1]}, {number(errors[ranking[1]].mean)}." if ranking[1:] else "."
    ours = [method for method in ranking if method in OURS]
    if len(ours) < len(OURS):
        missing = " and ".join(method for method in OURS if method not in ours)
        return f"{text} {missing} did not run."
    if set(ranking[: len(ours)]) == set(ours):
        return f"{text} GDT and pursuit come first."
    beaten = [_who_beats(method, ranking, records) for method in OURS]
    return " ".join([text, "GDT and pursuit do not both come first:", *filter(None, beaten)])


def _prediction_words(records: list[Record]) -> str:
    """Say which method predicts fresh rows best."""
    errors = mean_errors(records, "prediction")
    ranking = list(errors)
    if not ranking:
        return "No prediction error is in the records."
    told = ", then ".join(f"{method} ({errors[method].mean:.4f})" for method in ranking[:3])
    return f"Lowest mean error on fresh rows among the non-oracle methods: {told}."


def _who_beats(method: str, ranking: list[str], records: list[Record]) -> str:
    """Name the rivals with a lower mean error, each with the paired difference."""
    rivals = [m for m in ranking[: ranking.index(method)] if m not in OURS]
    if not rivals:
        return ""
    rows = _by_method(records)
    told = []
    for rival in rivals:
        gap = paired_difference(rows[method], rows[rival], "spectral")
        by = f" by {gap.mean:.4f}, standard error {gap.sd:.4f}" if gap else ""
        told.append(f"{rival} beats {method}{by}")
    return "; ".join(told) + "."


def _by_method(records: list[Record]) -> dict[str, list[Record]]:
    groups = group(records, "method")
    return {method: groups[method] for method in in_order(list(groups))}


def _setting(sizes: dict[str, Any]) -> str:
    scale = "" if sizes["theta_scale"] == 1 else ", and Θ* divided by 5"
    return (
        f"n = {sizes['n']}, p = {sizes['p']}, k = {sizes['k']}, r = {sizes['r']}, "
        f"{sizes['s1']} non-zero rows, {sizes['s2']} non-zero columns{scale}. Tuning parameters "
        "are chosen on an independent validation set."
    )


def _apart(value: Spread | None, reference: dict[str, Any], field: str) -> str:
    if value is None or field not in reference:
        return ""
    gap = distance(value.mean, reference[field])
    return "" if gap is None else f"{gap:+.1f}"


def _estimation(methods: dict[str, list[Record]], reference: dict[str, Any]) -> Table:
    rows = []
    for method, records in methods.items():
        error = spread(records, "spectral")
        old = reference.get(method, {})
        rows.append(
            (
                method,
                pm(error),
                pm(old.get("estimation")),
                _apart(error, old, "estimation"),
                pm(spread(records, "frobenius")),
            )
        )
    return Table(("", "spectral", "printed", "apart", "Frobenius"), list(rows))


def _prediction(methods: dict[str, list[Record]], reference: dict[str, Any]) -> Table:
    rows = []
    for method, records in methods.items():
        fresh, same = spread(records, "prediction"), spread(records, "same_rows")
        old = reference.get(method, {})
        rows.append(
            (
                method,
                pm(fresh),
                _apart(fresh, old, "prediction"),
                pm(old.get("prediction")),
                _apart(same, old, "prediction"),
                pm(same),
            )
        )
    header = ("", "fresh rows", "apart", "printed", "apart", "same rows")
    return Table(header, list(rows))


def _supports(methods: dict[str, list[Record]], reference: dict[str, Any]) -> Table:
    rows = []
    for method, records in methods.items():
        old = reference.get(method, {})
        kept, responses = spread(records, "rows"), spread(records, "columns")
        exact, time = spread(records, "exact"), spread(records, "seconds")
        rows.append(
            (
                method,
                pm(kept, 2),
                pm(old.get("rows"), 2),
                _apart(kept, old, "rows"),
                pm(responses, 2),
                pm(old.get("columns"), 2),
                _apart(responses, old, "columns"),
                pm(spread(records, "rank"), 2),
                "" if exact is None else f"{100 * exact.mean:.0f} %",
                "" if time is None else f"{time.mean:.2f}",
                str(len(records)),
            )
        )
    header = ("", "rows", "printed", "apart", "columns", "printed", "apart", "rank", "exact")
    return Table((*header, "seconds", "replications"), list(rows))


def _dots(methods: dict[str, list[Record]], reference: dict[str, Any]) -> Any:
    shown = [m for m in methods if m != "null" and spread(methods[m], "spectral")]
    figure, (axis,) = panels(height=0.9 + 0.27 * max(len(shown), 1))
    for height, method in enumerate(shown):
        error = spread(methods[method], "spectral")
        if method in reference:
            axis.plot(
                reference[method]["estimation"][0],
                height,
                "o",
                mfc="none",
                mec="#555555",
                ms=7,
            )
        if error:
            own = values(methods[method], "spectral")
            colour = COLOURS.get(method, "#555555")
            axis.plot([min(own), max(own)], [height, height], color=colour, lw=1, alpha=0.6)
            axis.plot(error.mean, height, "o", color=colour, ms=5)
    every = [error for method in shown for error in values(methods[method], "spectral")]
    every += [reference[method]["estimation"][0] for method in shown if method in reference]
    scale = value_scale(axis, "x", min(every, default=1.0), max(every, default=1.0))
    axis.set_yticks(range(len(shown)), shown)
    axis.set_ylim(len(shown) - 0.4, -0.6)
    axis.set_xlabel(f"estimation error, spectral norm, relative{scale}")
    return figure


def _caption(methods: dict[str, list[Record]]) -> str:
    count = max((len(records) for records in methods.values()), default=0)
    return (
        f"Relative estimation error in the spectral norm. Dots: means over {count} replications; "
        "lines: smallest to largest; open circles: printed means."
    )
