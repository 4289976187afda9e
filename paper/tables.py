"""Tables 1 to 4: errors and supports of all methods in four simulated settings."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import pandas as pd

from paper.figures import dots
from paper.methods import BASELINES
from paper.printed import printed
from paper.simulation import draw, scored_methods
from paper.statistics import distance, in_order, means, number, paired_difference, pm
from paper.study import Finding, Job, Record, Study, replicated
from thinrank.report.document import Block, Picture, Section, Table, Text

# Not methods that anybody could use: they show what is possible, and what nothing achieves.
_REFERENCES = ("oracle", "null")
_FIELDS = ("spectral", "frobenius", "prediction", "same_rows", "rows", "columns", "rank", "exact")


def _cells(setting: str, quick: bool) -> list[Record]:
    return [{"setting": setting}]


def run(job: Job) -> list[Record]:
    return scored_methods(draw(job.cell["setting"], job.seed))


@dataclass(frozen=True)
class _Row:
    """What the tables say about one method."""

    stats: dict[str, pd.Series]  # mean, sd and count by field
    old: dict[str, Any]  # the printed mean and standard deviation, where there are any

    def here(self, field: str, digits: int = 4) -> str:
        return pm(self.stats[field]["mean"], self.stats[field]["sd"], digits)

    def printed(self, field: str, digits: int = 4) -> str:
        return pm(self.old[field][0], self.old[field][1], digits) if field in self.old else ""

    def gap(self, field: str, printed: str) -> str:
        found = (
            distance(self.stats[field]["mean"], self.old[printed])
            if self.old.get(printed)
            else None
        )
        return "" if found is None else f"{found:+.1f}"


def _table(rows: dict[str, _Row], *columns: tuple[Any, ...]) -> Table:
    """A table with a row per method; columns: heading, what a row shows, and its arguments."""
    cells = [(name, *(show(row, *of) for _, show, *of in columns)) for name, row in rows.items()]
    return Table(("method", *(column[0] for column in columns)), list(cells))


def page(records: pd.DataFrame) -> list[Block]:
    table = printed()["tables"][records["study"].iloc[0]]
    stats = {field: means(records, "method", field) for field in (*_FIELDS, "seconds")}
    rows = {
        method: _Row({f: s.loc[method] for f, s in stats.items()}, table["methods"].get(method, {}))
        for method in in_order(records["method"])
    }
    shown = stats["spectral"].reindex([method for method in rows if method != "null"])
    old = {name: row["estimation"][0] for name, row in table["methods"].items()}
    return [
        Text(_setting(table["sizes"])),
        Section("Estimation error"),
        _table(
            rows,
            ("spectral", _Row.here, "spectral"),
            ("printed", _Row.printed, "estimation"),
            ("difference", _Row.gap, "spectral", "estimation"),
            ("Frobenius", _Row.here, "frobenius"),
        ),
        Text(
            "‖Θ̂ − Θ*‖ / ‖Θ*‖, mean ± standard deviation over the replications. The spectral norm "
            "is what the paper prints; the Frobenius norm is given in addition. “Difference” is "
            "from the printed mean, in printed standard deviations, and negative if the error is "
            "lower here. The oracle knows the true supports and the rank; the null model "
            "estimates zero."
        ),
        Picture(
            "estimation",
            dots(shown, old, "relative estimation error, spectral norm"),
            f"Relative estimation error in the spectral norm. Dots: means over "
            f"{shown['count'].max()} replications, plus and minus one standard deviation; open "
            "circles: printed means.",
        ),
        Section("Prediction error"),
        _table(
            rows,
            ("new rows", _Row.here, "prediction"),
            ("difference", _Row.gap, "prediction", "prediction"),
            ("printed", _Row.printed, "prediction"),
            ("difference", _Row.gap, "same_rows", "prediction"),
            ("training rows", _Row.here, "same_rows"),
        ),
        Text(
            "Expected root mean squared error on new rows, and on new responses at the training "
            "rows of X; the noise alone gives 1. The paper does not say which of the two it "
            "prints, so both are compared with the printed mean."
        ),
        Section("Supports and running times"),
        _table(
            rows,
            ("rows", _Row.here, "rows", 2),
            ("printed", _Row.printed, "rows", 2),
            ("difference", _Row.gap, "rows", "rows"),
            ("columns", _Row.here, "columns", 2),
            ("printed", _Row.printed, "columns", 2),
            ("difference", _Row.gap, "columns", "columns"),
            ("rank", _Row.here, "rank", 2),
            ("exact", lambda row: f"{100 * row.stats['exact']['mean']:.0f} %"),
            ("seconds", lambda row: number(row.stats["seconds"]["mean"], 2)),
            ("replications", lambda row: f"{row.stats['spectral']['count']:.0f}"),
        ),
        Text(
            "Numbers of non-zero rows and columns. “Exact” is the fraction of replications in "
            "which both supports are the true ones. Seconds include the choice of tuning "
            "parameters."
        ),
    ]


def _setting(sizes: dict[str, Any]) -> str:
    scale = "" if sizes["theta_scale"] == 1 else ", and Θ* is divided by 5"
    return (
        f"n = {sizes['n']}, p = {sizes['p']}, k = {sizes['k']}, r = {sizes['r']}, "
        f"{sizes['s1']} non-zero rows, {sizes['s2']} non-zero columns{scale}. Tuning parameters "
        "are chosen on an independent validation set."
    )


def _mean_errors(records: pd.DataFrame, field: str = "spectral") -> pd.Series:
    """Mean error of each method that can be used, the lowest first."""
    return (
        means(records, "method", field)["mean"]
        .drop(list(_REFERENCES), errors="ignore")
        .sort_values()
    )


def lowest_error(records: pd.DataFrame) -> Finding | None:
    """GDT has the lowest mean estimation error of the paper's methods in all four tables."""
    return _lowest(records, "spectral")


def lowest_prediction(records: pd.DataFrame) -> Finding | None:
    """GDT has the lowest mean prediction error of the paper's methods in all four tables (on new
    rows)."""
    return _lowest(records, "prediction")


def _lowest(records: pd.DataFrame, field: str) -> Finding | None:
    errors = _mean_errors(records, field)
    among = [method for method in errors.index if method in BASELINES]
    if "GDT" not in errors or not among:
        return None
    best = among[0]
    told = f"GDT {errors['GDT']:.4f}, {best} {errors[best]:.4f}"
    holds = bool(errors["GDT"] < errors[best])
    gap = None if holds else paired_difference(records, "GDT", best, field)
    told += f" (difference {gap[0]:.4f}, standard error {gap[1]:.4f})" if gap else ""
    return holds, told


def _printed_gaps(records: pd.DataFrame, methods: tuple[str, ...]) -> dict[str, float]:
    """Differences of mean errors from the printed ones, in printed standard deviations."""
    errors = _mean_errors(records)
    table = printed()["tables"][records["study"].iloc[0]]["methods"]
    found = [method for method in methods if method in errors]
    return {m: distance(errors[m], table[m]["estimation"]) or 0.0 for m in found}


def gdt_as_printed(records: pd.DataFrame) -> Finding | None:
    """GDT's mean estimation error is the printed one: at most 2 printed sd above it."""
    gaps = _printed_gaps(records, ("GDT",))
    if not gaps:
        return None
    old = printed()["tables"][records["study"].iloc[0]]["methods"]["GDT"]["estimation"]
    here = _mean_errors(records)["GDT"]
    return gaps["GDT"] <= 2, f"{here:.4f}, printed {pm(*old)}, {gaps['GDT']:+.1f} sd"


def baselines_as_printed(records: pd.DataFrame) -> Finding | None:
    """The baselines' mean estimation errors are the printed ones: within 2 printed sd."""
    gaps = _printed_gaps(records, tuple(BASELINES))
    if not gaps:
        return None
    outside = [
        f"{method} {gap:+.1f} sd ({'lower' if gap < 0 else 'higher'} here)"
        for method, gap in gaps.items()
        if abs(gap) > 2
    ]
    told = f"{len(gaps) - len(outside)} of {len(gaps)}"
    return not outside, told + (f" except for {', '.join(outside)}" if outside else "")


_CLAIMS = (lowest_error, lowest_prediction, gdt_as_printed, baselines_as_printed)

STUDIES = tuple(
    Study(
        name,
        f"Table {name.removeprefix('table')}: {table['title'].lower()}",
        replicated(60_000, (50, 3), partial(_cells, table["setting"])),
        run,
        page,
        claims=_CLAIMS,
    )
    for name, table in printed()["tables"].items()
)
