"""Statistics over replications, those that the paper prints, tables of both, and formats."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd

from thinrank.report.document import Table


@cache
def printed() -> dict[str, Any]:
    """Return ``printed.json``: tables 1 to 4, running times and the Norwegian paper data."""
    return dict(json.loads(Path(__file__).with_name("printed.json").read_text(encoding="utf-8")))


def means(records: pd.DataFrame, by: str | list[str], field: str) -> pd.DataFrame:
    """Mean, sd and count of a field as columns; one row per group, in order of appearance."""
    groups = records.astype({field: float}).groupby(by, sort=False)[field]
    return groups.agg(mean="mean", sd="std", count="count")


def number(value: float | None, digits: int = 4) -> str:
    """Format a number with the given number of decimals; None and NaN give an empty string."""
    return "" if pd.isna(value) else f"{value:.{digits}f}"


def pm(mean: float, sd: float, digits: int = 4) -> str:
    """Format a mean and a standard deviation, which is left out if it is NaN."""
    return number(mean, digits) + ("" if math.isnan(sd) else f" ± {sd:.{digits}f}")


def pm_cells(stats: pd.DataFrame, digits: int = 4) -> list[str]:
    """Format the columns mean and sd of a table."""
    return [pm(mean, sd, digits) for mean, sd in zip(stats["mean"], stats["sd"], strict=True)]


def percent(ratio: float, digits: int = 1) -> str:
    """Format a ratio as a signed percentage of change."""
    return f"{100 * (ratio - 1):+.{digits}f} %"


def seconds(value: float | None) -> str:
    """Format seconds with three significant digits; infinity stands for the paper's "> 2h"."""
    if value is None or math.isnan(value):
        return ""
    if math.isinf(value):
        return "> 2 h"
    if value >= 1000:
        return f"{value:.0f}"
    return f"{value:.3g}" if value >= 0.001 else f"{value:.1g}"


def cross_table(
    records: pd.DataFrame,
    rows: str,
    columns: str,
    field: str,
    show: Callable[[float, float], str] = pm,
    *,
    base: dict[str, Any] | None = None,
    corner: str | None = None,
    title: Callable[[Any], str] = str,
) -> Table:
    """Table of the means of a field by two other fields, whose values are in order of appearance.

    ``show(mean, sd)`` writes a cell. ``base`` names a value of one of the two fields: cells of
    other values have the change relative to its cell in parentheses.
    """
    found = means(records, [rows, columns], field)
    down, across = records[rows].unique(), records[columns].unique()

    def cell(row: Any, column: Any) -> str:
        here = {rows: row, columns: column}
        reference = here | (base or {})
        mean, sd, _ = found.loc[tuple(here.values())]
        if reference == here:
            return show(mean, sd)
        change = mean / found.loc[tuple(reference.values()), "mean"]
        return f"{show(mean, sd)} ({percent(change, 0)})"

    body = [(str(row), *(cell(row, column) for column in across)) for row in down]
    return Table((corner or rows, *map(title, across)), list(body))


def paired_difference(
    records: pd.DataFrame, first: str, second: str, field: str
) -> tuple[float, float]:
    """Mean of first − second method over the seeds, and its standard error, NaN for one seed."""
    values = records.pivot(index="seed", columns="method", values=field)
    gaps = values[first] - values[second]
    return float(gaps.mean()), float(gaps.sem())
