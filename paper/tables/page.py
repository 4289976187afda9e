"""Tables 1 to 4: the page, with errors and supports of all methods in one setting."""

from __future__ import annotations

from typing import Any

from paper.printed import printed
from paper.statistics import (
    Spread,
    distance,
    group,
    number,
    paired_difference,
    pm,
    spread,
    values,
)
from paper.studies import StudyRecord
from paper.style import COLOURS, in_order, panels, value_scale
from thinrank.report.document import Page, Picture, Section, Table, Text

OURS = ("GDT", "pursuit")
"""The two solvers of this package."""

# Not methods that anybody could use: they show what is possible, and what nothing achieves.
_REFERENCES = ("oracle", "null")


def make_page(name: str, records: list[StudyRecord]) -> Page:
    """Return the page of one of the four tables."""
    table = printed()["tables"][name]
    methods = _by_method(records)
    page = Page(f"Table {name.removeprefix('table')}: {table['title'].lower()}")
    page.add(Text(verdict(records), stress=True), Text(_setting(table["sizes"])))
    page.add(
        Section("Estimation error"),
        _estimation(methods, table["methods"]),
        Text(
            "‖Θ̂ − Θ*‖ / ‖Θ*‖, mean ± standard deviation over the replications. The spectral norm "
            "is what the paper prints; the Frobenius norm is given in addition. “Difference” is "
            "from the printed mean, in printed standard deviations, and negative if the error is "
            "lower here. The oracle knows the true supports and the rank; the null model "
            "estimates zero."
        ),
        Picture("estimation", _dots(methods, table["methods"]), _caption(methods)),
    )
    page.add(
        Section("Prediction error"),
        _prediction(methods, table["methods"]),
        Text(
            "Expected root mean squared error on new rows, and on new responses at the training "
            "rows of X; the noise alone gives 1. The paper does not say which of the two it "
            "prints, so both are compared with the printed mean."
        ),
        Text(_prediction_words(records)),
    )
    page.add(Section("Supports and running times"), _supports(methods, table["methods"]))
    page.add(
        Text(
            "Numbers of non-zero rows and columns. “Exact” is the fraction of replications in "
            "which both supports are the true ones. Seconds include the choice of tuning "
            "parameters."
        )
    )
    return page


def mean_errors(records: list[StudyRecord], field: str = "spectral") -> dict[str, Spread]:
    """Return an error of each method except oracle and null model, the lowest mean first."""
    found = {method: spread(rows, field) for method, rows in _by_method(records).items()}
    errors = {m: e for m, e in found.items() if e is not None and m not in _REFERENCES}
    return dict(sorted(errors.items(), key=lambda item: item[1].mean))


def verdict(records: list[StudyRecord]) -> str:
    """State which method has the lowest mean error, and whether GDT and pursuit come first."""
    errors = mean_errors(records)
    if not errors:
        return "No replication is finished."
    ranking = list(errors)
    best = ranking[0]
    text = (
        f"{best} has the lowest mean estimation error apart from the oracle, "
        f"{number(errors[best].mean)}"
    )
    text += f"; next is {ranking[1]}, {number(errors[ranking[1]].mean)}." if ranking[1:] else "."
    ours = [method for method in ranking if method in OURS]
    if len(ours) < len(OURS):
        missing = " and ".join(method for method in OURS if method not in ours)
        return f"{text} {missing} did not run."
    if set(ranking[: len(ours)]) == set(ours):
        return f"{text} GDT and pursuit come first."
    beaten = [_better_than(method, ranking, records) for method in OURS]
    return " ".join([text, "GDT and pursuit do not both come first:", *filter(None, beaten)])


def _prediction_words(records: list[StudyRecord]) -> str:
    """State which methods predict new rows best."""
    errors = mean_errors(records, "prediction")
    ranking = list(errors)
    if not ranking:
        return "The records contain no prediction error."
    told = ", then ".join(f"{method} ({errors[method].mean:.4f})" for method in ranking[:3])
    return f"Lowest mean errors on new rows apart from the oracle: {told}."


def _better_than(method: str, ranking: list[str], records: list[StudyRecord]) -> str:
    """Name the baselines with a lower mean error, each with the paired difference."""
    better = [m for m in ranking[: ranking.index(method)] if m not in OURS]
    if not better:
        return ""
    rows = _by_method(records)
    told = []
    for baseline in better:
        gap = paired_difference(rows[method], rows[baseline], "spectral")
        by = f" by {gap.mean:.4f} (standard error {gap.sd:.4f})" if gap else ""
        told.append(f"{baseline} is better than {method}{by}")
    return "; ".join(told) + "."


def _by_method(records: list[StudyRecord]) -> dict[str, list[StudyRecord]]:
    groups = group(records, "method")
    return {method: groups[method] for method in in_order(list(groups))}


def _setting(sizes: dict[str, Any]) -> str:
    scale = "" if sizes["theta_scale"] == 1 else ", and Θ* is divided by 5"
    return (
        f"n = {sizes['n']}, p = {sizes['p']}, k = {sizes['k']}, r = {sizes['r']}, "
        f"{sizes['s1']} non-zero rows, {sizes['s2']} non-zero columns{scale}. Tuning parameters "
        "are chosen on an independent validation set."
    )


def _difference(value: Spread | None, reference: dict[str, Any], field: str) -> str:
    if value is None or field not in reference:
        return ""
    gap = distance(value.mean, reference[field])
    return "" if gap is None else f"{gap:+.1f}"


def _estimation(methods: dict[str, list[StudyRecord]], reference: dict[str, Any]) -> Table:
    rows = []
    for method, records in methods.items():
        error = spread(records, "spectral")
        old = reference.get(method, {})
        rows.append(
            (
                method,
                pm(error),
                pm(old.get("estimation")),
                _difference(error, old, "estimation"),
                pm(spread(records, "frobenius")),
            )
        )
    return Table(("method", "spectral", "printed", "difference", "Frobenius"), list(rows))


def _prediction(methods: dict[str, list[StudyRecord]], reference: dict[str, Any]) -> Table:
    rows = []
    for method, records in methods.items():
        fresh, same = spread(records, "prediction"), spread(records, "same_rows")
        old = reference.get(method, {})
        rows.append(
            (
                method,
                pm(fresh),
                _difference(fresh, old, "prediction"),
                pm(old.get("prediction")),
                _difference(same, old, "prediction"),
                pm(same),
            )
        )
    header = ("method", "new rows", "difference", "printed", "difference", "training rows")
    return Table(header, list(rows))


def _supports(methods: dict[str, list[StudyRecord]], reference: dict[str, Any]) -> Table:
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
                _difference(kept, old, "rows"),
                pm(responses, 2),
                pm(old.get("columns"), 2),
                _difference(responses, old, "columns"),
                pm(spread(records, "rank"), 2),
                "" if exact is None else f"{100 * exact.mean:.0f} %",
                "" if time is None else f"{time.mean:.2f}",
                str(len(records)),
            )
        )
    header = ("method", "rows", "printed", "difference", "columns", "printed", "difference")
    return Table((*header, "rank", "exact", "seconds", "replications"), list(rows))


def _dots(methods: dict[str, list[StudyRecord]], reference: dict[str, Any]) -> Any:
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
    axis.set_xlabel(f"relative estimation error, spectral norm{scale}")
    return figure


def _caption(methods: dict[str, list[StudyRecord]]) -> str:
    count = max((len(records) for records in methods.values()), default=0)
    return (
        f"Relative estimation error in the spectral norm. Dots: means over {count} replications; "
        "lines: from the smallest to the largest; open circles: printed means."
    )
