"""Base class of regressors with coefficients in factored form."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass
from numbers import Integral
from typing import TYPE_CHECKING, Any, Self

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
from thinrank.core.checks import check_number, is_auto
from thinrank.core.contracts import Design
from thinrank.core.factors import Factors
from thinrank.core.imports import import_optional
from thinrank.designs import Dense
from thinrank.designs.blocks import RowBlocks
from thinrank.estimators.description import as_numbers, described, observed_r2
from thinrank.estimators.fit import SIZES, Found, fit_data, whole_fit
from thinrank.estimators.problem import FitResult, TrainingData
from thinrank.estimators.validation import (
    always_kept,
    check_magnitudes,
    check_new_X,
    check_parameters,
    check_predictors,
    check_weights,
    column_names,
    imputed,
    imputed_message,
    in_memory,
    keep_or_delete,
    lazy_rows,
    plain_responses,
    rows_of_data,
)
from thinrank.minimize import check_size, check_sizes

if TYPE_CHECKING:
    from thinrank.estimators.responses import Responses
    from thinrank.estimators.summary import Summary


class Factored(BaseEstimator):
    """An estimator of a matrix Θ, ``factors_``, from data that may be sparse."""

    factors_: Factors

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    @property
    def rank_(self) -> int:
        """Rank of Θ."""
        check_is_fitted(self, "factors_")
        return self.factors_.rank

    @property
    def row_support_(self) -> np.ndarray:
        """Sorted indices of the rows of Θ that are not zero.

        In a regression these are the predictors in use, without those that are always kept.
        """
        check_is_fitted(self, "factors_")
        return arrays.to_numpy(self.factors_.row_support)

    @property
    def column_support_(self) -> np.ndarray:
        """Sorted indices of the columns of Θ that are not zero.

        In a regression these are the responses that are predicted by more than their mean and the
        predictors that are always kept.
        """
        check_is_fitted(self, "factors_")
        return arrays.to_numpy(self.factors_.column_support)


class FactorModel(TransformerMixin, Factored):
    """Coefficients, latent factors and linear predictors of a fit, which calls :meth:`_keep`.

    Predictors that are always kept have coefficients of their own, ``kept_coef_``.
    """

    fit_intercept: bool
    standardize: bool

    factor_means_: Any
    kept_: np.ndarray
    kept_coef_: Any
    family_: Any
    best_params_: Any

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
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
        """Store a fit and what describes it, in the user's units; baselines have no sizes."""
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
        if result.history is not None:
            self.best_params_, self.search_ = result.params, list(result.search)
            self.n_iter_, self.status_ = len(result.history), result.status
            self.history_ = result.history
            self._target_units = result.target_units
            keep_or_delete(self, "target_names_in_", names)

    @property
    def coef_(self) -> Array:
        """Coefficients, (n_targets, n_features), or (n_features,) for a one-dimensional Y."""
        check_is_fitted(self, "factors_")
        theta = self.factors_.theta
        if len(self.kept_):
            theta = arrays.put_rows(theta, *self._kept_rows())
        return theta[:, 0] if self._single_target else theta.T

    def _kept_rows(self) -> tuple[Array, Array]:
        """Indices of the predictors that are always kept, and their rows of coefficients."""
        rows = self.kept_coef_[:, None] if self._single_target else self.kept_coef_.T
        return arrays.indices(self.kept_.tolist(), self.factors_.U), rows

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Names of the columns of :meth:`transform`: "factor1", "factor2" and so on.

        Parameters
        ----------
        input_features : None
            Not used; here because pipelines of scikit-learn pass it.

        Returns
        -------
        ndarray of str
        """
        check_is_fitted(self, "factors_")
        return np.asarray([f"factor{j + 1}" for j in range(self.rank_)], dtype=object)

    def _linear(self, X: Any) -> Array:
        """Linear predictors, of shape (n_samples, n_targets)."""
        check_is_fitted(self, "factors_")
        design = check_new_X(self, X)
        linear = (design @ self.factors_.U) @ self.factors_.V.T + self.intercept_
        if len(self.kept_):
            index, rows = self._kept_rows()
            linear = linear + design.columns(index) @ rows
        return linear

    def transform(self, X: Any) -> Array:
        """Compute the factors, of which the fitted responses are linear combinations.

        They are the scores X @ U minus ``factor_means_``, their means over the training rows, where
        they are orthogonal and ordered by decreasing variance.

        Parameters
        ----------
        X : array, data frame, sparse matrix, operator or Design of shape (n_samples, n_features)
            Predictors.

        Returns
        -------
        array of shape (n_samples, rank)
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
        from thinrank.estimators.summary import predicted_names

        names, predicted = predicted_names(self), arrays.to_numpy(self.predict(X))
        columns = dict(zip(names, predicted.reshape(len(predicted), -1).T, strict=True))
        if type(X).__module__.partition(".")[0] == "polars":
            return import_optional("polars").DataFrame(columns)
        return import_optional("pandas").DataFrame(columns, index=getattr(X, "index", None))

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
        from thinrank.estimators.summary import Findings, Summary

        check_is_fitted(self, "factors_")
        return Summary(Findings(self, feature_names, response_names), max_rows)

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
        """
        linear = self._linear(X)
        return linear[:, 0] if self._single_target else linear

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
        predicted = as_numbers(self.predict(X))
        return observed_r2(truth, predicted, sample_weight)


@dataclass(eq=False, repr=False)
class SelectedModel(FactorModel):
    """A model whose sizes are given or chosen; :class:`SparseReducedRankRegressor` says how."""

    _: KW_ONLY
    always_keep: Any = None
    impute: str | None = None
    standardize: bool = True
    solver: Any = "auto"
    exchange: Any = "auto"
    start: Any = "auto"
    fit_intercept: bool = True
    max_iter: int | None = None
    tol: float = 1e-7
    cv: Any = 5
    refit_rule: str = "best"
    random_state: Any = None
    n_jobs: int | None = None
    verbose: int = 0
    callback: Callable[[Any], object] | None = None

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        entry_weight: Any = None,
        groups: Any = None,
    ) -> Self:
        """Choose the sizes that are not given and fit the coefficients.

        Parameters
        ----------
        X : array, data frame, sparse matrix, operator or Design of shape (n_samples, n_features)
            Predictors. They are neither copied nor made dense; float32 is kept. Columns of a data
            frame with the dtype ``category`` become predictors "column=category", one for each
            category but the most frequent. Data larger than memory are passed as
            :class:`thinrank.designs.Blocks`, or as an array or data frame of Dask.
        y : array, data frame or Blocks of shape (n_samples, n_targets), or (n_samples,)
            Responses Y; NaN where an entry is missing. A response must have an observed entry;
            rows without any do not contribute, and a warning counts them. For a classifier class
            labels, or a matrix of zeros and ones with a column for each label.
        sample_weight : array of shape (n_samples,), default=None
            Weights of the rows in the fit and in held-out errors. The scale of the weights has no
            effect, and rows of weight 0 are left out. Integer weights are not equivalent to
            repeated rows, since the number of rows affects the choice of sizes, the estimate of
            the noise, and the decrease of the objective that pursuit requires of an exchange. With
            given sizes the difference is small.
        entry_weight : array of the shape of y, default=None
            Weights of the entries of Y, 0 for entries to leave out. Their scale matters in
            comparison with the ridge.
        groups : array of shape (n_samples,), default=None
            Groups of the rows, such as the patients that samples are of: the splits by which sizes
            are chosen divide none. Used by splitters with groups; a number of folds becomes
            ``GroupKFold``.

        Returns
        -------
        self
        """
        self._fit(X, y, sample_weight, groups, entry_weight=entry_weight)
        return self

    def _fit(self, X: Any, y: Any, sample_weight: Any, groups: Any, **entries: Any) -> None:
        """Check the data, fit, and store the result; ``entries`` are weights and offsets."""
        with whole_fit(self, X=X, y=y, sample_weight=sample_weight, groups=groups, **entries):
            y = plain_responses(y, in_blocks=True)
            X, names = lazy_rows("X", X), column_names(y)
            passes = getattr(X, "n_passes", None)  # over row blocks
            design = check_predictors(self, X, y, numeric=isinstance(self, FactorRegressor))
            weight, kept = check_weights(sample_weight, design), always_kept(self)
            Y, single, responses = self._responses(design, y, names, **entries)
            sizes = design.shape[1] - len(kept), Y.shape[1]
            check_parameters(self)
            self._check_sizes(sizes, rows_of_data(design, weight))
            design = imputed(self, design, weight)
            in_blocks = isinstance(design, RowBlocks) and responses is None and not len(kept)
            if not in_blocks:
                Y = in_memory(Y)
                check_magnitudes("X", design, self.standardize)
                check_magnitudes("Y", Dense(Y), self.standardize)
            data = TrainingData(design, Y, weight, kept=kept, groups=groups)
            if responses is not None:
                data = responses.added_to(data)
            family = fit_data(self, data, single, names).family
            self._keep_family(family, X, data)
            keep_or_delete(self, "n_passes_", None if passes is None else X.n_passes - passes)

    def _responses(
        self, design: Design, y: Any, names: Any, entry_weight: Any, offset: Any = None
    ) -> tuple[Any, bool, Responses | None]:
        """Y as a matrix, whether y was a vector, and what plain least squares does not need."""
        raise NotImplementedError

    def _grid(self) -> Sequence[Sequence[Any] | None] | None:
        """Ranks, rows, columns and ridges to choose from, None for all; None if all are given."""
        values = [getattr(self, name) for name in (*SIZES, "ridge")]
        if not any(is_auto(size) for size in values[:3]):
            return None
        return [None if is_auto(value) else [value] for value in values]

    def _keep_search(self, found: Found) -> None:
        """Store what was compared."""

    def _check_sizes(self, shape: tuple[int, int], samples: int) -> None:
        """Check sizes and ridge; ``shape`` is that of Θ, without predictors that are kept."""
        rank, rows, columns, ridge = (getattr(self, name) for name in (*SIZES, "ridge"))
        if not is_auto(ridge):
            check_number("ridge", ridge, 'a finite non-negative number or "auto"')
        nothing = rank, rows, 0 if columns is None else columns
        if all(isinstance(size, Integral) and size == 0 for size in nothing):
            return  # the sizes of the zero matrix, as a search may return them
        rank = 1 if is_auto(rank) else rank
        rows, columns = (None if is_auto(size) else size for size in (rows, columns))
        rows, columns = check_sizes(shape, rank, rows, columns, '; or "auto", or None for no limit')
        limit = min(rows, columns, samples)
        check_size("rank", rank, limit, 'row_sparsity, column_sparsity and rows of X; or "auto"')

    def _keep_family(self, family: Any, X: Any, data: TrainingData) -> None:
        """Store the fitted family, if the class has one."""
