"""GDT by iteration: linear convergence where the limit is known, and errors in high dimension."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy.stats import linregress

from paper.figures import INK, iterations
from paper.statistics import number, percent, seconds
from paper.study import Claim, Finding, Job, Record, Study, replicated
from thinrank.arrays import hard_threshold
from thinrank.core.factors import Factors
from thinrank.core.result import Solution
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

_FULL = {"p": 5000, "k": 3000, "rank": 50, "size": 100, "asked": 120}
_QUICK = {"p": 500, "k": 300, "rank": 10, "size": 20, "asked": 24}
_HIGH_SAMPLES, _QUICK_HIGH_SAMPLES = (500, 1000, 2000), (100, 200, 400)
_HIGH_ITERATIONS = 200
# The lasso stops when no entry of the gradient mapping exceeds this fraction of the penalty.
_LASSO_TOLERANCE = 0.03
_LASSO_ITERATIONS = 3000
_BLOCK = 100  # number of responses that are solved together


class Path(NamedTuple):
    """GDT from a start, iteration by iteration; number 0 is the start, truncated to the sizes."""

    errors: list[float]
    objectives: list[float]
    solution: Solution
    seconds: float  # of the solver, without the computation of the errors


def follow(
    loss: LeastSquares,
    start: Factors,
    sizes: tuple[int, int, int],
    error: Callable[[Factors], float],
    max_iter: int,
    floor: float = 0.0,
) -> Path:
    """Run GDT with given rank and numbers of rows and columns until the error reaches the floor."""
    rank, rows, columns = sizes
    first = Factors(hard_threshold(start.U, rows), hard_threshold(start.V, columns))
    errors, watching = [error(first)], 0.0

    def watch(record: Any) -> bool:
        nonlocal watching
        began = time.perf_counter()
        errors.append(error(record.factors))
        watching += time.perf_counter() - began
        return errors[-1] < floor

    solution = minimize(
        loss,
        rank=rank,
        row_sparsity=rows,
        column_sparsity=columns,
        start=start,
        solver="gdt",
        max_iter=max_iter,
        tol=0.0,
        callback=watch,
    )
    objectives = [float(loss.value_and_gradient(first)[0]), *solution.history.objectives]
    return Path(errors, objectives, solution, solution.history.seconds - watching)


# ---------------------------------------------------------------- linear convergence


def _cells(reference: str, quick: bool) -> list[Record]:
    samples = _SAMPLES[1:2] if quick else _SAMPLES
    return [{"n": n, "reference": reference} for n in samples]


def run_convergence(job: Job) -> list[Record]:
    """Record the error of every iterate until it reaches the floor."""
    reference, n = job.cell["reference"], job.cell["n"]
    if reference == "truth":
        X, Y, truth = make_two_way_sparse(
            n, 100, 50, _RANK, 10, 10, noise=0.0, random_state=job.seed
        )
        sizes, target = (_RANK, 10, 10), truth.theta
    else:
        X, Y, _ = make_two_way_sparse(n, 50, 50, _RANK, None, None, random_state=job.seed)
        sizes, target = (_RANK, 50, 50), reduced_rank_regression(X, Y, _RANK).theta
    loss = LeastSquares(X, Y)
    start = Factors.from_theta(Lasso().solution(loss), _RANK)

    def error(factors: Factors) -> float:
        return float(np.linalg.norm(factors.theta - target) / np.linalg.norm(target))

    path = follow(loss, start, sizes, error, _MOST_ITERATIONS, _FLOOR[reference])
    kept = np.unique(np.linspace(0, len(path.errors) - 1, _MOST_POINTS).round().astype(int))
    return [
        {
            "method": "GDT",
            "iterations": kept,
            "errors": np.array(path.errors)[kept],
            "total_iterations": path.solution.n_iter,
            "last_error": path.errors[-1],
            "seconds": path.seconds,
        }
    ]


class LogLine(NamedTuple):
    """The least-squares line log(error) = intercept + iteration · log(rate)."""

    rate: float  # factor by which the error is multiplied in one iteration
    intercept: float  # natural logarithm of the error on the line at iteration 0
    r2: float  # fraction of the variance of log(error) that the line explains
    last: float  # the line was fitted to the iterations up to this one


def log_line(record: pd.Series) -> LogLine:
    """Fit a line to the logarithm of the errors.

    If the errors span more than three decades, those within a factor of 10 of the smallest one are
    left out: rounding errors and the limited accuracy of the reference bend the curve there.
    """
    x, y = np.array(record["iterations"]), np.array(record["errors"])
    if y.max() > 1e3 * y.min():
        above = np.flatnonzero(y <= 10 * y.min())[0]
        x, y = x[:above], y[:above]
    line = linregress(x, np.log(y))
    return LogLine(math.exp(line.slope), line.intercept, line.rvalue**2, x[-1])


def _convergence_page(about: str, records: pd.DataFrame) -> list[Block]:
    records = records.sort_values("n")
    rows = []
    for _, record in records.iterrows():
        line, errors = log_line(record), record["errors"]
        shown = f"{record['iterations'][-1]:g}", f"{errors[0]:.3g}", f"{errors[-1]:.3g}"
        fit = f"{line.rate:.4f}", f"{line.r2:.4f}"
        rows.append((str(record["n"]), record["reference"], *shown, *fit))
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
    line = log_line(record)
    at = np.array([0.0, line.last])
    axis.plot(at, np.exp(line.intercept) * line.rate**at, "--", color=INK, lw=1)


def linear_to_truth(records: pd.DataFrame) -> Finding:
    """Without noise GDT converges linearly to the true coefficients (rate below 1, R² of the
    log-linear fit above 0.95)."""
    return _linear(records)


def linear_to_minimum(records: pd.DataFrame) -> Finding:
    """Without sparsity GDT converges linearly to the global minimum (rate below 1, R² of the
    log-linear fit above 0.95)."""
    return _linear(records)


def _linear(records: pd.DataFrame) -> Finding:
    lines = [log_line(record) for _, record in records.iterrows()]
    rate, fit = max(line.rate for line in lines), min(line.r2 for line in lines)
    last = max(errors[-1] for errors in records["errors"])
    told = f"rate {rate:.4f} per iteration, R² {fit:.4f}, last error {last:.2g}"
    return rate < 1 and fit > 0.95, told + (" (worst of the runs)" if len(lines) > 1 else "")


# ---------------------------------------------------------------- high dimension


@replicated(64_000, full=1, small=1)
def _high_jobs(quick: bool) -> list[Record]:
    sizes, samples = (_QUICK, _QUICK_HIGH_SAMPLES) if quick else (_FULL, _HIGH_SAMPLES)
    return [{"n": n, **sizes} for n in reversed(samples)]


def run_high_dimension(job: Job) -> list[Record]:
    """Run the lasso, then gradient descent for a fixed number of iterations."""
    cell = job.cell
    n, p, k, rank, size, asked = (cell[x] for x in ("n", "p", "k", "rank", "size", "asked"))
    X, Y, truth = make_two_way_sparse(n, p, k, rank, size, size, random_state=job.seed)
    penalty = 0.5 * math.sqrt(math.log(p) / n)  # the noise has standard deviation 1
    began = time.perf_counter()
    lasso = lasso_in_blocks(X, Y, penalty, _LASSO_TOLERANCE)
    start = Factors.from_theta(lasso, rank)
    start = Factors(start.U.astype(np.float64), start.V.astype(np.float64))
    seconds_start = time.perf_counter() - began

    def error(factors: Factors) -> float:
        """‖Θ − Θ*‖/‖Θ*‖ in the Frobenius norm, without forming Θ."""
        U, V = np.hstack([factors.U, truth.U]), np.hstack([factors.V, -truth.V])
        return Factors(U, V).norm() / truth.norm()

    path = follow(LeastSquares(X, Y), start, (rank, asked, asked), error, _HIGH_ITERATIONS)
    best = int(np.argmin(path.errors))
    return [
        {
            "method": "GDT",
            "iterations": list(range(len(path.errors))),
            "errors": path.errors,
            "objectives": path.objectives,
            "best_iteration": best,
            "best_error": path.errors[best],
            "last_error": path.errors[-1],
            "lasso_error": float(np.linalg.norm(lasso - truth.theta)) / truth.norm(),
            "tolerance": _LASSO_TOLERANCE,
            "rows": len(path.solution.factors.row_support),
            "columns": len(path.solution.factors.column_support),
            "seconds": seconds_start + path.seconds,
            "seconds_start": seconds_start,
            "seconds_solver": path.seconds,
        }
    ]


def lasso_in_blocks(X: np.ndarray, Y: np.ndarray, penalty: float, tolerance: float) -> np.ndarray:
    """Solve the lasso of every response on X, in single precision.

    The responses are independent problems. They are solved in blocks, in decreasing order of their
    norm, so that blocks of weak responses can stop early.
    """
    X, Y = X.astype(np.float32), Y.astype(np.float32)
    theta = np.zeros((X.shape[1], Y.shape[1]), dtype=np.float32)
    order = np.argsort(-np.linalg.norm(Y, axis=0), kind="stable")
    for begin in range(0, len(order), _BLOCK):
        columns = order[begin : begin + _BLOCK]
        part = np.ascontiguousarray(Y[:, columns])
        largest = float(np.max(np.abs(X.T @ part))) / len(X)
        relative = tolerance * penalty / largest
        start = Lasso(penalty=penalty, tol=relative, max_iter=_LASSO_ITERATIONS)
        theta[:, columns] = start.solution(LeastSquares(X, part, form="direct"))
    return theta


def _high_page(records: pd.DataFrame) -> list[Block]:
    records = records.sort_values("n")
    names = {"p": "p", "k": "k", "rank": "r", "size": "s₁* = s₂*", "asked": "s₁ = s₂"}
    sizes = ", ".join(f"{letter} = {records[name].iloc[0]}" for name, letter in names.items())
    rows = [record for _, record in records.iterrows()]
    return [
        Text(
            "The paper has p = 5000, k = 3000, r = 50 and s₁* = s₂* = 100. Iteration 0 is the "
            f"lasso start, truncated to the rank and the sizes that GDT is given. Here, {sizes}."
        ),
        Picture(
            "estimation",
            iterations(records, "errors", "relative error, Frobenius norm", _mark_best),
            "Estimation error by iteration. Squares: lasso start; circles: lowest error.",
        ),
        Picture(
            "objective",
            iterations(records, "objectives", "objective", _mark_start),
            "Objective by iteration. Squares: the lasso start.",
        ),
        Section("Early stopping"),
        _errors_table(rows),
        Text("‖Θ − Θ*‖ / ‖Θ*‖ in the Frobenius norm; “lasso” is the lasso before truncation."),
        Text(
            "The paper: “early stopping can help to avoid overfitting (although not too much), "
            "especially when n is small”."
        ),
        Section("Objective and time"),
        _objectives_table(rows),
        Text(
            "The lasso stops when no entry of its gradient mapping exceeds the tolerance times the "
            "penalty; a smaller tolerance would take longer."
        ),
    ]


def _errors_table(rows: list[pd.Series]) -> Table:
    """The error of the lasso, and the first, lowest and last error of each run."""
    cells = []
    for record in rows:
        best, last = record["best_error"], record["last_error"]
        start = number(record["lasso_error"]), number(record["errors"][0])
        lowest = str(record["best_iteration"]), number(best)
        end = str(record["iterations"][-1]), number(last), percent(last / best)
        cells.append((str(record["n"]), *start, *lowest, *end))
    header = ("n", "lasso", "iteration 0", "best at", "best error", "last at", "last error")
    return Table((*header, "last relative to best"), list(cells))


def _objectives_table(rows: list[pd.Series]) -> Table:
    cells = []
    for record in rows:
        first, last = record["objectives"][0], record["objectives"][-1]
        ends = f"{first:.6g}", f"{last:.6g}", percent(last / first)
        times = seconds(record["seconds_start"]), seconds(record["seconds_solver"])
        cells.append((str(record["n"]), *ends, *times, f"{record['tolerance']:g}"))
    header = ("n", "first objective", "last objective", "change", "seconds of start")
    return Table((*header, "seconds of solver", "lasso tolerance"), list(cells))


def _mark_start(axis: Any, record: pd.Series, color: str, field: str = "objectives") -> None:
    axis.plot(0, record[field][0], "s", color=color, ms=4)


def _mark_best(axis: Any, record: pd.Series, color: str) -> None:
    _mark_start(axis, record, color, "errors")
    best = record["best_iteration"], record["best_error"]
    axis.plot(*best, "o", mfc="white", mec=color, ms=6)


def both_fall(records: pd.DataFrame) -> Finding:
    """In high dimension estimation error and objective both fall from the lasso start."""
    told, falls = [], []
    for _, record in records.iterrows():
        (first, *_, last), (begin, *_, end) = record["errors"], record["objectives"]
        falls.append(last < first and end < begin)
        change = f"error {first:.4f} to {last:.4f}, objective {begin:.4g} to {end:.4g}"
        told.append(f"n = {record['n']}: {change}")
    return all(falls), "; ".join(told)


def _gains(records: pd.DataFrame) -> pd.Series:
    """The last error divided by the lowest one, in increasing order of n."""
    found = records.set_index("n").sort_index()
    return found["last_error"] / found["best_error"]


def early_stopping(records: pd.DataFrame) -> Finding:
    """Early stopping helps, if not much: for some n the last error is more than 0.1 % above the
    lowest one."""
    gains = _gains(records)
    told = ", ".join(f"{percent(gain)} at n = {n}" for n, gain in gains.items())
    return bool(gains.max() > 1.001), f"last error relative to the lowest: {told}"


def most_when_n_is_small(records: pd.DataFrame) -> Finding:
    """Early stopping helps most when n is small: at the smallest n of the figure."""
    gains = _gains(records)
    most, smallest = gains.idxmax(), gains.index[0]
    told = f"most at n = {most}, {percent(gains[most])}"
    if most != smallest:
        told += f"; {percent(gains[smallest])} at n = {smallest}"
    return bool(most == smallest and gains[most] > 1.001), told


def _linear_study(name: str, title: str, about: str, reference: str, claim: Claim) -> Study:
    jobs = replicated(63_000, full=1, small=1)(partial(_cells, reference))
    return Study(name, title, jobs, run_convergence, partial(_convergence_page, about), (claim,))


_HIGH_CLAIMS = (both_fall, early_stopping, most_when_n_is_small)

STUDIES = (
    _linear_study(
        "figure-no-error",
        "Linear convergence without noise",
        "Y = XΘ* without noise, with p = 100, k = 50, r = 8 and s₁* = s₂* = 10. The error is the "
        "distance to the true coefficients.",
        "truth",
        linear_to_truth,
    ),
    _linear_study(
        "figure-no-sparsity",
        "Linear convergence without sparsity",
        "No limits on rows and columns, p = k = 50, r = 8, with noise. The error is the distance "
        "to the global minimum of the rank-constrained problem.",
        "global minimum",
        linear_to_minimum,
    ),
    Study(
        "figure-high-dimension",
        "High dimension",
        _high_jobs,
        run_high_dimension,
        _high_page,
        _HIGH_CLAIMS,
    ),
)
