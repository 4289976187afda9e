"""Least squares fits to data in row blocks, in few passes."""

from __future__ import annotations

from numbers import Integral
from typing import Any, NamedTuple, TypeGuard

import numpy as np

from thinrank import arrays
from thinrank.core.checks import is_auto
from thinrank.core.factors import Factors
from thinrank.designs import Standardization
from thinrank.designs.row_blocks import RowBlocks
from thinrank.estimators.description import Description, turned
from thinrank.estimators.explained import Scales, explained
from thinrank.estimators.fit import FitResult, fit_problem
from thinrank.estimators.problem import Problem, live
from thinrank.estimators.validation import check_criterion
from thinrank.forms.block_moments import BlockMoments
from thinrank.losses.block_least_squares import BlockLeastSquares
from thinrank.minimize import seed_from
from thinrank.selection.splits import checked_splits, make_partitions
from thinrank.solvers import as_solver
from thinrank.starts.elimination import MOST_ROWS


class BlockData(NamedTuple):
    """The data of a fit to row blocks, in place of :class:`TrainingData`."""

    moments: BlockMoments  # what is known of them
    family: None = None  # as for least squares in ordinary units
    units: None = None


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
    loss = BlockLeastSquares(moments, targets, own if constant else scale)
    mean = arrays.from_numpy(part.mean_y, like) if fit_intercept else None
    shown = None if scale is None else arrays.from_numpy(scale, like)
    return Problem(
        loss, columns, mean, shown, shown, live_rows, live_columns, (X.shape[1], Y.shape[1])
    )


def by_moments(X: Any, Y: Any) -> TypeGuard[RowBlocks]:
    """Whether a least squares fit can be made from moments of row blocks.

    Missing entries of Y are known if it is an array; row blocks of Y must be complete.
    """
    if not isinstance(X, RowBlocks):
        return False
    return isinstance(Y, RowBlocks) or not bool(np.isnan(Y).any())


def block_fit(
    estimator: Any, X: RowBlocks, Y: Any, weight: np.ndarray | None
) -> tuple[FitResult, BlockData]:
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
    return fit_problem(estimator, problem, weight, solver), BlockData(problem.loss.moments)


def described_blocks(
    data: BlockData,
    factors: Factors,
    intercept: Any,
    kept: np.ndarray,
    kept_coef: Any,
    *,
    fit_intercept: bool,
    standardize: bool,
    feature_scale: Any = None,
) -> Description:
    """Canonical factors, scales and shares explained of a fit, from the moments.

    The parameters are those of :func:`thinrank.estimators.description.described`.
    """
    moments = data.moments
    part, weight = moments.whole, moments.weight
    varies = part.deviation_y > 0
    deviations = np.where(varies, part.deviation_y, 1.0)
    totals = np.where(varies, part.squares_y, 0.0)
    scale = deviations if standardize else np.ones(len(deviations))
    known = Scales(deviations, scale, totals)
    means, variances, gains = np.zeros(0), np.zeros(0), 0 * totals
    if factors.rank:
        factors, variances = _canonical(moments, factors, scale)
        U, V = (np.asarray(x, dtype=np.float64) for x in (factors.U, factors.V))
        cross = part.cross.T @ U
        gains = 2 * np.sum(V * cross, axis=1) - (V**2) @ (part.weight * variances)
        means = part.mean_x @ U if fit_intercept else np.zeros(factors.rank)
    found = explained(data, totals - gains, known, None, center=fit_intercept)  # type: ignore[arg-type]
    total = variances.sum()
    return Description(
        factors,
        arrays.from_numpy(means, factors.U),
        np.sqrt(variances),
        found.by_factors * (variances / total if total > 0 else variances),
        found.r2,
        moments.X.shape[0] if weight is None else int(np.count_nonzero(weight)),
        part.deviation_x,
        deviations,
    )


def _canonical(
    moments: BlockMoments, factors: Factors, scale: np.ndarray
) -> tuple[Factors, np.ndarray]:
    """Canonical factors, and the variances of the scores."""
    part = moments.whole
    rows = factors.row_support
    places = moments.known(rows, part)
    within = np.searchsorted(part.live, rows)
    gram = part.rows[np.ix_(places, within)].astype(np.float64)
    inverse = part.inverse_scale[rows]
    U = np.asarray(factors.U[rows], dtype=np.float64) / inverse[:, None]
    values, vectors = np.linalg.eigh(part.weight * (U.T @ gram @ U))
    root = np.sqrt(np.maximum(values, 0.0))[:, None] * vectors.T
    found, _, squares = turned(factors, root.astype(factors.U.dtype), scale)
    return found, squares / part.weight
