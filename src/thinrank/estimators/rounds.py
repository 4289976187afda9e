"""The final fit, repeated with responses scaled by the noise that the fit before left in them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, TypeGuard

from thinrank import arrays
from thinrank.core.checks import is_auto
from thinrank.core.contracts import Solver
from thinrank.core.factors import Factors
from thinrank.core.result import Outcome, Solution
from thinrank.estimators.problem import Problem
from thinrank.estimators.progress import shown
from thinrank.minimize import check_sizes, seed_from, solution_of, solve
from thinrank.solvers.pursuit import MANY_ROWS, Pursuit
from thinrank.starts import Auto, Backward, as_start

# Number of fits, each with the responses scaled by the noise that the fit before left in them (the
# first by their standard deviations); more than two further fits rarely change the supports.
_MAX_ROUNDS = 3


def fit_in_rounds(
    problem: Problem,
    solver: Solver,
    sizes: tuple[int, int | None, int | None],
    ridge: float,
    *,
    exchange: bool,
    start: Any,
    random_state: Any,
    callback: Any,
    verbose: int,
) -> tuple[Solution, Problem]:
    """Fit with given sizes, until the supports or the scales of the responses do not change.

    ``sizes``: None for no limit.
    """
    rank, rows, columns = problem.limited(*sizes)
    check_sizes(problem.loss.shape, rank, rows, columns)
    solver, start = without_exchanges(solver, start, exchange)
    bound = solver.sized(rank, rows, columns)
    scaled, supports = problem, None
    begin = as_start(problem.start(start), solver.exchanges_rows)
    fits_left = _MAX_ROUNDS
    now = bound
    if is_auto(start) and problem.noise_matters(rows) and _rows_are_many(solver, rows):
        # partial covariances, with which the next fit begins, replace many rows at once
        now = replace(solver, exchanges=False).sized(rank, rows, columns)
    while True:
        loss = scaled.loss.with_ridge(ridge)
        with shown(callback, solver.max_iter, verbose) as report:
            found = solve(loss, now, begin, seed_from(random_state), report)
        fits_left -= 1
        if found is None:  # nothing to fit
            return solution_of(None, loss, rank), scaled
        factors = scaled.in_units_of(problem, found.state.factors)
        before, supports = supports, supports_of(factors)
        stopped = found.status.outcome is Outcome.STOPPED
        if stopped or supports == before or not (fits_left and problem.noise_matters(rows, ridge)):
            return solution_of(found, loss, rank, factors), scaled
        left = None if ridge else scaled.left_by(found.state)
        crowded = 2 * rows > problem.loss.samples
        shrunk = ridge_freedom(found.state, ridge) if crowded else 0.0
        scale = problem.scale_of(problem.noise(factors, left, shrunk))
        same = scaled.has_nearly_the_scale(scale)
        if same and now is bound:
            return solution_of(found, loss, rank, factors), scaled
        again = scaled if same else problem.with_target_scale(scale)
        begin = as_start(again.start(start), solver.exchanges_rows)
        if is_auto(start):
            known = scaled.in_units_of(again, found.state.factors)
            near = again.has_about_the_scales_of(scaled)
            begin = Auto(solver.exchanges_rows, known=known, near=near)
        scaled, now = again, bound
        del factors, found  # they may be large, and the next fit needs memory


def ridge_freedom(fit: Any, ridge: float) -> float:
    """The degrees of freedom that a ridge takes from the rows of a fit by pursuit."""
    root = getattr(fit, "root", None)
    if not ridge or root is None or root.shape[0] == 0:
        return 0.0
    return root.shape[1] - root.shape[0] + ridge * arrays.norm(root) ** 2


def without_exchanges(solver: Solver, start: Any, exchange: bool) -> tuple[Solver, Any]:
    """Solver and start of a fit; without exchanges pursuit begins with backward elimination."""
    if exchange or not isinstance(solver, Pursuit):
        return solver, start
    return replace(solver, exchanges=False), Backward() if is_auto(start) else start


def _rows_are_many(solver: Solver, rows: int) -> TypeGuard[Pursuit]:
    """Whether the first fit, which gives the noise in the responses, needs no exchanges of rows."""
    return isinstance(solver, Pursuit) and rows > MANY_ROWS


def supports_of(factors: Factors) -> tuple[list[int], list[int]]:
    """Row and column support as lists, which can be compared."""
    rows, columns = factors.row_support, factors.column_support
    return arrays.to_numpy(rows).tolist(), arrays.to_numpy(columns).tolist()
