"""A quadratic form with XᵀX and XᵀY in memory."""

from __future__ import annotations

from thinrank import arrays
from thinrank.arrays import Array
from thinrank.forms.base import HeldCross, plus_ridge, plus_rows


class GramForm(HeldCross):
    """A form with all of H in memory, for problems with few predictors.

    Shapes: ``gram`` (n_features, n_features), ``cross`` (n_features, n_targets).
    """

    def __init__(
        self, gram: Array, cross: Array, constant: float, samples: float, ridge: float
    ) -> None:
        super().__init__(cross, constant, samples, ridge)
        self._gram = gram

    def diagonal(self) -> Array:
        """Diagonal of H."""
        diagonal = arrays.namespace(self._gram).linalg.diagonal(self._gram)
        return diagonal + self._ridge if self._ridge else diagonal

    def gram(self, rows: Array) -> Array:
        """H over ``rows``."""
        return plus_ridge(arrays.submatrix(self._gram, rows, rows), self._ridge)

    def gram_between(self, rows: Array, others: Array) -> Array:
        """H between ``rows`` and ``others``."""
        return arrays.submatrix(self._gram, rows, others)

    def gradient(self, rows: Array, U: Array, V: Array) -> Array:
        """H[:, rows] @ U − C @ V; H is symmetric, and its rows are contiguous."""
        gradient = arrays.take_rows(self._gram, rows).T @ U
        gradient -= self._cross @ V
        return plus_rows(gradient, rows, U, self._ridge)
