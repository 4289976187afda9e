"""Base class of losses that are quadratic in Θ, such as least squares and denoising."""

from __future__ import annotations

import abc
from typing import Any

from thinrank import arrays, linalg
from thinrank.arrays import Array
from thinrank.core.checks import check_number
from thinrank.core.contracts import QuadraticForm
from thinrank.core.factors import Factors


class Quadratic(abc.ABC):
    """f(Θ) = c/2 − ⟨C, Θ⟩ + ½⟨Θ, HΘ⟩ + ridge/2·‖Θ‖², with H acting on the rows of Θ.

    A subclass defines the products with H and C. With Θ = UVᵀ this class needs only

    - A = HU·VᵀV − CV, of shape (m1, r),
    - K = UᵀHU, of shape (r, r),
    - B = CᵀU, of shape (m2, r),

    because ∇f·V = A + ridge·U·VᵀV, ∇fᵀ·U = VK − B + ridge·V·UᵀU and
    f = c/2 − ⟨V, B⟩ + ½⟨VᵀV, K⟩ + ridge/2·⟨UᵀU, VᵀV⟩. No array of the size of Θ is formed.

    Parameters
    ----------
    shape : (int, int)
        Shape of Θ.
    constant : float
        c.
    ridge : float
        Weight of ½‖Θ‖².
    prototype : array
        An empty array with the library, dtype and device of Θ.
    """

    capabilities = frozenset(
        {
            "full_gradient",
            "smoothness",
            "curvature",
            "samples",
            "noise",
            "row_scales",
            "restrict",
            "quadratic",
            "majorizer",
        }
    )

    samples: float

    def __init__(
        self, shape: tuple[int, int], constant: float, ridge: Any, prototype: Array
    ) -> None:
        check_number("ridge", ridge)
        self.shape = shape
        self.constant = constant
        self.ridge = float(ridge)
        self.prototype = prototype
        self.magnitude = constant

    @abc.abstractmethod
    def products(self, U: Array, V: Array, VV: Array) -> tuple[Array, Array, Array]:
        """Return A, K and B of the class docstring; ``VV`` is VᵀV."""

    @abc.abstractmethod
    def hessian_product(self, theta: Array) -> Array:
        """H @ theta."""

    @abc.abstractmethod
    def cross(self) -> Array:
        """C, a dense matrix of the shape of Θ."""

    def value_and_gradient(self, factors: Factors) -> tuple[float, Array, Array]:
        """f(UVᵀ), ∇f·V and ∇fᵀ·U."""
        U, V = factors.U, factors.V
        VV = V.T @ V
        A, K, B = self.products(U, V, VV)
        linear, quadratic = arrays.inners((V, B), (VV, K))
        value = 0.5 * self.constant - linear + 0.5 * quadratic
        gradient_v = V @ K - B
        if self.ridge:
            UU = U.T @ U
            value += 0.5 * self.ridge * arrays.inner(UU, VV)
            A = A + self.ridge * (U @ VV)
            gradient_v = gradient_v + self.ridge * (V @ UU)
        return max(value, 0.0), A, gradient_v

    @abc.abstractmethod
    def quadratic(self) -> QuadraticForm:
        """The loss as a quadratic form, with the ridge."""

    def majorizer(self, factors: Factors, rows: Array | None = None) -> QuadraticForm:
        """The loss itself, at every point."""
        return self.quadratic()

    def full_gradient(self, theta: Array) -> tuple[float, Array]:
        """Value and gradient of f at a dense Θ."""
        cross = self.cross()
        image = self.hessian_product(theta)
        if self.ridge:
            image = image + self.ridge * theta
        value = 0.5 * self.constant + arrays.inner(theta, 0.5 * image - cross)
        return max(value, 0.0), image - cross

    def smoothness(self) -> float:
        """L: the largest eigenvalue of H, plus the ridge."""
        if not hasattr(self, "_smoothness"):
            self._smoothness = self.ridge + linalg.largest_eigenvalue(
                self.hessian_product, self.shape[0], self.prototype
            )
        return self._smoothness
