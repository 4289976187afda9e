"""Minimise a loss from a start with a solver; every fit of the package goes through here."""

from __future__ import annotations

import functools
import math
import time
from dataclasses import replace
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np

from thinrank import arrays, solvers
from thinrank.arrays import Array
from thinrank.core.checks import is_auto
from thinrank.core.contracts import Solver, Start, require
from thinrank.core.factors import Factors
from thinrank.core.journal import is_recording, recalled, storable
from thinrank.core.result import Callback, History, Outcome, Record, Solution, Status
from thinrank.starts import (
    Auto,
    Backward,
    Given,
    GroupLasso,
    Lasso,
    ProximalSteps,
    Screening,
    Spectral,
    complete_rank,
)

_CLASSES: list[Any] = [getattr(solvers, name) for name in solvers.__all__]
_SOLVERS = {each.name: each for each in _CLASSES if hasattr(each, "sized")}
_STARTS = {
    "auto": Auto,
    "backward": Backward,
    "lasso": Lasso,
    "group_lasso": GroupLasso,
    "proximal": ProximalSteps,
    "screening": Screening,
    "spectral": Spectral,
}
_NOTHING_TO_FIT = (
    "The gradient at zero vanishes: there is nothing to fit, and the estimate has rank 0."
)


class Run(NamedTuple):
    """Result of a run of a solver."""

    state: Any  # the last state of the solver, with ``factors`` and ``objective``
    history: History  # one record per iteration, if records are kept
    status: Status  # how the run ended


def minimize(
    loss: Any,
    *,
    rank: Any,
    row_sparsity: Any = None,
    column_sparsity: Any = None,
    start: Any = "auto",
    solver: Any = "gdt",
    max_iter: int | None = None,
    tol: float | None = None,
    random_state: Any = None,
    callback: Callback | None = None,
) -> Solution:
    """Minimise a loss over matrices of low rank with few non-zero rows and columns.

    Shapes: ``start`` (n_rows, n_columns). ``row_sparsity``, ``column_sparsity``: None for no
    limit. ``max_iter``: None for the default of the solver, 10,000 for "gdt" and 100 for
    "pursuit". ``tol``: None for the default of the solver, 1e-7. ``random_state``: None is 0,
    so that results are reproducible.

    Examples
    --------
    >>> import thinrank as tr
    >>> X, Y, truth = tr.datasets.make_two_way_sparse(100, rank=3, random_state=0)
    >>> answer = tr.minimize(
    ...     tr.losses.LeastSquares(X, Y), rank=3, row_sparsity=10, column_sparsity=10)
    >>> bool((answer.factors.row_support == truth.row_support).all())
    True
    """
    rows, columns = check_sizes(loss.shape, rank, row_sparsity, column_sparsity)
    bound = as_solver(solver, max_iter, tol, loss).sized(int(rank), rows, columns)
    first = as_start(start, bound.exchanges_rows)
    found = solve(loss, bound, first, seed_from(random_state), callback)
    return solution_of(found, loss, rank)


def as_solver(solver: Any, max_iter: Any = None, tol: Any = None, loss: Any = None) -> Solver:
    """Turn the ``solver`` parameter into a solver; None for its defaults, or an unknown loss."""
    if isinstance(solver, str):
        name = solver
        if is_auto(name):
            name = "pursuit" if loss is None or "majorizer" in loss.capabilities else "gdt"
        if name not in _SOLVERS:
            names = ", ".join(f'"{name}"' for name in ("auto", *_SOLVERS))
            raise ValueError(f"solver must be {names} or an object of tr.solvers, got {solver!r}")
        own = {"max_iter": max_iter, "tol": tol}
        return _SOLVERS[name](**{key: value for key, value in own.items() if value is not None})
    if isinstance(solver, type) or not hasattr(solver, "sized"):
        raise TypeError(f"solver must be a name or an object of tr.solvers, got {solver!r}")
    if max_iter is not None:
        raise ValueError(
            f"max_iter must be None when solver is an object, which has its own; got {max_iter!r}"
        )
    return solver


def as_start(start: Any, exchanges_rows: bool = False) -> Start:
    """Turn the ``start`` parameter of the public interface into a Start."""
    if isinstance(start, str):
        if start not in _STARTS:
            names = ", ".join(f'"{name}"' for name in _STARTS)
            raise ValueError(f"start must be {names}, an array or tr.Factors, got {start!r}")
        return Auto(exchanges_rows) if is_auto(start) else _STARTS[start]()
    if isinstance(start, Factors) or arrays.is_array(start):
        return Given(start)
    if callable(start) and not isinstance(start, type):
        return start
    raise TypeError(
        f"start must be a name, an array of shape (m1, m2) or tr.Factors, got {start!r}"
    )


def solve(
    loss: Any,
    solver: Any,
    start: Start | Factors,
    seed: int = 0,
    callback: Callback | None = None,
    *,
    records: bool = True,
) -> Run | None:
    """Run a solver whose sizes are set: :func:`minimize` without checks, for many small fits."""
    for capability in solver.needs:
        require(loss, capability, f'solver="{solver.name}"')
    if getattr(loss, "fitted_at_zero", False):
        return None
    if not isinstance(start, Factors):
        start = recalled(
            f"start with rank {solver.rank}, {solver.rows} rows and {solver.columns} columns",
            functools.partial(_started, start, loss, solver, seed),
        )
    if start.rank == 0:
        return None
    return iterate(solver, loss, start, callback, records=records)


def _started(start: Start, loss: Any, solver: Any, seed: int) -> Factors:
    first = start(loss, solver.rank, solver.rows, solver.columns, seed)
    if not isinstance(first, Factors):
        raise TypeError(f"start must return tr.Factors, got {first!r} from {start!r}")
    supports = first.row_support, first.column_support
    complete = first.rank >= solver.rank and all(support.shape[0] for support in supports)
    return first if complete else complete_rank(first, loss, solver.rank, seed)


def iterate(
    solver: Solver,
    loss: Any,
    start: Factors,
    callback: Callback | None = None,
    *,
    records: bool = True,
) -> Run:
    """Iterate a solver until it is done, is stopped by the callback or reaches its limit.

    With a journal the state is stored a hundred times, if a run takes all of its iterations.
    """
    began = time.perf_counter()
    state = solver.init(loss, start)
    history = History()
    limit = solver.max_iter
    several = max(1, limit // 100) if is_recording() else limit
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
            return Run(state, history, part.status)
        if history:  # the time of parts that were recalled counts
            began = min(began, time.perf_counter() - history[-1].seconds)
    return Run(state, history, _status(Outcome.ITERATION_LIMIT, limit, state))


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
            return Part(state, history, _status(Outcome.DIVERGED, iteration, state))
        state = candidate
        if records:
            # a fit has its supports, and Θ takes memory for all rows
            known = state if hasattr(state, "row_support") else state.factors
            rows = _same_or_new(rows, known.row_support)
            columns = _same_or_new(columns, known.column_support)
            record = Record(
                stage="fit",
                iteration=iteration,
                objective=state.objective,
                seconds=time.perf_counter() - began,
                change=state.change,
                row_support=rows,
                column_support=columns,
            )
            history.append(record)
            if callback is not None and callback(replace(record, factors=state.factors)):
                return Part(state, history, _status(Outcome.STOPPED, iteration, state))
        if solver.done(state):
            return Part(state, history, _status(Outcome.CONVERGED, iteration, state))
    return Part(state, history, None)


def _same_or_new(old: Array | None, new: Array) -> Array:
    """The old support if the new one is equal, so that the records of a run share arrays."""
    if old is None or old is new or old.shape != new.shape:
        return new
    return old if bool(arrays.namespace(new).all(old == new)) else new


def _status(outcome: Outcome, iteration: int, state: Any) -> Status:
    """How a run ended, in words."""
    times = "1 iteration" if iteration == 1 else f"{iteration} iterations"
    change = f"relative change {state.change:.1e}"
    if outcome is Outcome.CONVERGED:
        why = change if state.change else getattr(state, "ending", "nothing left to improve")
        return Status(outcome, f"Converged after {times} ({why}).")
    messages = {
        Outcome.STOPPED: f"Stopped by the callback after {times}.",
        Outcome.ITERATION_LIMIT: f"Reached the limit of {times} before convergence ({change}); "
        "increase max_iter or tol.",
        Outcome.DIVERGED: f"Diverged: the objective was not finite at iteration {iteration}; the "
        "iterate before it is returned. A fixed step may be too long: use "
        'tr.solvers.GDT(step="auto").',
    }
    return Status(outcome, messages[outcome])


def check_sizes(
    shape: tuple[int, int], rank: Any, row_sparsity: Any, column_sparsity: Any, words: str = ""
) -> tuple[int, int]:
    """Validate the sizes against the shape of Θ and return s₁ and s₂ as integers.

    ``words``: what else an estimator accepts, for the message.
    """
    rows = shape[0] if row_sparsity is None else row_sparsity
    columns = shape[1] if column_sparsity is None else column_sparsity
    check_size("row_sparsity", rows, shape[0], f"the number of rows of Θ (predictors){words}")
    check_size(
        "column_sparsity", columns, shape[1], f"the number of columns of Θ (responses){words}"
    )
    both = "the smaller of row_sparsity and column_sparsity"
    check_size("rank", rank, min(rows, columns), both + ('; or "auto"' if words else ""))
    return int(rows), int(columns)


def check_size(name: str, value: Any, limit: int, meaning: str, least: int = 1) -> None:
    """Raise a ValueError unless ``value`` is an integer between ``least`` and ``limit``."""
    integral = isinstance(value, Integral) and not isinstance(value, (bool, np.bool_))
    if integral and least <= value <= limit:
        return
    raise ValueError(
        f"{name} must be an integer from {least} to {limit} ({meaning}), got {value!r}"
    )


def seed_from(random_state: Any) -> int:
    """An integer seed from a random state as scikit-learn and NumPy accept it."""
    if random_state is None:
        return 0
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**31))
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31 - 1))
    if isinstance(random_state, Integral) and int(random_state) >= 0:
        return int(random_state)
    raise ValueError(
        f"random_state must be None, a non-negative integer or a random generator, "
        f"got {random_state!r}"
    )


def solution_of(run: Run | None, loss: Any, asked: int, factors: Factors | None = None) -> Solution:
    """The result of a run, with its own factors or others, and a note if their rank is lower."""
    if run is None:
        value = loss.value_and_gradient(Factors.zero(loss.shape, loss.prototype, rank=1))[0]
        zero = Factors.zero(loss.shape, like=loss.prototype)
        return Solution(zero, value, Status(Outcome.ZERO, _NOTHING_TO_FIT))
    compact = run.state.factors.balanced() if factors is None else factors.compact()
    status = run.status
    if compact.rank < asked:
        note = f" The estimate has rank {compact.rank}, lower than the requested rank {asked}."
        status = replace(status, message=status.message + note)
    return Solution(compact, run.state.objective, status, run.history)
