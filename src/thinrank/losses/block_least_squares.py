"""Least squares for data in row blocks, from moments that are kept."""

from __future__ import annotations

import copy
from typing import cast

import numpy as np

from thinrank import arrays, linalg
from thinrank.core.contracts import Design
from thinrank.core.factors import Factors
from thinrank.forms.block_form import BlockForm
from thinrank.forms.block_moments import BlockMoments, RowPart
from thinrank.losses.form_loss import FormLoss
from thinrank.losses.noise import noise_scale
from thinrank.losses.quadratic import Quadratic


class BlockLeastSquares(FormLoss):
    """f(Θ) = 1/(2n)·‖Y − XΘ‖²_F + ridge/2·‖Θ‖²_F of centred and scaled row blocks.

    Values and gradients come from XᵀY and from the rows of XᵀX for the predictors in use; see
    :class:`thinrank.forms.block_moments.BlockMoments`.

    Shapes: ``target_scale`` (n_targets,).
    """

    capabilities = Quadratic.capabilities - {"restrict"} | {"target_scale", "with_ridge"}

    def __init__(
        self,
        moments: BlockMoments,
        targets: np.ndarray,
        target_scale: np.ndarray | None,
        ridge: float = 0.0,
    ) -> None:
        scale = np.ones(len(targets)) if target_scale is None else target_scale
        self.moments, self.targets, self.target_scale = moments, targets, scale
        self.inverse_scale = arrays.divide_or_zero(1.0, scale)
        self.X = moments.X
        self.sample_weight = moments.weight
        form = BlockForm(moments, moments.whole, targets, self.inverse_scale)
        super().__init__(form, self._noise_of_all, ridge)

    def products(
        self, U: np.ndarray, V: np.ndarray, VV: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """A, K and B; without products with H where V is zero."""
        if not VV.any():
            return 0 * U, 0 * VV, self.cross().T @ U
        rows = arrays.true_positions(arrays.row_norms_squared(U) > 0)
        if not self.moments.too_many(self.moments.whole.live[rows]):
            return super().products(U, V, VV)
        everything = np.arange(self.shape[0])
        image = self._form.gradient(everything, U, 0 * V)
        return image @ VV - self.cross() @ V, U.T @ image, self.cross().T @ U

    def curvature(self, rows: np.ndarray) -> tuple[float, float]:
        """Extreme eigenvalues of X_SᵀX_S/n, S the rows, plus the ridge."""
        low, high = linalg.extreme_eigenvalues(self._form.gram(rows))
        return max(low, 0.0) + self.ridge, high + self.ridge

    def target_squares(self) -> np.ndarray:
        """Weighted sum of squares of each response, of shape (n_targets,)."""
        squares = self.moments.whole.squares_y[self.targets] * self.inverse_scale**2
        return squares.astype(self.prototype.dtype)

    def residual_squares(self, factors: Factors) -> np.ndarray:
        """Weighted residual sum of squares of each response, of shape (n_targets,)."""
        total = self.moments.whole.squares_y[self.targets] * self.inverse_scale**2
        rows = factors.row_support
        U = arrays.take_rows(factors.U, rows)
        inner = U.T @ (self._form.gram(rows) @ U)
        products = self._form.cross_rows(rows).T @ U
        change = np.sum(factors.V * (factors.V @ inner - 2 * products), axis=1)
        squares = np.maximum(total + self.samples * change, 0.0)
        return squares.astype(self.prototype.dtype)

    def with_ridge(self, ridge: float) -> BlockLeastSquares:
        """The same loss with another ridge; XᵀY is shared."""
        other = copy.copy(self)
        Quadratic.__init__(other, self.shape, self.constant, ridge, self.prototype)
        other._ridged = self._form.with_ridge(other.ridge)
        other.__dict__.pop("_smoothness", None)
        return other

    def with_target_scale(self, scale: np.ndarray) -> BlockLeastSquares:
        """The same loss with every response divided by a further scale."""
        scale = self.target_scale * np.asarray(scale, dtype=np.float64)
        return BlockLeastSquares(self.moments, self.targets, scale, self.ridge)

    def hold_for_search(self) -> None:
        """Nothing: the first pass has computed what a search uses."""

    def noise_of(self, moments: BlockMoments, part: RowPart) -> float:
        """Standard deviation of the errors in some rows; one pass over the data."""
        responses = _Responses(self, moments, part)
        return noise_scale(cast(Design, responses), part.weight)

    def _noise_of_all(self) -> float:
        return self.noise_of(self.moments, self.moments.whole)


class _Responses:
    """The responses of some rows as a design, of which only inner products are needed."""

    def __init__(self, loss: BlockLeastSquares, moments: BlockMoments, part: RowPart) -> None:
        self._loss, self._moments, self._part = loss, moments, part
        self.prototype = loss.prototype
        self.shape = (moments.X.shape[0], len(loss.targets))

    def gram(self, index: np.ndarray) -> np.ndarray:
        """Inner products of the columns ``index``."""
        moments, columns = self._moments, self._loss.targets[index]
        center = self._part.mean_y[columns] * float(moments.center)
        along = (moments.Y, moments.weights_of(self._part))
        gram = moments.X.reduce(_target_gram, columns, center, along=along)[0]
        scale = self._loss.inverse_scale[index]
        return gram * scale * scale[:, None]


def _target_gram(
    X: np.ndarray,
    Y: np.ndarray,
    weight: np.ndarray | None,
    columns: np.ndarray,
    center: np.ndarray,
) -> list[np.ndarray]:
    part = Y[:, columns] - center
    return [part.T @ (part if weight is None else part * weight[:, None])]
