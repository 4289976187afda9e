"""The final fit under any family, repeated with the noise levels or dispersions that it leaves."""

from __future__ import annotations

from typing import Any

from thinrank.core.contracts import Solver
from thinrank.core.factors import Factors
from thinrank.core.result import Outcome, Solution
from thinrank.estimators.family_problem import FamilyProblem
from thinrank.estimators.progress import shown
from thinrank.estimators.rounds import supports_of, without_exchanges
from thinrank.losses.generalized_linear import GeneralizedLinear
from thinrank.minimize import minimize

# Number of fits, each with the noise levels or dispersions that the fit before left.
_MAX_ROUNDS = 6


def fit_family_in_rounds(
    problem: FamilyProblem,
    loss: GeneralizedLinear,
    solver: Solver,
    sizes: tuple[int, int | None, int | None],
    ridge: float,
    *,
    exchange: bool,
    start: Any,
    random_state: Any,
    callback: Any,
    verbose: int,
) -> tuple[GeneralizedLinear, Factors, Solution]:
    """Fit with given sizes, until the supports do not change.

    Parameters
    ----------
    problem : FamilyProblem
    loss : GeneralizedLinear
        The loss of the problem, possibly with noise levels from a search.
    solver : Solver
    sizes : (int, int or None, int or None)
        Rank, number of predictors and number of responses; None for no limit.
    ridge : float
    exchange : bool
        Whether rows are exchanged; otherwise they are those of backward elimination.
    start : Start, array or str
        In the user's units.
    random_state, callback, verbose
        Of the estimator.

    Returns
    -------
    loss : GeneralizedLinear
        The loss of the last fit.
    factors : Factors
        The coefficients, in its units.
    solution : Solution
        The last fit.
    """
    rank, rows, columns = problem.limited(*sizes)
    supports = None
    solver, _ = without_exchanges(solver, start, exchange)  # "auto" is elimination for any loss
    updates = problem.rescales
    for _ in range(_MAX_ROUNDS):
        with shown(callback, solver.max_iter, verbose) as report:
            solution = minimize(
                loss.with_ridge(ridge),
                rank=rank,
                row_sparsity=rows,
                column_sparsity=columns,
                start=problem.start(start, loss),
                solver=solver,
                random_state=random_state,
                callback=report,
            )
        factors = solution.factors
        last, supports = supports, supports_of(factors)
        stopped = solution.status.outcome is Outcome.STOPPED
        crowded = 2 * rows > loss.observations / loss.shape[1]
        if stopped or supports == last or not updates or factors.rank == 0 or crowded:
            break
        loss, before = problem.left_by(loss, factors), loss
    else:
        loss = before
    return loss, factors, solution
