"""What the figures of studies share: one color and one marker per method, dots and curves."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from thinrank.core.imports import import_optional
from thinrank.plot.canvas import label_ends, log_scale
from thinrank.report.document import new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

INK, GRAY = "#1d1d1f", "#7d7d7d"
_STYLES = {
    "GDT": ("#0b3c5d", "o"),
    "pursuit": ("#c8102e", "s"),
    "DPP": ("#e08e0b", "D"),
    "TSVD": ("#4fa3d9", "^"),
    "EEA": ("#12805c", "v"),
    "RCGL": ("#b565a7", "P"),
    "JRRS": ("#7a5c2e", "X"),
    "MTL": (GRAY, "*"),
    "oracle": ("#a8a8a8", "|"),
    "lasso": ("#e08e0b", "D"),
    "lasso, refit": ("#b8860b", "^"),
    "group lasso": ("#12805c", "v"),
    "group lasso, refit": ("#4fa3d9", "P"),
    "ridge": ("#b565a7", "*"),
    "pooled": (GRAY, "X"),
    "optimum": (INK, ""),
}
_SERIES = ("#c8102e", "#0b3c5d", GRAY, "#e08e0b")  # lines that are no methods


def style_of(method: str) -> dict[str, Any]:
    color, marker = _STYLES.get(method, ("#555555", "_"))
    return {"color": color, "marker": marker}


def panels(count: int = 1, height: float = 3.4) -> tuple[Figure, list[Axes]]:
    """A figure that spans the page, and its axes, side by side."""
    figure = new_figure(height)
    axes = figure.subplots(1, count, squeeze=False)[0]
    for axis in axes:
        axis.grid(True, which="major")
    return figure, list(axes)


def name_rows(axis: Axes, names: Sequence[str], label: str) -> None:
    """Name rows of dots, from top to bottom, and what they measure."""
    axis.set_yticks(range(len(names)), names)
    axis.set_ylim(len(names) - 0.5, -0.5)
    axis.set_xlabel(label)


def dot(axis: Axes, height: float, mean: float, sd: float, **style: Any) -> None:
    """Draw a mean, and a line to one standard deviation on either side."""
    if not np.isnan(sd):
        axis.plot([mean - sd, mean + sd], [height] * 2, color=style["color"], lw=1, alpha=0.6)
    axis.plot(mean, height, ls="", **style)


def dots(found: pd.DataFrame, printed: dict[str, float], label: str) -> Figure:
    """Draw mean and standard deviation of each method, with an open circle at the printed mean."""
    figure, (axis,) = panels(height=0.9 + 0.27 * len(found))
    for height, (method, row) in enumerate(found.iterrows()):
        if method in printed:
            axis.plot(printed[method], height, "o", mfc="none", mec="#555555", ms=7)
        dot(axis, height, row["mean"], row["sd"], **style_of(method) | {"marker": "o"})
    every = [*found["mean"], *(printed[m] for m in found.index if m in printed)]
    log = log_scale(axis, "x", min(every), max(every), ratio=3)
    name_rows(axis, list(found.index), label + (" (log scale)" if log else ""))
    return figure


def curves(
    axis: Axes, found: pd.DataFrame, others: Sequence[tuple[float, float, str, str]] = ()
) -> None:
    """Draw one line per method from means by method and x, with one standard error to either side.

    Its name is at its end, as that of other lines: ``others`` are x, y, name and color of the ends.
    """
    ends = list(others)
    for method, rows in reversed(list(found.groupby(level=0, sort=False))):
        x, mean = rows.index.get_level_values(1), rows["mean"]
        error = rows["sd"] / rows["count"] ** 0.5
        style = style_of(method)
        axis.plot(x, mean, **style, ls="--" if method in ("pursuit", "optimum") else "-")
        axis.fill_between(x, mean - error, mean + error, color=style["color"], alpha=0.18, lw=0)
        ends.append((x[-1], mean.iloc[-1], str(method), style["color"]))
    label_ends(axis, ends)


def iterations(records: pd.DataFrame, field: str, label: str, mark: Callable[..., None]) -> Figure:
    """Draw a field that has a value per iteration, one line per record, named by n.

    ``mark(axis, record, color)`` adds marks to a line.
    """
    figure, (axis,) = panels()
    every = np.concatenate(records[field].tolist())
    log = log_scale(axis, "y", min(every), max(every), ratio=3)
    axis.set_ylabel(label + (" (log scale)" if log else ""))
    axis.set_xlabel("iteration")
    axis.xaxis.set_major_locator(import_optional("matplotlib.ticker").MaxNLocator(integer=True))
    ends = []
    for color, (_, record) in zip(_SERIES, records.iterrows(), strict=False):
        axis.plot(record["iterations"], record[field], color=color)
        mark(axis, record, color)
        end = record["iterations"][-1], record[field][-1]
        ends.append((*end, f"n = {record['n']}", color))
    label_ends(axis, ends)
    return figure


def states_axis(axis: Axes, sizes: Sequence[int], label: str) -> None:
    """A logarithmic axis with a tick at each number of states."""
    axis.set(xscale="log", xlabel=f"{label} (log scale)")
    axis.set_xticks(sizes, map(str, sizes))
    axis.minorticks_off()
