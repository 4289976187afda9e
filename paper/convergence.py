"""Linear convergence of GDT where the limit is known: without noise, and without sparsity."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from paper.claims import Claim, Finding
from paper.studies import Job, Study, StudyRecord
from paper.style import count_iterations, label_ends, panels
from thinrank.arrays import hard_threshold
from thinrank.core.factors import Factors
from thinrank.datasets import make_two_way_sparse
from thinrank.losses import LeastSquares
from thinrank.minimize import minimize
from thinrank.report.document import Page, Picture, Section, Table, Text
from thinrank.solvers.reduced_rank import reduced_rank_regression
from thinrank.starts import Lasso

_SEED = 63_000
_RANK = 8
_SAMPLES = (100, 200, 400)
# Relative error at which a run stops, because rounding dominates below it.
_FLOOR = {"truth": 1e-11, "global minimum": 1e-9}
_MOST_ITERATIONS = 20_000
_MOST_POINTS = 300  # of a curve in the records


def jobs(name: str, reference: str, quick: bool) -> list[Job]:
    """Return one job per sample size."""
    samples = _SAMPLES[1:2] if quick else _SAMPLES
    return [Job(name, {"n": n, "reference": reference}, _SEED) for n in samples]


def run(job: Job) -> list[StudyRecord]:
    """Record the error of every iterate until it reaches the floor."""
    reference, n = job.cell["reference"], job.cell["n"]
    sizes: dict[str, Any]
    if reference == "truth":
        X, Y, truth = make_two_way_sparse(
            n, 100, 50, _RANK, 10, 10, noise=0.0, random_state=job.seed
        )
        sizes, target = {"row_sparsity": 10, "column_sparsity": 10}, truth.theta
    else:
        X, Y, _ = make_two_way_sparse(n, 50, 50, _RANK, None, None, random_state=job.seed)
        sizes, target = {}, reduced_rank_regression(X, Y, _RANK).theta
    loss, size = LeastSquares(X, Y), np.linalg.norm(target)
    start = Factors.from_theta(Lasso().solution(loss, 0), _RANK)
    most = sizes.get("row_sparsity") or X.shape[1], sizes.get("column_sparsity") or Y.shape[1]
    first = Factors(hard_threshold(start.U, most[0]), hard_threshold(start.V, most[1]))
    errors = [float(np.linalg.norm(first.theta - target) / size)]

    def watch(record: Any) -> bool:
        errors.append(float(np.linalg.norm(record.factors.theta - target) / size))
        return errors[-1] < _FLOOR[reference]

    solution = minimize(
        loss, rank=_RANK, start=start, max_iter=_MOST_ITERATIONS, tol=0.0, callback=watch, **sizes
    )
    rate, straightness = log_linear(errors)
    kept = thinned(len(errors))
    return [
        {
            "method": "GDT",
            "iterations": kept,
            "errors": [errors[i] for i in kept],
            "rate": rate,
            "straightness": straightness,
            "total_iterations": solution.n_iter,
            "last_error": errors[-1],
            "seconds": solution.history.seconds,
        }
    ]


def log_linear(errors: Sequence[float]) -> tuple[float, float]:
    """Return the rate of the error per iteration, and R² of the line through its logarithm."""
    steps, logs = np.arange(len(errors)), np.log(errors)
    slope = np.polyfit(steps, logs, 1)[0]
    return float(np.exp(slope)), float(np.corrcoef(steps, logs)[0, 1] ** 2)


def thinned(count: int, most: int = _MOST_POINTS) -> list[int]:
    """Return at most ``most`` evenly spaced indices below ``count``, with the first and last."""
    if count <= most:
        return list(range(count))
    return [int(i) for i in np.unique(np.linspace(0, count - 1, most).round())]


STUDIES = (
    Study(
        name="figure-no-error",
        title="Figure: convergence without noise",
        claim="Without noise GDT converges linearly to the true coefficients.",
        jobs=partial(jobs, "figure-no-error", "truth"),
        run=run,
    ),
    Study(
        name="figure-no-sparsity",
        title="Figure: convergence without sparsity",
        claim="Without sparsity GDT converges linearly to the global minimum.",
        jobs=partial(jobs, "figure-no-sparsity", "global minimum"),
        run=run,
    ),
)

_ABOUT = {
    "figure-no-error": (
        "Linear convergence without noise",
        "Y = XΘ* without noise, with p = 100, k = 50, r = 8 and s₁* = s₂* = 10. The error is the "
        "distance to the true coefficients.",
    ),
    "figure-no-sparsity": (
        "Linear convergence without sparsity",
        "No limits on rows and columns, p = k = 50, r = 8, with noise. The error is the distance "
        "to the global minimum of the rank-constrained problem.",
    ),
}
_COLOURS = ("#0b3c5d", "#c8102e", "#7d7d7d", "#e08e0b")


@dataclass(frozen=True)
class LogLine:
    """The least-squares line log(error) = intercept + iteration · log(rate)."""

    rate: float  # factor by which the error is multiplied in one iteration
    intercept: float  # natural logarithm of the error on the line at iteration 0
    r2: float  # fraction of the variance of log(error) that the line explains
    first: float  # range of iterations that the line was fitted to
    last: float


def log_line(iterations: list[float], errors: list[float]) -> LogLine | None:
    """Fit a line to the logarithm of the errors.

    If the errors span more than three decades, those within a factor of 10 of the smallest one are
    left out: rounding errors and the limited accuracy of the reference bend the curve there.

    ``line``: None if there are fewer than three positive errors.
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


def make_page(name: str, records: list[StudyRecord]) -> Page:
    """Return the page of one of the two figures."""
    title, about = _ABOUT[name]
    curves = sorted(records, key=lambda r: (r.get("n") or 0, r.get("seed") or 0))
    page = Page(title)
    page.add(Text(_verdict(curves), stress=True), Text(about))
    if curves:
        caption = (
            "Estimation error by iteration on a logarithmic scale, and fitted lines (dashed). A "
            "straight line means linear convergence."
        )
        page.add(Picture("convergence", _plot(curves), caption))
    page.add(Section("The fitted lines"), _table(curves))
    page.add(
        Text(
            "The rate is the factor by which the error is multiplied in one iteration, and R² is "
            "that of the line through the logarithms of the errors. The last decade, where "
            "rounding may show, is left out of the fit; “all” includes every iteration."
        )
    )
    return page


def _verdict(records: list[StudyRecord]) -> str:
    lines = [log_line(r["iterations"], r["errors"]) for r in records]
    found = [line for line in lines if line is not None]
    if not found:
        return "No run is finished."
    rates, fits = [line.rate for line in found], [line.r2 for line in found]
    word = "falls by a constant factor" if max(rates) < 1 and min(fits) > 0.95 else "does not fall"
    span = f"{rates[0]:.4f}" if len(rates) == 1 else f"{min(rates):.4f} to {max(rates):.4f}"
    tail = "" if word.startswith("falls") else " by a constant factor throughout"
    return f"The error {word}{tail}: rate {span} per iteration, R² at least {min(fits):.4f}."


def _table(records: list[StudyRecord]) -> Table:
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
    header = ("n", "reference", "iterations", "first error", "last error", "rate", "R²")
    return Table((*header, "rate, all", "R², all"), list(rows), left=2)


def _plot(records: list[StudyRecord]) -> Any:
    figure, (axis,) = panels()
    axis.set(yscale="log", ylabel="relative estimation error (log scale)")
    count_iterations(axis)
    ends = []
    for i, record in enumerate(records):
        x, y = np.asarray(record["iterations"], float), np.asarray(record["errors"], float)
        colour = _COLOURS[i % len(_COLOURS)]
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


def linear(name: str, records: list[StudyRecord]) -> Finding | None:
    """Check whether the logarithm of the error falls linearly."""
    lines = [line for r in records if (line := log_line(r["iterations"], r["errors"]))]
    if not lines:
        return None
    rate, fit = max(line.rate for line in lines), min(line.r2 for line in lines)
    last = max(r["errors"][-1] for r in records)
    told = f"rate {rate:.4f} per iteration, R² {fit:.4f}, last error {last:.2g}"
    return rate < 1 and fit > 0.95, told + (" (worst of the runs)" if len(lines) > 1 else "")


CLAIMS = (
    Claim(
        "Without noise GDT converges linearly to the true coefficients (rate below 1, R² of the "
        "log-linear fit above 0.95)",
        ("figure-no-error",),
        linear,
    ),
    Claim(
        "Without sparsity GDT converges linearly to the global minimum (rate below 1, R² of the "
        "log-linear fit above 0.95)",
        ("figure-no-sparsity",),
        linear,
    ),
)
