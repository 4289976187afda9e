"""Least squares fits to data in row blocks, in few passes."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np

from thinrank import arrays
from thinrank.core.checks import is_auto
from thinrank.designs import Standardization
from thinrank.designs.blocks import RowBlocks
from thinrank.estimators.explained import TrainingData
from thinrank.estimators.fit import FitResult, fit_problem
from thinrank.estimators.problem import Problem, live
from thinrank.estimators.validation import check_criterion
from thinrank.forms.block_moments import BlockForm, BlockMoments
from thinrank.losses.form_loss import FormLoss
from thinrank.minimize import seed_from
from thinrank.selection.splits import checked_splits, make_partitions
from thinrank.solvers import as_solver
from thinrank.starts.elimination import MOST_ROWS


def block_problem(
    X: RowBlocks,
    Y: Any,
    weight: np.ndarray | None,
    *,
    fit_intercept: bool,
    standardize_columns: bool,
    scale_targets: bool,
    cv: Any = None,
    seed: Any = None,
) -> Problem:
    """The problem of data in row blocks, like ``Problem.prepare``, after one pass.

    ``cv``: None without a search.
    """
    Y = X.beside(Y)
    splits: Any = ()
    if isinstance(cv, Integral) and not isinstance(cv, bool):
        splits = make_partitions(cv, weight, X.shape[0], seed_from(seed))[0]
        splits = checked_splits(splits, X.shape[0])
    moments = BlockMoments(
        X,
        Y,
        weight,
        center=fit_intercept,
        scale=standardize_columns,
        splits=splits,
        whole_gram=cv is not None and X.shape[1] <= MOST_ROWS,
    )
    part, like = moments.whole, X.prototype
    columns = Standardization(
        X,
        arrays.from_numpy(part.mean_x, like) if fit_intercept else None,
        arrays.from_numpy(part.deviation_x, like) if standardize_columns else None,
    )
    live_rows = live(part.deviation_x) if standardize_columns else None
    live_columns = live(part.deviation_y) if scale_targets else None
    targets = np.arange(Y.shape[1]) if live_columns is None else live_columns
    own = part.deviation_y[targets]
    constant = not own.any() and (scale_targets or fit_intercept)
    scale = own if scale_targets and not constant else None
    scales = np.ones(len(targets)) if scale is None else scale
    loss = FormLoss(BlockForm(moments, part, targets, own if constant else scales), ridge=0.0)
    mean = arrays.from_numpy(part.mean_y, like) if fit_intercept else None
    shown = None if scale is None else arrays.from_numpy(scale, like)
    return Problem(
        loss, columns, mean, shown, shown, live_rows, live_columns, (X.shape[1], Y.shape[1])
    )


def block_fit(
    estimator: Any, X: RowBlocks, Y: Any, weight: np.ndarray | None
) -> tuple[FitResult, TrainingData]:
    """Choose the sizes of an estimator that are "auto", and fit data in row blocks."""
    solver = as_solver(estimator.solver, estimator.max_iter, estimator.tol)
    sizes = estimator.rank, estimator.row_sparsity, estimator.column_sparsity
    cv = None
    if any(is_auto(size) for size in sizes):
        cv = estimator.cv if check_criterion(estimator.criterion) is None else ()
    problem = block_problem(
        X,
        Y,
        weight,
        fit_intercept=estimator.fit_intercept,
        standardize_columns=estimator.standardize,
        scale_targets=estimator.standardize and solver.adapts_to_units,
        cv=cv,
        seed=estimator.random_state,
    )
    result = fit_problem(estimator, problem, weight, solver)
    return result, TrainingData(X, Y, weight, moments=problem.loss.quadratic())
