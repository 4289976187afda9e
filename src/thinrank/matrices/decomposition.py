"""What the estimators of bare matrices share."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted, validate_data

from thinrank import arrays
from thinrank.arrays import Array
from thinrank.core.checks import check_finite, is_auto
from thinrank.core.factors import Factors
from thinrank.estimators.validation import check_columns, check_kind, without_mask
from thinrank.minimize import check_size

# Numbers of an array that is formed for a part of a matrix at a time: 32 MiB in double precision.
BLOCK_ENTRIES = 1 << 22
# Parts into which rows, columns or pairs are divided to leave each out in turn.
FOLDS = 5
# Standard errors by which what counts as structure exceeds noise.
CLEAR_ERRORS = 3.0
# A search along ranks, ridges or sizes ends after this number in a row that are not better.
PATIENCE = 2


class Decomposition(BaseEstimator):
    """Sizes of a matrix Θ = UVᵀ that was fitted to a bare matrix, from ``factors_``."""

    factors_: Factors
    components_: Array
    left_vectors_: Array
    singular_values_: Array
    warnings_: list[str]
    search_: Any
    best_params_: dict[str, Any]

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
        """Sorted indices of the rows of Θ that are not zero."""
        check_is_fitted(self, "factors_")
        return arrays.to_numpy(self.factors_.row_support)

    @property
    def column_support_(self) -> np.ndarray:
        """Sorted indices of the columns of Θ that are not zero."""
        check_is_fitted(self, "factors_")
        return arrays.to_numpy(self.factors_.column_support)

    def _stored_shapes(self) -> dict[str, Any]:
        """Shapes of the fitted attributes, which ``tr.load`` checks."""
        columns, rank = self.factors_.shape[1], self.factors_.rank
        return {"n_features_in_": columns, "components_": (rank, columns)}

    def _keep_factors(self, factors: Factors) -> None:
        """Store balanced factors and their singular vectors, with signs by rule."""
        self.singular_values_ = arrays.to_numpy(arrays.column_norms_squared(factors.U))
        root = arrays.from_numpy(self.singular_values_**0.5, factors.U)
        left, right = positive_largest(factors.U / root, factors.V / root)
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

    def _check_scores(self, X: Any) -> Array:
        """Scores of rows, one column per component."""
        check_is_fitted(self, "factors_")
        scores = X if arrays.is_array(X) else np.asarray(X, dtype=float)
        if scores.ndim != 2 or scores.shape[1] != self.rank_:
            raise ValueError(
                f"X must have shape (n_rows, {self.rank_}), one column per component, "
                f"got {tuple(scores.shape)}"
            )
        check_finite("X", scores)
        return arrays.from_numpy(scores, self.components_)

    def _warn(self, text: str, category: type[Warning]) -> None:
        self.warnings_.append(text)
        warnings.warn(text, category, stacklevel=4)


def positive_largest(left: Array, right: Array) -> tuple[Array, Array]:
    """Change the signs of pairs of vectors so that the largest entry on the right is positive.

    Shapes: ``left``, ``right`` (n_rows, rank).
    """
    xp = arrays.namespace(right)
    if not right.shape[1]:
        return left, right
    size = arrays.half_the_digits(xp.abs(right))
    position = xp.argmax(size, axis=0)
    largest = xp.stack([right[int(i), j] for j, i in enumerate(position.tolist())])
    sign = xp.where(largest < 0, -1 * xp.ones_like(largest), xp.ones_like(largest))
    return left * sign, right * sign


def check_numbers(estimator: BaseEstimator, name: str, X: Any, **options: Any) -> Any:
    """A matrix with missing numbers as an array of NumPy or a sparse matrix of floats.

    ``options`` are those of scikit-learn's ``validate_data``.
    """
    if arrays.is_array(X) and not isinstance(X, (np.ndarray, np.generic)):
        X = arrays.to_numpy(arrays.as_float_array(X))
    X = without_mask(X)
    check_kind(name, X)
    check_columns(name, X)
    return validate_data(estimator, X, **options)
