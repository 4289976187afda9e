"""The data of a fit, read again: for inference about it, and for certificates."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted

from thinrank import arrays
from thinrank.arrays import Array
from thinrank.core import resources
from thinrank.core.checks import naming
from thinrank.core.contracts import Design
from thinrank.estimators.cross_validated import SparseReducedRankRegressorCV
from thinrank.estimators.description import as_numbers
from thinrank.estimators.regressor import SparseReducedRankRegressor
from thinrank.estimators.summary import Findings
from thinrank.estimators.validation import (
    check_columns,
    check_loss,
    check_new_X,
    check_weights,
    plain_responses,
    rows_of_data,
)


class FittedData(NamedTuple):
    """What a regressor was fitted to, by least squares."""

    design: Design
    Y: np.ndarray  # (n_samples, n_targets)
    weight: Array | None
    predictor_names: list[str]
    response_names: list[str]


def fitted_data(est: Any, X: Any, Y: Any, sample_weight: Any = None) -> FittedData:
    """Data that are those of a fit by least squares, as far as that shows cheaply."""
    if not isinstance(est, (SparseReducedRankRegressor, SparseReducedRankRegressorCV)):
        raise TypeError(
            "est must be a SparseReducedRankRegressor or SparseReducedRankRegressorCV, got "
            f"{type(est).__name__}"
        )
    if check_loss(est.loss) is not None:
        raise ValueError(f'est must have loss="squared", got loss={est.loss!r}')
    check_is_fitted(est)
    design = check_new_X(est, X)
    resources.check_fits(design.shape, 8, "X as a dense matrix", "pass fewer predictors")
    target, weight = complete_responses(Y), check_weights(sample_weight, design)
    expected = design.shape[0], est.factors_.shape[1]
    if target.shape != expected:
        raise ValueError(f"Y must be the responses of fit, of shape {expected}, got {target.shape}")
    if rows_of_data(design, weight) != est.n_samples_:
        raise ValueError(
            f"X and Y must be those of fit, which had {est.n_samples_} rows of positive weight, "
            f"got {rows_of_data(design, weight)}"
        )
    if est.fit_intercept:
        left = target - arrays.to_numpy(est.predict(X)).reshape(target.shape)
        means = np.average(left, axis=0, weights=None if weight is None else as_numbers(weight))
        # single precision and the tolerance of the solver stay far below a thousandth
        if np.any(np.abs(means) > 1e-3 * target.std(axis=0) + 1e-12 * np.abs(target).max(axis=0)):
            raise ValueError(
                "X and Y must be those of fit, with its sample_weight, which intervals do not "
                "have: the residuals of this fit to them do not have mean zero"
            )
    found = Findings(est)
    return FittedData(design, target, weight, found.predictor_names, found.response_names)


def complete_responses(Y: Any) -> np.ndarray:
    """Responses as a matrix of numbers; an error if entries are missing or infinite."""
    Y = plain_responses(Y)
    check_columns("Y", Y)
    Y = arrays.to_numpy(Y) if arrays.is_array(Y) else Y
    options = {"ensure_2d": False, "ensure_all_finite": False, "input_name": "Y"}
    with naming("Y must be numbers in one or two dimensions"):
        matrix = check_array(Y, dtype=np.float64, **options)
    if missing := int(np.count_nonzero(np.isnan(matrix))):
        raise ValueError(
            f"Y must be complete, got {missing} missing entries: leave out the rows or responses "
            "that have them"
        )
    if not np.isfinite(matrix).all():
        raise ValueError("Y must be finite, but infinity was found")
    return matrix[:, None] if matrix.ndim == 1 else matrix


def dense_columns(design: Design) -> np.ndarray:
    """All columns of a design, of shape (n_samples, n_features)."""
    every = arrays.indices(range(design.shape[1]), design.prototype)
    return as_numbers(design.columns(every))
