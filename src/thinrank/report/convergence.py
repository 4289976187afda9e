"""The figures of linear convergence: without error, and without sparsity."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from thinrank.report.page import Page, Picture, Section, Table, Text
from thinrank.report.statistics import Record
from thinrank.report.style import count_iterations, label_ends, panels

__all__ = ["LogLine", "convergence_page", "log_line"]

_ABOUT = {
    "figure-no-error": (
        "Linear convergence without error",
        "Y = XΘ* exactly, with p = 100, k = 50, r = 8 and s₁* = s₂* = 10. The error is the "
        "distance to the true coefficients.",
    ),
    "figure-no-sparsity": (
        "Linear convergence without sparsity",
        "No limits on rows and columns, p = k = 50, r = 8, with noise. The error is the distance "
        "to the global minimum of the rank-constrained problem.",
    ),
}
_GREYS = ("#0b3c5d", "#c8102e", "#7d7d7d", "#e08e0b")


@dataclass(frozen=True)
class LogLine:
    """The line log(error) = intercept + iteration · log(rate), by least squares.

    Parameters
    ----------
    rate : float
        Factor of the error in one iteration.
    intercept : float
        Natural logarithm of the error that the line has at iteration 0.
    r2 : float
        Share of the variance of log(error) that the line explains.
    first, last : float
        Iterations between which it was fitted.
    """

    rate: float
    intercept: float
    r2: float
    first: float
    last: float


def log_line(iterations: list[float], errors: list[float]) -> LogLine | None:
    """Fit a line to the logarithm of the errors.

    The last decade above the smallest error is left out where the errors cover more than three:
    there the curve bends into rounding, or towards the inexactness of the reference.

    Returns
    -------
    LogLine or None
        None with fewer than three positive errors.
    """
    x, y = np.asarray(iterations, dtype=float), np.asarray(errors, dtype=float)
    fine = np.isfinite(y) & (y > 0)
    x, y = x[fine], y[fine]
    if len(y) < 3:
        return None
    if y.max() > 1e3 * y.min():
        above = np.flatnonzero(y <= 10 * y.min())[0]
        if above >= 3:
            x, y = x[:above], y[:above]
    slope, intercept = np.polyfit(x, np.log(y), 1)
    rest = np.log(y) - intercept - slope * x
    total = float(np.sum((np.log(y) - np.log(y).mean()) ** 2))
    r2 = 1 - float(np.sum(rest**2)) / total if total > 0 else 0.0
    return LogLine(float(np.exp(slope)), float(intercept), r2, float(x[0]), float(x[-1]))


def convergence_page(name: str, records: list[Record]) -> Page:
    """Return the page of one of the two figures."""
    title, about = _ABOUT[name]
    curves = sorted(records, key=lambda r: (r.get("n") or 0, r.get("seed") or 0))
    page = Page(title)
    page.add(Text(_verdict(curves), stress=True), Text(about))
    if curves:
        caption = (
            "Estimation error by iteration on a logarithmic scale, with the fitted lines dashed: "
            "a straight line is linear convergence."
        )
        page.add(Picture("convergence", _plot(curves), caption))
    page.add(Section("The fitted lines"), _table(curves))
    page.add(
        Text(
            "The rate is the factor of the error in one iteration; R² belongs to the line through "
            "the logarithms of the errors. The last decade, where rounding may show, is left out "
            "of the fit; “all” is with every iteration."
        )
    )
    return page


def _verdict(records: list[Record]) -> str:
    lines = [log_line(r["iterations"], r["errors"]) for r in records]
    found = [line for line in lines if line is not None]
    if not found:
        return "No run is finished."
    rates, fits = [line.rate for line in found], [line.r2 for line in found]
    word = "falls by a constant factor" if max(rates) < 1 and min(fits) > 0.95 else "does not fall"
    span = f"{rates[0]:.4f}" if len(rates) == 1 else f"{min(rates):.4f} to {max(rates):.4f}"
    tail = "" if word.startswith("falls") else " by a constant factor throughout"
    return f"The error {word}{tail}: rate {span} an iteration, R² at least {min(fits):.4f}."


def _table(records: list[Record]) -> Table:
    rows = []
    for record in records:
        line = log_line(record["iterations"], record["errors"])
        own, straight = record.get("rate"), record.get("straightness")
        rows.append(
            (
                str(record.get("n", "")),
                str(record.get("reference", "")),
                f"{record['iterations'][-1]:g}",
                f"{record['errors'][0]:.3g}",
                f"{record['errors'][-1]:.3g}",
                "" if line is None else f"{line.rate:.4f}",
                "" if line is None else f"{line.r2:.4f}",
                "" if own is None else f"{float(own):.4f}",
                "" if straight is None else f"{float(straight):.4f}",
            )
        )
    header = ("n", "error to", "iterations", "first error", "last error", "rate", "R²")
    return Table((*header, "rate, all", "R², all"), list(rows), left=2)


def _plot(records: list[Record]) -> Any:
    figure, (axis,) = panels()
    axis.set(yscale="log", ylabel="estimation error, relative (log scale)")
    count_iterations(axis)
    ends = []
    for i, record in enumerate(records):
        x, y = np.asarray(record["iterations"], float), np.asarray(record["errors"], float)
        colour = _GREYS[i % len(_GREYS)]
        positive = y > 0
        axis.plot(x[positive], y[positive], color=colour, lw=3, alpha=0.55)
        line = log_line(record["iterations"], record["errors"])
        if line is not None:
            at = np.array([line.first, line.last])
            fit = np.exp(line.intercept) * line.rate**at
            axis.plot(at, fit, "--", color="#1d1d1f", lw=1)
        if positive.any():
            label = f"n = {record['n']}" if "n" in record else ""
            ends.append((x[positive][-1], y[positive][-1], label, colour))
    label_ends(axis, ends)
    return figure
