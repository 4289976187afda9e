"""Statistics over replications, the tables made from them, and how numbers are formatted."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import pandas as pd

from thinrank.report.document import Table

METHODS = ("GDT", "pursuit", "DPP", "TSVD", "EEA", "RCGL", "JRRS", "MTL", "oracle", "null")
"""Methods in the order of tables and figures."""


def means(records: pd.DataFrame, by: str | list[str], field: str) -> pd.DataFrame:
    """Mean, sd and count of a field as columns; one row per group, in order of appearance."""
    known = (
        records[records[field].notna()] if field in records else records.assign(**{field: 0})[:0]
    )
    groups = known.assign(**{field: known[field].astype(float)}).groupby(by, sort=False)[field]
    return groups.agg(mean="mean", sd="std", count="count")


def in_order(methods: Sequence[str]) -> list[str]:
    """Sort methods as in :data:`METHODS`; unknown ones come last, in the given order."""
    known = [method for method in METHODS if method in set(methods)]
    return known + [method for method in dict.fromkeys(methods) if method not in METHODS]


def cross_table(
    records: pd.DataFrame,
    rows: str,
    columns: str,
    field: str,
    show: Callable[[float, float], str],
    *,
    order: Sequence[Any] = (),
    base: dict[str, Any] | None = None,
    corner: str | None = None,
    title: Callable[[Any], str] = str,
) -> Table:
    """Table of the means of a field by two other fields; columns are sorted, methods in order.

    ``show(mean, sd)`` writes a cell. ``base`` names a value of one of the two fields: cells of
    other values have the change relative to its cell in parentheses.
    """
    found = means(records, [rows, columns], field)
    across = in_order(records[columns]) if columns == "method" else sorted(set(records[columns]))
    down = order or (in_order(records[rows]) if rows == "method" else dict.fromkeys(records[rows]))

    def cell(row: Any, column: Any) -> str:
        if (row, column) not in found.index:
            return ""
        mean, sd, _ = found.loc[(row, column)]
        text = show(mean, sd)
        reference = tuple({rows: row, columns: column, **(base or {})}.values())
        if base is None or reference == (row, column) or reference not in found.index:
            return text
        return f"{text} ({percent(mean / found.loc[reference, 'mean'], 0)})"

    present = [row for row in down if row in set(records[rows])]
    body = [(str(row), *(cell(row, column) for column in across)) for row in present]
    return Table((corner or rows, *map(title, across)), list(body))


def model_table(records: pd.DataFrame, order: Any, columns: dict[str, Any]) -> Table:
    """Means by method and number of states; columns by heading: a field, and how to show it."""
    found = records.groupby(["method", "states"])[[field for field, _ in columns.values()]].mean()
    rows = [
        (method, str(n), *(show(row[field]) for field, show in columns.values()))
        for method in order
        if method in found.index
        for n, row in found.loc[method].iterrows()
    ]
    return Table(("method", "states", *columns), list(rows))


def paired_difference(
    records: pd.DataFrame, first: str, second: str, field: str
) -> tuple[float, float] | None:
    """Mean of first − second method over common seeds, and its standard error."""
    values = records.pivot_table(index="seed", columns="method", values=field)
    if first not in values or second not in values:
        return None
    gaps = (values[first] - values[second]).dropna()
    return (float(gaps.mean()), float(gaps.sem())) if len(gaps) > 1 else None


def distance(mean: float, reference: Sequence[float]) -> float | None:
    """Return mean − printed mean in printed standard deviations; None if the latter is 0."""
    return None if reference[1] == 0 else (mean - reference[0]) / reference[1]


def number(value: float | None, digits: int = 4) -> str:
    """Format a number with the given number of decimals; None and NaN give an empty string."""
    return "" if value is None or math.isnan(value) else f"{value:.{digits}f}"


def pm(mean: float | None, sd: float, digits: int = 4) -> str:
    return number(mean, digits) + ("" if math.isnan(sd) else f" ± {sd:.{digits}f}")


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
