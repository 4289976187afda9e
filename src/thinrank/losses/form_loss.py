"""A loss that is given by its quadratic form."""

from __future__ import annotations

from collections.abc import Callable

from thinrank import arrays
from thinrank.arrays import Array
from thinrank.core.contracts import QuadraticForm
from thinrank.losses.quadratic import Quadratic


class FormLoss(Quadratic):
    """f(Θ) = c/2 − ⟨C, Θ⟩ + ½⟨Θ, HΘ⟩ + ridge/2·‖Θ‖² from a form with H, C and c.

    ``noise``: None if it is not known. ``ridge``: None for that of the form.
    """

    capabilities = Quadratic.capabilities - {"restrict", "curvature"}

    def __init__(
        self,
        form: QuadraticForm,
        noise: Callable[[], float] | None = None,
        ridge: float | None = None,
    ) -> None:
        super().__init__(form.shape, form.constant, ridge or 0.0, form.prototype)
        self.samples = form.samples
        self._noise = noise
        self._known_noise: float | None = None
        # what is multiplied, and what solvers get; a ridge is added by the base class
        self._form = form if ridge is None else form.with_ridge(0.0)
        self._ridged = form if ridge is None else form.with_ridge(ridge)

    def quadratic(self) -> QuadraticForm:
        """The form, with the ridge."""
        return self._ridged

    def products(self, U: Array, V: Array, VV: Array) -> tuple[Array, Array, Array]:
        """A, K and B from the non-zero rows of U."""
        rows = arrays.true_positions(arrays.row_norms_squared(U) > 0)
        active = arrays.take_rows(U, rows)
        A = self._form.gradient(rows, active @ VV, V)
        K = active.T @ (self._form.gram(rows) @ active)
        return A, K, self._form.cross_rows(rows).T @ active

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

    def noise(self) -> float:
        """Standard deviation of the noise, computed when first needed."""
        if self._known_noise is None:
            if self._noise is None:
                raise TypeError("the noise of a loss that is given by its form is not known")
            self._known_noise = self._noise()
        return self._known_noise
