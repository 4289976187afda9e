"""A fit under any family, for all estimators: sizes, the final fit, and what is kept of it."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from thinrank import arrays
from thinrank.arrays import Array
from thinrank.core.contracts import Design, Solver
from thinrank.core.factors import Factors
from thinrank.core.result import History, Outcome, Solution, Status
from thinrank.core.warnings import SelectionWarning
from thinrank.estimators.explained import TrainingData
from thinrank.estimators.family_problem import FamilyProblem, explainable
from thinrank.estimators.fit import FitResult, least_squares_fit
from thinrank.estimators.progress import shown
from thinrank.estimators.responses import Responses, numeric_responses
from thinrank.estimators.rounds import supports_of, without_exchanges
from thinrank.estimators.sizes import Found, chosen_sizes
from thinrank.losses.families import Family, Gaussian
from thinrank.losses.generalized_linear import GeneralizedLinear
from thinrank.minimize import minimize
from thinrank.solvers import as_solver


def numeric_fit(
    estimator: Any,
    design: Design,
    target: Array,
    entry_weight: Any,
    family: Family | None,
    names: np.ndarray | None,
    weight: Array | None,
    kept: np.ndarray,
) -> tuple[FitResult, TrainingData]:
    """Fit responses that are numbers, with missing entries, weights of entries or another loss.

    ``family``: None for least squares.
    """
    responses = numeric_responses(target, entry_weight, family or Gaussian(), names)
    responses, weight = responses.without_empty_rows(weight)
    if responses.is_least_squares and entry_weight is None:
        result = least_squares_fit(estimator, design, responses.Y, weight, kept)
        return result, TrainingData(design, responses.Y, weight, scores=result.scores)
    result = family_fit(estimator, design, responses, weight, kept)
    return result, TrainingData(design, responses.Y, weight, responses.weight, result.family)


def family_fit(
    estimator: Any,
    design: Design,
    responses: Responses,
    weight: Array | None,
    kept: np.ndarray,
    offset: Array | None = None,
) -> FitResult:
    """Choose the sizes of an estimator that are "auto", and fit."""
    solver = as_solver(estimator.solver, estimator.max_iter, estimator.tol)
    problem = FamilyProblem.prepare(
        design,
        responses,
        weight,
        offset=offset,
        fit_intercept=estimator.fit_intercept,
        standardize_columns=estimator.standardize,
        keep=kept,
    )
    params, found = chosen_sizes(estimator, problem, weight, solver)
    return final_family_fit(
        problem,
        params,
        found,
        solver=solver,
        start=estimator.start,
        random_state=estimator.random_state,
        callback=estimator.callback,
        verbose=estimator.verbose,
    )


def final_family_fit(
    problem: FamilyProblem,
    params: dict[str, Any],
    found: Found | None,
    **options: Any,
) -> FitResult:
    """Fit with given sizes.

    ``found``: None if the sizes were given.
    """
    loss = problem.loss if found is None else found.loss
    records, messages = ([], []) if found is None else (found.records, list(found.warnings))
    n_iter, history = 0, History()
    family = loss.family
    if found is None and not explainable(loss):
        status = Status(Outcome.ZERO, "The responses are constant: the rank is 0.")
        factors = Factors.zero(loss.shape, like=loss.prototype)
    elif params["rank"] == 0:
        null = "means" if problem.kept is None else "predictors that are always kept"
        status = Status(Outcome.ZERO, f"No model is better than the {null}: the rank is 0.")
        factors = Factors.zero(loss.shape, like=loss.prototype)
    else:
        loss, factors, solution = fit_family_in_rounds(
            problem,
            loss,
            options.pop("solver"),
            (params["rank"], params["row_sparsity"], params["column_sparsity"]),
            params["ridge"],
            exchange=params["exchange"],
            **options,
        )
        n_iter, status, history = solution.n_iter, solution.status, solution.history
        if status.outcome in (Outcome.ITERATION_LIMIT, Outcome.DIVERGED):
            messages.append(status.message)
            warnings.warn(status.message, ConvergenceWarning, stacklevel=3)
        family = _left(problem, loss, factors)
        messages += _warn_if_separated(loss, factors)
    return FitResult(
        *problem.to_user(loss, factors),
        problem.of_all_columns(family),
        params,
        records,
        n_iter,
        status,
        history,
        messages,
        problem.feature_scale,
        None if found is None else found.held_out_r2(problem, problem.family),
    )


def _left(problem: FamilyProblem, loss: GeneralizedLinear, factors: Factors) -> Family:
    """The family with the parameters that the final fit leaves."""
    if not problem.rescales or factors.rank == 0:
        return loss.family
    return problem.left_by(loss, factors).family


# A linear predictor of an observed entry beyond this, a probability below 1e-9 or a mean below
# 1e-9, means that the fit would have gone on to infinity.
_SEPARATED = 20.0


def _warn_if_separated(loss: GeneralizedLinear, factors: Factors) -> list[str]:
    """Warn if fitted probabilities or means are 0 or 1 up to rounding; return the messages."""
    if factors.rank == 0 or not np.any(~loss.family.units_of(loss.shape[1])):
        return []
    extreme = _extremes(loss, factors)
    if not extreme:
        return []
    message = (
        f"The fit predicts some responses perfectly ({extreme} entries have a fitted "
        "probability or mean that is 0 up to rounding), so that without a ridge their "
        "coefficients have no finite optimum. Use a larger ridge if their size matters."
    )
    warnings.warn(message, SelectionWarning, stacklevel=4)
    return [message]


def _extremes(loss: GeneralizedLinear, factors: Factors) -> int:
    """Number of entries without units whose linear predictor is beyond the limit.

    The linear predictor is that of the predictors in use, without intercept and offset.
    """
    xp = arrays.namespace(loss.prototype)
    linear = loss.at(factors).scores @ (factors.V * loss.unit[:, None]).T
    plain = (~loss.family.units_of(loss.shape[1])).astype(float)
    weight = arrays.from_numpy(plain, loss.prototype) * loss.weights()
    beyond = xp.astype(xp.abs(linear) > _SEPARATED, loss.prototype.dtype)
    return int(xp.count_nonzero(beyond * weight))


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

    ``sizes``: None for no limit.
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
