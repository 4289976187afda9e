"""Base class of regressors with coefficients in factored form."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn import get_config
from sklearn.base import (
    BaseEstimator,
    MultiOutputMixin,
    RegressorMixin,
    TransformerMixin,
)
from sklearn.utils import estimator_html_repr
from sklearn.utils.validation import check_is_fitted

from thinrank import arrays
from thinrank.arrays import Array
from thinrank.core.factors import Factors
from thinrank.estimators.description import described, observed_r2
from thinrank.estimators.input_types import as_frame, plain_responses
from thinrank.estimators.problem import FitResult, TrainingData
from thinrank.estimators.validation import check_new_X, imputed_message, keep_or_delete

if TYPE_CHECKING:
    from thinrank.estimators.summary import Summary


class FactorModel(TransformerMixin, BaseEstimator):
    """Coefficients, supports, latent factors and linear predictors of a fit.

    They come from ``factors_`` and ``intercept_``.

    The ``fit`` method of a subclass must call :meth:`_keep`. Predictors that are always kept have
    coefficients of their own, ``kept_coef_``, in addition to those of ``factors_``.
    """

    fit_intercept: bool
    standardize: bool

    factors_: Factors
    factor_means_: Any
    kept_coef_: Any
    family_: Any
    best_params_: Any

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = getattr(self, "impute", None) is not None
        return tags

    def _stored_shapes(self) -> dict[str, Any]:
        """Shapes of the fitted attributes, which ``tr.load`` checks."""
        m1, m2 = self.factors_.shape
        targets = () if self._single_target else (m2,)
        shapes = {"n_features_in_": m1, "factors_": (m1, m2), "intercept_": targets}
        if hasattr(self, "kept_"):
            count = len(self.kept_)
            shapes |= {"kept_": (count,), "kept_coef_": (*targets, count)}
        return shapes

    def _keep(
        self, result: FitResult, data: TrainingData, single_target: bool, names: Any = None
    ) -> None:
        """Store a fit, and what describes it, in the user's units.

        ``names`` are those of the responses. Baselines have no sizes, status and history.
        """
        intercept, kept_coef, kept = result.intercept, result.kept_coef, data.kept
        if kept_coef is None:
            kept_coef = arrays.zeros((intercept.shape[0], len(kept)), like=intercept)
        about = described(
            data, result, kept_coef, center=self.fit_intercept, standardize=self.standardize
        )
        for name, value in about.items():
            setattr(self, name, value)
        self._single_target = single_target
        self.intercept_ = float(intercept[0]) if single_target else intercept
        self.kept_ = kept
        self.kept_coef_ = kept_coef[0, :] if single_target else kept_coef
        self.held_out_r2_ = result.held_out_r2
        self.warnings_ = [*result.messages, *imputed_message(self, data.design)]
        if result.status is not None:
            self.best_params_, self.search_ = result.params, result.search
            self.n_iter_, self.status_, self.history_ = result.n_iter, result.status, result.history
            self._target_units = result.target_units
            keep_or_delete(self, "target_names_in_", names)

    @property
    def coef_(self) -> Array:
        """Coefficients of shape (n_targets, n_features), or (n_features,) for a one-dimensional Y.

        They are computed from ``factors_`` and ``kept_coef_`` at each call.
        """
        check_is_fitted(self, "factors_")
        theta = self.factors_.theta
        kept = self._kept_index()
        if kept is not None:
            rows = self.kept_coef_[:, None] if self._single_target else self.kept_coef_.T
            theta = arrays.put_rows(theta, kept, rows)
        return theta[:, 0] if self._single_target else theta.T

    @property
    def rank_(self) -> int:
        """Rank of the coefficients."""
        check_is_fitted(self, "factors_")
        return self.factors_.rank

    @property
    def row_support_(self) -> np.ndarray:
        """Sorted indices of the predictors in use, without those that are always kept."""
        check_is_fitted(self, "factors_")
        return arrays.to_numpy(self.factors_.row_support)

    @property
    def column_support_(self) -> np.ndarray:
        """Sorted indices of the responses that are predicted by more than their mean.

        With predictors that are always kept: by more than these.
        """
        check_is_fitted(self, "factors_")
        return arrays.to_numpy(self.factors_.column_support)

    def _kept_index(self) -> Array | None:
        """Indices of the predictors that are always kept; None if there are none."""
        kept = getattr(self, "kept_", None)  # subclasses without kept predictors do not set it
        if kept is None or not len(kept):
            return None
        return arrays.indices(kept.tolist(), self.factors_.U)

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Names of the columns of :meth:`transform`: "factor1", "factor2" and so on.

        Parameters
        ----------
        input_features : None
            Not used; here because pipelines of scikit-learn pass it.

        Returns
        -------
        ndarray of str
            As many names as ``rank_``.
        """
        check_is_fitted(self, "factors_")
        return np.asarray([f"factor{j + 1}" for j in range(self.rank_)], dtype=object)

    def _linear(self, X: Any) -> Array:
        """Linear predictors, of shape (n_samples, n_targets) or (n_samples,)."""
        check_is_fitted(self, "factors_")
        design = check_new_X(self, X)
        scores = design @ self.factors_.U
        if self._single_target:
            linear = scores @ self.factors_.V[0, :] + self.intercept_
        else:
            linear = scores @ self.factors_.V.T + self.intercept_
        kept = self._kept_index()
        if kept is not None:
            coefficients = self.kept_coef_ if self._single_target else self.kept_coef_.T
            linear = linear + design.columns(kept) @ coefficients
        return linear

    def transform(self, X: Any) -> Array:
        """Compute the factors, of which the fitted responses are linear combinations.

        They are the scores X @ U minus their means over the training rows (without intercept,
        X @ U), which are orthogonal in the training rows and ordered by decreasing variance.

        Parameters
        ----------
        X : array, data frame, sparse matrix, operator or Design of shape (n_samples, n_features)
            Predictors.

        Returns
        -------
        array of shape (n_samples, rank)
            Factors.
        """
        check_is_fitted(self, "factors_")
        return check_new_X(self, X) @ self.factors_.U - self.factor_means_

    def predict_frame(self, X: Any) -> Any:
        """Predict as a data frame, with the names of the responses and the index of X.

        :meth:`predict` always returns arrays, as in scikit-learn.

        Parameters
        ----------
        X : data frame or array of shape (n_samples, n_features)
            Predictors.

        Returns
        -------
        pandas.DataFrame, or polars.DataFrame if X is one
            The result of ``predict``.
        """
        from thinrank.estimators.findings import predicted_names

        predicted = arrays.to_numpy(self.predict(X))
        return as_frame(predicted, predicted_names(self), X)

    def summary(
        self, max_rows: int = 10, feature_names: Any = None, response_names: Any = None
    ) -> Summary:
        """What the fit found, in sentences and tables.

        Parameters
        ----------
        max_rows : int, default=10
            Largest number of rows of a table that is printed; tables of the result are complete.
        feature_names : sequence of str, default=None
            Names of the predictors; None for those that fit received, or x0, x1 and so on. In a
            pipeline whose steps do not return data frames these are
            ``pipe[:-1].get_feature_names_out()``.
        response_names : sequence of str, default=None
            Names of the responses; None for those that fit received, or y0, y1 and so on.

        Returns
        -------
        Summary
            ``print`` shows it; ``to_frame`` returns its tables as data frames.
        """
        from thinrank.estimators.findings import findings
        from thinrank.estimators.summary import Summary

        check_is_fitted(self, "factors_")
        return Summary(findings(self, feature_names, response_names), max_rows)

    def _repr_html_inner(self) -> str:
        """The diagram of scikit-learn, and what was found."""
        diagram = str(estimator_html_repr(self))
        if not hasattr(self, "factors_"):
            return diagram
        return diagram + self.summary()._repr_html_()

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        """What notebooks show."""
        shown = {"text/plain": repr(self)}
        if get_config()["display"] == "diagram":
            shown["text/html"] = self._repr_html_inner()
        return shown


class FactorRegressor(MultiOutputMixin, RegressorMixin, FactorModel):
    """Prediction of responses that are numbers, from a :class:`FactorModel`."""

    def predict(self, X: Any) -> Array:
        """Predict the responses.

        Parameters
        ----------
        X : array, data frame, sparse matrix, operator or Design of shape (n_samples, n_features)
            Predictors.

        Returns
        -------
        array of shape (n_samples, n_targets), or (n_samples,) if Y was one-dimensional
            Predicted responses.
        """
        return self._linear(X)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Coefficient of determination R², averaged over the responses.

        Parameters
        ----------
        X : array, data frame, sparse matrix, operator or Design of shape (n_samples, n_features)
            Predictors.
        y : array or data frame of shape (n_samples, n_targets) or (n_samples,)
            Responses; missing entries, NaN, are left out.
        sample_weight : array of shape (n_samples,), default=None
            Weights of the rows.

        Returns
        -------
        float
        """
        y = plain_responses(y)
        truth = np.asarray(arrays.to_numpy(y) if arrays.is_array(y) else y, dtype=np.float64)
        predicted = arrays.to_numpy(self.predict(X)).astype(np.float64)
        return observed_r2(truth, predicted, sample_weight)
