"""A fit from start to end: sizes, the fit in rounds of noise levels, and what it tells."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any, NamedTuple, cast

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from thinrank import arrays
from thinrank.accelerator import without_gradients
from thinrank.arrays import Array
from thinrank.core.contracts import Design, Solver
from thinrank.core.factors import Factors
from thinrank.core.resources import explained, one_thread_if_small
from thinrank.core.result import History, Outcome, Record, Status
from thinrank.core.warnings import SelectionWarning
from thinrank.designs.blocks import RowBlocks
from thinrank.estimators import checkpoints
from thinrank.estimators.explained import TrainingData
from thinrank.estimators.extreme_units import Units
from thinrank.estimators.noise import fit_rounds
from thinrank.estimators.problem import Problem, prepared
from thinrank.estimators.responses import Responses
from thinrank.estimators.sizes import Found, chosen_sizes
from thinrank.solvers import as_solver


def fit_responses(
    estimator: Any,
    design: Design,
    responses: Responses,
    weight: Array | None,
    kept: np.ndarray,
    *,
    offset: Array | None = None,
    units: Units | None = None,
    groups: Any = None,
) -> tuple[FitResult, TrainingData]:
    """Choose the sizes of an estimator that are "auto", and fit; also the data, for what is kept.

    ``units`` is what the columns of the data were divided by; ``groups`` are those of the rows,
    which splits do not divide.
    """
    solver = as_solver(estimator.solver, estimator.max_iter, estimator.tol)
    problem = problem_of(estimator, solver, design, responses, weight, kept, offset)
    result = fit_problem(estimator, problem, weight, solver, groups)
    return result, training_data(design, responses, weight, result, offset, units)


def problem_of(
    estimator: Any,
    solver: Solver,
    design: Design,
    responses: Responses,
    weight: Array | None,
    kept: np.ndarray,
    offset: Array | None = None,
) -> Problem:
    """The problem of an estimator; that of row blocks is made from moments."""
    by_moments = isinstance(design, RowBlocks) and not len(kept) and offset is None
    if by_moments and responses.is_least_squares:
        from thinrank.estimators.block_problem import block_problem  # few fits need it

        return block_problem(estimator, solver, cast(RowBlocks, design), responses.Y, weight)
    return prepared(
        design,
        responses,
        weight,
        offset=offset,
        fit_intercept=estimator.fit_intercept,
        standardize_columns=estimator.standardize,
        scale_targets=estimator.standardize and solver.adapts_to_units,
        keep=kept,
    )


def training_data(
    design: Design,
    responses: Responses,
    weight: Array | None,
    result: FitResult,
    offset: Array | None = None,
    units: Units | None = None,
) -> TrainingData:
    """The data of a fit, with the family that it found."""
    Y, entries, family = responses.Y, responses.weight, result.family
    if family is None and offset is not None:  # least squares
        Y, offset = Y - offset, None
    known = result.scores, result.moments
    return TrainingData(design, Y, weight, entries, family, offset, units, *known)


def fit_problem(
    estimator: Any, problem: Problem, weight: Array | None, solver: Solver, groups: Any = None
) -> FitResult:
    """Choose the sizes of an estimator that are "auto", and fit a problem."""
    params, found = chosen_sizes(estimator, problem, weight, solver, groups)
    shown = {"callback": estimator.callback, "verbose": estimator.verbose}
    return fit_sizes(estimator, problem, solver, params, found, **shown)


def fit_sizes(
    estimator: Any,
    problem: Problem,
    solver: Solver,
    params: dict[str, Any],
    found: Found | None,
    callback: Any = None,
    verbose: int = 0,
) -> FitResult:
    """Fit a problem with given sizes.

    ``found``: None if the sizes were not chosen.
    """
    records, messages = ([], []) if found is None else (found.records, list(found.warnings))
    n_iter, history, last = 0, History(), problem
    if found is not None and problem.continues_search:
        last = found.problem
    if params["rank"] == 0 or not problem.explainable:
        null = "means" if problem.kept is None else "predictors that are always kept"
        message = f"No model is better than the {null}: the rank is 0."
        if params["rank"]:
            message = f"The {null} explain the responses: the rank is 0."
        status = Status(Outcome.ZERO, message)
        factors = Factors.zero(problem.loss.shape, like=problem.loss.prototype)
    else:
        solution, last = fit_rounds(
            last,
            solver,
            (params["rank"], params["row_sparsity"], params["column_sparsity"]),
            params["ridge"],
            exchange=params["exchange"],
            start=estimator.start,
            random_state=estimator.random_state,
            callback=callback,
            verbose=verbose,
        )
        factors, n_iter = solution.factors, solution.n_iter
        status, history = solution.status, solution.history
        del solution  # its factors may be large
        if status.outcome in (Outcome.ITERATION_LIMIT, Outcome.DIVERGED):
            messages.append(status.message)
            warnings.warn(status.message, ConvergenceWarning, stacklevel=4)
        for message in last.doubts(factors):
            messages.append(message)
            warnings.warn(message, SelectionWarning, stacklevel=4)
    user = last.to_user(factors)
    return FitResult(
        *user,
        last.family_left_by(factors),
        params,
        records,
        n_iter,
        status,
        history,
        messages,
        problem.feature_scale,
        None if found is None else found.held_out_r2(problem),
        last.target_units(),
        last.scores(factors, user[0]),
        problem.moments,
    )


class FitResult(NamedTuple):
    """The result of a fit, in the user's units."""

    factors: Factors  # Θ
    intercept: Array  # (n_columns,) intercepts
    # (n_columns, n_kept) coefficients of the predictors that are always kept
    kept_coef: Array | None
    family: Any  # the family, with its estimated parameters; None for least squares
    params: dict[str, Any]  # the sizes, chosen or given
    search: list[Record]  # the models that were tried
    n_iter: int  # of the final fit
    status: Status
    history: History
    messages: list[str]  # what the user was warned of
    # (n_features,) standard deviations of the predictors, if they were computed for the fit
    feature_scale: Array | None = None
    # (n_columns,) share explained of each response in held-out rows; None if the sizes were not
    # chosen by it
    held_out_r2: np.ndarray | None = None
    # (n_columns,) what the final fit divided the responses by; None if it did not scale them
    target_units: np.ndarray | None = None
    # (n_samples, rank) XU minus its means, and these means, if the fit knows them
    scores: tuple[Array, Array] | None = None
    moments: Any = None  # of all rows, if these are not in memory


@contextmanager
def whole_fit(estimator: Any, **arguments: Any) -> Iterator[None]:
    """Undo what a fit changed in an estimator if it ends by an error or by Ctrl-C.

    If the memory did not suffice, the error says how much was needed and what to do. In the block
    of a checkpoint the fit is stored. A fit of small data uses one thread, which is faster. Nothing
    is recorded for derivatives. Moments of the responses are computed once.
    """
    before = dict(vars(estimator))
    path = checkpoints.PATH.get()
    try:
        with (
            nullcontext() if path is None else checkpoints.recorded(path, estimator, arguments),
            one_thread_if_small(_multiplications(**arguments)),
            without_gradients(arguments["X"]),
        ):
            yield
    except BaseException as error:  # also on Ctrl-C
        vars(estimator).clear()
        vars(estimator).update(before)
        if isinstance(error, MemoryError):
            raise explained(error) from error
        raise


def _multiplications(X: Any, y: Any = None, **others: Any) -> float:
    """Number of multiplications on the host in the larger of XᵀX (or XXᵀ) and XᵀY.

    It is 0 for lists, which are small, and for arrays of an accelerator, of which the host only
    factorises small matrices; it is not finite for lazy data of unknown shape.
    """
    if arrays.is_array(X) and not arrays.on_host(X):
        return 0.0
    rows, columns = (*getattr(X, "shape", ()), 0, 0)[:2]
    targets = (*getattr(y, "shape", ()), 1, 1)[1]
    try:
        return float(rows) * columns * max(min(rows, columns), targets)
    except TypeError:  # a side may be None
        return math.inf
