"""Classification with low-rank, row-sparse and column-sparse coefficients."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils import assert_all_finite
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d

from thinrank import arrays
from thinrank.arrays import Array
from thinrank.estimators.base import FactorModel
from thinrank.estimators.fit import whole_fit
from thinrank.estimators.glm import fit_family
from thinrank.estimators.responses import Responses, numeric_responses
from thinrank.estimators.validation import check_predictors, check_types, check_weights
from thinrank.losses.families import Bernoulli, Family, Multinomial


@dataclass(eq=False, repr=False)
class SparseReducedRankClassifier(ClassifierMixin, FactorModel):
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
    r2_ : ndarray of shape (n_columns,)
        Share of the deviance of each class or label that the fit explains in the training rows;
        the classes of a vector of labels have the same value.
    held_out_r2_ : ndarray of shape (n_columns,), or None
        The same in rows that the fit did not see. It is slightly too high, because the sizes were
        chosen by the same deviances. None if they were given or chosen by a criterion.
    target_scale_ : ndarray of shape (n_columns,)
        Ones, since coefficients are on the scale of the linear predictor.

    Warns
    -----
    thinrank.core.warnings.SelectionWarning
        As in :class:`SparseReducedRankGLM`.

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
    standardize: bool = True
    solver: Any = "auto"
    exchange: Any = "auto"
    start: Any = "auto"
    fit_intercept: bool = True
    max_iter: int | None = None
    tol: float = 1e-7
    criterion: Any = "auto"
    cv: Any = 5
    refit_rule: str = "best"
    always_keep: Any = None
    impute: str | None = None
    random_state: Any = None
    n_jobs: int | None = None
    verbose: int = 0
    callback: Callable[[Any], object] | None = None

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        entry_weight: Any = None,
        groups: Any = None,
    ) -> SparseReducedRankClassifier:
        """Choose the sizes that are "auto" and fit the coefficients.

        Parameters
        ----------
        X : array, data frame, sparse matrix, operator or Design of shape (n_samples, n_features)
            Predictors. They are neither copied nor made dense.
        y : array of shape (n_samples,), or array or data frame of shape (n_samples, n_labels)
            Class labels, or a matrix of zeros and ones with a column for each label, NaN where a
            label is missing.
        sample_weight : array of shape (n_samples,), default=None
            Weights of the rows. Their scale has no effect. Hence integer weights are not
            equivalent to repeated rows in the choice of sizes, where the number of rows counts;
            with given sizes they are.
        entry_weight : array of shape (n_samples, n_labels), default=None
            Weights of the entries of a matrix of labels.
        groups : array of shape (n_samples,), default=None
            Groups of the rows, such as the patients that samples are of: the splits by which sizes
            are chosen divide none. Used by splitters with groups; a number of folds becomes
            ``GroupKFold``.

        Returns
        -------
        self : SparseReducedRankClassifier
            The fitted estimator.
        """
        with whole_fit(
            self, X=X, y=y, sample_weight=sample_weight, entry_weight=entry_weight, groups=groups
        ):
            X, y, names = check_types(X, y)
            design = check_predictors(self, X, y)
            weight = check_weights(sample_weight, design)
            responses, self.classes_, self._labels = _encoded(
                y, entry_weight, names, design.prototype
            )
            fit_family(self, design, responses, weight, names, single=False, groups=groups)
        return self

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
        raise ValueError(f"y must contain at least 2 classes, got 1 class: {classes[0]!r}")
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
