"""A fit by least squares: sizes, the final fit, and what is kept of it."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from thinrank.arrays import Array
from thinrank.core.contracts import Design, Solver
from thinrank.core.factors import Factors
from thinrank.core.result import History, Outcome, Status
from thinrank.estimators.fit_result import FitResult
from thinrank.estimators.problem import Problem
from thinrank.estimators.rounds import fit_in_rounds
from thinrank.estimators.sizes import chosen_sizes
from thinrank.solvers import as_solver


def least_squares_fit(
    estimator: Any, design: Design, Y: Array, weight: Array | None, kept: np.ndarray
) -> FitResult:
    """Choose the sizes of an estimator that are "auto", and fit.

    Parameters
    ----------
    estimator : SparseReducedRankRegressor
        An estimator with parameters that have been checked.
    design : Design of shape (n_samples, n_features)
    Y : array of shape (n_samples, n_targets)
    weight : array of shape (n_samples,), or None
    kept : ndarray of int
        Sorted indices of the predictors that are always kept.

    Returns
    -------
    FitResult
    """
    solver = as_solver(estimator.solver, estimator.max_iter, estimator.tol)
    problem = Problem.prepare(
        design,
        Y,
        weight,
        fit_intercept=estimator.fit_intercept,
        standardize_columns=estimator.standardize,
        scale_targets=estimator.standardize and solver.adapts_to_units,
        keep=kept,
    )
    return fit_of_problem(estimator, problem, weight, solver)


def fit_of_problem(
    estimator: Any, problem: Problem, weight: Array | None, solver: Solver
) -> FitResult:
    """Choose the sizes of an estimator that are "auto", and fit a problem.

    Parameters
    ----------
    estimator : SparseReducedRankRegressor
        An estimator with parameters that have been checked.
    problem : Problem
        The standardised data.
    weight : array of shape (n_samples,), or None
    solver : Solver
        Of the final fit.

    Returns
    -------
    FitResult
    """
    params, found = chosen_sizes(estimator, problem, weight, solver)
    records, messages = ([], []) if found is None else (found.records, list(found.warnings))
    n_iter, history, last = 0, History(), problem
    if params["rank"] == 0:
        null = "means" if problem.kept is None else "predictors that are always kept"
        status = Status(Outcome.ZERO, f"No model is better than the {null}: the rank is 0.")
        factors = Factors.zero(problem.loss.shape, like=problem.loss.prototype)
    else:
        solution, last = fit_in_rounds(
            problem,
            solver,
            (params["rank"], params["row_sparsity"], params["column_sparsity"]),
            params["ridge"],
            exchange=params["exchange"],
            start=estimator.start,
            random_state=estimator.random_state,
            callback=estimator.callback,
            verbose=estimator.verbose,
        )
        factors, n_iter = solution.factors, solution.n_iter
        status, history = solution.status, solution.history
        del solution  # its factors may be large
        if status.outcome in (Outcome.ITERATION_LIMIT, Outcome.DIVERGED):
            messages.append(status.message)
            warnings.warn(status.message, ConvergenceWarning, stacklevel=3)
    user = problem.to_user(factors)
    return FitResult(
        *user,
        None,
        params,
        records,
        n_iter,
        status,
        history,
        messages,
        problem.feature_scale,
        None if found is None else found.held_out_r2(problem),
        last.target_units(),
        problem.scores(factors, user[0]),
    )
