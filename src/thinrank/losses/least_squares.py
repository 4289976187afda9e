"""Multi-task least squares: the loss of the paper."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from thinrank import arrays
from thinrank.arrays import Array
from thinrank.core.checks import check_finite
from thinrank.core.contracts import Design, QuadraticForm, is_design
from thinrank.core.factors import Factors
from thinrank.designs import Dense, Transformed, as_design
from thinrank.forms.moments import FormName, Moments
from thinrank.losses.quadratic import Quadratic, noise_scale


class LeastSquares(Quadratic):
    """f(Θ) = 1/(2n)·‖Y − XΘ‖²_F + ridge/2·‖Θ‖²_F.

    Parameters
    ----------
    X : array, scipy sparse matrix, LinearOperator or Design of shape (n_samples, n_features)
        Predictors, neither centered nor scaled (see :func:`thinrank.designs.standardize`).
    Y : array or Design of shape (n_samples, n_targets)
        Responses, of the library and device of X; an array is converted to the dtype of X.
    sample_weight : array of shape (n_samples,), default=None
        Weights w of the samples, with f = 1/(2·Σw)·Σᵢ wᵢ‖yᵢ − Θᵀxᵢ‖² + ridge/2·‖Θ‖²: integer
        weights are equivalent to repeated rows. None for equal weights.
    ridge : float, default=0.0
        Weight of ½‖Θ‖².
    form : {"auto", "direct", "gram"}, default="auto"
        "direct" multiplies by X and Y at each evaluation, which takes r·n·(2p + 2k) operations.
        "gram" computes XᵀX/n and XᵀY/n once and then takes r·p·(p + 2k) operations, whatever n.
        Their results agree up to rounding. "auto" is "gram" if that is faster and XᵀX is no
        larger than X, else "direct".
    """

    capabilities = Quadratic.capabilities | {"target_scale", "with_ridge"}

    def __init__(
        self,
        X: Any,
        Y: Any,
        *,
        sample_weight: Array | None = None,
        ridge: float = 0.0,
        form: FormName = "auto",
    ) -> None:
        if arrays.is_array(X):
            check_finite("X", X)
        self.X = as_design(X)
        n, p = self.X.shape
        self.Y: Design = self._responses(Y)
        self.sample_weight = sample_weight
        self.samples = float(n)
        weighted_X, weighted_Y = self.X, self.Y
        if sample_weight is not None:
            xp = arrays.namespace(self.X.prototype)
            weight = arrays.from_numpy(sample_weight, self.X.prototype)
            if weight.shape != (n,) or not bool(xp.all(weight >= 0)) or not xp.sum(weight) > 0:
                raise ValueError(
                    f"sample_weight must contain {n} non-negative numbers, not all of them 0; "
                    f"got an array of shape {tuple(weight.shape)}"
                )
            self.sample_weight = weight
            self.samples = float(xp.sum(weight))
            root = xp.sqrt(weight)
            weighted_X = Transformed(self.X, row_scale=root)
            weighted_Y = Transformed(self.Y, row_scale=root)
        self.moments = Moments(weighted_X, weighted_Y, self.samples, form)
        super().__init__((p, self.Y.shape[1]), self.moments.constant, ridge, self.X.prototype)

    @property
    def form(self) -> FormName:
        """How the loss is evaluated: "gram" with XᵀX, "direct" with X."""
        return "gram" if self.moments.evaluates_by_gram else "direct"

    def products(self, U: Array, V: Array, VV: Array) -> tuple[Array, Array, Array]:
        """A, K and B from X and Y, or from XᵀX and XᵀY."""
        if self.moments.evaluates_by_gram:
            return super().products(U, V, VV)
        X, Y, n = self.moments.X, self.moments.Y, self.samples
        XU = self.moments.scores(U)
        return (
            X.transposed_product((XU @ VV - Y @ V) / n),
            (XU.T @ XU) / n,
            Y.transposed_product(XU) / n,
        )

    def residual_squares(self, factors: Factors) -> np.ndarray:
        """Weighted residual sum of squares of each response, without products with all of Xᵀ."""
        V, scores = factors.V, self.moments.scores(factors.U)
        products = self.moments.Y.transposed_product(scores)
        change = arrays.namespace(V).sum(V * (V @ (scores.T @ scores) - 2 * products), axis=1)
        return np.maximum(self.target_squares() + arrays.to_numpy(change), 0.0)

    def hessian_product(self, theta: Array) -> Array:
        """XᵀXΘ/n."""
        if self.moments.evaluates_by_gram:
            return self.moments.gram() @ theta
        X = self.moments.X
        return X.transposed_product((X @ theta) / self.samples)

    def cross(self) -> Array:
        """XᵀY/n, computed once and kept."""
        return self.moments.cross()

    def noise(self) -> float:
        """Standard deviation of the errors, from the median singular value of Y."""
        return noise_scale(self.moments.Y, self.samples)

    def unridged(self) -> QuadraticForm:
        """The quadratic form of the moments, computed once."""
        return self.moments.form()

    def hold_for_search(self) -> None:
        """Compute all of XᵀX if that saves time in a search with many fits."""
        self.moments.hold_for_search()

    def with_ridge(self, ridge: float) -> LeastSquares:
        """The same loss with another ridge; results computed from X and Y are shared."""
        other = copy.copy(self)
        Quadratic.__init__(other, self.shape, self.constant, ridge, self.prototype)
        return other

    def with_target_scale(self, scale: Array) -> LeastSquares:
        """The same loss with every response divided by a scale; products with X are shared."""
        other = copy.copy(self)
        other.moments = self.moments.with_target_scale(scale)
        other.Y = other.moments.Y
        if self.Y is not self.moments.Y:  # the latter are weighted
            own = arrays.from_numpy(scale, self.prototype)
            other.Y = Transformed(self.Y, column_scale=arrays.divide_or_zero(1.0, own))
        constant = other.moments.constant
        Quadratic.__init__(other, self.shape, constant, self.ridge, self.prototype)
        return other

    def target_squares(self) -> np.ndarray:
        """Weighted sum of squares of each response, of shape (n_targets,)."""
        return arrays.to_numpy(self.moments.target_norms) ** 2

    def _responses(self, Y: Any) -> Design:
        n = self.X.shape[0]
        if not is_design(Y):
            Y = arrays.as_float_array(Y)
        if len(Y.shape) != 2 or Y.shape[0] != n:
            raise ValueError(
                f"Y must be a matrix with {n} rows, like X; got shape {tuple(Y.shape)}"
            )
        if is_design(Y):
            return Y
        xp = arrays.namespace(self.X.prototype, Y)
        check_finite("Y", Y)
        return Dense(xp.astype(Y, self.X.prototype.dtype, copy=False))
