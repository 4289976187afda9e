"""A loss that is given by its quadratic form."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from thinrank import arrays, linalg
from thinrank.arrays import Array
from thinrank.core.factors import Factors
from thinrank.losses.noise import noise_scale
from thinrank.losses.quadratic import Quadratic


class FormLoss(Quadratic):
    """f(Θ) = c/2 − ⟨C, Θ⟩ + ½⟨Θ, HΘ⟩ + ridge/2·‖Θ‖² from a form with H, C and c.

    It is the loss of data in row blocks, whose form knows the responses, their squares, and the
    forms of splits. ``noise``: None if it is that of the responses, or not known. ``ridge``: None
    for that of the form.
    """

    capabilities = Quadratic.capabilities - {"restrict"} | {"with_ridge"}

    def __init__(
        self, form: Any, noise: Callable[[], float] | None = None, ridge: float | None = None
    ) -> None:
        super().__init__(form.shape, form.constant, ridge or 0.0, form.prototype)
        self.samples = form.samples
        self._noise = noise
        self._known_noise: float | None = None
        # what is multiplied, and what solvers get; a ridge is added by the base class
        self._form = form if ridge is None else form.with_ridge(0.0)
        self._ridged = form if ridge is None else form.with_ridge(ridge)
        if hasattr(form, "with_target_scale"):
            self.capabilities = self.capabilities | {"target_scale", "splits"}

    def quadratic(self) -> Any:
        """The form, with the ridge."""
        return self._ridged

    def products(self, U: Array, V: Array, VV: Array) -> tuple[Array, Array, Array]:
        """A, K and B from the non-zero rows of U."""
        rows = arrays.true_positions(arrays.row_norms_squared(U) > 0)
        active = arrays.take_rows(U, rows)
        B = self._form.cross_rows(rows).T @ active
        if not arrays.norm(VV) > 0:
            return 0 * U, 0 * VV, B  # without products with H
        image = self._form.gradient(rows, active, 0 * V)
        K = active.T @ arrays.take_rows(image, rows)
        return image @ VV - self.cross() @ V, K, B

    def hessian_product(self, theta: Array) -> Array:
        """H @ theta."""
        everything = arrays.indices(range(self.shape[0]), self.prototype)
        nothing = arrays.zeros((self.shape[1], theta.shape[1]), like=self.prototype)
        return self._form.gradient(everything, theta, nothing)

    def cross(self) -> Array:
        """C."""
        return self._form.cross_columns(0, self.shape[1])

    def row_scales(self) -> Array:
        """Roots of the diagonal of H."""
        return arrays.namespace(self.prototype).sqrt(self._form.diagonal())

    def curvature(self, rows: Array) -> tuple[float, float]:
        """Extreme eigenvalues of H over the rows, plus the ridge."""
        low, high = linalg.extreme_eigenvalues(self._form.gram(rows))
        return max(low, 0.0) + self.ridge, high + self.ridge

    def noise(self) -> float:
        """Standard deviation of the noise, computed when first needed."""
        if self._known_noise is None:
            if self._noise is None and "target_scale" not in self.capabilities:
                raise TypeError("the noise of a loss that is given by its form is not known")
            known = self._noise or (lambda: noise_scale(self._form.responses, self.samples))
            self._known_noise = known()
        return self._known_noise

    def with_ridge(self, ridge: float) -> FormLoss:
        """The same loss with another ridge."""
        return FormLoss(self._form, self.noise, ridge)

    def with_target_scale(self, scale: np.ndarray) -> FormLoss:
        """The same loss with every response divided by a scale."""
        return FormLoss(self._form.with_target_scale(scale), None, self.ridge)

    def splits(
        self, pairs: Sequence[tuple[np.ndarray, np.ndarray]]
    ) -> list[tuple[FormLoss, FormLoss]]:
        """Losses of the training and of the held-out rows of splits."""
        return [(FormLoss(inside), FormLoss(out)) for inside, out in self._form.splits(pairs)]

    def target_squares(self) -> np.ndarray:
        """Weighted sum of squares of each response, of shape (n_targets,)."""
        return self.samples * self._form.constants

    def residual_squares(self, factors: Factors) -> np.ndarray:
        """Weighted residual sum of squares of each response, of shape (n_targets,)."""
        rows = factors.row_support
        U, V = (np.asarray(x, dtype=np.float64) for x in (factors.rows_in_use, factors.V))
        inner = U.T @ self._form.gram(rows) @ U
        change = np.sum(V * (V @ inner - 2 * self._form.cross_rows(rows).T @ U), axis=1)
        return np.maximum(self.target_squares() + self.samples * change, 0.0)

    def hold_for_search(self) -> None:
        """Nothing: a form has what a search uses."""
