"""Matrix denoising: the nearest low-rank two-way sparse matrix."""

from __future__ import annotations

from typing import Any

from thinrank import arrays
from thinrank.arrays import Array
from thinrank.core.checks import check_finite
from thinrank.designs import Dense
from thinrank.forms import IdentityForm
from thinrank.losses.quadratic import Quadratic, noise_scale


class Denoising(Quadratic):
    """f(Θ) = ½‖M − Θ‖²_F + ridge/2·‖Θ‖²_F: sparse singular value decomposition.

    Parameters
    ----------
    M : array of shape (m1, m2)
        The noisy matrix; float32 and float64 are kept.
    ridge : float, default=0.0
        Weight of ½‖Θ‖².

    Examples
    --------
    >>> import numpy as np, thinrank as tr
    >>> M = np.outer([3.0, 0.0, 4.0], [1.0, 2.0, 0.0]) + 0.01
    >>> answer = tr.minimize(tr.losses.Denoising(M), rank=1, row_sparsity=2, column_sparsity=2)
    >>> answer.factors.row_support
    array([0, 2])
    """

    samples = 1.0

    def __init__(self, M: Any, *, ridge: float = 0.0) -> None:
        self.M = arrays.as_float_array(M)
        if self.M.ndim != 2:
            raise ValueError(f"M must be a matrix, got an array of shape {tuple(self.M.shape)}")
        check_finite("M", self.M)
        super().__init__(
            (self.M.shape[0], self.M.shape[1]),
            arrays.norm(self.M) ** 2,
            ridge,
            arrays.zeros((0,), like=self.M),
        )

    def products(self, U: Array, V: Array, VV: Array) -> tuple[Array, Array, Array]:
        """A = U·VᵀV − MV, K = UᵀU, B = MᵀU."""
        return U @ VV - self.M @ V, U.T @ U, self.M.T @ U

    def hessian_product(self, theta: Array) -> Array:
        """H @ theta, where H is the identity."""
        return theta

    def cross(self) -> Array:
        """C, which is M."""
        return self.M

    def smoothness(self) -> float:
        """L, which is 1 + ridge."""
        return 1.0 + self.ridge

    def curvature(self, rows: Array) -> tuple[float, float]:
        """μ and L, both 1 + ridge."""
        return 1.0 + self.ridge, 1.0 + self.ridge

    def row_scales(self) -> Array:
        """Ones, since all rows are in the same units."""
        return arrays.zeros((self.shape[0],), like=self.prototype) + 1

    def noise(self) -> float:
        """Standard deviation of the entries of M about a matrix of low rank."""
        return noise_scale(Dense(self.M), self.shape[0])

    def quadratic(self) -> IdentityForm:
        """The loss as a quadratic form with H = (1 + ridge)·I and C = M."""
        return IdentityForm(self.M, self.constant, self.ridge)

    def restrict(self, rows: Array, columns: Array) -> Denoising:
        """The same loss over matrices that vanish outside ``rows`` and ``columns``."""
        inner = Denoising(arrays.submatrix(self.M, rows, columns), ridge=self.ridge)
        inner.constant = inner.magnitude = self.constant
        return inner
