"""Linear convergence of GDT where the limit is known: without noise, and without sparsity."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from paper.figures import INK, iterations
from paper.study import Claim, Finding, Job, Record, Study, replicated
from thinrank.arrays import hard_threshold
from thinrank.core.factors import Factors
from thinrank.datasets import make_two_way_sparse
from thinrank.losses import LeastSquares
from thinrank.minimize import minimize
from thinrank.report.document import Block, Picture, Section, Table, Text
from thinrank.solvers.reduced_rank import reduced_rank_regression
from thinrank.starts import Lasso

_RANK = 8
_SAMPLES = (100, 200, 400)
# Relative error at which a run stops, because rounding dominates below it.
_FLOOR = {"truth": 1e-11, "global minimum": 1e-9}
_MOST_ITERATIONS = 20_000
_MOST_POINTS = 300  # of a curve in the records


def _cells(reference: str, quick: bool) -> list[Record]:
    samples = _SAMPLES[1:2] if quick else _SAMPLES
    return [{"n": n, "reference": reference} for n in samples]


def run(job: Job) -> list[Record]:
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
    start = Factors.from_theta(Lasso().solution(loss), _RANK)
    most = sizes.get("row_sparsity") or X.shape[1], sizes.get("column_sparsity") or Y.shape[1]
    first = Factors(hard_threshold(start.U, most[0]), hard_threshold(start.V, most[1]))
    errors = [float(np.linalg.norm(first.theta - target) / size)]

    def watch(record: Any) -> bool:
        errors.append(float(np.linalg.norm(record.factors.theta - target) / size))
        return errors[-1] < _FLOOR[reference]

    solution = minimize(
        loss, rank=_RANK, start=start, max_iter=_MOST_ITERATIONS, tol=0.0, callback=watch, **sizes
    )
    kept = thinned(len(errors))
    return [
        {
            "method": "GDT",
            "iterations": kept,
            "errors": [errors[i] for i in kept],
            "total_iterations": solution.n_iter,
            "last_error": errors[-1],
            "seconds": solution.history.seconds,
        }
    ]


def thinned(count: int, most: int = _MOST_POINTS) -> list[int]:
    """Return at most ``most`` evenly spaced indices below ``count``, with the first and last."""
    if count <= most:
        return list(range(count))
    return [int(i) for i in np.unique(np.linspace(0, count - 1, most).round())]


@dataclass(frozen=True)
class LogLine:
    """The least-squares line log(error) = intercept + iteration · log(rate)."""

    rate: float  # factor by which the error is multiplied in one iteration
    intercept: float  # natural logarithm of the error on the line at iteration 0
    r2: float  # fraction of the variance of log(error) that the line explains
    last: float  # the line was fitted to the iterations up to this one


def log_line(iterations: Sequence[float], errors: Sequence[float]) -> LogLine:
    """Fit a line to the logarithm of the errors.

    If the errors span more than three decades, those within a factor of 10 of the smallest one are
    left out: rounding errors and the limited accuracy of the reference bend the curve there.
    """
    x, y = np.asarray(iterations, dtype=float), np.asarray(errors, dtype=float)
    if y.max() > 1e3 * y.min():
        above = np.flatnonzero(y <= 10 * y.min())[0]
        if above >= 3:
            x, y = x[:above], y[:above]
    slope, intercept = np.polyfit(x, np.log(y), 1)
    r2 = np.corrcoef(x, np.log(y))[0, 1] ** 2
    return LogLine(float(np.exp(slope)), float(intercept), float(r2), float(x[-1]))


def page(about: str, records: pd.DataFrame) -> list[Block]:
    records = records.sort_values("n")
    rows = []
    for _, record in records.iterrows():
        line = log_line(record["iterations"], record["errors"])
        rows.append(
            (
                str(record["n"]),
                record["reference"],
                f"{record['iterations'][-1]:g}",
                *(f"{record['errors'][at]:.3g}" for at in (0, -1)),
                f"{line.rate:.4f}",
                f"{line.r2:.4f}",
            )
        )
    header = ("n", "reference", "iterations", "first error", "last error", "rate", "R²")
    return [
        Text(about),
        Picture(
            "convergence",
            iterations(records, "errors", "relative estimation error", _draw_line),
            "Estimation error by iteration on a logarithmic scale, and fitted lines (dashed). A "
            "straight line means linear convergence.",
        ),
        Section("The fitted lines"),
        Table(header, list(rows), left=2),
        Text(
            "The rate is the factor by which the error is multiplied in one iteration, and R² is "
            "that of the line through the logarithms of the errors. The last decade, where "
            "rounding may show, is left out of the fit."
        ),
    ]


def _draw_line(axis: Any, record: pd.Series, color: str) -> None:
    line = log_line(record["iterations"], record["errors"])
    at = np.array([0.0, line.last])
    axis.plot(at, np.exp(line.intercept) * line.rate**at, "--", color=INK, lw=1)


def linear_to_truth(records: pd.DataFrame) -> Finding | None:
    """Without noise GDT converges linearly to the true coefficients (rate below 1, R² of the
    log-linear fit above 0.95)."""
    return _linear(records)


def linear_to_minimum(records: pd.DataFrame) -> Finding | None:
    """Without sparsity GDT converges linearly to the global minimum (rate below 1, R² of the
    log-linear fit above 0.95)."""
    return _linear(records)


def _linear(records: pd.DataFrame) -> Finding:
    lines = [log_line(r["iterations"], r["errors"]) for _, r in records.iterrows()]
    rate, fit = max(line.rate for line in lines), min(line.r2 for line in lines)
    last = max(errors[-1] for errors in records["errors"])
    told = f"rate {rate:.4f} per iteration, R² {fit:.4f}, last error {last:.2g}"
    return rate < 1 and fit > 0.95, told + (" (worst of the runs)" if len(lines) > 1 else "")


def _study(name: str, title: str, reference: str, about: str, claim: Claim) -> Study:
    jobs = replicated(63_000, (1, 1), partial(_cells, reference))
    return Study(name, title, jobs, run, partial(page, about), claims=(claim,))


STUDIES = (
    _study(
        "figure-no-error",
        "Linear convergence without noise",
        "truth",
        "Y = XΘ* without noise, with p = 100, k = 50, r = 8 and s₁* = s₂* = 10. The error is the "
        "distance to the true coefficients.",
        linear_to_truth,
    ),
    _study(
        "figure-no-sparsity",
        "Linear convergence without sparsity",
        "global minimum",
        "No limits on rows and columns, p = k = 50, r = 8, with noise. The error is the distance "
        "to the global minimum of the rank-constrained problem.",
        linear_to_minimum,
    ),
)
