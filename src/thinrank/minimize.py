"""Where a loss, a start and a solver meet."""

from __future__ import annotations

from dataclasses import replace
from numbers import Integral
from typing import Any

import numpy as np

from thinrank import arrays
from thinrank.core.contracts import Solver
from thinrank.core.factors import Factors
from thinrank.core.result import Callback, History, Outcome, Solution, Status
from thinrank.solvers.gdt import GDT
from thinrank.solvers.loop import run
from thinrank.solvers.pursuit import Pursuit
from thinrank.solvers.steps import as_step_rule
from thinrank.starts import as_start, completed

__all__ = ["check_options", "check_size", "check_sizes", "iteration_limit", "minimize", "seed_from"]

_UPDATES = ("simultaneous", "sequential")
_MAX_ITER = {"pursuit": 100, "gdt": 10_000}


def minimize(
    loss: Any,
    *,
    rank: Any,
    row_sparsity: Any = None,
    column_sparsity: Any = None,
    start: Any = "auto",
    solver: str = "gdt",
    step: Any = "auto",
    update: str = "simultaneous",
    balance: float = 1.0,
    max_iter: int | None = None,
    tol: float = 1e-7,
    random_state: Any = None,
    callback: Callback | None = None,
) -> Solution:
    """Minimise a loss over matrices of low rank with few non-zero rows and columns.

    Parameters
    ----------
    loss : Loss
        Any of :mod:`thinrank.losses`, :class:`thinrank.losses.Custom` among them.
    rank : int
        Largest rank r.
    row_sparsity, column_sparsity : int or None
        How many rows and columns may differ from zero; None for no limit.
    start : str, array of shape (m1, m2), Factors, or a start of :mod:`thinrank.starts`
        Θ⁰: "auto", "lasso", "group_lasso", "proximal", "screening" or "spectral". A start that
        is zero or of rank below r is completed from the gradient at zero.
    solver : {"gdt", "pursuit"}
        "gdt" is gradient descent with hard thresholding, Algorithm 1 of the paper, for every
        loss. "pursuit", for quadratic losses (least squares, denoising), fits exactly on the
        rows it has and exchanges rows while that is worth it.
    step : {"auto", "theory", "backtracking"} or float
        Step size of gradient descent. "auto" adapts to the curvature it meets and never lets the
        objective rise; "backtracking" does the same but tries twice the last step first, at two
        evaluations an iteration; "theory" is the constant of the paper's theorem, safe and slow;
        a number is taken as it is, and may diverge.
    update : {"simultaneous", "sequential"}
        Whether V and U move from the same iterate, as printed, or V with the new U.
    balance : float
        Weight of the penalty ¼‖UᵀU − VᵀV‖² that keeps the factors balanced; 1 in the paper.
    max_iter : int, optional
        Iteration limit; None is 10,000 for "gdt" and 100 for "pursuit".
    tol : float
        "gdt" stops when the relative change of (U, V) in an iteration is below; an exchange of
        "pursuit" must lower the objective by at least this part of itself.
    random_state : int, RandomState, Generator or None
        For the random blocks of truncated decompositions and the folds of cross-validated
        penalties; None is 0, so that answers are the same every time.
    callback : callable, optional
        Called with the Record of each iteration; returning True stops the run.

    Returns
    -------
    Solution
        ``.factors``, ``.value``, ``.status`` and ``.history``.

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
    engine = _engine(solver, int(rank), rows, columns, step, update, balance, max_iter, tol)
    seed = seed_from(random_state)
    first = as_start(start, solver)(loss, rank, rows, columns, seed)
    first = completed(first, loss, rank, seed)
    if first.rank == 0:
        return _nothing_to_fit(loss)
    state, history, status = run(engine, loss, first, callback)
    return _solution(state.factors, state.objective, rank, status, history)


def check_options(
    solver: str, start: Any, step: Any, update: str, max_iter: int | None, tol: float
) -> None:
    """Raise what :func:`minimize` would raise about its options, before any work is done."""
    _engine(solver, 1, 1, 1, step, update, 1.0, max_iter, tol)
    as_start(start, solver)


def check_sizes(
    shape: tuple[int, int], rank: Any, row_sparsity: Any, column_sparsity: Any
) -> tuple[int, int]:
    """Validate the sizes against the shape of Θ and return s₁ and s₂ as integers."""
    rows = shape[0] if row_sparsity is None else row_sparsity
    columns = shape[1] if column_sparsity is None else column_sparsity
    check_size("row_sparsity", rows, shape[0], "the number of rows of Θ (predictors)")
    check_size("column_sparsity", columns, shape[1], "the number of columns of Θ (responses)")
    check_size("rank", rank, min(rows, columns), "the smaller of row_sparsity and column_sparsity")
    return int(rows), int(columns)


def check_size(name: str, value: Any, limit: int, meaning: str) -> None:
    """Raise a ValueError unless ``value`` is an integer between 1 and ``limit``."""
    integral = isinstance(value, Integral) and not isinstance(value, (bool, np.bool_))
    if integral and 1 <= value <= limit:
        return
    raise ValueError(f"{name} must be an integer from 1 to {limit} ({meaning}), got {value!r}")


def iteration_limit(solver: str, max_iter: Any) -> int:
    """The user's limit, or the solver's own when None."""
    if solver not in _MAX_ITER:
        raise ValueError(f"solver must be one of {tuple(_MAX_ITER)}, got {solver!r}")
    if max_iter is None:
        return _MAX_ITER[solver]
    check_size("max_iter", max_iter, 10**12, "iterations")
    return int(max_iter)


def seed_from(random_state: Any) -> int:
    """An integer seed from what scikit-learn and NumPy take as a random state."""
    if random_state is None:
        return 0
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**31))
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31 - 1))
    if isinstance(random_state, Integral) and int(random_state) >= 0:
        return int(random_state)
    raise ValueError(
        f"random_state must be None, an integer at least 0 or a random generator, "
        f"got {random_state!r}"
    )


def _engine(
    solver: str,
    rank: int,
    rows: int,
    columns: int,
    step: Any,
    update: str,
    balance: float,
    max_iter: int | None,
    tol: float,
) -> Solver:
    if update not in _UPDATES:
        raise ValueError(f"update must be one of {_UPDATES}, got {update!r}")
    if not 0 <= balance < float("inf"):
        raise ValueError(f"balance must be at least 0 and finite, got {balance!r}")
    if not 0 <= tol < float("inf"):
        raise ValueError(f"tol must be at least 0 and finite, got {tol!r}")
    limit = iteration_limit(solver, max_iter)
    step_rule = as_step_rule(step)
    if solver == "pursuit":
        return Pursuit(rank, rows, columns, max_iter=limit, tol=float(tol))
    return GDT(
        row_sparsity=rows,
        column_sparsity=columns,
        step_rule=step_rule,
        update=update,  # type: ignore[arg-type]
        balance=float(balance),
        max_iter=limit,
        tol=float(tol),
    )


def _nothing_to_fit(loss: Any) -> Solution:
    m1, m2 = loss.shape
    flat = Factors(arrays.zeros((m1, 1), loss.prototype), arrays.zeros((m2, 1), loss.prototype))
    value = loss.value_and_gradient(flat)[0]
    message = "The gradient at zero vanishes: nothing to fit, the answer has rank 0."
    zero = Factors.zero(loss.shape, like=loss.prototype)
    return Solution(zero, value, Status(Outcome.ZERO, message))


def _solution(
    factors: Factors, value: float, asked: int, status: Status, history: History
) -> Solution:
    """Balance the factors; if that drops directions that carry nothing, say so."""
    compact = factors.balanced()
    if compact.rank == asked:
        return Solution(compact, value, status, history)
    note = f" The data carry rank {compact.rank}, less than the {asked} asked for."
    return Solution(compact, value, replace(status, message=status.message + note), history)
