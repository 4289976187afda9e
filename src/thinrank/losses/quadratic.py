"""Losses that are quadratic in Θ: their base class, a form, denoising, and the noise level."""

from __future__ import annotations

import abc
import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from thinrank import arrays, linalg
from thinrank.arrays import Array
from thinrank.core.checks import check_finite, check_number
from thinrank.core.contracts import Design, QuadraticForm
from thinrank.core.factors import Factors
from thinrank.designs import Dense
from thinrank.forms import IdentityForm


class Quadratic(abc.ABC):
    """f(Θ) = c/2 − ⟨C, Θ⟩ + ½⟨Θ, HΘ⟩ + ridge/2·‖Θ‖², with H acting on the rows of Θ.

    A subclass defines :meth:`unridged`, the quadratic form with c, C and H. With Θ = UVᵀ this class
    needs only

    - A = HU·VᵀV − CV, of shape (m1, r),
    - K = UᵀHU, of shape (r, r),
    - B = CᵀU, of shape (m2, r),

    because ∇f·V = A + ridge·U·VᵀV, ∇fᵀ·U = VK − B + ridge·V·UᵀU and
    f = c/2 − ⟨V, B⟩ + ½⟨VᵀV, K⟩ + ridge/2·⟨UᵀU, VᵀV⟩. No array of the size of Θ is formed.
    """

    capabilities = frozenset(
        {"full_gradient", "smoothness", "curvature", "samples"}
        | {"noise", "row_scales", "quadratic", "majorizer"}
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
    def unridged(self) -> QuadraticForm:
        """The loss as a quadratic form, without the ridge."""

    def quadratic(self) -> QuadraticForm:
        """The loss as a quadratic form, with the ridge."""
        return self.unridged().with_ridge(self.ridge) if self.ridge else self.unridged()

    def majorizer(self, factors: Factors, rows: Array | None = None) -> QuadraticForm:
        """The loss itself, at every point."""
        return self.quadratic()

    def products(self, U: Array, V: Array, VV: Array) -> tuple[Array, Array, Array]:
        """A, K and B of the class docstring; ``VV`` is VᵀV."""
        image, cross = self.hessian_product(U), self.cross()
        return image @ VV - cross @ V, U.T @ image, cross.T @ U

    def hessian_product(self, theta: Array) -> Array:
        """H @ theta."""
        rows = arrays.nonzero_rows(theta)
        return self.unridged().gradient(rows, arrays.take_rows(theta, rows))

    def cross(self) -> Array:
        """C, a dense matrix of the shape of Θ."""
        return self.unridged().cross_columns(0, self.shape[1])

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
        return self.ridge + linalg.largest_eigenvalue(
            self.hessian_product, self.shape[0], self.prototype
        )

    def curvature(self, rows: Array) -> tuple[float, float]:
        """Extreme eigenvalues of H over the rows, plus the ridge."""
        low, high = linalg.extreme_eigenvalues(self.unridged().gram(rows))
        return max(low, 0.0) + self.ridge, high + self.ridge

    def row_scales(self) -> Array:
        """Roots of the diagonal of H."""
        return arrays.namespace(self.prototype).sqrt(self.unridged().diagonal())

    @abc.abstractmethod
    def target_squares(self) -> np.ndarray:
        """Weighted sum of squares of each response, of shape (n_targets,)."""

    def residual_squares(self, factors: Factors) -> np.ndarray:
        """Weighted residual sum of squares of each response, of shape (n_targets,)."""
        V = factors.V
        _, K, B = self.products(factors.U, V, V.T @ V)
        change = arrays.namespace(V).sum(V * (V @ K - 2 * B), axis=1)
        return np.maximum(self.target_squares() + self.samples * arrays.to_numpy(change), 0.0)


class FormLoss(Quadratic):
    """The loss of a given form with H, C and c, such as that of data in row blocks.

    ``ridge``: None for that of the form.
    """

    capabilities = Quadratic.capabilities | {"with_ridge"}

    def __init__(self, form: Any, ridge: float | None = None) -> None:
        super().__init__(form.shape, form.constant, ridge or 0.0, form.prototype)
        self.samples = form.samples
        self._form = form if ridge is None else form.with_ridge(0.0)
        if hasattr(form, "with_target_scale"):
            self.capabilities = self.capabilities | {"target_scale", "splits"}

    def unridged(self) -> Any:
        """The form."""
        return self._form

    def noise(self) -> float:
        """Standard deviation of the noise, from the responses of row blocks."""
        if "target_scale" not in self.capabilities:
            raise TypeError("the noise of a loss that is given by its form is not known")
        return noise_scale(self._form.responses, self.samples)

    def with_ridge(self, ridge: float) -> FormLoss:
        """The same loss with another ridge."""
        return FormLoss(self._form, ridge)

    def with_target_scale(self, scale: np.ndarray) -> FormLoss:
        """The same loss with every response divided by a scale."""
        return FormLoss(self._form.with_target_scale(scale), self.ridge)

    def splits(
        self, pairs: Sequence[tuple[np.ndarray, np.ndarray]]
    ) -> list[tuple[FormLoss, FormLoss]]:
        """Losses of the training and of the held-out rows of splits."""
        return [(FormLoss(inside), FormLoss(out)) for inside, out in self._form.splits(pairs)]

    def target_squares(self) -> np.ndarray:
        """Weighted sum of squares of each response, of shape (n_targets,)."""
        return self.samples * self._form.constants

    def hold_for_search(self) -> None:
        """Nothing: a form has what a search uses."""


# Columns used at most: their median singular value is precise, and the time stays bounded.
_MAX_COLUMNS = 400


def noise_scale(Y: Design, total: float) -> float:
    """Robust standard deviation of the noise in Y = (low rank) + noise.

    The median singular value of Y over that of noise of unit variance (Gavish & Donoho 2014): a
    signal of low rank changes only the few largest.
    """
    k = min(Y.shape[1], _MAX_COLUMNS)
    drawn = np.sort(np.random.default_rng(0).choice(Y.shape[1], k, replace=False))
    gram = Y.gram(arrays.indices(drawn.tolist(), Y.prototype))
    rows = max(round(total), 1)
    short, long = min(rows, k), max(rows, k)
    squares = np.linalg.eigvalsh(arrays.to_numpy(gram).astype(np.float64))[::-1][:short]
    median = float(np.median(np.maximum(squares, 0.0)))
    return (median / (long * median_noise_eigenvalue(short / long))) ** 0.5


@functools.lru_cache(maxsize=256)
def median_noise_eigenvalue(aspect: float) -> float:
    """Median of the Marchenko-Pastur law for an aspect ratio in (0, 1] and unit variance."""
    low, high = (1 - aspect**0.5) ** 2, (1 + aspect**0.5) ** 2
    # x = low + (high − low)·sin²t removes the square roots at the ends of the integrand
    t = np.linspace(0.0, np.pi / 2, 4001)[1:]
    x = low + (high - low) * np.sin(t) ** 2
    cumulative = np.cumsum((np.sin(t) * np.cos(t)) ** 2 / x)
    return float(np.interp(0.5, cumulative / cumulative[-1], x))


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
        self._form = IdentityForm(self.M, self.constant, 0.0)

    def smoothness(self) -> float:
        """L, which is 1 + ridge."""
        return 1.0 + self.ridge

    def curvature(self, rows: Array) -> tuple[float, float]:
        """μ and L, both 1 + ridge."""
        return 1.0 + self.ridge, 1.0 + self.ridge

    def noise(self) -> float:
        """Standard deviation of the entries of M about a matrix of low rank."""
        return noise_scale(Dense(self.M), self.shape[0])

    def unridged(self) -> IdentityForm:
        """The form with H = I and C = M."""
        return self._form

    def target_squares(self) -> np.ndarray:
        """Sum of squares of each column of M."""
        return arrays.to_numpy(arrays.column_norms_squared(self.M))
