"""Tables 1 to 4: errors and supports of all methods in four simulated settings."""

from __future__ import annotations

from functools import partial
from typing import Any

import pandas as pd

from paper.figures import dots
from paper.methods import BASELINES
from paper.printed import printed
from paper.simulation import draw, scored_methods
from paper.statistics import means, number, paired_difference, pm, pm_cells
from paper.study import Finding, Job, Record, Study, replicated
from thinrank.report.document import Block, Picture, Section, Table, Text


def _cells(setting: str, quick: bool) -> list[Record]:
    return [{"setting": setting}]


def run(job: Job) -> list[Record]:
    return scored_methods(draw(job.cell["setting"], job.seed))


def _printed_table(records: pd.DataFrame) -> dict[str, Any]:
    """The table of the paper that the records are about."""
    table: dict[str, Any] = printed()["tables"][records["study"].iloc[0]]
    return table


def _printed_stats(records: pd.DataFrame, field: str) -> pd.DataFrame:
    """Mean and sd of a field as printed, by method; NaN where there are none."""
    table = _printed_table(records)["methods"]
    known = {method: row[field] for method, row in table.items() if field in row}
    found = pd.DataFrame.from_dict(known, orient="index", columns=["mean", "sd"], dtype=float)
    return found.reindex(records["method"].unique())


def _gaps(records: pd.DataFrame, field: str, printed_field: str) -> pd.Series:
    """Differences of means from the printed ones, in printed standard deviations above zero."""
    old = _printed_stats(records, printed_field)
    return (means(records, "method", field)["mean"] - old["mean"]) / old["sd"].where(old["sd"] > 0)


def page(records: pd.DataFrame) -> list[Block]:
    def here(field: str, digits: int = 4) -> list[str]:
        return pm_cells(means(records, "method", field), digits)

    def as_printed(field: str, digits: int = 4) -> list[str]:
        return pm_cells(_printed_stats(records, field), digits)

    def gap(field: str, printed_field: str) -> list[str]:
        gaps = _gaps(records, field, printed_field)
        return ["" if pd.isna(gap) else f"{gap:+.1f}" for gap in gaps]

    errors = means(records, "method", "spectral")
    methods, count = list(errors.index), errors["count"].max()
    exact, seconds = (means(records, "method", x)["mean"] for x in ("exact", "seconds"))
    return [
        Text(_setting(_printed_table(records)["sizes"])),
        Section("Estimation error"),
        _table(
            ("method", methods),
            ("spectral", here("spectral")),
            ("printed", as_printed("estimation")),
            ("difference", gap("spectral", "estimation")),
            ("Frobenius", here("frobenius")),
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
            dots(
                errors.drop("null"),
                _printed_stats(records, "estimation")["mean"].dropna().to_dict(),
                "relative estimation error, spectral norm",
            ),
            f"Relative estimation error in the spectral norm. Dots: means over "
            f"{count} replications, plus and minus one standard deviation; open "
            "circles: printed means.",
        ),
        Section("Prediction error"),
        _table(
            ("method", methods),
            ("new rows", here("prediction")),
            ("difference", gap("prediction", "prediction")),
            ("printed", as_printed("prediction")),
            ("difference", gap("same_rows", "prediction")),
            ("training rows", here("same_rows")),
        ),
        Text(
            "Expected root mean squared error on new rows, and on new responses at the training "
            "rows of X; the noise alone gives 1. The paper does not say which of the two it "
            "prints, so both are compared with the printed mean."
        ),
        Section("Supports and running times"),
        _table(
            ("method", methods),
            ("rows", here("rows", 2)),
            ("printed", as_printed("rows", 2)),
            ("difference", gap("rows", "rows")),
            ("columns", here("columns", 2)),
            ("printed", as_printed("columns", 2)),
            ("difference", gap("columns", "columns")),
            ("rank", here("rank", 2)),
            ("exact", [f"{100 * part:.0f} %" for part in exact]),
            ("seconds", [number(mean, 2) for mean in seconds]),
            ("replications", [str(count) for count in errors["count"]]),
        ),
        Text(
            "Numbers of non-zero rows and columns. “Exact” is the fraction of replications in "
            "which both supports are the true ones. Seconds include the choice of tuning "
            "parameters."
        ),
    ]


def _table(*columns: tuple[str, list[str]]) -> Table:
    """A table of columns, each a heading and its cells."""
    headings, cells = zip(*columns, strict=True)
    return Table(headings, list(zip(*cells, strict=True)))


def _setting(sizes: dict[str, Any]) -> str:
    scale = "" if sizes["theta_scale"] == 1 else ", and Θ* is divided by 5"
    return (
        f"n = {sizes['n']}, p = {sizes['p']}, k = {sizes['k']}, r = {sizes['r']}, "
        f"{sizes['s1']} non-zero rows, {sizes['s2']} non-zero columns{scale}. Tuning parameters "
        "are chosen on an independent validation set."
    )


def lowest_error(records: pd.DataFrame) -> Finding:
    """GDT has the lowest mean estimation error of the paper's methods in all four tables."""
    return _lowest(records, "spectral")


def lowest_prediction(records: pd.DataFrame) -> Finding:
    """GDT has the lowest mean prediction error of the paper's methods in all four tables (on new
    rows)."""
    return _lowest(records, "prediction")


def _lowest(records: pd.DataFrame, field: str) -> Finding:
    errors = means(records, "method", field)["mean"]
    best = errors[errors.index.isin(BASELINES)].idxmin()
    told = f"GDT {errors['GDT']:.4f}, {best} {errors[best]:.4f}"
    if errors["GDT"] < errors[best]:
        return True, told
    gap, error = paired_difference(records, "GDT", best, field)
    return False, f"{told} (difference {gap:.4f}, standard error {error:.4f})"


def gdt_as_printed(records: pd.DataFrame) -> Finding:
    """GDT's mean estimation error is the printed one: at most 2 printed sd above it."""
    here = means(records, "method", "spectral")["mean"]["GDT"]
    old = pm(*_printed_stats(records, "estimation").loc["GDT"])
    gap = _gaps(records, "spectral", "estimation")["GDT"]
    return bool(gap <= 2), f"{here:.4f}, printed {old}, {gap:+.1f} sd"


def baselines_as_printed(records: pd.DataFrame) -> Finding:
    """The baselines' mean estimation errors are the printed ones: within 2 printed sd."""
    gaps = _gaps(records, "spectral", "estimation")[list(BASELINES)]
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
