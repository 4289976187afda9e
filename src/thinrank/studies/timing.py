"""Table 5: seconds of every method as the problem grows, with a limit for each cell."""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Sequence
from multiprocessing.connection import Connection
from typing import Any

import numpy as np

from thinrank.core.factors import Factors
from thinrank.datasets import make_two_way_sparse
from thinrank.losses import LeastSquares
from thinrank.minimize import minimize
from thinrank.starts import Lasso, as_start
from thinrank.studies.contestants import RIVALS
from thinrank.studies.spec import Job, Record, Study

__all__ = ["TIMING", "TOO_LONG", "measure_within"]

TOO_LONG = "> limit"
_ZETAS, _QUICK_ZETAS = (1, 5, 10, 20, 50, 100), (1, 5)
_LIMIT, _QUICK_LIMIT = 120.0, 10.0
_METHODS = ("GDT", "pursuit", *RIVALS)
_SEED = 66_000
# A fit is repeated, and the fastest counts, while all of them together take less than this.
_REPEAT_SECONDS, _MOST_REPETITIONS = 1.0, 5
# Of the lasso that GDT starts from, relative to the largest entry of the gradient at zero. Its
# default of 1e-4 takes ten times as long at ζ = 20, and gradient descent ends no better for it.
_START_TOLERANCE = 1e-2
# Until the data are drawn in the new process.
_PATIENCE = 600.0

Seconds = dict[str, float | None]


def jobs(quick: bool) -> list[Job]:
    """One job a method and size, the sizes increasing."""
    zetas, limit = (_QUICK_ZETAS, _QUICK_LIMIT) if quick else (_ZETAS, _LIMIT)
    return [
        Job("table5", {"method": method, "zeta": zeta, "limit": limit}, _SEED)
        for method in _METHODS
        for zeta in zetas
    ]


def run(job: Job) -> list[Record]:
    """One cell, in a process of its own that is ended at the limit."""
    seconds = measure_within(job.cell["limit"], job.cell["method"], job.cell["zeta"], job.seed)
    tolerance = _START_TOLERANCE if job.cell["method"] == "GDT" else None
    return [_record(seconds, tried=True) | {"start_tolerance": tolerance}]


def foregone(job: Job, records: Sequence[Record]) -> list[Record] | None:
    """A method that was too slow is not tried on anything larger."""
    too_slow = any(
        record["method"] == job.cell["method"]
        and record["status"] == TOO_LONG
        and record["zeta"] < job.cell["zeta"]
        for record in records
    )
    return [_record(None, tried=False)] if too_slow else None


def _record(seconds: Seconds | None, *, tried: bool) -> Record:
    nothing: Seconds = {"seconds": None, "seconds_start": None, "seconds_solver": None}
    return {"status": "ok" if seconds else TOO_LONG, "tried": tried, **(seconds or nothing)}


def measure_within(limit: float, method: str, zeta: int, seed: int) -> Seconds | None:
    """Seconds of a fit, or None when it takes longer than the limit."""
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe(duplex=False)
    child = context.Process(target=_measure, args=(there, method, zeta, seed), daemon=True)
    child.start()
    there.close()
    try:
        _receive(here, _PATIENCE, method, zeta)  # the data are drawn
        first = _receive(here, limit, method, zeta)
        if first is None or first["seconds"] > limit:
            return None
        return _receive(here, _PATIENCE, method, zeta) or first
    finally:
        child.kill()
        child.join()
        here.close()


def _receive(pipe: Connection, limit: float, method: str, zeta: int) -> Any:
    """What the child sends next, or None when it sends nothing in time."""
    try:
        return pipe.recv() if pipe.poll(limit) else None
    except EOFError:
        raise RuntimeError(f"{method} failed at ζ = {zeta}; its message is above") from None


def _measure(pipe: Connection, method: str, zeta: int, seed: int) -> None:
    """In the child: say when the data are there, then the first seconds, then the best."""
    X, Y, sizes = problem(zeta, seed)
    _timed(method, *problem(1, seed))  # whatever happens once only
    pipe.send({})
    found = [_timed(method, X, Y, sizes)]
    pipe.send(found[0])
    while len(found) < _MOST_REPETITIONS and _total(found) < _REPEAT_SECONDS:
        found.append(_timed(method, X, Y, sizes))
    pipe.send(min(found, key=lambda seconds: seconds["seconds"] or 0.0))


def _total(found: Sequence[Seconds]) -> float:
    return sum(seconds["seconds"] or 0.0 for seconds in found)


def problem(zeta: int, seed: int) -> tuple[np.ndarray, np.ndarray, dict[str, int]]:
    """Data of the paper's running-time table, and the sizes to fit with.

    ζ scales n = 50, p = 80 and s1* = s2* = 10 by ζ, k = 50 and r = 4 by ⌊√ζ⌋; the columns are
    dense where s2* exceeds k. Our solvers are told 1.2 times the true sizes.
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
    est = _rival(method, X.shape[0], X.shape[1], Y.shape[1], sizes["rank"])
    began = time.perf_counter()
    est.fit(X, Y)
    seconds = time.perf_counter() - began
    return {"seconds": seconds, "seconds_start": None, "seconds_solver": None}


def _timed_solver(method: str, X: np.ndarray, Y: np.ndarray, sizes: dict[str, Any]) -> Seconds:
    """GDT from the lasso or pursuit from its own start, with the seconds of the start apart."""
    solver = "gdt" if method == "GDT" else "pursuit"
    inner = Lasso(tol=_START_TOLERANCE) if method == "GDT" else as_start("auto", solver)
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


def _rival(name: str, n: int, p: int, k: int, rank: int) -> Any:
    """A rival at fixed tuning parameters: what noise of standard deviation 1 calls for."""
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
    return RIVALS[name](**fixed[name], fit_intercept=False, standardize=False)


TIMING = Study(
    name="table5",
    title="Table 5: running times",
    claim=(
        "GDT is fast even in very high dimension, all other methods are expensive; the speed "
        "does not come from the initialisation."
    ),
    jobs=jobs,
    run=run,
    timing=True,
    foregone=foregone,
)
