"""Generalized linear models with low-rank, row-sparse and column-sparse coefficients."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin, MultiOutputMixin, RegressorMixin
from sklearn.utils import assert_all_finite
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, column_or_1d

from thinrank import arrays
from thinrank.arrays import Array
from thinrank.core.contracts import Design
from thinrank.estimators.base import SelectedModel
from thinrank.estimators.problem import TrainingData, share_of_freedom
from thinrank.estimators.responses import Responses, check_offset, numeric_responses, responses_of
from thinrank.estimators.validation import column_names, in_memory, plain_responses
from thinrank.losses.families import Bernoulli, Family, Gaussian, Multinomial
from thinrank.losses.profile import profiled


@dataclass(eq=False, repr=False)
class SparseReducedRankGLM(MultiOutputMixin, RegressorMixin, SelectedModel):
    """Generalised linear models of many responses with shared low-rank, sparse coefficients.

    The linear predictors are η = offset + intercept + XΘ, where Θ has rank at most ``rank``, at
    most ``row_sparsity`` non-zero rows (predictors in use) and at most ``column_sparsity``
    non-zero columns. Each response has a family, which gives the distribution of its entries and
    their mean as a function of η. The estimate minimizes half of the deviance of the observed
    entries divided by the number of samples, plus ridge/2·‖Θ‖².

    By default rank, sparsities and ridge are chosen by the deviance of held-out rows.

    Parameters
    ----------
    family : str, Family, or sequence with one per response, default="gaussian"
        The families:

        - "gaussian": numbers with a noise level for each response;
        - "bernoulli": 0 and 1, or proportions, with the logit link;
        - "poisson": counts with the logarithm as link;
        - "negative_binomial": counts with a variance μ + aμ²; the dispersion a of each response
          is estimated;
        - "multinomial": categories, numbers or strings, with the logit link; every category has a
          column of its own in ``coef_`` and in predictions;
        - "huber": numbers with outliers;
        - an object of :mod:`thinrank.losses.families`.
    rank, row_sparsity, column_sparsity, ridge
        As in :class:`SparseReducedRankRegressor`. The ridge applies to coefficients of
        standardized predictors, in units of the information that an entry of the response has
        without predictors: one over its noise level for "gaussian", the square root of its mean
        for "poisson", of p(1 − p) for "bernoulli".
    standardize : bool, default=True
        Whether to scale the predictors to unit root mean square about their mean.
    criterion, cv, refit_rule
        As in :class:`SparseReducedRankRegressor`, with the deviance in place of squared errors.
    solver, exchange, start, fit_intercept, max_iter, tol, always_keep, impute, random_state, \
n_jobs, verbose, callback
        As in :class:`SparseReducedRankRegressor`.

    Attributes
    ----------
    factors_, coef_, intercept_, rank_, row_support_, column_support_, factor_means_, \
factor_scale_, explained_variance_ratio_, n_samples_, feature_scale_, warnings_, kept_, \
kept_coef_, best_params_, search_, n_iter_, status_, history_, imputed_means_, \
feature_categories_, n_features_in_, feature_names_in_, target_names_in_
        See :class:`SparseReducedRankRegressor`. Columns are responses, or categories of them.
        Shares are those of the deviance.
    r2_ : ndarray of shape (n_columns,)
        Share of the deviance of each response that the fit explains in the training rows; R² for
        "gaussian". All categories of a response have the same value. nan for constant responses.
    held_out_r2_ : ndarray of shape (n_columns,), or None
        The same in rows that the fit did not see. It is slightly too high, because the sizes were
        chosen by the same deviances. None if they were given or chosen by a criterion.
    target_scale_ : ndarray of shape (n_columns,)
        Standard deviations of responses that have units ("gaussian", "huber"); 1 for counts and
        categories, whose coefficients are on the scale of the linear predictor.
    family_ : Family
        The family, with its estimated noise levels and dispersions.
    categories_ : list of (ndarray or None)
        For each response its categories, None if it is a number.
    target_columns_ : list of str
        Names of the columns: those of the responses, and "name=category" for categories.

    Warns
    -----
    thinrank.core.warnings.SelectionWarning
        If sizes were chosen and the result should be checked, and if responses are predicted
        perfectly, so that the coefficients depend on the ridge or on when the iteration ends.
    sklearn.exceptions.ConvergenceWarning
        If the final fit reaches ``max_iter``.

    See Also
    --------
    SparseReducedRankClassifier : The same for class labels, with ``predict_proba``.

    Examples
    --------
    >>> import numpy as np, thinrank as tr
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((200, 30))
    >>> effects = np.outer([1.0, -0.5, 0.5], [0.5, 0.5, -0.5, 1.0])
    >>> Y = rng.poisson(np.exp(X[:, :3] @ effects))
    >>> est = tr.SparseReducedRankGLM("poisson").fit(X, Y)
    >>> est.rank_, est.row_support_
    (1, array([0, 1, 2]))
    >>> bool(est.score(X, Y) > 0.4)
    True
    """

    family: Any = "gaussian"
    rank: int | str = "auto"
    row_sparsity: int | str | None = "auto"
    column_sparsity: int | str | None = "auto"
    _: KW_ONLY
    ridge: float | str = "auto"
    criterion: Any = "auto"

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        entry_weight: Any = None,
        offset: Any = None,
        groups: Any = None,
    ) -> SparseReducedRankGLM:
        """Choose the sizes that are not given and fit the coefficients.

        Parameters
        ----------
        X, sample_weight, entry_weight, groups
            As in :meth:`SparseReducedRankRegressor.fit`.
        y : array or data frame of shape (n_samples, n_targets) or (n_samples,)
            Responses; NaN (or None, for categories) where an entry is missing.
        offset : array of shape (n_samples,) or (n_samples, n_columns), default=None
            Added to the linear predictors; the logarithm of the exposure for counts.

        Returns
        -------
        self
        """
        self._fit(X, y, sample_weight, groups, entry_weight=entry_weight, offset=offset)
        return self

    def _responses(
        self, design: Design, y: Any, names: Any, entry_weight: Any, offset: Any = None
    ) -> tuple[Array, bool, Responses]:
        y = in_memory(y)
        found = responses_of(y, self.family, entry_weight, names, design.prototype)
        self.categories_, self.target_columns_ = found.categories, found.names
        shape = getattr(y, "shape", None) or np.asarray(y).shape
        offset = check_offset(offset, tuple(found.Y.shape), design.prototype)
        if offset is not None:  # in units any number may be an offset
            counts = ~found.family.units_of(found.Y.shape[1])
            largest = np.abs(arrays.to_numpy(offset)[:, counts]).max(initial=0.0)
            if largest > (limit := np.log(np.finfo(np.float64).max)):
                raise ValueError(
                    "offset must be in units of the linear predictor, such as the logarithm of the "
                    f"exposure, and at most {limit:.0f} in size, got {largest:.3g}"
                )
        single = len(shape) == 1 and found.Y.shape[1] == 1
        return found.Y, single, replace(found, offset=offset)

    def _keep_family(self, family: Any, X: Any, data: TrainingData) -> None:
        if family is None:  # squared errors, with the noise levels that the fit leaves
            Y, linear = data.Y, self._linear(X)
            if data.sample_weight is not None:
                used = arrays.true_positions(data.sample_weight > 0)
                Y, linear = arrays.take_rows(Y, used), arrays.take_rows(linear, used)
            rows = linear.shape[0]
            freedom = max(rows - 1 - len(self.kept_) - share_of_freedom(self.factors_), rows / 2)
            family = Gaussian().fitted_to(Y, linear, None, freedom)
        self.family_ = family

    def predict_linear(self, X: Any, offset: Any = None) -> Array:
        """Linear predictors η.

        Parameters
        ----------
        X : array, data frame, sparse matrix, operator or Design of shape (n_samples, n_features)
            Predictors.
        offset : array of shape (n_samples,) or (n_samples, n_columns), default=None
            Offsets; None for zeros.

        Returns
        -------
        array of shape (n_samples, n_columns), or (n_samples,) if Y was one-dimensional
        """
        linear, _ = self._with_offset(X, offset)
        return linear[:, 0] if self._single_target else linear

    def _with_offset(self, X: Any, offset: Any) -> tuple[Array, Array]:
        """Linear predictors and the offset in them, of shape (n_samples, n_columns)."""
        linear = self._linear(X)
        offset = check_offset(offset, tuple(linear.shape), self.factors_.U)
        offset = arrays.zeros(linear.shape, linear) if offset is None else offset
        return linear + offset, offset

    def predict(self, X: Any, offset: Any = None) -> Array:
        """Means of the responses, and probabilities of categories.

        Parameters
        ----------
        X, offset
            As in :meth:`predict_linear`.

        Returns
        -------
        array of shape (n_samples, n_columns), or (n_samples,) if Y was one-dimensional
        """
        linear, _ = self._with_offset(X, offset)
        means = self.family_.mean(linear)
        return means[:, 0] if self._single_target else means

    def score(self, X: Any, y: Any, sample_weight: Any = None, offset: Any = None) -> float:
        """Fraction of the deviance that is explained, 1 − deviance/null deviance.

        The null deviance is that of intercepts fitted to the same data. Both are sums over all
        observed entries. For "gaussian" the responses count in inverse proportion to their noise.

        Parameters
        ----------
        X, offset
            As in :meth:`predict_linear`.
        y : array or data frame of shape (n_samples, n_targets) or (n_samples,)
            Responses; missing entries are left out.
        sample_weight : array of shape (n_samples,), default=None
            Weights of the rows.

        Returns
        -------
        float
            1 for a perfect prediction, 0 for predictions as good as intercepts.
        """
        check_is_fitted(self, "factors_")
        y = plain_responses(y)
        linear, base = self._with_offset(X, offset)
        responses = responses_of(
            y, self.family, None, column_names(y), self.factors_.U, self.categories_
        )
        Y, weight = responses.Y, responses.weight
        xp = arrays.namespace(Y)
        if tuple(Y.shape) != tuple(linear.shape):
            raise ValueError(
                "X and Y must have the same number of rows, and Y the columns that fit had: the "
                f"predictions have shape {tuple(linear.shape)}, Y has {tuple(Y.shape)}"
            )
        given = _check_sample_weight(
            sample_weight, np.empty((Y.shape[0], 0)), dtype=np.float64, ensure_non_negative=True
        )
        rows = arrays.from_numpy(given, Y)[:, None]
        weight = Y * 0 + rows if weight is None else weight * rows
        total = 2 * float(xp.sum(self.family_.value(Y, linear) * weight))
        ones = Y[:, :1] * 0 + 1
        null = 2 * float(xp.sum(profiled(self.family_, Y, weight, base, ones)[2]))
        if null <= 0:
            return 1.0 if total <= 0 else 0.0
        return 1.0 - total / null


@dataclass(eq=False, repr=False)
class SparseReducedRankClassifier(ClassifierMixin, SelectedModel):
    """Logistic regression with low-rank, row-sparse and column-sparse coefficients.

    For class labels the model is multinomial logistic regression (logistic regression for two
    classes). For several binary labels, a matrix of zeros and ones, it is one logistic regression
    per label, with common coefficients Θ: of rank at most ``rank``, with at most ``row_sparsity``
    predictors and at most ``column_sparsity`` classes or labels in use.

    By default rank, sparsities and ridge are chosen by the deviance of held-out rows.

    Parameters
    ----------
    rank, row_sparsity, column_sparsity, ridge, standardize, solver, exchange, start, \
fit_intercept, max_iter, tol, criterion, cv, refit_rule, always_keep, impute, random_state, \
n_jobs, verbose, callback
        As in :class:`SparseReducedRankGLM`.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The class labels, or the positions of the labels of a matrix.
    factors_, coef_, intercept_, rank_, row_support_, column_support_, factor_means_, \
factor_scale_, explained_variance_ratio_, n_samples_, feature_scale_, warnings_, kept_, \
kept_coef_, best_params_, search_, n_iter_, status_, history_, imputed_means_, \
feature_categories_, n_features_in_, feature_names_in_, target_names_in_
        See :class:`SparseReducedRankRegressor`. Columns are the classes or labels; for two
        classes there is one column, for the second of them. Shares are those of the deviance.
    r2_, held_out_r2_, target_scale_
        See :class:`SparseReducedRankGLM`. The classes of a vector of labels have the same R², the
        share of the deviance, and scales are 1.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> import thinrank as tr
    >>> X, y = load_iris(return_X_y=True)
    >>> clf = tr.SparseReducedRankClassifier(rank=2, row_sparsity=3, ridge=0.01).fit(X, y)
    >>> bool(clf.score(X, y) > 0.9)
    True
    """

    rank: int | str = "auto"
    row_sparsity: int | str | None = "auto"
    column_sparsity: int | str | None = "auto"
    _: KW_ONLY
    ridge: float | str = "auto"
    criterion: Any = "auto"

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags

    def _responses(
        self, design: Design, y: Any, names: Any, entry_weight: Any, offset: Any = None
    ) -> tuple[Array, bool, Responses]:
        y = in_memory(y)
        found, self.classes_, self._labels = _encoded(y, entry_weight, names, design.prototype)
        return found.Y, False, found

    def _keep_family(self, family: Any, X: Any, data: TrainingData) -> None:
        self.family_ = family

    def decision_function(self, X: Any) -> Array:
        """Linear predictors of the classes or labels.

        Parameters
        ----------
        X : array, data frame, sparse matrix, operator or Design of shape (n_samples, n_features)
            Predictors.

        Returns
        -------
        array of shape (n_samples, n_classes), or (n_samples,) for two classes
            Linear predictors; for two classes positive for the second.
        """
        linear = self._linear(X)
        return linear[:, 0] if self._is_binary else linear

    def predict_proba(self, X: Any) -> Array:
        """Probabilities of the classes, or that each label is 1.

        Parameters
        ----------
        X : array, data frame, sparse matrix, operator or Design of shape (n_samples, n_features)
            Predictors.

        Returns
        -------
        array of shape (n_samples, n_classes)
            Probabilities; rows sum to 1 for classes, not for labels.
        """
        linear = self._linear(X)
        probability = self.family_.mean(linear)
        if not self._is_binary:
            return probability
        return arrays.namespace(probability).concat([1 - probability, probability], axis=1)

    def predict(self, X: Any) -> np.ndarray:
        """The most probable class, or the labels with a probability above one half.

        Parameters
        ----------
        X : array, data frame, sparse matrix, operator or Design of shape (n_samples, n_features)
            Predictors.

        Returns
        -------
        ndarray of shape (n_samples,), or (n_samples, n_labels) for a matrix of labels
            Class labels, or zeros and ones.
        """
        check_is_fitted(self, "factors_")
        probability = arrays.to_numpy(self.predict_proba(X))
        if self._labels:
            return (probability > 0.5).astype(np.int64)
        return self.classes_[np.argmax(probability, axis=1)]

    @property
    def _is_binary(self) -> bool:
        check_is_fitted(self, "factors_")
        return not self._labels and len(self.classes_) == 2


def _encoded(
    y: Any, entry_weight: Any, names: Any, like: Array
) -> tuple[Responses, np.ndarray, bool]:
    """The responses, the classes, and whether there are several labels."""
    labels = arrays.to_numpy(y) if arrays.is_array(y) else np.asarray(y)
    if labels.ndim == 2 and labels.shape[1] > 1:
        matrix = _indicators(labels)
        responses = numeric_responses(
            arrays.from_numpy(matrix, like), entry_weight, Bernoulli(), names
        )
        return responses, np.arange(matrix.shape[1]), True
    if entry_weight is not None:
        raise ValueError("entry_weight is for a matrix of labels; use sample_weight for classes")
    labels = column_or_1d(labels, warn=True)
    assert_all_finite(labels, input_name="y")
    check_classification_targets(labels)
    classes, codes = np.unique(labels, return_inverse=True)
    if len(classes) < 2:
        raise ValueError(f"y must contain at least 2 classes, got 1 class: {classes.tolist()[0]!r}")
    family: Family = Multinomial(len(classes))
    matrix, titles = np.eye(len(classes))[codes], [str(value) for value in classes]
    if len(classes) == 2:
        matrix, titles, family = matrix[:, 1:], titles[1:], Bernoulli()
    return numeric_responses(arrays.from_numpy(matrix, like), None, family, titles), classes, False


def _indicators(labels: np.ndarray) -> np.ndarray:
    """A matrix of zeros and ones, NaN where a label is missing."""
    try:
        matrix = labels.astype(np.float64)
    except (TypeError, ValueError):
        matrix = np.full((1, 1), 2.0)
    if not np.all(np.isnan(matrix) | (matrix == 0) | (matrix == 1)):
        raise ValueError(
            "y must be a vector of class labels or a matrix of zeros and ones (NaN where a label "
            f"is missing); got a matrix with other values, in row 0 {labels[0].tolist()}"
        )
    return matrix
