"""The result of a fit, which all estimators keep in the same way."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from thinrank.arrays import Array
from thinrank.core.factors import Factors
from thinrank.core.result import History, Record, Status


class FitResult(NamedTuple):
    """The result of a fit, in the user's units.

    Attributes
    ----------
    factors : Factors
        Θ.
    intercept : array of shape (n_columns,)
        Intercepts.
    kept_coef : array of shape (n_columns, n_kept), or None
        Coefficients of the predictors that are always kept.
    family : Family or None
        The family, with its estimated parameters; None for least squares.
    params : dict
        The sizes, chosen or given.
    search : list of Record
        The models that were tried.
    n_iter, status, history
        Of the final fit.
    messages : list of str
        What the user was warned of.
    feature_scale : array of shape (n_features,), or None
        Standard deviations of the predictors, if they were computed for the fit.
    held_out_r2 : ndarray of shape (n_columns,), or None
        Share explained of each response in held-out rows; None if the sizes were not chosen by it.
    target_units : ndarray of shape (n_columns,), or None
        What the final fit divided the responses by; None if it did not scale them.
    scores : (array of shape (n_samples, rank), array of shape (rank,)), or None
        XU minus its means, and these means, if the fit knows them.
    """

    factors: Factors
    intercept: Array
    kept_coef: Array | None
    family: Any
    params: dict[str, Any]
    search: list[Record]
    n_iter: int
    status: Status
    history: History
    messages: list[str]
    feature_scale: Array | None = None
    held_out_r2: np.ndarray | None = None
    target_units: np.ndarray | None = None
    scores: tuple[Array, Array] | None = None
