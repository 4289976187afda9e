"""Pursuit: exact fits on given supports, and exchanges of rows.

For squared loss f(Θ) = c/2 − ⟨C, Θ⟩ + ½⟨Θ, HΘ⟩ the best Θ on given rows S and columns T is
reduced-rank regression, in closed form; given the row space the best columns are exact too. What
remains is the choice of S, by exchanging the rows that are missed least for those that promise
most. An exchange is made only when it lowers the objective by enough. Where no such exchange is
left, the supports next to S are tried as well (:mod:`thinrank.solvers.neighbours`).
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from scipy.stats import chi2

from thinrank import arrays, linalg
from thinrank.arrays import Array
from thinrank.core.contracts import QuadraticForm, require
from thinrank.core.factors import Factors
from thinrank.solvers.fits import Fit, Prospects
from thinrank.solvers.neighbours import next_columns, next_rows

__all__ = ["Fit", "Pursuit"]

# Rows outside the support whose gain is computed exactly; the others' gains are bounded below.
_EXACT_GAINS = 128
# Rows that may leave, and rows that may enter, in single exchanges before giving up.
_LAST_RESORTS = 2
# A row that costs this many times what another promises will not be exchanged for it.
_HOPELESS = 1.2
# Fits of alternating columns and factors on one set of rows.
_MOST_COLUMN_CHANGES = 20


@dataclass(frozen=True)
class Pursuit:
    """Minimise a quadratic loss by exact fits and exchanges of rows.

    Parameters
    ----------
    rank, row_sparsity, column_sparsity : int, default=no limit
        r, s₁ and s₂.
    max_iter : int, default=100
        Limit on accepted exchanges.
    tol : float, default=1e-7
        An exchange must lower the objective by this part of itself.
    worth : float, default=2.0
        An exchange must also lower the deviance N·log(objective), N the number of entries of
        the data, by this much for each of the r coefficients of each row exchanged; 2 is what
        AIC asks. With more rows allowed than needed, the last of them carry nothing and could be
        exchanged for others that fit the noise better for a long time, to no good. With 0 every
        exchange that lowers the objective is made: the objective is lower, and in simulations the
        error on fresh data is higher.
    thorough : bool, default=True
        Whether supports next to the current one are tried by exact fits before giving up: all of
        them where they are small and few, the most promising otherwise.
    """

    rank: int = sys.maxsize
    row_sparsity: int = sys.maxsize
    column_sparsity: int = sys.maxsize
    max_iter: int = 100
    tol: float = 1e-7
    worth: float = 2.0
    thorough: bool = True
    neighbours: bool = True

    def init(self, loss: Any, start: Factors) -> Fit:
        """The best fit on the rows and columns of the start."""
        require(loss, "quadratic", 'solver="pursuit"')
        form = loss.quadratic()
        rows = arrays.top_rows(start.U, self.row_sparsity)
        columns = arrays.top_rows(start.V, self.column_sparsity)
        fit = self._fit(form, rows, columns, start.V)
        if fit.U.shape[1] == 0:  # rows that explain nothing show no way to better ones
            by_row, by_column = form.cross_norms()
            rows = arrays.top_rows(arrays.ratio(by_row, form.diagonal())[:, None], rows.shape[0])
            columns = arrays.top_rows(by_column[:, None], columns.shape[0])
            fit = self._fit(form, rows, columns, start.V)
        return fit

    def step(self, loss: Any, state: Fit) -> Fit:
        """The largest exchange of rows that lowers the objective; the state is final if none."""
        form = loss.quadratic()
        if state.has_more_rows_than_samples:  # any exchange would fit as well
            return replace(state, change=0.0, final=True)
        prospects = self._prospects(form, state)
        costs, candidates, gains = prospects.costs, prospects.candidates, prospects.gains
        room = self.row_sparsity - state.rows.shape[0]
        size = _promising(costs, gains, room, self._margin(form, state))
        feigned = 10 * arrays.eps(form.prototype) * form.constant  # by rounding
        while size > 0:
            rows = self._exchanged(state.rows, costs + form.constant, candidates, gains, size)
            trial = self._fit(form, rows, state.columns, state.Q)
            decrease = state.objective - trial.objective
            if decrease > max(size - room, 0) * self._margin(form, state) + feigned:
                return replace(trial, change=decrease / max(state.objective, decrease))
            size //= 2
        if self.thorough:
            for trial, price in self._last_resorts(form, state, prospects):
                decrease = state.objective - trial.objective
                if decrease > max(price, self.tol * state.objective) + feigned:
                    return replace(trial, change=decrease / state.objective)
        return replace(state, change=0.0, final=True)

    def done(self, state: Fit) -> bool:
        """Whether no exchange helps."""
        return state.final

    def _last_resorts(
        self, form: QuadraticForm, state: Fit, prospects: Prospects
    ) -> Iterator[tuple[Fit, float]]:
        """Fits to try before giving up, and what each must bring."""
        if self.neighbours and state.U.shape[1] > 0:
            sizes = self.rank, self.column_sparsity
            margin = self._margin(form, state, best_of=form.shape[0])
            near = next_rows(form, state, prospects, *sizes, margin)
            if near is not None:
                trial = self._fit(form, near.rows, near.columns, state.Q)
                yield trial, near.exchanged * margin
            near = next_columns(state, *sizes)
            if near is not None:
                yield self._fit(form, near.rows, near.columns, state.Q), 0.0
        yield self._evident(form, state, prospects), 0.0

    def _evident(self, form: QuadraticForm, state: Fit, prospects: Prospects) -> Fit:
        """The best of a few single exchanges whose newcomer is evidently not noise, or the state.

        Costs and gains hold Q fixed, so that an exchange may bring more than they promise. A row
        of noise explains a deviance of χ² with r degrees of freedom: a newcomer that would
        explain more than the best of m1 such rows need not clear the margin.
        """
        costs, candidates, gains = prospects.costs, prospects.candidates, prospects.gains
        xp = arrays.namespace(gains)
        unit = 2 * state.objective / form.observations  # gains and costs are doubled
        evident = _largest_noise(form.shape[0], state.U.shape[1]) * unit
        best = state
        for j in _descending(gains)[: min(_LAST_RESORTS, gains.shape[0])]:
            if not gains[j] > evident:
                break
            for i in _ascending(costs)[: min(_LAST_RESORTS, costs.shape[0])]:
                if costs[i] > _HOPELESS * gains[j]:
                    break
                others = xp.arange(costs.shape[0], device=arrays.device_of(costs)) != i
                kept = arrays.take_rows(state.rows, arrays.select(others))
                rows = xp.sort(xp.concat([kept, xp.reshape(candidates[j], (1,))]))
                trial = self._fit(form, rows, state.columns, state.Q)
                if trial.objective < best.objective - self.tol * state.objective:
                    best = trial
        return best

    def _margin(self, form: QuadraticForm, fit: Fit, best_of: int = 1) -> float:
        """What the exchange of a row must bring to be worth it.

        AIC's 2 per coefficient is twice what a row of noise explains on average. The best of many
        such rows explains more, so where the newcomer is the best of them it must bring that.
        """
        rank = fit.U.shape[1]
        coefficients = max(rank, _largest_noise(best_of, rank) / 2 if best_of > 1 else 0)
        return max(self.tol, self.worth * coefficients / form.observations) * fit.objective

    def _fit(self, form: QuadraticForm, rows: Array, columns: Array, guess: Array) -> Fit:
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
            best = arrays.top_rows(V, self.column_sparsity)
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
        return Fit(rows, columns, root, whitened, U, Q, objective, form.shape)

    def costs_and_gains(self, form: QuadraticForm, fit: Fit) -> tuple[Array, Array, Array]:
        """What each row in S is worth, and what each row outside would be, with Q held fixed.

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
        candidates = arrays.select(inside == 0)
        gradient = arrays.take_rows(form.gradient(fit.rows, fit.U, fit.Q), candidates)
        slopes = arrays.row_norms_squared(gradient)
        curvature = arrays.take_rows(form.diagonal(), candidates)
        gains = arrays.ratio(slopes, curvature)
        count = min(candidates.shape[0], _EXACT_GAINS)
        if candidates.shape[0] > count:
            room = self.row_sparsity - fit.rows.shape[0]
            if _promising(costs, gains, room, 0.0) > count:
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
        best = arrays.ratio(slopes, xp.where(clear, left_over, 0.0))
        gains = arrays.put_rows(gains, exact, best)
        return Prospects(costs, candidates, gains, exact, gradient, curvature, left_over, whitened)

    def _exchanged(
        self, rows: Array, costs: Array, candidates: Array, gains: Array, size: int
    ) -> Array:
        """S without the ``size`` cheapest rows, filled up with the most promising ones.

        Costs come with a constant added, beside which the rounding of small ones vanishes.
        """
        xp = arrays.namespace(costs)
        room = self.row_sparsity - rows.shape[0]
        leaving = max(size - room, 0)
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


def _promising(costs: Array, gains: Array, room: int, margin: float) -> int:
    """How many exchanges promise a lower objective: best gains against least costs, in order.

    Costs and gains are twice the changes of the objective, hence twice the margin.
    """
    xp = arrays.namespace(costs)
    costs, gains = xp.sort(costs), -xp.sort(-gains)
    room = min(room, gains.shape[0])
    free = int(xp.count_nonzero(gains[:room] > 0))
    if free < room:
        return free
    pairs = min(costs.shape[0], gains.shape[0] - room)
    return room + int(xp.count_nonzero(gains[room : room + pairs] > costs[:pairs] + 2 * margin))
