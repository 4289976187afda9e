"""Base class of samples under any family: fits of the loss, and approximations around them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from thinrank import arrays
from thinrank.arrays import Array
from thinrank.core.contracts import Start
from thinrank.core.factors import Factors
from thinrank.core.sizes import Sizes
from thinrank.forms.working import WorkingForm
from thinrank.losses.generalized_linear import GeneralizedLinear
from thinrank.minimize import solve
from thinrank.selection.samples import trimmed
from thinrank.selection.tables import RowFit
from thinrank.solvers.filled_pursuit import FilledPursuit
from thinrank.solvers.fits import Fit, as_fit
from thinrank.solvers.pursuit import Pursuit
from thinrank.starts import Auto, Backward, complete_rank
from thinrank.starts.loss_elimination import LossElimination

__all__ = ["LossSample", "has_many_missing"]

_AUTO = Auto(exchanges_rows=True)


# Tolerance of pursuit in a search: scores of models differ by more than this.
_TOL = 1e-4
# With more than this fraction of the entries missing, fits of a search often end with wrong rows
# unless they try neighbouring supports, which takes longer. Rule of thumb: it is not needed with
# 15 % in simulations, and it is with 50 %.
_MANY_MISSING = 0.25


def has_many_missing(loss: GeneralizedLinear) -> bool:
    """Whether so many entries are missing that fits need to try neighbouring supports."""
    n, k = loss.Y.shape
    return loss.observations < (1 - _MANY_MISSING) * n * k


@dataclass(frozen=True, eq=False)
class _Around:
    """A fit without coefficients, for tables, from a quadratic approximation around a fit."""

    rows: Array
    columns: Array
    root: Array
    whitened: Array
    around: Fit | None
    Q: Array | None = None


class LossSample:
    """Rows to fit with a loss that is not quadratic.

    Tables and forecasts come from a quadratic approximation of the loss around a fit, with the
    mean curvature of every response.

    Parameters
    ----------
    loss : GeneralizedLinear
        The loss, without ridge.
    start : Start, default=Auto(exchanges_rows=True)
        Starting point of each fit.
    seed : int, default=0
        Seed of randomised decompositions in the start.
    """

    def __init__(self, loss: GeneralizedLinear, start: Start = _AUTO, seed: int = 0) -> None:
        self.loss = self._training = loss
        self._given_start, self._seed = start, seed
        self._by_ridge: dict[float, GeneralizedLinear] = {}
        self._stages: dict[int, Fit | None] = {}
        self._last_form: tuple[Fit, WorkingForm] | None = None
        # the quadratic approximation around zero, without ridge
        self.form: Any = loss.majorizer(loss.null.factors)

    def form_around(self, fit: Fit | None) -> WorkingForm:
        """The quadratic approximation around a fit, without ridge."""
        if fit is None:
            return self.form
        last = self._last_form  # one fit is asked for with many ridges in turn
        if last is None or last[0] is not fit:
            factors = fit.factors if fit.completed is None else fit.completed
            last = self._last_form = fit, self._training.majorizer(factors)
        return last[1]

    def fit(self, sizes: Sizes, solver: Pursuit) -> Fit | None:
        """The fit of the estimator to these rows; None if there is nothing to fit."""
        loss = self._shrunk(sizes.ridge)
        found = solve(loss, self._quick(solver), self._start, self._seed, records=False)
        return None if found is None else self._completed(loss, found.state)

    def grow(self, sizes: Sizes, solver: Pursuit, near: Fit) -> Fit:
        """A fit that starts from a fit of other sizes."""
        loss = self._shrunk(sizes.ridge)
        start = trimmed(near, sizes)
        if near.column_scale is not None:
            start = Factors(start.U, start.V / near.column_scale[:, None])
        start = complete_rank(start, loss, sizes.rank, self._seed)
        found = solve(loss, self._quick(solver), start, records=False)
        return near if found is None else self._completed(loss, found.state)

    def _completed(self, loss: GeneralizedLinear, fit: Fit) -> Fit:
        """A fit whose tables are around coefficients of all responses, if entries are missing.

        An approximation around coefficients that are zero takes missing entries to be at the mean,
        so that a response that the fit leaves out would be predicted badly in all tables.
        """
        n, k = loss.Y.shape
        full = fit.columns.shape[0] == k or loss.observations == n * k
        steps = None if full or fit.U.shape[1] == 0 else loss.column_steps(fit.factors)
        if steps is None:
            return fit
        completed = Factors(fit.factors.U, steps[0])
        whitened = fit.root @ loss.majorizer(completed).cross_rows(fit.rows)
        return replace(fit, whitened=whitened, completed=completed)

    def eliminated(self, rows: int, ridge: float) -> RowFit:
        """A fit without coefficients, for tables, on the rows that backward elimination leaves."""
        left = self._elimination.rows(rows)
        if rows not in self._stages:
            factors = self._elimination.fitted(rows)
            form = self._training.majorizer(factors)
            columns = arrays.indices(range(form.shape[1]), form.prototype)
            self._stages[rows] = as_fit(form, left, columns, factors) if left.shape[0] else None
        return self._on_rows(left, ridge, self._stages[rows])

    def refit(self, near: Fit | None, ridge: float) -> RowFit | None:
        """A fit without coefficients, for tables, with another ridge on the rows of a fit."""
        return None if near is None else self._on_rows(near.rows, ridge, near)

    def _on_rows(self, rows: Array, ridge: float, near: Fit | None) -> _Around:
        form = self.form_around(near).with_ridge(ridge)
        columns = arrays.indices(range(form.shape[1]), form.prototype)
        if rows.shape[0] == 0:
            nothing = arrays.zeros((0, 0), form.prototype)
            return _Around(rows, columns, nothing, nothing, near)
        root, _ = form.inverse_root(rows)
        columns = columns if near is None else near.columns
        return _Around(rows, columns, root, root @ form.cross_rows(rows), near)

    def _quick(self, solver: Pursuit) -> Pursuit:
        """The solver with the tolerance of a search; see :func:`has_many_missing`."""
        many = has_many_missing(self.loss)
        other = replace(solver, tol=max(solver.tol, _TOL), neighbours=solver.neighbours or many)
        other = other.sized(solver.rank, solver.rows, solver.columns)
        return FilledPursuit.like(other) if self.loss.nearly_quadratic else other

    def _shrunk(self, ridge: float) -> GeneralizedLinear:
        if ridge not in self._by_ridge:
            self._by_ridge[ridge] = self._training.with_ridge(ridge)
        return self._by_ridge[ridge]

    def _start(self, loss: Any, rank: int, rows: int, columns: int, seed: int) -> Factors:
        """The start; backward elimination is done once for all sizes and ridges."""
        if not isinstance(self._given_start, (Auto, Backward)):
            return self._given_start(loss, rank, rows, columns, seed)
        return self._elimination.start(rank, rows, loss.ridge)

    @cached_property
    def _elimination(self) -> LossElimination:
        return LossElimination(self._training)
