"""A quadratic form that equals a loss, with its gradient, at one point."""

from __future__ import annotations

import copy
from typing import Self

from thinrank import arrays
from thinrank.arrays import Array
from thinrank.core.contracts import QuadraticForm
from thinrank.core.factors import Factors
from thinrank.forms.base import HeldCross


class TangentForm(HeldCross):
    """q(Φ) = f(Θ₀) + ⟨∇f(Θ₀), Θ − Θ₀⟩ + ½⟨Φ − Φ₀, H(Φ − Φ₀)⟩, with Φ = Θ·diag(s).

    It is a majorizer of a loss whose curvature in response t is at most s_t²·H. C is kept as a
    dense array of the shape of Θ.

    Shapes: ``gradient`` (m1, m2), ``column_scale`` (m2,).
    """

    exact = False

    def __init__(
        self,
        curvature: QuadraticForm,
        factors: Factors,
        value: float,
        gradient: Array,
        column_scale: Array,
        *,
        samples: float,
        observations: float,
    ) -> None:
        self._curvature = curvature
        U, V = factors.U, factors.V * column_scale[:, None]  # of Φ₀
        slope = gradient / column_scale
        rows = factors.row_support
        image = self._curved(rows, arrays.take_rows(U, rows))  # HU
        at_zero = value - arrays.inner(slope @ V, U) + 0.5 * arrays.inner(U.T @ image, V.T @ V)
        super().__init__(image @ V.T - slope, 2 * at_zero, samples, 0.0)
        self.observations = observations
        self.column_scale = column_scale

    def with_ridge(self, ridge: float) -> Self:
        """The same form with another ridge in H; valid if Θ₀ is zero."""
        other = copy.copy(self)
        other._curvature = self._curvature.with_ridge(ridge)
        return other

    def diagonal(self) -> Array:
        """Diagonal of H."""
        return self._curvature.diagonal()

    def gram(self, rows: Array) -> Array:
        """H over ``rows``."""
        return self._curvature.gram(rows)

    def gram_between(self, rows: Array, others: Array) -> Array:
        """H between ``rows`` and ``others``."""
        return self._curvature.gram_between(rows, others)

    def inverse_root(self, rows: Array) -> tuple[Array, bool]:
        """R with Rᵀ R = H_SS⁻¹."""
        return self._curvature.inverse_root(rows)

    def gradient(self, rows: Array, U: Array, V: Array) -> Array:
        """H[:, rows] @ U − C @ V."""
        return self._curved(rows, U) - self._cross @ V

    def _curved(self, rows: Array, U: Array) -> Array:
        """H[:, rows] @ U."""
        nothing = arrays.zeros((self._curvature.shape[1], U.shape[1]), like=U)
        return self._curvature.gradient(rows, U, nothing)
