"""The problem of data in row blocks, from their moments."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np

from thinrank import arrays
from thinrank.core.checks import is_auto
from thinrank.core.contracts import Solver
from thinrank.designs import Standardization
from thinrank.estimators.problem import Problem, TrainingData, live
from thinrank.estimators.validation import check_criterion
from thinrank.forms.block_moments import BlockForm, BlockMoments
from thinrank.losses.quadratic import FormLoss
from thinrank.minimize import seed_from
from thinrank.selection.splits import checked_splits, make_partitions
from thinrank.starts.elimination import MOST_ROWS

_SIZES = "rank", "row_sparsity", "column_sparsity"


def block_problem(estimator: Any, solver: Solver, data: TrainingData) -> Problem:
    """The least squares problem of an estimator, like ``Problem.prepare``, after one pass."""
    X: Any = data.design
    weight, center, splits = data.sample_weight, estimator.fit_intercept, []
    Y = X.beside(data.Y)
    # those of a search over a grid are always searched
    searched = any(is_auto(getattr(estimator, size, "auto")) for size in _SIZES)
    held_out = searched and check_criterion(getattr(estimator, "criterion", "cv")) is None
    if held_out and isinstance(estimator.cv, Integral) and not isinstance(estimator.cv, bool):
        seed = seed_from(estimator.random_state)
        splits = make_partitions(estimator.cv, weight, X.shape[0], seed)[0]
    moments = BlockMoments(
        X,
        Y,
        weight,
        center=center,
        scale=estimator.standardize,
        splits=checked_splits(splits, X.shape[0]),
        whole_gram=searched and X.shape[1] <= MOST_ROWS,
    )
    part, live_rows, live_columns, scale = moments.whole, None, None, None
    mean_x, mean_y, deviation_x = (
        arrays.from_numpy(x, X.prototype) for x in (part.mean_x, part.mean_y, part.deviation_x)
    )
    if estimator.standardize:
        live_rows = live(part.deviation_x)
    scaled = estimator.standardize and solver.adapts_to_units
    if scaled:
        live_columns = live(part.deviation_y)
    targets = np.arange(Y.shape[1]) if live_columns is None else live_columns
    own = part.deviation_y[targets]
    constant = not own.any() and (scaled or center)
    form = BlockForm(moments, part, targets, own if scaled or constant else np.ones(len(own)))
    if scaled and not constant:
        scale = arrays.from_numpy(own, X.prototype)
    columns = Standardization(
        X, mean_x if center else None, deviation_x if estimator.standardize else None
    )
    return Problem(
        FormLoss(form, ridge=0.0),
        columns,
        mean_y if center else None,
        scale,
        scale,
        live_rows,
        live_columns,
        (X.shape[1], Y.shape[1]),
        rescales=scale is not None and len(own) > 1,
        moments=form,
    )
