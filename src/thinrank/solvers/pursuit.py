"""Pursuit: exact fits on given supports, and exchanges of rows.

For a quadratic form c/2 − ⟨C, Θ⟩ + ½⟨Θ, HΘ⟩ the best Θ on given rows S and columns T is
reduced-rank regression, in closed form; the best columns for a given row space are exact, too. S is
improved by replacing the rows whose removal costs least with those whose addition gains most. An
exchange is made only if it lowers the objective by a margin. When none is left, supports that
differ in one row or column are tried (:mod:`thinrank.solvers.neighbours`). For a loss that is not
quadratic, majorizers take the place of the form.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

from thinrank import arrays, linalg
from thinrank.arrays import Array, top_rows
from thinrank.core.contracts import QuadraticForm
from thinrank.core.factors import Factors
from thinrank.solvers.exchanges import (
    MAX_COST_RATIO,
    ascending,
    best_exchanges,
    descending,
    exchanged,
    largest_noise,
    promising,
)
from thinrank.solvers.fits import Fit, Prospects, fit_of
from thinrank.solvers.gains import prospects_of
from thinrank.solvers.loss_fits import (
    by_gauss_newton,
    by_majorizers,
    column_exchanges,
    size_of,
    value_at,
)
from thinrank.solvers.neighbours import next_columns, next_rows
from thinrank.solvers.sized import Sized, check_iterations, check_number

# Number of rows to remove, and of rows to add, in the single exchanges tried at the end.
_LAST_EXCHANGES = 2
# With up to this number of rows the best of these single exchanges is made; with more the first
# that helps, since fits take long then.
MANY_ROWS = 128
# A row is not exchanged for another if its cost exceeds this number times the gain. Rule of thumb.
_MAX_COST_RATIO = 1.2
# Largest number of alternations between columns and factors on one set of rows.
_MAX_ALTERNATIONS = 20
# The last fit by Gauss-Newton steps is repeated until the relative decrease is below this times the
# squared tolerance: the relative error of the coefficients is about its square root.
_FINAL_PRECISION = 100.0
# Largest number of series of majorizers on the final rows in one iteration.
_MAX_REFITS = 20
# A fit of a loss is precise enough for comparisons if its relative decrease is below this: a tenth
# of the margin of an exchange for data with 1000 entries.
_COMPARISON_TOL = 2e-4


@dataclass(frozen=True)
class Pursuit(Sized):
    """Minimise a loss by exact fits of a quadratic form and exchanges of rows.

    For a quadratic loss the form is the loss itself. For any other it is a majorizer, computed anew
    for every fit; a fit on given rows is then repeated until the loss no longer decreases, and
    exchanges are accepted or rejected by the value of the loss.

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
        """The best fit on the rows and columns of the start."""
        form = loss.majorizer(start)
        rows, columns = start.row_support, start.column_support
        if rows.shape[0] > self.rows:
            rows = top_rows(start.U, self.rows)
        if columns.shape[0] > self.columns:
            columns = top_rows(start.V, self.columns)
        fit = self._fit(loss, form, rows, columns, start.V)
        if fit.U.shape[1] == 0:  # rows without effect have no gradient to improve them
            by_row, by_column = form.cross_norms()
            rows = top_rows(arrays.divide_or_zero(by_row, form.diagonal())[:, None], rows.shape[0])
            columns = top_rows(by_column[:, None], columns.shape[0])
            fit = self._fit(loss, form, rows, columns, start.V)
        return fit

    def step(self, loss: Any, state: Fit) -> Fit:
        """The largest exchange of rows that lowers the objective; final if there is none."""
        # factors of a fit take time, and the form of a quadratic loss is the same everywhere
        exact = "quadratic" in loss.capabilities
        form = loss.quadratic() if exact else loss.majorizer(state.factors)
        # with more rows than samples all sets of rows fit equally well
        if not self.exchanges or state.has_more_rows_than_samples:
            refitted = self._refitted(loss, form, state)
            return refitted if refitted.change > 0 else refitted.changed(final=True)
        # costs and gains must be those of a fit of this form
        here = state
        if not form.exact:
            here = self._fit_form(form, state.rows, state.columns, state.Q)
            here = here.changed(objective=value_at(loss, here))
        prospects = self.prospects(form, here)
        margin = self._margin(form, state)
        free = self.rows - state.rows.shape[0]
        size = promising(prospects.costs, prospects.gains, free, margin)
        rounding = 10 * arrays.eps(form.prototype) * form.constant
        # what did not help before one of the last trials hardly helps after it
        postponed = 0 < size <= state.failed
        exchange = functools.partial(
            self._largest_exchange, loss, form, state, prospects, size, margin, rounding
        )
        trial = None if postponed else exchange()
        if trial is not None:
            return trial
        refitted = self._refitted(loss, form, state)
        if refitted.change > 0:
            return refitted
        if self.thorough:
            for trial, price in self._last_trials(loss, form, here, prospects):
                decrease = state.objective - trial.objective
                if decrease > max(price, self.tol * state.objective) + rounding:
                    return trial.changed(change=decrease / state.objective, failed=size)
        trial = exchange() if postponed else None
        return refitted.changed(final=True) if trial is None else trial

    def _largest_exchange(
        self,
        loss: Any,
        form: QuadraticForm,
        state: Fit,
        prospects: Prospects,
        size: int,
        margin: float,
        rounding: float,
    ) -> Fit | None:
        """The fit after exchanging ``size`` rows, half as many and so on; None if none helps."""
        free = self.rows - state.rows.shape[0]
        costs = prospects.costs + form.constant
        while size > 0:
            rows = self._exchanged(state.rows, costs, prospects.candidates, prospects.gains, size)
            trial = self._fit(loss, form, rows, state.columns, state.Q)
            decrease = state.objective - trial.objective
            if decrease > max(size - free, 0) * margin + rounding:
                return trial.changed(change=decrease / max(state.objective, decrease))
            size //= 2
        return None

    def done(self, state: Fit) -> bool:
        """Whether no exchange improves the fit."""
        return state.final

    def _refitted(self, loss: Any, form: QuadraticForm, state: Fit) -> Fit:
        """The best fit on the same rows; its change is 0 if the loss hardly decreases."""
        fit = state
        tol = self.tol
        if "gauss_newton" in loss.capabilities:
            tol = min(tol, _FINAL_PRECISION * tol**2)
        for _ in range(_MAX_REFITS if not form.exact else 0):
            before = fit.objective
            fit = self._fit(loss, form, fit.rows, fit.columns, fit.Q, tol)
            if not before - fit.objective > self.tol * size_of(loss, before):
                break
            form = loss.majorizer(fit.factors)
        decrease = state.objective - fit.objective
        enough = decrease > self.tol * size_of(loss, state.objective)
        best = fit if decrease > 0 else state
        return best.changed(change=decrease / state.objective if enough else 0.0)

    def _last_trials(
        self, loss: Any, form: QuadraticForm, here: Fit, prospects: Prospects
    ) -> Iterator[tuple[Fit, float]]:
        """Fits to try at the end, each with the decrease of the objective that it requires."""
        if self.neighbours and here.U.shape[1] > 0:
            sizes = self.rank, self.columns
            margin = self._margin(form, here, best_of=form.shape[0])
            if not form.exact:
                # gains of a bound are far too small, those of an approximation about right
                most = math.inf if form.is_bound else MAX_COST_RATIO
                for rows in best_exchanges(here, prospects, most):
                    trial = self._fit(loss, form, rows, here.columns, here.Q, target=here.objective)
                    yield trial, margin
                if "gauss_newton" in loss.capabilities:
                    for first in column_exchanges(loss, form, here):
                        trial = by_gauss_newton(loss, form, first, self._fit_form, _COMPARISON_TOL)
                        yield trial, 0.0
            near = next_rows(form, here, prospects, *sizes, margin)
            if near is not None:
                trial = self._fit(loss, form, near.rows, near.columns, here.Q)
                yield trial, near.exchanged * margin
            near = next_columns(here, *sizes)
            if near is not None:
                yield self._fit(loss, form, near.rows, near.columns, here.Q), 0.0
        significant = self._significant(loss, form, here, prospects)
        if significant is not None:
            yield significant, 0.0

    def _significant(
        self, loss: Any, form: QuadraticForm, here: Fit, prospects: Prospects
    ) -> Fit | None:
        """An exchange of one row for one that is clearly not noise, if one of a few helps.

        Costs and gains hold Q fixed, so an exchange may decrease the objective by more. A row of
        noise explains a deviance of χ² with r degrees of freedom. A new row that would explain more
        than the best of m1 such rows does not need to exceed the penalty.
        """
        unit = 2 * here.objective / form.observations  # gains and costs are doubled
        threshold = largest_noise(form.shape[0], here.U.shape[1]) * unit
        best, least = None, (1 - self.tol) * here.objective
        entering = descending(prospects.gains, _LAST_EXCHANGES)
        leaving = ascending(prospects.costs)
        leaving = leaving[: min(_LAST_EXCHANGES, leaving.shape[0])]
        gains = arrays.to_numpy(arrays.take_rows(prospects.gains, entering)).tolist()
        costs = arrays.to_numpy(arrays.take_rows(prospects.costs, leaving)).tolist()
        places = arrays.to_numpy(leaving).tolist() if max(gains, default=0.0) > threshold else []
        for j, gain in enumerate(gains):
            if not gain > threshold:
                break
            for i, cost in zip(places, costs, strict=True):
                if cost > _MAX_COST_RATIO * gain:
                    break
                rows = exchanged(here.rows, i, arrays.take_rows(prospects.candidates, entering), j)
                trial = self._fit(loss, form, rows, here.columns, here.Q)
                if trial.objective < least:
                    best, least = trial, trial.objective - self.tol * here.objective
                    if here.rows.shape[0] > MANY_ROWS:
                        return best
        return best

    def _margin(self, form: QuadraticForm, fit: Fit, best_of: int = 1) -> float:
        """The decrease of the objective required for each exchanged row.

        AIC's 2 per coefficient is twice what a row of noise explains on average. The best of many
        such rows explains more, so this is required if the new row is the best of ``best_of``.
        Around a fit of a loss that is only approximated, as with missing entries, the best rows
        are often reached through exchanges with small decreases, which are therefore allowed.
        """
        if not form.is_bound:
            return self.tol * fit.objective
        rank = fit.U.shape[1]
        coefficients = max(rank, largest_noise(best_of, rank) / 2 if best_of > 1 else 0)
        penalty = self.exchange_penalty * coefficients / form.observations
        return max(self.tol, penalty) * fit.objective

    def _fit(
        self,
        loss: Any,
        form: QuadraticForm,
        rows: Array,
        columns: Array,
        guess: Array,
        enough: float = _COMPARISON_TOL,
        target: float = math.inf,
    ) -> Fit:
        """The best fit on given rows, with the loss as its objective.

        A fit of a majorizer decreases the loss. It is repeated with closer majorizers, valid on
        these rows only, while the relative decrease is above ``enough`` and the loss may still
        become lower than ``target``.
        """
        fit = self._fit_form(form, rows, columns, guess)
        if form.exact:
            return fit
        fit_form = self._fit_form
        if "gauss_newton" in loss.capabilities:
            return by_gauss_newton(loss, form, fit, fit_form, enough)
        return by_majorizers(loss, fit, fit_form, enough, target)

    def _fit_form(self, form: QuadraticForm, rows: Array, columns: Array, guess: Array) -> Fit:
        """Reduced-rank regression on S, alternating with the best columns for its row space."""
        root, ridged = form.inverse_root(rows)
        cross = form.cross_rows(rows)
        whitened = root @ cross  # (|S|, m2)
        # size of the rounding errors in the whitened matrix
        floor = rows.shape[0] * arrays.eps(root) * arrays.max_abs(root) * arrays.max_abs(cross)
        columns, Q, U, explained = self._alternated(form, root, whitened, columns, guess, floor)
        objective = 0.5 * (form.constant - explained)
        if ridged:  # then ‖V‖² belongs to another H
            quadratic = arrays.inner(U, form.gram(rows) @ U)
            objective = 0.5 * (form.constant + quadratic) - arrays.inner(U, cross @ Q)
        return fit_of(form, rows, columns, root, whitened, U, Q, objective)

    def _alternated(
        self,
        form: QuadraticForm,
        root: Array,
        whitened: Array,
        columns: Array,
        guess: Array,
        floor: Array | float,
    ) -> tuple[Array, Array, Array, float]:
        """Columns, Q, U and the explained sum of squares, by turns of row space and columns."""
        for _ in range(_MAX_ALTERNATIONS):
            part = whitened
            if columns.shape[0] < form.shape[1]:
                part, guess = arrays.take_columns(part, columns), arrays.take_rows(guess, columns)
            left = linalg.leading_left_vectors(part, self.rank, guess, floor)
            V = whitened.T @ left
            best = self._largest_columns(V, columns)
            settled = best.shape == columns.shape and (
                best.shape[0] == form.shape[1] or bool(arrays.namespace(V).all(best == columns))
            )
            columns, guess = best, V
            if settled or columns.shape[0] == 0:
                break
        some = columns.shape[0] < form.shape[1]
        V = arrays.take_rows(V, columns) if some else V
        Q, triangle = linalg.tall_qr(V)
        explained = arrays.inner(V, V)
        U = root.T @ (left @ triangle.T)
        Q = arrays.scatter_rows(Q, columns, form.shape[1]) if some else Q
        return columns, Q, U, explained

    def _largest_columns(self, V: Array, columns: Array) -> Array:
        """The rows of V of largest norm; ``columns`` itself if these are all."""
        if self.columns < V.shape[0]:
            return top_rows(V, self.columns)
        every = columns.shape[0] == V.shape[0]
        return arrays.nonzero_among(V, columns) if every else arrays.nonzero_rows(V)

    def prospects(self, form: QuadraticForm, fit: Fit) -> Prospects:
        """Costs of removing the rows of S and gains of adding others, with Q held fixed."""
        return prospects_of(form, fit, self.rows - fit.rows.shape[0])

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
