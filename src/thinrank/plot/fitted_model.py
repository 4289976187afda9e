"""What plots need of a fitted estimator, as the summary of the fit has it."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from thinrank.estimators.base import FactorModel
from thinrank.estimators.findings import Findings, findings


def fitted_model(est: Any) -> Findings:
    """Names, coefficients and loadings of a fitted estimator."""
    if not isinstance(est, FactorModel):
        raise TypeError(
            "est must be a fitted estimator of thinrank, such as SparseReducedRankRegressor, got "
            f"{type(est).__name__}"
        )
    check_is_fitted(est, "factors_")
    return findings(est)


def selected(
    model: Findings, standardized: bool = True
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The selected predictors and responses, and their coefficients.

    Shapes: ``coefficients`` (n_rows, n_columns).
    """
    columns = np.flatnonzero(np.any(model.coefficients != 0, axis=0))
    values = model.standardized if standardized else model.coefficients
    # a predictor of unknown scale, which is not in use, has no standardised coefficient
    return model.used, columns, np.nan_to_num(values[:, columns])


def loadings(model: Findings) -> tuple[np.ndarray, np.ndarray]:
    """Loadings of all predictors and of all responses on the factors, in standard deviations.

    Shapes: result (n_features, rank).
    """
    left = np.zeros((len(model.predictor_names), model.rank))
    left[model.selected] = model.predictor_loadings
    return left, model.response_loadings
