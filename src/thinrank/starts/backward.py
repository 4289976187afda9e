"""The start of backward elimination, and the best fit on given rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from thinrank import arrays, linalg
from thinrank.arrays import Array
from thinrank.core.contracts import QuadraticForm, require
from thinrank.core.factors import Factors
from thinrank.forms.products import ProductForm, dual_fits
from thinrank.starts.elimination import eliminated

# Ridge of the fits if the loss has none, in units of the mean curvature. Values from 0.01 to 10
# made no difference on eight real data sets; smaller ones are worse for weak signals and strongly
# correlated predictors.
_RIDGE = 1.0


@dataclass(frozen=True)
class Backward:
    """Fit all rows with a ridge, remove those that cost least, and repeat until few are left.

    A predictor is assessed together with all others, so that among correlated predictors those are
    kept that predict best together. The ridge is that of the loss, or else the mean curvature.
    """

    def __call__(self, loss: Any, rank: int, rows: int, columns: int, seed: int) -> Factors:
        """Factors of rank at most ``rank`` of the fit on the rows that are left."""
        require(loss, "quadratic", 'start="backward"')
        form = loss.quadratic()
        return on_rows(form, eliminated(form, rows, form.ridge or default_ridge(form)), rank)


def default_ridge(form: QuadraticForm) -> float:
    """The ridge of elimination from a loss without ridge."""
    diagonal = form.with_ridge(0.0).diagonal()
    live = arrays.true_positions(diagonal > 0)
    return _RIDGE * float(arrays.namespace(diagonal).sum(diagonal)) / max(live.shape[0], 1)


def on_rows(form: QuadraticForm, rows: Array, rank: int) -> Factors:
    """The best fit of rank ``rank`` on given rows, in closed form."""
    if rows.shape[0] == 0:
        return Factors.zero(form.shape, like=form.prototype)
    root, _ = form.inverse_root(rows)
    whitened = root @ form.cross_rows(rows)  # W, with ΘᵀHΘ = WᵀW, and Θ = RᵀW
    xp = arrays.namespace(whitened)
    if whitened.shape[0] < whitened.shape[1]:  # use the smaller of WWᵀ and WᵀW
        left = xp.flip(xp.linalg.eigh(whitened @ whitened.T)[1], axis=1)[:, :rank]
        V = whitened.T @ left
        V = V * xp.sqrt(arrays.divide_or_zero(1.0, arrays.column_norms_squared(V)))
    else:
        V = xp.flip(xp.linalg.eigh(whitened.T @ whitened)[1], axis=1)[:, :rank]
    return Factors(arrays.scatter_rows(root.T @ (whitened @ V), rows, form.shape[0]), V)


def solution(form: QuadraticForm, rows: Array) -> Array:
    """H_SS⁻¹C_S, the coefficients of the rows S without a limit on the rank."""
    if isinstance(form, ProductForm) and form.has_dual(rows):
        return dual_fits([form], rows[None, :])[0][0, ...]
    return linalg.solve_definite(form.gram(rows), form.cross_rows(rows))
