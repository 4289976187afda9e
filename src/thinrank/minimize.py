"""Minimise a loss from a start with a solver; every fit of the package goes through here."""

from __future__ import annotations

import functools
from dataclasses import replace
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np

from thinrank.core.contracts import Start, require
from thinrank.core.factors import Factors
from thinrank.core.journal import recalled
from thinrank.core.result import Callback, History, Outcome, Solution, Status
from thinrank.solvers import as_solver
from thinrank.solvers.loop import run
from thinrank.starts import as_start, complete_rank


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
    if isinstance(start, Factors):
        first = [start]
    else:
        first = [
            recalled(
                f"start with rank {solver.rank}, {solver.rows} rows and {solver.columns} columns",
                functools.partial(_started, start, loss, solver, seed),
            )
        ]
    if first[0].rank == 0:
        return None
    # without a name here, so that the run can free the start, which may be large
    return Run(*run(solver, loss, first.pop(), callback, records=records))


def _started(start: Start, loss: Any, solver: Any, seed: int) -> Factors:
    first = start(loss, solver.rank, solver.rows, solver.columns, seed)
    if not isinstance(first, Factors):
        raise TypeError(f"start must return tr.Factors, got {first!r} from {start!r}")
    return complete_rank(first, loss, solver.rank, seed)


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


def _nothing_to_fit(loss: Any) -> Solution:
    value = loss.value_and_gradient(Factors.zero(loss.shape, loss.prototype, rank=1))[0]
    message = "The gradient at zero vanishes: there is nothing to fit, and the estimate has rank 0."
    zero = Factors.zero(loss.shape, like=loss.prototype)
    return Solution(zero, value, Status(Outcome.ZERO, message))


def solution_of(run: Run | None, loss: Any, asked: int, factors: Factors | None = None) -> Solution:
    """The result of a run, with a note in the message if the rank is lower than requested.

    ``factors``: None for its own, which are balanced.
    """
    if run is None:
        return _nothing_to_fit(loss)
    compact = run.state.factors.balanced() if factors is None else factors.compact()
    status = run.status
    if compact.rank < asked:
        note = f" The estimate has rank {compact.rank}, lower than the requested rank {asked}."
        status = replace(status, message=status.message + note)
    return Solution(compact, run.state.objective, status, run.history)
