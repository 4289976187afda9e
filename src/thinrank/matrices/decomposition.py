"""What the estimators of bare matrices share."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from thinrank import arrays
from thinrank.arrays import Array
from thinrank.core.checks import check_finite, is_auto
from thinrank.core.contracts import Design
from thinrank.core.factors import Factors
from thinrank.estimators.base import Factored
from thinrank.estimators.description import signs_of_largest
from thinrank.estimators.validation import check_columns, check_kind, check_new_X, without_mask
from thinrank.minimize import check_size

# Numbers of an array that is formed for a part of a matrix at a time: 32 MiB in double precision.
BLOCK_ENTRIES = 1 << 22
# Parts into which rows, columns or pairs are divided to leave each out in turn.
FOLDS = 5
# Standard errors by which what counts as structure exceeds noise.
CLEAR_ERRORS = 3.0
# A search along ranks, ridges or sizes ends after this number in a row that are not better.
PATIENCE = 2


class Decomposition(Factored):
    """A matrix Θ = UVᵀ that was fitted to a bare matrix."""

    components_: Array
    left_vectors_: Array
    singular_values_: Array
    warnings_: list[str]
    search_: Any
    best_params_: dict[str, Any]

    def _stored_shapes(self) -> dict[str, Any]:
        """Shapes of the fitted attributes, which ``tr.load`` checks."""
        columns, rank = self.factors_.shape[1], self.factors_.rank
        return {"n_features_in_": columns, "components_": (rank, columns)}

    def _keep_factors(self, factors: Factors) -> None:
        """Store balanced factors and their singular vectors, with signs by rule."""
        self.singular_values_ = arrays.to_numpy(arrays.column_norms_squared(factors.U))
        root = arrays.from_numpy(self.singular_values_**0.5, factors.U)
        left, right = factors.U / root, factors.V / root
        signs = signs_of_largest(right)
        left, right = left * signs, right * signs
        self.left_vectors_, self.components_ = left, right.T
        self.factors_ = Factors(left * root, right * root)

    def _given(self, name: str, most: int, meaning: str) -> int | None:
        """A size that was given, ``most`` for no limit; None if it is to be chosen."""
        size = getattr(self, name)
        if is_auto(size):
            return None
        if size is None and name != "rank":
            return most
        check_size(name, size, most, meaning)
        return int(size)

    def _warn(self, text: str, category: type[Warning]) -> None:
        self.warnings_.append(text)
        warnings.warn(text, category, stacklevel=4)


class Components(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Decomposition):
    """A decomposition that also describes new rows by its components."""

    def transform(self, X: Any) -> Array:
        """Compute the scores of rows on the components, by least squares.

        With orthonormal components they are the projections of the rows (centered, and scaled, as
        in ``fit``) on the components.

        Parameters
        ----------
        X : array, data frame, sparse matrix, LinearOperator or Design, of shape \
(n_rows, n_columns)
            Rows to be described by the components: those of fit, or new ones.

        Returns
        -------
        array of shape (n_rows, rank)
        """
        check_is_fitted(self, "components_")
        return self._scores(check_new_X(self, X))

    def inverse_transform(self, X: Any) -> Array:
        """Compute the rows that scores stand for, in the units of the data of fit.

        Parameters
        ----------
        X : array of shape (n_rows, rank)
            Scores, as :meth:`transform` returns them.

        Returns
        -------
        array of shape (n_rows, n_columns)
            The products with ``components_``, with what fit took out of the data.
        """
        check_is_fitted(self, "components_")
        scores = X if arrays.is_array(X) else np.asarray(X, dtype=float)
        if scores.ndim != 2 or scores.shape[1] != self.rank_:
            raise ValueError(
                f"X must have shape (n_rows, {self.rank_}), one column per component, "
                f"got {tuple(scores.shape)}"
            )
        check_finite("X", scores)
        return self._in_units(arrays.from_numpy(scores, self.components_) @ self.components_)

    def _scores(self, design: Design) -> Array:
        """Scores of the rows of a design."""
        raise NotImplementedError

    def _in_units(self, rows: Array) -> Array:
        """Rows in the units of the data of fit."""
        return rows


def check_numbers(estimator: BaseEstimator, name: str, X: Any, **options: Any) -> Any:
    """A matrix with missing numbers as an array of NumPy or a sparse matrix of floats."""
    if arrays.is_array(X) and not isinstance(X, (np.ndarray, np.generic)):
        X = arrays.to_numpy(arrays.as_float_array(X))
    X = without_mask(X)
    check_kind(name, X)
    check_columns(name, X)
    return validate_data(estimator, X, **options)
