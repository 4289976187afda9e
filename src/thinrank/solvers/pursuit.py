"""Pursuit: exact fits on given supports, and exchanges of rows.

For a quadratic form c/2 − ⟨C, Θ⟩ + ½⟨Θ, HΘ⟩ the best Θ on given rows S and columns T is
reduced-rank regression, in closed form; given the row space the best columns are exact too. What
remains is the choice of S, by exchanging the rows whose loss costs least for those that promise
most. An exchange is made only when it lowers the objective by enough. Where no such exchange is
left, the supports next to S are tried as well (:mod:`thinrank.solvers.neighbours`). A loss that is
not quadratic is seen through its majorizers.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from scipy.stats import chi2

from thinrank import arrays, linalg
from thinrank.arrays import Array
from thinrank.core.contracts import QuadraticForm
from thinrank.core.factors import Factors
from thinrank.solvers.fits import Fit, Prospects
from thinrank.solvers.neighbours import next_columns, next_rows
from thinrank.solvers.sized import Sized, check_iterations, check_number

__all__ = ["Fit", "Pursuit"]

# Rows outside the support whose gain is computed exactly; the others' gains are bounded below.
_EXACT_GAINS = 128
# Rows that may leave, and rows that may enter, in single exchanges before giving up.
_LAST_EXCHANGES = 2
# A row that costs this many times what another promises will not be exchanged for it.
_HOPELESS = 1.2
# Fits of alternating columns and factors on one set of rows.
_MOST_COLUMN_CHANGES = 20
# Majorizers on one set of rows: with curvatures that differ by a factor of 4 fifty leave less than
# a millionth of the distance.
_MOST_MAJORIZERS = 50
# Part of the size of a loss below which it is not made much smaller by majorizers, whose steps get
# shorter with it.
_NEARLY_PERFECT = 1e-4
# All further majorizers together are expected to bring less than this many times the last one.
_FURTHER = 10.0
# Single exchanges tried where the form is a majorizer, which promises less than they bring.
_MOST_EXCHANGES = 16
# Relative decrease of a loss below which its fit is good enough to be compared with another: a
# tenth of what an exchange must bring where the data have 1000 entries.
_ENOUGH_TO_COMPARE = 2e-4


@dataclass(frozen=True)
class Pursuit(Sized):
    """Minimise a loss by exact fits of a quadratic form and exchanges of rows.

    For a quadratic loss the form is the loss itself. For any other it is a majorizer, made anew at
    every fit; a fit on given rows is then repeated until the loss no longer decreases, and
    whether an exchange helps is decided by the loss.

    Parameters
    ----------
    max_iter : int, default=100
        Largest number of iterations; each makes one exchange of one or more rows.
    tol : float, default=1e-7
        An exchange must lower the objective by more than this part of it; the run ends when none
        does.
    exchange_penalty : float, default=2.0
        An exchange must also lower the deviance N·log(objective), N the number of entries of
        the data, by this much for each of the r coefficients of each row exchanged; 2 is the
        penalty of AIC. Where more rows are allowed than needed, the superfluous ones could be
        exchanged for others that fit the noise better for a long time, to no good. With 0 every
        exchange that lowers the objective is made: the objective is lower, and in simulations the
        error on fresh data is higher.
    thorough : bool, default=True
        Whether single exchanges that need not be worth the penalty are tried before the end, and
        supports next to the current one.
    neighbours : bool, default=True
        Whether supports next to the current one are tried by exact fits before the end: all of
        them where they are small and few, the most promising otherwise.
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

    def __post_init__(self) -> None:
        check_iterations(self.max_iter)
        check_number("tol", self.tol)
        check_number("exchange_penalty", self.exchange_penalty)

    def init(self, loss: Any, start: Factors) -> Fit:
        """The best fit on the rows and columns of the start."""
        form = loss.majorizer(start)
        rows = arrays.top_rows(start.U, self.rows)
        columns = arrays.top_rows(start.V, self.columns)
        fit = self._fit(loss, form, rows, columns, start.V)
        if fit.U.shape[1] == 0:  # rows that explain nothing show no way to better ones
            by_row, by_column = form.cross_norms()
            rows = arrays.top_rows(
                arrays.divide_or_zero(by_row, form.diagonal())[:, None], rows.shape[0]
            )
            columns = arrays.top_rows(by_column[:, None], columns.shape[0])
            fit = self._fit(loss, form, rows, columns, start.V)
        return fit

    def step(self, loss: Any, state: Fit) -> Fit:
        """The largest exchange of rows that lowers the objective; the state is final if none."""
        form = loss.majorizer(state.factors)
        if state.has_more_rows_than_samples:  # any exchange would fit as well
            return self._without_exchange(loss, form, state)
        # costs and gains are those of a fit of this form
        here = state
        if not form.exact:
            here = self._fit_form(form, state.rows, state.columns, state.Q)
            here = replace(here, objective=_value(loss, here))
        prospects = self._prospects(form, here)
        costs, candidates, gains = prospects.costs, prospects.candidates, prospects.gains
        free = self.rows - state.rows.shape[0]
        margin = self._margin(form, state)
        size = _promising(costs, gains, free, margin)
        rounding = 10 * arrays.eps(form.prototype) * form.constant
        while size > 0:
            rows = self._exchanged(state.rows, costs + form.constant, candidates, gains, size)
            trial = self._fit(loss, form, rows, state.columns, state.Q)
            decrease = state.objective - trial.objective
            if decrease > max(size - free, 0) * margin + rounding:
                return replace(trial, change=decrease / max(state.objective, decrease))
            size //= 2
        if self.thorough:
            for trial, price in self._last_trials(loss, form, here, prospects):
                decrease = state.objective - trial.objective
                if decrease > max(price, self.tol * state.objective) + rounding:
                    return replace(trial, change=decrease / state.objective)
        return self._without_exchange(loss, form, state)

    def done(self, state: Fit) -> bool:
        """Whether no exchange helps."""
        return state.final

    def _without_exchange(self, loss: Any, form: QuadraticForm, state: Fit) -> Fit:
        """The same supports: final, unless a better fit of a loss that is not quadratic is left."""
        if not form.exact:
            again = self._fit(loss, form, state.rows, state.columns, state.Q, self.tol)
            decrease = state.objective - again.objective
            size = max(state.objective, _NEARLY_PERFECT * loss.magnitude)
            if decrease > self.tol * size:
                return replace(again, change=decrease / state.objective)
        return replace(state, change=0.0, final=True)

    def _last_trials(
        self, loss: Any, form: QuadraticForm, here: Fit, prospects: Prospects
    ) -> Iterator[tuple[Fit, float]]:
        """Fits to try before the end, and the decrease that each must bring."""
        if self.neighbours and here.U.shape[1] > 0:
            sizes = self.rank, self.columns
            margin = self._margin(form, here, best_of=form.shape[0])
            if not form.exact:
                for rows in _best_exchanges(here, prospects):
                    trial = self._fit(loss, form, rows, here.columns, here.Q, target=here.objective)
                    yield trial, margin
            near = next_rows(form, here, prospects, *sizes, margin)
            if near is not None:
                trial = self._fit(loss, form, near.rows, near.columns, here.Q)
                yield trial, near.exchanged * margin
            near = next_columns(here, *sizes)
            if near is not None:
                yield self._fit(loss, form, near.rows, near.columns, here.Q), 0.0
        evident = self._evident(loss, form, here, prospects)
        if evident is not None:
            yield evident, 0.0

    def _evident(
        self, loss: Any, form: QuadraticForm, here: Fit, prospects: Prospects
    ) -> Fit | None:
        """The best of a few single exchanges whose newcomer is evidently not noise, if any helps.

        Costs and gains hold Q fixed, so that an exchange may bring more than they promise. A row
        of noise explains a deviance of χ² with r degrees of freedom: a newcomer that would
        explain more than the best of m1 such rows need not bring the penalty.
        """
        costs, candidates, gains = prospects.costs, prospects.candidates, prospects.gains
        xp = arrays.namespace(gains)
        unit = 2 * here.objective / form.observations  # gains and costs are doubled
        evident = _largest_noise(form.shape[0], here.U.shape[1]) * unit
        best = None
        least = (1 - self.tol) * here.objective
        for j in _descending(gains)[: min(_LAST_EXCHANGES, gains.shape[0])]:
            if not gains[j] > evident:
                break
            for i in _ascending(costs)[: min(_LAST_EXCHANGES, costs.shape[0])]:
                if costs[i] > _HOPELESS * gains[j]:
                    break
                others = xp.arange(costs.shape[0], device=arrays.device_of(costs)) != i
                kept = arrays.take_rows(here.rows, arrays.true_positions(others))
                rows = xp.sort(xp.concat([kept, xp.reshape(candidates[j], (1,))]))
                trial = self._fit(loss, form, rows, here.columns, here.Q)
                if trial.objective < least:
                    best, least = trial, trial.objective - self.tol * here.objective
        return best

    def _margin(self, form: QuadraticForm, fit: Fit, best_of: int = 1) -> float:
        """The decrease of the objective that the exchange of a row must bring.

        AIC's 2 per coefficient is twice what a row of noise explains on average. The best of many
        such rows explains more, so where the newcomer is the best of them it must bring that.
        """
        rank = fit.U.shape[1]
        coefficients = max(rank, _largest_noise(best_of, rank) / 2 if best_of > 1 else 0)
        penalty = self.exchange_penalty * coefficients / form.observations
        return max(self.tol, penalty) * fit.objective

    def _fit(
        self,
        loss: Any,
        form: QuadraticForm,
        rows: Array,
        columns: Array,
        guess: Array,
        enough: float = _ENOUGH_TO_COMPARE,
        target: float = math.inf,
    ) -> Fit:
        """The best fit on given rows, with the loss as its objective.

        A fit of a majorizer lowers the loss; it is repeated with majorizers that hold on these
        rows only, which are closer, while that lowers the loss by the part ``enough`` of it and
        may still bring it below ``target``.
        """
        fit = self._fit_form(form, rows, columns, guess)
        if form.exact:
            return fit
        fit = replace(fit, objective=_value(loss, fit))
        last, age = fit, 0
        for _ in range(_MOST_MAJORIZERS):
            # beyond the last fit, as in accelerated gradient methods, and from it after a failure
            point = (
                _extrapolated(last.factors, fit.factors, age / (age + 3)) if age else fit.factors
            )
            nearer = loss.majorizer(point, fit.rows)
            trial = self._fit_form(nearer, fit.rows, fit.columns, fit.Q)
            trial = replace(trial, objective=_value(loss, trial))
            if not trial.objective < fit.objective:
                if age == 0:
                    break
                age = 0
                continue
            last, fit, age = fit, trial, age + 1
            decrease = last.objective - fit.objective
            size = max(last.objective, _NEARLY_PERFECT * loss.magnitude)
            if decrease <= enough * size or fit.objective - _FURTHER * decrease > target:
                break
        return fit

    def _fit_form(self, form: QuadraticForm, rows: Array, columns: Array, guess: Array) -> Fit:
        """Reduced-rank regression on S, alternating with the best columns for its row space."""
        root, ridged = form.inverse_root(rows)
        cross = form.cross_rows(rows)
        whitened = root @ cross  # (|S|, m2)
        xp = arrays.namespace(whitened)
        # what rounding makes of zeros in the whitened matrix
        floor = rows.shape[0] * arrays.eps(root) * _largest(root) * _largest(cross)
        for _ in range(_MOST_COLUMN_CHANGES):
            left = linalg.leading_left_vectors(
                arrays.take_columns(whitened, columns),
                self.rank,
                guess=arrays.take_rows(guess, columns),
                floor=floor,
            )
            V = whitened.T @ left
            best = arrays.top_rows(V, self.columns)
            settled = best.shape == columns.shape and bool(xp.all(best == columns))
            columns, guess = best, V
            if settled or columns.shape[0] == 0:
                break
        V = arrays.take_rows(V, columns)
        explained = arrays.inner(V, V)
        orthonormal, triangle = xp.linalg.qr(V)
        U = root.T @ (left @ triangle.T)
        Q = arrays.scatter_rows(orthonormal, columns, form.shape[1])
        objective = 0.5 * (form.constant - explained)
        if ridged:  # then ‖V‖² belongs to another H
            quadratic = arrays.inner(U, form.gram(rows) @ U)
            objective = 0.5 * (form.constant + quadratic) - arrays.inner(U, cross @ Q)
        objective = max(objective, 0.0)
        scale = form.column_scale
        return Fit(rows, columns, root, whitened, U, Q, objective, form.shape, scale)

    def costs_and_gains(self, form: QuadraticForm, fit: Fit) -> tuple[Array, Array, Array]:
        """What leaving out each row of S costs, and what each row outside would gain, Q held fixed.

        Leaving out row i raises the objective by ½‖Uᵢ‖²/(H_SS⁻¹)ᵢᵢ. Taking in row j lowers it by
        ½‖gⱼ‖²/(H_jj − H_jS H_SS⁻¹ H_Sj), g the gradient; the denominator is at most H_jj, which
        bounds all gains from below, and the most promising get theirs exactly.

        Returns
        -------
        costs of the rows in S, the rows outside, and their gains
        """
        prospects = self._prospects(form, fit)
        return prospects.costs, prospects.candidates, prospects.gains

    def _prospects(self, form: QuadraticForm, fit: Fit) -> Prospects:
        """Costs and gains, with what pairs of them need."""
        xp = arrays.namespace(fit.U)
        costs = fit.costs
        inside = arrays.scatter_rows(costs * 0 + 1, fit.rows, form.shape[0])
        candidates = arrays.true_positions(inside == 0)
        gradient = arrays.take_rows(form.gradient(fit.rows, fit.U, fit.Q), candidates)
        slopes = arrays.row_norms_squared(gradient)
        curvature = arrays.take_rows(form.diagonal(), candidates)
        gains = arrays.divide_or_zero(slopes, curvature)
        count = min(candidates.shape[0], _EXACT_GAINS)
        if candidates.shape[0] > count:
            free = self.rows - fit.rows.shape[0]
            if _promising(costs, gains, free, 0.0) > count:
                # long before the end: so many exchanges are sure to help that the bounds will do
                count = 0
        exact = xp.sort(_descending(gains)[:count])
        whitened = arrays.zeros((fit.rows.shape[0], 0), like=gains)
        rows, slopes, curvature, gradient = (
            arrays.take_rows(x, exact) for x in (candidates, slopes, curvature, gradient)
        )
        if count:
            whitened = fit.root @ form.gram_between(fit.rows, rows)
        left_over = curvature - arrays.column_norms_squared(whitened)
        # a column that S explains to rounding would bring nothing but instability
        clear = left_over > 1e3 * arrays.eps(curvature) * curvature
        best = arrays.divide_or_zero(slopes, xp.where(clear, left_over, 0.0))
        gains = arrays.put_rows(gains, exact, best)
        return Prospects(costs, candidates, gains, exact, gradient, curvature, left_over, whitened)

    def _exchanged(
        self, rows: Array, costs: Array, candidates: Array, gains: Array, size: int
    ) -> Array:
        """S without the ``size`` cheapest rows, filled up with the most promising ones.

        Costs come with a constant added, beside which the rounding of small ones vanishes.
        """
        xp = arrays.namespace(costs)
        leaving = max(size - (self.rows - rows.shape[0]), 0)
        kept = arrays.take_rows(rows, _ascending(costs)[leaving:])
        entering = arrays.take_rows(candidates, _descending(gains)[:size])
        return xp.sort(xp.concat([kept, entering]))


@functools.lru_cache(maxsize=256)
def _largest_noise(count: int, degrees: int) -> float:
    """What the largest of ``count`` χ² numbers typically comes to."""
    return float(chi2.isf(1 / max(count, 2), max(degrees, 1)))


def _largest(block: Array) -> float:
    xp = arrays.namespace(block)
    return max(float(xp.max(block)), -float(xp.min(block)))


def _ascending(values: Array) -> Array:
    """Positions of the smallest first; of equal ones, to half of their digits, the first."""
    return arrays.namespace(values).argsort(arrays.half_the_digits(values))


def _descending(values: Array) -> Array:
    """Positions of the largest first; of equal ones, to half of their digits, the first."""
    return _ascending(-values)


def _promising(costs: Array, gains: Array, free: int, margin: float) -> int:
    """The number of exchanges that promise a lower objective: best gains against least costs.

    ``free`` rows may enter without another leaving. Costs and gains are twice the changes of the
    objective, hence twice the margin.
    """
    xp = arrays.namespace(costs)
    costs, gains = xp.sort(costs), -xp.sort(-gains)
    free = min(free, gains.shape[0])
    entering = int(xp.count_nonzero(gains[:free] > 0))
    if entering < free:
        return entering
    pairs = min(costs.shape[0], gains.shape[0] - free)
    return free + int(xp.count_nonzero(gains[free : free + pairs] > costs[:pairs] + 2 * margin))


def _best_exchanges(fit: Fit, prospects: Prospects) -> Iterator[Array]:
    """Rows after the single exchanges that promise most, the best first."""
    if prospects.exact.shape[0] == 0:
        return
    xp = arrays.namespace(fit.rows)
    nets = arrays.half_the_digits(prospects.of_pairs(fit))
    width = nets.shape[1]
    entering = arrays.take_rows(prospects.candidates, prospects.exact)
    for place in arrays.to_numpy(_descending(xp.reshape(nets, (-1,))))[:_MOST_EXCHANGES].tolist():
        i, j = divmod(place, width)
        yield xp.sort(xp.concat([fit.rows[:i], fit.rows[i + 1 :], entering[j : j + 1]]))


def _extrapolated(before: Factors, here: Factors, momentum: float) -> Factors:
    """Θ + momentum·(Θ − Θ before)."""
    xp = arrays.namespace(here.U)
    U = xp.concat([(1 + momentum) * here.U, -momentum * before.U], axis=1)
    return Factors(U, xp.concat([here.V, before.V], axis=1))


def _value(loss: Any, fit: Fit) -> float:
    """The loss at a fit."""
    factors = fit.factors
    if factors.rank == 0:
        like = fit.root
        blocks = (arrays.zeros((size, 1), like) for size in fit.shape)
        factors = Factors(*blocks)
    return loss.value_and_gradient(factors)[0]
