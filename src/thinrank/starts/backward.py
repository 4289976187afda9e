"""Backward elimination: repeated ridge fits, each without the smallest rows of the last."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from thinrank import arrays, linalg
from thinrank.arrays import Array
from thinrank.core.contracts import QuadraticForm, require
from thinrank.core.factors import Factors
from thinrank.core.memory import budget_bytes
from thinrank.forms import ProductForm
from thinrank.largest import top_rows

__all__ = ["MOST_ROWS", "Backward", "Elimination", "most_at_once", "on_rows", "solution"]

# Ridge of the fits, in units of the mean curvature. Values from 0.01 to 10 made no difference on
# eight real data sets; smaller ones are worse for weak signals and strongly correlated predictors.
_RIDGE = 1.0
# Fraction of the rows kept at each stage; fewer at the beginning, where fits take longest.
_KEPT, _KEPT_AT_FIRST = 0.7, 0.5
# A matrix with this number of rows and columns is factorised in about a second.
MOST_ROWS = 2000
# The columns of X in memory at the same time may take the memory budget divided by this number.
_PARTS = 50


class Elimination:
    """Sets of rows of every size, from one sequence of ridge fits.

    A fit on all rows has one row of coefficients per predictor. The rows of largest norm are kept
    and fitted again, until few are left (recursive feature elimination, Guyon et al. 2002, with
    several responses). With more predictors than samples each fit takes the factorisation of an
    n × n matrix, whatever the number of predictors. If both numbers are above 2000, the sequence
    begins with the predictors of largest covariance with the responses, at most 2000.

    Parameters
    ----------
    form : QuadraticForm
        The form; its ridge is replaced by that of the fits.
    """

    def __init__(self, form: QuadraticForm) -> None:
        self._diagonal = form.with_ridge(0.0).diagonal()
        live = arrays.true_positions(self._diagonal > 0)
        total = float(arrays.namespace(self._diagonal).sum(self._diagonal))
        self.ridge = _RIDGE * total / max(live.shape[0], 1)
        self._form = form.with_ridge(self.ridge)
        self._samples = form.samples
        if min(live.shape[0], form.samples) > MOST_ROWS:
            by_row = arrays.divide_or_zero(form.cross_norms()[0], self._diagonal)
            live = _largest(by_row, most_at_once(form))
        self._left = live
        self._fits: list[tuple[Array, Array]] = []  # rows and their squared norms, one pair per fit
        self._known: dict[int, Array] = {}

    def rows(self, count: int) -> Array:
        """The ``count`` rows of largest norm in the smallest fit with more rows, sorted.

        All rows if there are at most ``count``.
        """
        if count not in self._known:
            self._known[count] = self._rows(count)
        return self._known[count]

    def _rows(self, count: int) -> Array:
        while self._left.shape[0] > count:
            self._fit_once_more()
        fits = [fit for fit in self._fits if fit[0].shape[0] > count]
        if not fits:
            return self._left if not self._fits else self._fits[0][0]
        rows, squares = fits[-1]
        return arrays.take_rows(rows, _largest(squares, count))

    def _fit_once_more(self) -> None:
        rows = self._left
        scale = arrays.take_rows(self._diagonal, rows)  # removes the units of the predictors
        squares = arrays.row_norms_squared(self._coefficients(rows)) * scale
        self._fits.append((rows, squares))
        part = _KEPT_AT_FIRST if rows.shape[0] > 2 * self._samples else _KEPT
        self._left = arrays.take_rows(rows, _largest(squares, int(part * rows.shape[0])))

    def _coefficients(self, rows: Array) -> Array:
        """The coefficients of a ridge fit on some rows."""
        return solution(self._form, rows)


def most_at_once(form: QuadraticForm) -> int:
    """Number of rows whose columns of X fit into the allowed part of the memory budget."""
    itemsize = arrays.itemsize(form.prototype)
    return int(min(max(budget_bytes() / (_PARTS * itemsize * form.samples), 1), MOST_ROWS))


def _largest(squares: Array, count: int) -> Array:
    """Sorted positions of the ``count`` largest values, without zeros."""
    return top_rows(arrays.namespace(squares).sqrt(squares)[:, None], count)


@dataclass(frozen=True)
class Backward:
    """Fit all rows with a ridge, remove the smallest, and repeat until ``rows`` are left.

    A predictor is assessed together with all others, so that among correlated predictors those are
    kept that predict best together. See :class:`Elimination`.
    """

    def __call__(self, loss: Any, rank: int, rows: int, columns: int, seed: int) -> Factors:
        """Factors of rank at most ``rank`` of the fit on the rows that are left."""
        require(loss, "quadratic", 'start="backward"')
        form = loss.quadratic()
        return on_rows(form, Elimination(form).rows(rows), rank)


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
        return form.dual_solution(rows)
    return linalg.solve_definite(form.gram(rows), form.cross_rows(rows))
