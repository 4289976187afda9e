"""Base class of samples: rows to fit, with scores for models."""

from __future__ import annotations

import abc
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from thinrank import arrays
from thinrank.arrays import Array
from thinrank.core.contracts import QuadraticForm, Start
from thinrank.core.factors import Factors
from thinrank.core.sizes import Sizes
from thinrank.losses.form_loss import FormLoss
from thinrank.minimize import solve
from thinrank.selection.tables import RowFit
from thinrank.solvers.pursuit import Fit, Pursuit
from thinrank.starts import Auto, Backward
from thinrank.starts.backward import Elimination, on_rows

__all__ = ["Sample", "trimmed", "with_row_space"]

_AUTO = Auto(exchanges_rows=True)


class Sample(abc.ABC):
    """Rows to fit, with scores of the fits; lower scores are better.

    Parameters
    ----------
    form : QuadraticForm
        The form of the rows, without ridge.
    noise : callable
        ``noise() -> float``: the standard deviation of the noise, for convex starts.
    start : Start, default=Auto(exchanges_rows=True)
        Starting point of each fit.
    seed : int, default=0
        Seed of randomised decompositions in the start.
    """

    def __init__(
        self,
        form: QuadraticForm,
        noise: Callable[[], float],
        start: Start = _AUTO,
        seed: int = 0,
    ) -> None:
        self.form = form
        self._noise = noise
        self._given_start, self._seed = start, seed
        self._losses: dict[float, FormLoss] = {}
        self._forms: dict[float, QuadraticForm] = {}

    @abc.abstractmethod
    def null(self) -> float:
        """Score of the zero matrix."""

    @abc.abstractmethod
    def score(self, fit: Fit | None, sizes: Sizes) -> float:
        """Score of a fit of these sizes."""

    def eliminated(self, rows: int, ridge: float) -> RowFit:
        """A fit without coefficients, for tables, on the rows that backward elimination leaves."""
        left = self._elimination.rows(rows)
        return _on_rows(self._form(ridge), left, self._every_column)

    def unexplained(self, rows: int) -> float:
        """Variance of the responses that the rows left by backward elimination do not explain.

        It estimates the least mean squared error of linear predictions from these rows. If they are
        linearly dependent, it is not estimated, and 0.
        """
        left = self._elimination.rows(rows)
        root, dependent = self.form.inverse_root(left)
        if dependent or root.shape[0] < root.shape[1]:
            return 0.0
        squares = self.form.constant - arrays.norm(root @ self.form.cross_rows(left)) ** 2
        return squares / self.form.shape[1] / (1 - rows / self.form.samples)

    def fit(self, sizes: Sizes, solver: Pursuit) -> Fit | None:
        """The fit of the estimator to these rows; None if there is nothing to fit."""
        found = solve(self._loss(sizes.ridge), solver, self._start, self._seed, records=False)
        return None if found is None else found.state

    def fit_from(self, sizes: Sizes, solver: Pursuit, start: Factors) -> Fit | None:
        """The fit that begins with some factors, if the start is left to the data."""
        if not isinstance(self._given_start, Auto):
            return self.fit(sizes, solver)
        found = solve(self._loss(sizes.ridge), solver, start, records=False)
        return None if found is None else found.state

    def grow(self, sizes: Sizes, solver: Pursuit, near: Fit) -> Fit:
        """A fit that starts from a fit of other sizes."""
        found = solve(self._loss(sizes.ridge), solver, trimmed(near, sizes), records=False)
        return near if found is None else found.state

    def refit(self, near: Fit | None, ridge: float) -> RowFit | None:
        """A fit without coefficients, for tables, with another ridge on the rows of a fit."""
        if near is None:
            return None
        return _on_rows(self._form(ridge), near.rows, near.columns, near.Q)

    @abc.abstractmethod
    def rows_forecast(self, fit: Fit, sizes: Sizes, rows: np.ndarray) -> np.ndarray:
        """Forecast scores of other numbers of rows, with the other sizes unchanged.

        Infinite where there is no forecast.
        """

    def _loss(self, ridge: float) -> FormLoss:
        if ridge not in self._losses:
            self._losses[ridge] = FormLoss(self.form, self._noise, ridge)
        return self._losses[ridge]

    def _form(self, ridge: float) -> QuadraticForm:
        if ridge not in self._forms:
            self._forms[ridge] = self.form.with_ridge(ridge)
        return self._forms[ridge]

    @cached_property
    def _every_column(self) -> Array:
        return arrays.indices(range(self.form.shape[1]), self.form.prototype)

    def _start(self, loss: FormLoss, rank: int, rows: int, columns: int, seed: int) -> Factors:
        """The start; backward elimination is done once for all sizes and ridges."""
        start = self._given_start
        if isinstance(start, Auto):
            start = start.suited(loss, rows)
        if isinstance(start, Backward):
            return on_rows(loss.quadratic(), self._elimination.rows(rows), rank)
        return start(loss, rank, rows, columns, seed)

    @cached_property
    def _elimination(self) -> Elimination:
        return Elimination(self.form)


@dataclass(frozen=True, eq=False)
class _Rows:
    """A RowFit without coefficients."""

    rows: Array
    columns: Array
    root: Array
    whitened: Array
    Q: Array | None = None


def with_row_space(fit: RowFit, Q: Array) -> RowFit:
    """The part of a fit that tables need, with another basis of the row space."""
    return _Rows(fit.rows, fit.columns, fit.root, fit.whitened, Q)


def _on_rows(form: QuadraticForm, rows: Array, columns: Array, near: Array | None = None) -> _Rows:
    if rows.shape[0] == 0:
        nothing = arrays.zeros((0, 0), form.prototype)
        return _Rows(rows, columns, nothing, nothing)
    root, _ = form.inverse_root(rows)
    return _Rows(rows, columns, root, root @ form.cross_rows(rows), near)


def trimmed(near: Fit, sizes: Sizes) -> Factors:
    """The factors of a fit without the rows of least cost."""
    xp = arrays.namespace(near.U)
    rows, U = near.rows, near.U
    excess = rows.shape[0] - sizes.rows
    if excess > 0:
        kept = xp.sort(xp.argsort(arrays.half_the_digits(near.costs))[excess:])
        rows, U = arrays.take_rows(rows, kept), arrays.take_rows(U, kept)
    return Factors(arrays.scatter_rows(U, rows, near.shape[0]), near.Q)
