"""Pursuit: exact fits on given supports, and exchanges of rows.

For a quadratic form c/2 − ⟨C, Θ⟩ + ½⟨Θ, HΘ⟩ the best Θ on given rows S and columns T is
reduced-rank regression, in closed form; the best columns for a given row space are exact, too. S is
improved by replacing the rows whose removal costs least with those whose addition gains most. An
exchange is made only if it lowers the objective by a margin. For a loss that is not quadratic, the
form around a fit is pursued, the loss is fitted on the supports found, and this is repeated while
the loss decreases.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from scipy.stats import chi2

from thinrank import arrays
from thinrank.arrays import Array, top_positions, top_rows
from thinrank.core.checks import check_number, positive_integer
from thinrank.core.contracts import QuadraticForm, Sized
from thinrank.core.factors import Factors
from thinrank.solvers.gauss_newton import refitted, shrunk, size_of
from thinrank.solvers.row_fit import Fit, fit_rows

# More rows than this are many: gains are exact for as many, with lower bounds for the others.
MANY_ROWS = 128


@dataclass(frozen=True, eq=False)
class ExchangeScores:
    """Costs of removing rows of a fit and gains of adding others, with Q held fixed.

    They are twice the changes of the objective. Gains of candidates that are not at the positions
    ``exact`` are lower bounds.
    """

    costs: Array  # (|S|,) cost of removing each row of S
    candidates: Array  # (m1 − |S|,) the rows outside S, sorted
    gains: Array  # (m1 − |S|,) gain of adding each candidate
    exact: Array  # (e,) positions in ``candidates`` of the rows with exact gains, sorted
    # (e, r) rows of the gradient of the objective along Q, for the rows with exact gains
    slopes: Array
    curvature: Array  # (e,) H_jj for these rows
    left_over: Array  # (e,) the part of H_jj that S does not explain
    whitened: Array  # (|S|, e) R H_Sj for these rows


def best_pairs(fit: Fit, scores: ExchangeScores, count: int) -> Iterator[tuple[Array, float]]:
    """Single exchanges, those that decrease the objective most with Q held fixed.

    For each the rows after it, and the gain of the new one. Those that cost too much for this gain
    are left out: their fits take time, or a pass over data that are not in memory.

    With B = H_SS⁻¹ and aᵢⱼ = (B H_Sj)ᵢ, removing row i changes the gradient of row j to
    gⱼ − aᵢⱼUᵢ/Bᵢᵢ and increases the part of H_jj that S does not explain by aᵢⱼ²/Bᵢᵢ. The squared
    norm of the former divided by the latter is the gain of j after i was removed. For strongly
    correlated predictors it differs much from the gain of j before.
    """
    a = fit.root.T @ scores.whitened  # (|S|, e), as all that follows
    step = a / fit.inverse_diagonal[:, None]
    squares = step * (step * fit.row_squares[:, None] - 2 * (fit.U @ scores.slopes.T))
    squares += arrays.row_norms_squared(scores.slopes)
    left_over = scores.left_over + a * step
    clear = left_over > 1e3 * arrays.eps(left_over) * scores.curvature
    nets = arrays.divide_or_zero(squares, left_over, clear) - fit.costs[:, None]
    nets = arrays.to_numpy(arrays.half_the_digits(nets))
    costs = arrays.to_numpy(fit.costs)[:, None]
    nets = np.where(_MAX_COST_RATIO * (nets + costs) >= costs, nets, -np.inf)
    xp, new = arrays.namespace(fit.rows), arrays.take_rows(scores.candidates, scores.exact)
    gains = arrays.take_rows(scores.gains, scores.exact)
    for place in np.argsort(-nets, axis=None, kind="stable")[:count].tolist():
        i, j = divmod(place, nets.shape[1])
        if nets[i, j] == -np.inf:
            return
        rows = [fit.rows[:i], fit.rows[i + 1 :], new[j : j + 1]]
        yield xp.sort(xp.concat(rows), stable=False), float(gains[j])


@functools.lru_cache(maxsize=256)
def largest_noise(count: int, degrees: int) -> float:
    """Typical size of the largest of ``count`` χ² variables."""
    return float(chi2.isf(1 / max(count, 2), max(degrees, 1)))


def promising(costs: Array, gains: Array, free: int, margin: float) -> int:
    """The number of exchanges whose gain exceeds their cost: largest gains for smallest costs.

    ``free`` rows may be added without removing others. Costs and gains are twice the changes of
    the objective, hence twice the margin.
    """
    xp = arrays.namespace(costs)
    free = min(free, gains.shape[0])
    costs = xp.sort(costs, stable=False)
    gains = arrays.take_rows(gains, descending(gains, free + costs.shape[0]))
    if free:
        entering = int(xp.count_nonzero(gains[:free] > 0))
        if entering < free:
            return entering
    pairs = min(costs.shape[0], gains.shape[0] - free)
    return free + int(xp.count_nonzero(gains[free : free + pairs] > costs[:pairs] + 2 * margin))


def outside(rows: Array, size: int) -> Array:
    """The numbers below ``size`` that are not among sorted ``rows``, sorted."""
    inside = arrays.scatter_rows(arrays.namespace(rows).ones_like(rows), rows, size)
    return arrays.true_positions(inside == 0)


def ascending(values: Array) -> Array:
    """Positions in ascending order of values, compared to half of their digits; ties in order."""
    return arrays.namespace(values).argsort(arrays.half_the_digits(values))


def descending(values: Array, count: int) -> Array:
    """Positions of the ``count`` largest of non-negative values, largest first, without zeros."""
    best = top_positions(values, count)
    return arrays.take_rows(best, ascending(-arrays.take_rows(values, best)))


# Exchanges of one row that are tried at the end. In 240 fits (simulations of 5 sizes) 1, 4 and 16
# gave the same errors; hundreds by exact fits took 2.4 times as long, with errors 1 % larger.
_LAST_TRIALS = 4
# An exchange is not tried if its cost exceeds this number times its gain. A rule of thumb: with the
# row space held fixed the gain underestimates the effect.
_MAX_COST_RATIO = 4.0
_WITHIN_MARGIN = "no exchange improves the fit by more than the margin"


@dataclass(frozen=True)
class Pursuit(Sized):
    """Minimise a loss by exact fits of a quadratic form and exchanges of rows.

    For a quadratic loss the form is the loss itself, and an iteration exchanges rows once. For any
    other it is an approximation around the last fit; an iteration is a complete run on this form,
    followed by a fit of the loss on the supports that were found.

    Parameters
    ----------
    max_iter : int, default=100
        Largest number of iterations; each exchanges one or more rows.
    tol : float, default=1e-7
        An exchange must decrease the objective by more than this fraction of it; the run ends when
        no exchange does.
    exchange_penalty : float, default=2.0
        An exchange must also decrease the deviance N·log(objective), where N is the number of
        entries of the data, by this number for each of the r coefficients of each exchanged row; 2
        is the penalty of AIC. Without a penalty superfluous rows could be exchanged many times for
        others that fit the noise better. With 0 every exchange that decreases the objective is
        made: the objective is lower, but in simulations the error on new data is higher.
    thorough : bool, default=True
        Whether to try, at the end, the exchanges of one row that gain most after the other row is
        removed, which the gains before do not show if predictors are correlated.
    neighbours : bool, default=True
        An older name of ``thorough``; both must be True.
    exchanges : bool, default=True
        Whether to exchange rows; otherwise the result is the best fit on the rows of the start.
    """

    name: ClassVar[str] = "pursuit"
    needs: ClassVar[frozenset[str]] = frozenset({"majorizer"})
    exchanges_rows: ClassVar[bool] = True
    adapts_to_units: ClassVar[bool] = True

    max_iter: int = 100
    tol: float = 1e-7
    exchange_penalty: float = 2.0
    thorough: bool = True
    neighbours: bool = True
    exchanges: bool = True

    def __post_init__(self) -> None:
        positive_integer("max_iter", self.max_iter)
        check_number("tol", self.tol)
        check_number("exchange_penalty", self.exchange_penalty)

    def init(self, loss: Any, start: Factors) -> Fit:
        """The best fit on the supports of the start; after a run on a form if not quadratic."""
        if "quadratic" in loss.capabilities:
            return self._first(loss.quadratic(), start)
        if "gauss_newton" in loss.capabilities:
            start = shrunk(loss, start)
        return self._pursued(loss, start)

    def step(self, loss: Any, state: Fit) -> Fit:
        """The next fit; final if nothing improves the last one."""
        if "quadratic" in loss.capabilities:
            return self._improved(loss.quadratic(), state)
        if state.U.shape[1] == 0:
            return replace(state, change=0.0, final=True)
        if self.exchanges:
            trial = self._pursued(loss, state.factors)
            decrease = state.objective - trial.objective
            if decrease > self.tol * size_of(loss, state.objective):
                return replace(trial, change=decrease / state.objective)
            trial = self._improved(loss.majorizer(state.factors), state, loss)
            if not trial.final:
                return trial
        # the relative error of the coefficients is about the root of a relative decrease
        fit = refitted(loss, state, self.columns, 100 * self.tol**2)
        fit = fit if fit.objective < state.objective else state
        return replace(fit, change=0.0, final=True)

    def done(self, state: Fit) -> bool:
        """Whether no exchange improves the fit."""
        return state.final

    def _pursued(self, loss: Any, around: Factors) -> Fit:
        """The fit of a loss on the supports that pursuit of the form around some factors finds."""
        form = loss.majorizer(around)
        fit = self._first(form, around)
        for _ in range(self.max_iter):
            fit = self._improved(form, fit)
            if fit.final:
                break
        return refitted(loss, replace(fit, final=False), self.columns, self.tol, around)

    def _first(self, form: QuadraticForm, start: Factors) -> Fit:
        """The best fit of a form on the rows and columns of the start."""
        rows, columns = start.row_support, start.column_support
        if rows.shape[0] > self.rows:
            rows = top_rows(start.U, self.rows)
        if columns.shape[0] > self.columns:
            columns = top_rows(start.V, self.columns)
        fit = self._fit_rows(form, rows, columns, start.V)
        if fit.U.shape[1] == 0:  # rows without effect have no gradient to improve them
            by_row, by_column = form.cross_norms()
            rows = top_rows(arrays.divide_or_zero(by_row, form.diagonal())[:, None], rows.shape[0])
            columns = top_rows(by_column[:, None], columns.shape[0])
            fit = self._fit_rows(form, rows, columns, start.V)
        return fit

    def _fit_rows(
        self, form: QuadraticForm, rows: Array, columns: Array, guess: Array, loss: Any = None
    ) -> Fit:
        """The best fit of a form, or of its loss, on given rows; ``columns`` begin."""
        fit = fit_rows(form, rows, columns, guess, self.rank, self.columns)
        return fit if loss is None else refitted(loss, fit, self.columns, self.tol)

    def _improved(self, form: QuadraticForm, state: Fit, loss: Any = None) -> Fit:
        """The largest exchange of rows that lowers the objective; final if there is none.

        It is the first one that does of as many rows as are promising, half as many, and so on:
        the rows of largest gain are added, and those of least cost removed.
        ``loss``: the loss whose form it is, if exchanges must lower this instead.
        """
        # with more rows than samples all sets of rows fit equally well
        if not self.exchanges or state.has_more_rows_than_samples:
            return replace(state, change=0.0, final=True)
        scores = self.prospects(form, state)
        margin = self._margin(form, state, loss)
        free = self.rows - state.rows.shape[0]
        size = promising(scores.costs, scores.gains, free, margin)
        rounding = 10 * arrays.eps(form.prototype) * abs(form.constant)
        costs = scores.costs + form.constant  # so that rounding errors of small costs vanish
        xp = arrays.namespace(costs)
        while size > 0:
            leaving = max(size - free, 0)
            kept = arrays.take_rows(state.rows, ascending(costs)[leaving:])
            entering = arrays.take_rows(scores.candidates, descending(scores.gains, size))
            rows = xp.sort(xp.concat([kept, entering]), stable=False)
            trial = self._fit_rows(form, rows, state.columns, state.Q, loss)
            decrease = state.objective - trial.objective
            if decrease > leaving * margin + rounding:
                return replace(trial, change=decrease / max(state.objective, decrease))
            size //= 2
        if self.thorough and self.neighbours and state.U.shape[1] > 0:
            # a new row that explains more than the best of m1 rows of noise needs no margin
            threshold = largest_noise(form.shape[0], state.U.shape[1]) / form.observations
            price = self._margin(form, state, loss, best_of=form.shape[0])
            for rows, gain in best_pairs(state, scores, _LAST_TRIALS):
                trial = self._fit_rows(form, rows, state.columns, state.Q, loss)
                decrease = state.objective - trial.objective
                clear = gain > 2 * threshold * abs(state.objective)
                if decrease > (self.tol * abs(state.objective) if clear else price) + rounding:
                    return replace(trial, change=decrease / max(state.objective, decrease))
        within = scores.candidates.shape[0] > 0 and margin > self.tol * abs(state.objective)
        ending = _WITHIN_MARGIN if within else state.ending
        return replace(state, change=0.0, final=True, ending=ending)

    def _margin(self, form: QuadraticForm, fit: Fit, loss: Any, best_of: int = 1) -> float:
        """The decrease of the objective required for each exchanged row.

        AIC's 2 per coefficient is twice what a row of noise explains on average. The best of many
        such rows explains more, so this is required if the new row is the best of ``best_of``.
        Where exchanges are fitted to a loss that is not quadratic (``loss``), as with missing
        entries, its best rows are often reached through small decreases, which are allowed.
        """
        if loss is not None:
            return self.tol * abs(fit.objective)
        rank = fit.U.shape[1]
        coefficients = max(rank, largest_noise(best_of, rank) / 2 if best_of > 1 else 0)
        penalty = self.exchange_penalty * coefficients / form.observations
        return max(self.tol, penalty) * abs(fit.objective)

    def prospects(self, form: QuadraticForm, fit: Fit) -> ExchangeScores:
        """Costs of removing the rows of S and gains of adding others, with Q held fixed.

        Removing row i increases the objective by ½‖Uᵢ‖²/(H_SS⁻¹)ᵢᵢ. Adding row j decreases it by
        ½‖gⱼ‖²/(H_jj − H_jS H_SS⁻¹ H_Sj), where g is the gradient. The denominator is at most H_jj,
        which gives lower bounds; the largest gains are computed exactly. All are doubled.
        """
        gradient = form.gradient(fit.rows, fit.U, fit.Q)
        slopes, curvature, costs = arrays.row_norms_squared(gradient), form.diagonal(), fit.costs
        candidates = outside(fit.rows, form.shape[0])
        gains = arrays.take_rows(arrays.divide_or_zero(slopes, curvature), candidates)
        count = min(candidates.shape[0], MANY_ROWS)
        if candidates.shape[0] > count:
            if promising(costs, gains, self.rows - fit.rows.shape[0], 0.0) > count:
                # by the lower bounds alone more than ``count`` exchanges help: they are sufficient
                count = 0
            exact = arrays.namespace(gains).sort(descending(gains, count), stable=False)
        else:
            exact = arrays.indices(range(count), gains)
        rows = arrays.take_rows(candidates, exact)
        own, steep = arrays.take_rows(curvature, rows), arrays.take_rows(gradient, rows)
        if count == 0:
            nothing = arrays.zeros((fit.rows.shape[0], 0), like=gradient)
            return ExchangeScores(costs, candidates, gains, exact, steep, own, own, nothing)
        whitened = fit.root @ form.gram_between(fit.rows, rows)
        left_over = own - arrays.column_norms_squared(whitened)
        # a column that S explains up to rounding would only make the fit unstable
        clear = left_over > 1e3 * arrays.eps(own) * own
        best = arrays.divide_or_zero(arrays.take_rows(slopes, rows), left_over, clear)
        gains = arrays.put_rows(gains, exact, best)
        return ExchangeScores(costs, candidates, gains, exact, steep, own, left_over, whitened)
