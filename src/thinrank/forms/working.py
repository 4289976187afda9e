"""The quadratic form of a loss around one point, as a regression of working responses."""

from __future__ import annotations

import copy
from typing import Any, Self

from thinrank import arrays
from thinrank.arrays import Array
from thinrank.core.contracts import Design, QuadraticForm
from thinrank.core.factors import Factors
from thinrank.forms.moments import blockwise_cross_norms


class WorkingForm:
    """q(Φ) = f(Θ₀) + ⟨∇f(Θ₀), Θ − Θ₀⟩ + ½⟨Φ − Φ₀, H(Φ − Φ₀)⟩, with Φ = Θ·diag(s).

    Here f(Θ) is a sum over entries of XΘ plus ridge/2·‖Θ‖², and H = XᵀX/n + ridge/mean(s²)·I. So q
    is least squares with responses W = XΦ₀ − R/s, where Rᵢⱼ is the derivative of entry (i, j), up
    to a correction for the ridge, which is not the same for all responses in units of Φ.

    Shapes: ``working`` (n_samples, n_targets), ``column_scale`` (m2,), ``constants`` (m2,), twice
    the values at zero of the responses, without the ridge.
    """

    def __init__(
        self,
        curvature: QuadraticForm,
        X: Any,
        factors: Factors,
        working: Array,
        column_scale: Array,
        ridge: float,
        *,
        constants: Array,
        samples: float,
        observations: float,
    ) -> None:
        self._X: Design = X
        self._working = working
        self.column_scale = column_scale
        self.samples, self.observations = samples, observations
        self.shape = (X.shape[1], working.shape[1])
        self.prototype = X.prototype
        self._bare = curvature
        self.factors = factors
        self.constants = constants
        self._set_ridge(ridge)

    def _set_ridge(self, ridge: float) -> None:
        """H, and what the ridge adds to C and to the constant."""
        xp = arrays.namespace(self.prototype)
        squares = self.column_scale**2
        common = ridge / float(xp.mean(squares)) if ridge else 0.0
        self._curvature = self._bare.with_ridge(common)
        U, V = self.factors.U, self.factors.V
        scaled = V * self.column_scale[:, None]  # Φ₀ = U·scaledᵀ
        # the gradient of the ridge at Φ₀ differs from that of H by this matrix, U·correctionᵀ
        self._correction = (common - ridge / squares)[:, None] * scaled if ridge else None
        self.constant = float(xp.sum(self.constants))
        if ridge:
            UU = U.T @ U
            self.constant += common * arrays.inner(UU, scaled.T @ scaled)
            self.constant -= ridge * arrays.inner(UU, V.T @ V)

    @property
    def ridge(self) -> float:
        """What is added to the diagonal of H."""
        return self._curvature.ridge

    def with_ridge(self, ridge: float) -> Self:
        """The form of the same loss, around the same point, with another ridge."""
        other = copy.copy(self)
        other._set_ridge(ridge)
        return other

    def diagonal(self) -> Array:
        """Diagonal of H."""
        return self._curvature.diagonal()

    def cross_rows(self, rows: Array) -> Array:
        """Rows of C."""
        cross = self._X.columns(rows).T @ self._working / self.samples
        if self._correction is not None:
            cross = cross + arrays.take_rows(self.factors.U, rows) @ self._correction.T
        return cross

    def cross_columns(self, first: int, last: int) -> Array:
        """Columns of C from ``first`` to before ``last``."""
        cross = self._X.transposed_product(self._working[:, first:last]) / self.samples
        if self._correction is not None:
            cross = cross + self.factors.U @ self._correction[first:last, :].T
        return cross

    def cross_norms(self) -> tuple[Array, Array]:
        """Squared norms of the rows and of the columns of C."""
        return blockwise_cross_norms(self)

    def gram(self, rows: Array) -> Array:
        """H over ``rows``."""
        return self._curvature.gram(rows)

    def gram_between(self, rows: Array, others: Array) -> Array:
        """H between ``rows`` and ``others``."""
        return self._curvature.gram_between(rows, others)

    def inverse_root(self, rows: Array) -> tuple[Array, bool]:
        """R with Rᵀ R = H_SS⁻¹."""
        return self._curvature.inverse_root(rows)

    def gradient(self, rows: Array, U: Array, V: Array | None = None) -> Array:
        """H[:, rows] @ U − C @ V."""
        gradient = self._curvature.gradient(rows, U)
        if V is None:
            return gradient
        gradient -= self._X.transposed_product(self._working @ V) / self.samples
        if self._correction is not None:
            gradient -= self.factors.U @ (self._correction.T @ V)
        return gradient
