"""The quadratic form of denoising."""

from __future__ import annotations

from thinrank import arrays
from thinrank.arrays import Array
from thinrank.forms.base import HeldCross


class IdentityForm(HeldCross):
    """The form of denoising, with H = (1 + ridge)·I.

    Shapes: ``cross`` (n_rows, n_columns).
    """

    def __init__(self, cross: Array, constant: float, ridge: float) -> None:
        super().__init__(cross, constant, cross.shape[0], ridge)

    def diagonal(self) -> Array:
        """Diagonal of H, all entries 1 + ridge."""
        return arrays.zeros((self.shape[0],), like=self.prototype) + (1 + self._ridge)

    def gram(self, rows: Array) -> Array:
        """H over ``rows``, a multiple of the identity."""
        return (1 + self._ridge) * arrays.identity(rows.shape[0], like=self.prototype)

    def gram_between(self, rows: Array, others: Array) -> Array:
        """H between different rows, which is zero."""
        return arrays.zeros((rows.shape[0], others.shape[0]), like=self.prototype)

    def gradient(self, rows: Array, U: Array, V: Array) -> Array:
        """H[:, rows] @ U − C @ V."""
        return arrays.scatter_rows((1 + self._ridge) * U, rows, self.shape[0]) - self._cross @ V
