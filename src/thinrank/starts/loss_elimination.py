"""Backward elimination for losses that are not quadratic."""

from __future__ import annotations

from typing import Any

from thinrank import arrays
from thinrank.arrays import Array, top_rows
from thinrank.core.factors import Factors
from thinrank.starts.backward import default_ridge, on_rows, solution
from thinrank.starts.elimination import first_rows

# Largest number of quadratic approximations of one ridge fit, and the relative decrease of the
# loss below which there are no more: the fits only serve to compare rows.
_MAX_APPROXIMATIONS = 10
_TOL = 1e-2
# Factor on the curvature of an approximation whose minimum does not decrease the loss, and how
# often it is applied.
_DAMPING = 4.0
_MAX_DAMPINGS = 5
# Fraction of the rows kept at each stage; fewer at the beginning, where fits take longest.
_KEPT, _KEPT_AT_FIRST = 0.7, 0.5


class LossElimination:
    """Sets of rows of every size, from ridge fits of the loss itself.

    A fit on all rows has one row of coefficients per predictor. The rows of largest norm are kept
    and fitted again, until few are left. Each fit minimises quadratic approximations of the loss,
    around zero first and then around the last minimum. So missing entries are filled in with the
    fit, and curvatures are those at the fit.
    """

    def __init__(self, loss: Any) -> None:
        zero = Factors.zero(loss.shape, loss.prototype, rank=1)
        form = loss.majorizer(zero)
        self.ridge = default_ridge(form)
        self._diagonal, self._samples = form.diagonal(), form.samples
        self._left = first_rows(form)
        self._fits: list[tuple[Array, Array]] = []  # rows and their squared norms, one pair per fit
        self._known: dict[int, Array] = {}
        self._column_scale = form.column_scale
        self._bare, self._loss = loss, loss.with_ridge(self.ridge)
        self._point = zero
        self._points: list[tuple[Array, Factors]] = []  # rows of each fit, and the fit on them
        self._known_fits: dict[int, Factors] = {}

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

    def fitted(self, count: int) -> Factors:
        """The ridge fit on ``rows(count)``, with no limit on the rank."""
        rows = self.rows(count)
        if count not in self._known_fits:
            self._known_fits[count] = self._fit(rows, self._near(count))
        return self._known_fits[count]

    def _near(self, count: int) -> Factors:
        """The smallest fit with more rows, whatever fits there are with fewer."""
        larger = [(rows, fit) for rows, fit in self._points if rows.shape[0] > count]
        if not larger:
            return Factors.zero(self._loss.shape, self._loss.prototype, rank=1)
        rows, fit = larger[-1]
        return Factors(arrays.scatter_rows(fit.U, rows, self._loss.shape[0]), fit.V)

    def start(self, rank: int, rows: int, ridge: float) -> Factors:
        """The best fit of rank ``rank`` on ``rows(rows)``, by the approximation around a fit."""
        form = self._bare.majorizer(self.fitted(rows)).with_ridge(ridge)
        found = on_rows(form, self.rows(rows), rank)
        scale = form.column_scale
        return found if scale is None else Factors(found.U, found.V / scale[:, None])

    def _coefficients(self, rows: Array) -> Array:
        self._point = self._fit(rows, self._point)
        scale = self._column_scale
        few = Factors(arrays.take_rows(self._point.U, rows), self._point.V)
        self._points.append((rows, few))
        theta = few.theta
        return theta if scale is None else theta * scale

    def _fit(self, rows: Array, near: Factors) -> Factors:
        """Minimise the loss with its ridge over Θ that vanish outside ``rows``."""
        inside = arrays.scatter_rows(arrays.take_rows(near.U, rows), rows, near.shape[0])
        point = Factors(inside, near.V)
        if self._loss.nearly_quadratic:
            return self._minimum_of(self._loss.majorizer(point, rows), rows)
        value, before, count = self._loss.value(point), point, 0
        for _ in range(_MAX_APPROXIMATIONS):
            around = point if count == 0 else _extrapolated(before, point, count / (count + 3))
            trial, lower = self._minimum(around, rows, value)
            if not lower < value:
                if count == 0:
                    break
                count = 0  # once more without extrapolation
                continue
            decrease, value, before, point, count = value - lower, lower, point, trial, count + 1
            if decrease <= _TOL * max(value, 0.0):
                break
        return point

    def _minimum(self, around: Factors, rows: Array, value: float) -> tuple[Factors, float]:
        """The minimum of the approximation around a point, damped if the loss is not lower."""
        damping = 1.0
        for _ in range(_MAX_DAMPINGS):
            form = self._loss.majorizer(around, rows, damping)
            trial = self._minimum_of(form, rows)
            lower = self._loss.value(trial)
            if lower < value:
                break
            damping *= _DAMPING
        return trial, lower

    def _minimum_of(self, form: Any, rows: Array) -> Factors:
        """The minimum of an approximation, in the units of the loss."""
        phi = solution(form, rows)
        V = arrays.identity(self._loss.shape[1], like=phi)
        if form.column_scale is not None:
            V = V / form.column_scale[:, None]
        return Factors(arrays.scatter_rows(phi, rows, self._loss.shape[0]), V)


def _extrapolated(before: Factors, here: Factors, momentum: float) -> Factors:
    """Θ + momentum·(Θ − Θ before), as accelerated gradient methods do."""
    change = (1 + momentum) * here.theta - momentum * before.theta
    return Factors(change, arrays.identity(here.shape[1], like=here.V))


def _largest(squares: Array, count: int) -> Array:
    """Sorted positions of the ``count`` largest values, without zeros."""
    return top_rows(arrays.namespace(squares).sqrt(squares)[:, None], count)
