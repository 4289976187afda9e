"""The result of a fit, which all estimators keep in the same way."""

from __future__ import annotations

from typing import Any, NamedTuple

from thinrank.arrays import Array
from thinrank.core.factors import Factors
from thinrank.core.result import History, Record, Status

__all__ = ["FitResult"]


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
