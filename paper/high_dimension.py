"""High dimension: estimation error and objective of GDT from the lasso start on."""

from __future__ import annotations

import math
import time
from typing import Any

import numpy as np
import pandas as pd

from paper.figures import iterations
from paper.statistics import number, percent, seconds
from paper.study import Finding, Job, Record, Study, replicated
from thinrank.arrays import hard_threshold
from thinrank.core.factors import Factors
from thinrank.datasets import make_two_way_sparse
from thinrank.losses import LeastSquares
from thinrank.minimize import minimize
from thinrank.report.document import Block, Picture, Section, Table, Text
from thinrank.starts import Lasso

_FULL = {"p": 5000, "k": 3000, "rank": 50, "size": 100, "asked": 120}
_QUICK = {"p": 500, "k": 300, "rank": 10, "size": 20, "asked": 24}
_SAMPLES, _QUICK_SAMPLES = (500, 1000, 2000), (100, 200, 400)
_ITERATIONS = 200
# The lasso stops when no entry of the gradient mapping exceeds this fraction of the penalty.
_LASSO_TOLERANCE = 0.03
_LASSO_ITERATIONS = 3000
_BLOCK = 100  # number of responses that are solved together


def cells(quick: bool) -> list[Record]:
    sizes, samples = (_QUICK, _QUICK_SAMPLES) if quick else (_FULL, _SAMPLES)
    return [{"n": n, **sizes} for n in reversed(samples)]


def run(job: Job) -> list[Record]:
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

    lasso_error = float(np.linalg.norm(lasso - truth.theta)) / truth.norm()
    loss = LeastSquares(X, Y)
    first = Factors(hard_threshold(start.U, asked), hard_threshold(start.V, asked))
    errors = [_error(first, truth)]
    objectives = [float(loss.value_and_gradient(first)[0])]
    watching = 0.0

    def watch(record: Any) -> None:
        nonlocal watching
        began = time.perf_counter()
        errors.append(_error(record.factors, truth))
        objectives.append(float(record.objective))
        watching += time.perf_counter() - began

    solution = minimize(
        loss,
        rank=rank,
        row_sparsity=asked,
        column_sparsity=asked,
        start=start,
        solver="gdt",
        max_iter=_ITERATIONS,
        tol=0.0,
        callback=watch,
    )
    best = int(np.argmin(errors))
    seconds_solver = solution.history.seconds - watching
    return [
        {
            "method": "GDT",
            "iterations": list(range(len(errors))),
            "errors": errors,
            "objectives": objectives,
            "best_iteration": best,
            "best_error": errors[best],
            "last_error": errors[-1],
            "lasso_error": lasso_error,
            "tolerance": _LASSO_TOLERANCE,
            "rows": len(solution.factors.row_support),
            "columns": len(solution.factors.column_support),
            "seconds": seconds_start + seconds_solver,
            "seconds_start": seconds_start,
            "seconds_solver": seconds_solver,
        }
    ]


def lasso_in_blocks(X: np.ndarray, Y: np.ndarray, penalty: float, tolerance: float) -> np.ndarray:
    """Solve the lasso of every response on X, in single precision.

    The responses are independent problems. They are solved in blocks, in decreasing order of their
    norm, so that blocks of weak responses can stop early.

    Shapes: ``theta`` (n_features, n_targets).
    """
    X, Y = X.astype(np.float32), Y.astype(np.float32)
    theta = np.zeros((X.shape[1], Y.shape[1]), dtype=np.float32)
    order = np.argsort(-np.linalg.norm(Y, axis=0), kind="stable")
    curvature = LeastSquares(X, Y[:, :1], form="direct").smoothness()
    for begin in range(0, len(order), _BLOCK):
        columns = order[begin : begin + _BLOCK]
        part = np.ascontiguousarray(Y[:, columns])
        largest = float(np.max(np.abs(X.T @ part))) / len(X)
        if largest <= penalty:
            continue
        relative = tolerance * penalty / largest
        start = Lasso(penalty=penalty, tol=relative, max_iter=_LASSO_ITERATIONS)
        theta[:, columns] = start.solution(_ResponseBlock(X, part, curvature))
    return theta


class _ResponseBlock(LeastSquares):
    """Least squares for some of the responses, with the curvature of X already known."""

    def __init__(self, X: np.ndarray, Y: np.ndarray, curvature: float) -> None:
        super().__init__(X, Y, form="direct")
        self._curvature = curvature

    def smoothness(self) -> float:
        return self._curvature


def _error(factors: Factors, truth: Factors) -> float:
    """‖Θ − Θ*‖/‖Θ*‖ in the Frobenius norm, without forming Θ."""
    difference = Factors(
        np.concatenate([factors.U, truth.U], axis=1), np.concatenate([factors.V, -truth.V], axis=1)
    )
    return difference.norm() / truth.norm()


def page(records: pd.DataFrame) -> list[Block]:
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
        errors, best = record["errors"], record["best_iteration"]
        shown = (record["lasso_error"], errors[0], errors[best], errors[-1])
        lasso, first, lowest, last = (number(error) for error in shown)
        gain = percent(errors[-1] / errors[best])
        ends = str(best), lowest, str(len(errors) - 1), last, gain
        cells.append((str(record["n"]), lasso, first, *ends))
    header = ("n", "lasso", "iteration 0", "best at", "best error", "last at", "last error")
    return Table((*header, "last relative to best"), list(cells))


def _objectives_table(rows: list[pd.Series]) -> Table:
    cells = []
    for record in rows:
        first, last = record["objectives"][0], record["objectives"][-1]
        times = [seconds(record[f"seconds_{part}"]) for part in ("start", "solver")]
        ends = f"{first:.6g}", f"{last:.6g}", percent(last / first)
        cells.append((str(record["n"]), *ends, *times, f"{record['tolerance']:g}"))
    header = ("n", "first objective", "last objective", "change", "seconds of start")
    return Table((*header, "seconds of solver", "lasso tolerance"), list(cells))


def _mark_start(axis: Any, record: pd.Series, color: str, field: str = "objectives") -> None:
    axis.plot(0, record[field][0], "s", color=color, ms=4)


def _mark_best(axis: Any, record: pd.Series, color: str) -> None:
    _mark_start(axis, record, color, "errors")
    best = record["best_iteration"], record["best_error"]
    axis.plot(*best, "o", mfc="white", mec=color, ms=6)


def both_fall(records: pd.DataFrame) -> Finding | None:
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


def early_stopping(records: pd.DataFrame) -> Finding | None:
    """Early stopping helps, if not much: for some n the last error is more than 0.1 % above the
    lowest one."""
    gains = _gains(records)
    told = ", ".join(f"{percent(gain)} at n = {n}" for n, gain in gains.items())
    return bool(gains.max() > 1.001), f"last error relative to the lowest: {told}"


def most_when_n_is_small(records: pd.DataFrame) -> Finding | None:
    """Early stopping helps most when n is small: at the smallest n of the figure."""
    gains = _gains(records)
    if len(gains) < 2:
        return None
    most, smallest = gains.idxmax(), gains.index[0]
    told = f"most at n = {most}, {percent(gains[most])}"
    if most != smallest:
        told += f"; {percent(gains[smallest])} at n = {smallest}"
    return bool(most == smallest and gains[most] > 1.001), told


STUDIES = (
    Study(
        "figure-high-dimension",
        "High dimension",
        replicated(64_000, (1, 1), cells),
        run,
        page,
        claims=(both_fall, early_stopping, most_when_n_is_small),
    ),
)
