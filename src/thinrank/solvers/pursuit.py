"""Pursuit: exact fits on given supports, and exchanges of rows.

For a quadratic form c/2 − ⟨C, Θ⟩ + ½⟨Θ, HΘ⟩ the best Θ on given rows S and columns T is
reduced-rank regression, in closed form; the best columns for a given row space are exact, too. S is
improved by replacing the rows whose removal costs least with those whose addition gains most. An
exchange is made only if it lowers the objective by a margin. When none is left, supports that
differ in one row or column are tried. For a loss that is not quadratic, the form around a fit is
pursued, the loss is fitted on the supports found, and this is repeated while the loss decreases.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from thinrank import arrays
from thinrank.arrays import Array, top_rows
from thinrank.core.checks import check_iterations, check_number
from thinrank.core.contracts import QuadraticForm, Sized
from thinrank.core.factors import Factors
from thinrank.solvers.exchanges import (
    MANY_ROWS,
    MAX_COST_RATIO,
    ExchangeScores,
    ascending,
    descending,
    exchange_scores,
    exchanged,
    largest_noise,
    next_columns,
    next_rows,
    promising,
)
from thinrank.solvers.gauss_newton import refitted, shrunk, size_of
from thinrank.solvers.row_fit import Fit, fit_rows

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
        Whether to try, at the end, single exchanges without the penalty, and the supports of
        ``neighbours``.
    neighbours : bool, default=True
        Whether to try, at the end, supports that differ in one row or column by exact fits: all of
        them if they are small and few, otherwise those with the largest gains.
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
        check_iterations(self.max_iter)
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
        trial = self._largest_exchange(form, state, scores, size, margin, rounding, loss)
        if trial is not None:
            return trial
        if self.thorough:
            for trial, price in self._last_trials(form, state, scores, loss):
                decrease = state.objective - trial.objective
                if decrease > max(price, self.tol * abs(state.objective)) + rounding:
                    return replace(trial, change=decrease / max(state.objective, decrease))
        within = scores.candidates.shape[0] > 0 and margin > self.tol * abs(state.objective)
        ending = _WITHIN_MARGIN if within else state.ending
        return replace(state, change=0.0, final=True, ending=ending)

    def _largest_exchange(
        self,
        form: QuadraticForm,
        state: Fit,
        scores: ExchangeScores,
        size: int,
        margin: float,
        rounding: float,
        loss: Any,
    ) -> Fit | None:
        """The fit after exchanging ``size`` rows, half as many and so on; None if none helps."""
        free = self.rows - state.rows.shape[0]
        costs = scores.costs + form.constant
        while size > 0:
            rows = self._exchanged(state.rows, costs, scores.candidates, scores.gains, size)
            trial = self._fit_rows(form, rows, state.columns, state.Q, loss)
            decrease = state.objective - trial.objective
            if decrease > max(size - free, 0) * margin + rounding:
                return replace(trial, change=decrease / max(state.objective, decrease))
            size //= 2
        return None

    def _last_trials(
        self, form: QuadraticForm, fit: Fit, scores: ExchangeScores, loss: Any
    ) -> Iterator[tuple[Fit, float]]:
        """Fits to try at the end, each with the decrease of the objective that it requires."""
        if self.neighbours and fit.U.shape[1] > 0:
            sizes = self.rank, self.columns
            margin = self._margin(form, fit, loss, best_of=form.shape[0])
            near = next_rows(form, fit, scores, *sizes, margin)
            if near is not None:
                trial = self._fit_rows(form, near.rows, near.columns, fit.Q, loss)
                yield trial, near.exchanged * margin
            near = next_columns(fit, *sizes)
            if near is not None:
                yield self._fit_rows(form, near.rows, near.columns, fit.Q, loss), 0.0
        significant = self._significant(form, fit, scores, loss)
        if significant is not None:
            yield significant, 0.0

    def _significant(
        self, form: QuadraticForm, fit: Fit, scores: ExchangeScores, loss: Any
    ) -> Fit | None:
        """An exchange of one row for one that is clearly not noise, if one of a few helps.

        Costs and gains hold Q fixed, so an exchange may decrease the objective by more. A row of
        noise explains a deviance of χ² with r degrees of freedom. A new row that would explain more
        than the best of m1 such rows does not need to exceed the penalty.
        """
        unit = 2 * abs(fit.objective) / form.observations  # gains and costs are doubled
        threshold = largest_noise(form.shape[0], fit.U.shape[1]) * unit
        best, least = None, fit.objective - self.tol * abs(fit.objective)
        entering, leaving = descending(scores.gains, 2), ascending(scores.costs)
        leaving = leaving[: min(2, leaving.shape[0])]
        gains = arrays.to_numpy(arrays.take_rows(scores.gains, entering)).tolist()
        costs = arrays.to_numpy(arrays.take_rows(scores.costs, leaving)).tolist()
        places = arrays.to_numpy(leaving).tolist() if max(gains, default=0.0) > threshold else []
        for j, gain in enumerate(gains):
            if not gain > threshold:
                break
            for i, cost in zip(places, costs, strict=True):
                if cost > MAX_COST_RATIO * gain:
                    break
                rows = exchanged(fit.rows, i, arrays.take_rows(scores.candidates, entering), j)
                trial = self._fit_rows(form, rows, fit.columns, fit.Q, loss)
                if trial.objective < least:
                    best, least = trial, trial.objective - self.tol * abs(fit.objective)
                    if fit.rows.shape[0] > MANY_ROWS:
                        return best
        return best

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
        """Costs of removing the rows of S and gains of adding others, with Q held fixed."""
        return exchange_scores(form, fit, self.rows - fit.rows.shape[0])

    def _exchanged(
        self, rows: Array, costs: Array, candidates: Array, gains: Array, size: int
    ) -> Array:
        """S with the ``size`` rows of largest gain added, and rows of least cost removed.

        The caller adds a constant to the costs, so that rounding errors of small costs vanish.
        """
        xp = arrays.namespace(costs)
        leaving = max(size - (self.rows - rows.shape[0]), 0)
        kept = arrays.take_rows(rows, ascending(costs)[leaving:])
        entering = arrays.take_rows(candidates, descending(gains, size))
        return xp.sort(xp.concat([kept, entering]), stable=False)
