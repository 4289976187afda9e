"""The quadratic form of denoising."""

from __future__ import annotations

from thinrank import arrays
from thinrank.arrays import Array
from thinrank.forms.base import HeldCross

__all__ = ["IdentityForm"]


class IdentityForm(HeldCross):
    """H = (1 + ridge)·I: denoising."""

    def __init__(self, cross: Array, constant: float, ridge: float) -> None:
        super().__init__(cross, constant, cross.shape[0], ridge)

    def diagonal(self) -> Array:
        """The same everywhere."""
        return arrays.zeros((self.shape[0],), like=self.prototype) + (1 + self._ridge)

    def gram(self, rows: Array) -> Array:
        """A multiple of the identity."""
        return (1 + self._ridge) * arrays.identity(rows.shape[0], like=self.prototype)

    def gram_between(self, rows: Array, others: Array) -> Array:
        """Zero between different rows."""
        return arrays.zeros((rows.shape[0], others.shape[0]), like=self.prototype)

    def gradient(self, rows: Array, U: Array, V: Array) -> Array:
        """(1 + ridge)·U in its place, less C @ V."""
        return arrays.scatter_rows((1 + self._ridge) * U, rows, self.shape[0]) - self._cross @ V
