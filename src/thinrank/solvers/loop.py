"""The base class of solvers, and the loop over their iterations, with history and callbacks."""

from __future__ import annotations

import copy
import functools
import math
import sys
import time
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, NamedTuple, Self

from thinrank import arrays
from thinrank.arrays import Array
from thinrank.core.contracts import Solver
from thinrank.core.factors import Factors
from thinrank.core.journal import is_recording, recalled, storable
from thinrank.core.result import Callback, History, Outcome, Record, Status

# A run with a journal stores its state this many times, if it takes all of its iterations: pursuit
# after every one of its 100 iterations, which are long, gradient descent after every 100.
_PARTS = 100


class Sized:
    """Limits on rank, rows and columns, set by :meth:`sized`; without it there are none."""

    rank: int = sys.maxsize
    rows: int = sys.maxsize
    columns: int = sys.maxsize

    def sized(self, rank: int, rows: int, columns: int) -> Self:
        """The same solver for at most ``rows`` rows and ``columns`` columns, of rank ``rank``."""
        other = copy.copy(self)
        for name, limit in (("rank", rank), ("rows", rows), ("columns", columns)):
            object.__setattr__(other, name, limit)  # subclasses are frozen dataclasses
        return other


def check_number(name: str, value: Any) -> None:
    """Raise a ValueError unless ``value`` is a finite non-negative number."""
    if not isinstance(value, Real) or not 0 <= float(value) < float("inf"):
        raise ValueError(f"{name} must be a finite non-negative number, got {value!r}")


def check_iterations(value: Any) -> None:
    """Raise a ValueError unless ``value`` is a positive integer."""
    if not isinstance(value, Integral) or isinstance(value, bool) or value < 1:
        raise ValueError(f"max_iter must be a positive integer, got {value!r}")


def run(
    solver: Solver,
    loss: Any,
    start: Factors,
    callback: Callback | None = None,
    *,
    records: bool = True,
) -> tuple[Any, History, Status]:
    """Iterate a solver until it is done, is stopped by the callback or reaches its limit."""
    began = time.perf_counter()
    state = solver.init(loss, start)
    del start  # it may be large
    history = History()
    limit = solver.max_iter
    several = max(1, limit // _PARTS) if is_recording() else limit
    for first in range(1, limit + 1, several):
        iterations = range(first, min(first + several, limit + 1))
        part = recalled(
            f"iterations {first} to {iterations[-1]} of {solver!r}",
            functools.partial(_iterate, solver, loss, state, iterations, began, callback, records),
            keep=lambda part: part.status is None or part.status.outcome is not Outcome.STOPPED,
        )
        state = part.state
        history.extend(part.records)
        if part.status is not None:
            return state, history, part.status
        if history:  # the time of parts that were recalled counts
            began = min(began, time.perf_counter() - history[-1].seconds)
    return state, history, _at_limit(limit, state.change)


@storable
class Part(NamedTuple):
    """Some iterations of a run."""

    state: Any  # the last state whose objective is finite
    records: list[Record]  # one record per iteration
    status: Status | None  # how the run ended; None if it did not


def _iterate(
    solver: Solver,
    loss: Any,
    state: Any,
    iterations: range,
    began: float,
    callback: Callback | None,
    records: bool,
) -> Part:
    """Iterate from a state until the solver is done, is stopped, or the iterations are."""
    history: list[Record] = []
    rows = columns = None
    for iteration in iterations:
        with arrays.without_overflow_warnings():
            candidate = solver.step(loss, state)
        if not math.isfinite(candidate.objective):
            return Part(state, history, _diverged(iteration))
        state = candidate
        if records:
            # a fit has its supports, and Θ takes memory for all rows
            known = state if hasattr(state, "row_support") else state.factors
            rows = _same_or_new(rows, known.row_support)
            columns = _same_or_new(columns, known.column_support)
            seconds = time.perf_counter() - began
            record = Record(
                stage="fit",
                iteration=iteration,
                objective=state.objective,
                seconds=seconds,
                change=state.change,
                row_support=rows,
                column_support=columns,
            )
            history.append(record)
            if callback is not None and callback(replace(record, factors=state.factors)):
                message = f"Stopped by the callback after {_times(iteration)}."
                return Part(state, history, Status(Outcome.STOPPED, message))
        if solver.done(state):
            return Part(state, history, _converged(iteration, state))
    return Part(state, history, None)


def _same_or_new(old: Array | None, new: Array) -> Array:
    """The old support if the new one is equal, so that the records of a run share arrays."""
    if old is None or old is new or old.shape != new.shape:
        return new
    return old if bool(arrays.namespace(new).all(old == new)) else new


def _times(count: int) -> str:
    return "1 iteration" if count == 1 else f"{count} iterations"


def _converged(iteration: int, state: Any) -> Status:
    last = f"relative change {state.change:.1e}"
    if not state.change:
        last = getattr(state, "ending", "nothing left to improve")
    message = f"Converged after {_times(iteration)} ({last})."
    return Status(Outcome.CONVERGED, message)


def _at_limit(limit: int, change: float) -> Status:
    message = (
        f"Reached the limit of {_times(limit)} before convergence "
        f"(relative change {change:.1e}); increase max_iter or tol."
    )
    return Status(Outcome.ITERATION_LIMIT, message)


def _diverged(iteration: int) -> Status:
    message = (
        f"Diverged: the objective was not finite at iteration {iteration}; the iterate before it "
        'is returned. A fixed step may be too long: use tr.solvers.GDT(step="auto").'
    )
    return Status(Outcome.DIVERGED, message)
