"""Base class of the decompositions of a bare matrix."""

from __future__ import annotations

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from thinrank import arrays
from thinrank.core.factors import Factors


class Decomposition(BaseEstimator):
    """Sizes of a matrix Θ = UVᵀ that was fitted to a bare matrix, from ``factors_``."""

    factors_: Factors

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
