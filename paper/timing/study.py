"""Table 5: the specification. Running times as the problem grows, with a time limit per job."""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Sequence
from multiprocessing.connection import Connection
from typing import Any

import numpy as np

from paper.methods import BASELINES
from paper.studies import Job, Study, StudyRecord
from thinrank.core.factors import Factors
from thinrank.datasets import make_two_way_sparse
from thinrank.losses import LeastSquares
from thinrank.minimize import as_start, minimize
from thinrank.starts import Lasso

TOO_LONG = "> limit"
_ZETAS, _QUICK_ZETAS = (1, 5, 10, 20, 50, 100), (1, 5)
_LIMIT, _QUICK_LIMIT = 120.0, 10.0
_METHODS = ("GDT", "pursuit", *BASELINES)
_SEED = 66_000
# A fit is repeated while the total time is below this, and the fastest repetition counts.
_REPEAT_SECONDS, _MOST_REPETITIONS = 1.0, 5
# Tolerance of the lasso that GDT starts from, relative to the largest entry of the gradient at
# zero. The default of 1e-4 takes ten times as long at ζ = 20 without a better final result.
_START_TOLERANCE = 1e-2
# Seconds to wait for a new process to draw the data and warm up.
_STARTUP_LIMIT = 600.0

Seconds = dict[str, float | None]


def jobs(quick: bool) -> list[Job]:
    """Return one job per method and size, in increasing order of size."""
    zetas, limit = (_QUICK_ZETAS, _QUICK_LIMIT) if quick else (_ZETAS, _LIMIT)
    return [
        Job("table5", {"method": method, "zeta": zeta, "limit": limit}, _SEED)
        for method in _METHODS
        for zeta in zetas
    ]


def run(job: Job) -> list[StudyRecord]:
    """Measure one fit in a separate process, which is killed at the time limit."""
    seconds = measure_within(job.cell["limit"], job.cell["method"], job.cell["zeta"], job.seed)
    tolerance = _START_TOLERANCE if job.cell["method"] == "GDT" else None
    return [_record(seconds, tried=True) | {"start_tolerance": tolerance}]


def skip(job: Job, records: Sequence[StudyRecord]) -> list[StudyRecord] | None:
    """Skip a method that exceeded the limit on a smaller problem."""
    too_slow = any(
        record["method"] == job.cell["method"]
        and record["status"] == TOO_LONG
        and record["zeta"] < job.cell["zeta"]
        for record in records
    )
    return [_record(None, tried=False)] if too_slow else None


def _record(seconds: Seconds | None, *, tried: bool) -> StudyRecord:
    nothing: Seconds = {"seconds": None, "seconds_start": None, "seconds_solver": None}
    return {"status": "ok" if seconds else TOO_LONG, "tried": tried, **(seconds or nothing)}


def measure_within(limit: float, method: str, zeta: int, seed: int) -> Seconds | None:
    """Return the seconds of a fit, or None if it takes longer than the limit."""
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe(duplex=False)
    child = context.Process(target=_measure, args=(there, method, zeta, seed), daemon=True)
    child.start()
    there.close()
    try:
        _receive(here, _STARTUP_LIMIT, method, zeta)  # the data are drawn
        first = _receive(here, limit, method, zeta)
        if first is None or first["seconds"] > limit:
            return None
        return _receive(here, _STARTUP_LIMIT, method, zeta) or first
    finally:
        child.kill()
        child.join()
        here.close()


def _receive(pipe: Connection, limit: float, method: str, zeta: int) -> Any:
    """Return the next message of the child process, or None if there is none in time."""
    try:
        return pipe.recv() if pipe.poll(limit) else None
    except EOFError:
        raise RuntimeError(f"{method} failed at ζ = {zeta}; see its message above") from None


def _measure(pipe: Connection, method: str, zeta: int, seed: int) -> None:
    """In the child process: send a message when ready, then the first time, then the best."""
    X, Y, sizes = problem(zeta, seed)
    _timed(method, *problem(1, seed))  # warm up
    pipe.send({})
    found = [_timed(method, X, Y, sizes)]
    pipe.send(found[0])
    while len(found) < _MOST_REPETITIONS and _total(found) < _REPEAT_SECONDS:
        found.append(_timed(method, X, Y, sizes))
    pipe.send(min(found, key=lambda seconds: seconds["seconds"] or 0.0))


def _total(found: Sequence[Seconds]) -> float:
    return sum(seconds["seconds"] or 0.0 for seconds in found)


def problem(zeta: int, seed: int) -> tuple[np.ndarray, np.ndarray, dict[str, int]]:
    """Draw the data of the paper's running-time table.

    n = 50, p = 80 and s1* = s2* = 10 are multiplied by ζ, k = 50 and r = 4 by ⌊√ζ⌋; all columns are
    non-zero where s2* would exceed k.
    """
    root = int(zeta**0.5)
    n, p, k, rank = 50 * zeta, 80 * zeta, 50 * root, 4 * root
    rows, columns = 10 * zeta, min(10 * zeta, k)
    X, Y, _ = make_two_way_sparse(n, p, k, rank, rows, columns, random_state=seed)
    sizes = {
        "rank": rank,
        "row_sparsity": int(1.2 * rows),
        "column_sparsity": min(int(1.2 * columns), k),
    }
    return X, Y, sizes


def _timed(method: str, X: np.ndarray, Y: np.ndarray, sizes: dict[str, int]) -> Seconds:
    if method in ("GDT", "pursuit"):
        return _timed_solver(method, X, Y, sizes)
    est = _baseline(method, X.shape[0], X.shape[1], Y.shape[1], sizes["rank"])
    began = time.perf_counter()
    est.fit(X, Y)
    seconds = time.perf_counter() - began
    return {"seconds": seconds, "seconds_start": None, "seconds_solver": None}


def _timed_solver(method: str, X: np.ndarray, Y: np.ndarray, sizes: dict[str, Any]) -> Seconds:
    """Time GDT from the lasso, or pursuit from its own start, and the start separately."""
    solver = "gdt" if method == "GDT" else "pursuit"
    inner = (
        Lasso(tol=_START_TOLERANCE) if method == "GDT" else as_start("auto", exchanges_rows=True)
    )
    spent = 0.0

    def start(loss: Any, rank: int, rows: int, columns: int, seed: int) -> Factors:
        nonlocal spent
        began = time.perf_counter()
        factors = inner(loss, rank, rows, columns, seed)
        spent = time.perf_counter() - began
        return factors

    began = time.perf_counter()
    minimize(LeastSquares(X, Y), solver=solver, start=start, **sizes)
    seconds = time.perf_counter() - began
    return {"seconds": seconds, "seconds_start": spent, "seconds_solver": seconds - spent}


def _baseline(name: str, n: int, p: int, k: int, rank: int) -> Any:
    """Return a baseline with fixed tuning parameters suited to noise of standard deviation 1."""
    narrow = (rank**0.5 + (2 * np.log(p)) ** 0.5) / n**0.5
    wide = (k**0.5 + (2 * np.log(p)) ** 0.5) / n**0.5
    fixed: dict[str, dict[str, Any]] = {
        "DPP": {"rank": rank, "penalty": narrow, "column_threshold": rank**0.5 + 2},
        "TSVD": {
            "rank": rank,
            "row_threshold": (2 * np.log(p) / n) ** 0.5,
            "column_threshold": (2 * np.log(k)) ** 0.5,
        },
        "EEA": {"rank": rank, "penalty": (np.log(p) / n) ** 0.5 / 10},
        "RCGL": {"rank": rank, "penalty": narrow},
        "JRRS": {"rank": rank, "penalty": wide},
        "MTL": {"penalty": wide},
    }
    return BASELINES[name](**fixed[name], fit_intercept=False, standardize=False)


_STUDY = Study(
    name="table5",
    title="Table 5: running times",
    claim=(
        "GDT is fast even in very high dimension, while all other methods are expensive; the speed "
        "does not come from the initialisation."
    ),
    jobs=jobs,
    run=run,
    timing=True,
    skip=skip,
)
STUDIES = (_STUDY,)
