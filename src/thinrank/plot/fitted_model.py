"""What plots need of a fitted estimator: names, coefficients and loadings in common units."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from thinrank import arrays

__all__ = ["FittedModel", "fitted_model"]


@dataclass(frozen=True, eq=False)
class FittedModel:
    """Names, factors and scales of a fit, as NumPy arrays.

    Attributes
    ----------
    predictors, responses : list of str
        All names; x0, x1, ... and y0, y1, ... if the data had none.
    U, V : ndarray of shape (n_features, rank) and (n_targets, rank)
        The factors, in the units of the data.
    kept : ndarray of int
        Predictors that are always kept.
    kept_coef : ndarray of shape (n_kept, n_targets)
        Their coefficients.
    x_scale, y_scale : ndarray of shape (n_features,) and (n_targets,)
        Standard deviations; 1 where they are 0.
    """

    predictors: list[str]
    responses: list[str]
    U: np.ndarray
    V: np.ndarray
    kept: np.ndarray
    kept_coef: np.ndarray
    x_scale: np.ndarray
    y_scale: np.ndarray

    @property
    def rank(self) -> int:
        """Number of factors."""
        return self.U.shape[1]

    @property
    def is_empty(self) -> bool:
        """Whether all coefficients are zero."""
        return self.rank == 0 and not np.any(self.kept_coef)

    def selected(self, standardized: bool = True) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The selected predictors and responses, and their coefficients.

        Parameters
        ----------
        standardized : bool, default=True
            Whether coefficients are multiplied by sd(x) / sd(y).

        Returns
        -------
        rows, columns : ndarray of int
            Sorted positions of predictors (with those that are always kept) and responses.
        coefficients : ndarray of shape (n_rows, n_columns)
            Their coefficients.
        """
        used = np.flatnonzero(np.any(self.U != 0, axis=1))
        rows = np.union1d(used, self.kept).astype(np.int64)
        theta = self.U[rows] @ self.V.T
        theta[np.searchsorted(rows, self.kept)] += self.kept_coef
        columns = np.flatnonzero(np.any(theta != 0, axis=0))
        theta = theta[:, columns]
        if standardized:
            theta = theta * self.x_scale[rows][:, None] / self.y_scale[columns]
        return rows, columns, theta

    def loadings(self) -> tuple[np.ndarray, np.ndarray]:
        """Loadings of predictors and of responses on the factors, in standard deviations.

        Returns
        -------
        ndarray of shape (n_features, rank), ndarray of shape (n_targets, rank)
            The squares of every column sum to 1.
        """
        return _unit(self.U * self.x_scale[:, None]), _unit(self.V / self.y_scale[:, None])


def fitted_model(est: Any) -> FittedModel:
    """The parts of a fitted estimator that plots need.

    Parameters
    ----------
    est : estimator
        A fitted estimator of this package, such as ``SparseReducedRankRegressor``.

    Returns
    -------
    FittedModel
    """
    if not hasattr(est, "fit") or not hasattr(type(est), "row_support_"):
        raise TypeError(
            "est must be a fitted estimator of thinrank, such as SparseReducedRankRegressor, got "
            f"{type(est).__name__}"
        )
    check_is_fitted(est, "factors_")
    U, V = arrays.to_numpy(est.factors_.U), arrays.to_numpy(est.factors_.V)
    kept = np.asarray(getattr(est, "kept_", []), dtype=np.int64)
    kept_coef = np.zeros((len(kept), V.shape[0]))
    if len(kept):
        kept_coef = np.reshape(arrays.to_numpy(est.kept_coef_).T, (len(kept), V.shape[0]))
    return FittedModel(
        predictor_names(est, U.shape[0]),
        response_names(est, V.shape[0]),
        U,
        V,
        kept,
        kept_coef,
        _scale(est, "feature_scale_", U.shape[0]),
        _scale(est, "target_scale_", V.shape[0]),
    )


def predictor_names(est: Any, count: int) -> list[str]:
    """Names of the predictors; x0, x1, ... without names."""
    names = getattr(est, "feature_names_in_", None)
    return [f"x{i}" for i in range(count)] if names is None else [str(name) for name in names]


def response_names(est: Any, count: int) -> list[str]:
    """Names of the responses, categories or classes; y0, y1, ... without names."""
    for attribute in ("target_columns_", "target_names_in_"):
        names = getattr(est, attribute, None)
        if names is not None and len(names) == count:
            return [str(name) for name in names]
    classes = getattr(est, "classes_", None)
    if classes is not None and not getattr(est, "_labels", False):
        names = classes[1:] if count == 1 else classes
        return [str(name) for name in names]
    return [f"y{i}" for i in range(count)]


def _scale(est: Any, attribute: str, count: int) -> np.ndarray:
    given = getattr(est, attribute, None)
    if given is None:
        return np.ones(count)
    scale = np.asarray(given, dtype=np.float64)
    return np.where(scale > 0, scale, 1.0)


def _unit(columns: np.ndarray) -> np.ndarray:
    norms = np.linalg.norm(columns, axis=0)
    return columns / np.where(norms > 0, norms, 1.0)
