"""Base class of regressors with coefficients in factored form."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    MultiOutputMixin,
    RegressorMixin,
    TransformerMixin,
)
from sklearn.utils.validation import check_is_fitted

from thinrank import arrays
from thinrank.arrays import Array
from thinrank.core.factors import Factors
from thinrank.estimators.validation import check_new_X

__all__ = ["FactorRegressor"]


class FactorRegressor(
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    MultiOutputMixin,
    RegressorMixin,
    BaseEstimator,
):
    """Prediction, coefficients, supports and latent factors from ``factors_`` and ``intercept_``.

    The ``fit`` method of a subclass must call :meth:`_keep`.
    """

    factors_: Factors
    intercept_: Any

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _keep(self, factors: Factors, intercept: Array, single_target: bool) -> None:
        """Store the result of a fit, in the user's units."""
        self.factors_ = factors
        self._single_target = single_target
        self.intercept_ = float(intercept[0]) if single_target else intercept

    def _keep_as(self, other: FactorRegressor) -> None:
        """Store the result of a fit of another regressor."""
        self.factors_ = other.factors_
        self._single_target = other._single_target
        self.intercept_ = other.intercept_

    @property
    def coef_(self) -> Array:
        """Coefficients of shape (n_targets, n_features), or (n_features,) for a one-dimensional Y.

        They are computed from ``factors_`` at each call.
        """
        check_is_fitted(self, "factors_")
        theta = self.factors_.theta
        return theta[:, 0] if self._single_target else theta.T

    @property
    def rank_(self) -> int:
        """Rank of the coefficients."""
        check_is_fitted(self, "factors_")
        return self.factors_.rank

    @property
    def row_support_(self) -> np.ndarray:
        """Sorted indices of the predictors in use."""
        check_is_fitted(self, "factors_")
        return arrays.to_numpy(self.factors_.row_support)

    @property
    def column_support_(self) -> np.ndarray:
        """Sorted indices of the responses that are predicted by more than their mean."""
        check_is_fitted(self, "factors_")
        return arrays.to_numpy(self.factors_.column_support)

    @property
    def _n_features_out(self) -> int:
        return self.rank_

    def predict(self, X: Any) -> Array:
        """Predict the responses.

        Parameters
        ----------
        X : array, data frame, sparse matrix, LinearOperator or Design, of shape \
(n_samples, n_features)
            Predictors.

        Returns
        -------
        array of shape (n_samples, n_targets), or (n_samples,) if Y was one-dimensional
            Predicted responses.
        """
        check_is_fitted(self, "factors_")
        scores = check_new_X(self, X) @ self.factors_.U
        if self._single_target:
            return scores @ self.factors_.V[0, :] + self.intercept_
        return scores @ self.factors_.V.T + self.intercept_

    def transform(self, X: Any) -> Array:
        """Compute the latent factors X @ U, of which the responses are linear combinations.

        Parameters
        ----------
        X : array, data frame, sparse matrix, LinearOperator or Design, of shape \
(n_samples, n_features)
            Predictors.

        Returns
        -------
        array of shape (n_samples, n_components)
            Latent factors.
        """
        check_is_fitted(self, "factors_")
        return check_new_X(self, X) @ self.factors_.U
