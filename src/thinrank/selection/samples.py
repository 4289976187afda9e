"""A set of rows to fit."""

from __future__ import annotations

import abc
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from thinrank import arrays
from thinrank.arrays import Array
from thinrank.core.contracts import QuadraticForm
from thinrank.core.factors import Factors
from thinrank.losses.form_loss import FormLoss
from thinrank.selection.tables import RowFit
from thinrank.solvers.loop import run
from thinrank.solvers.pursuit import Fit, Pursuit
from thinrank.starts import Auto, Backward, completed
from thinrank.starts.backward import Elimination, on_rows

__all__ = ["Sample", "Sizes"]


class Sizes(NamedTuple):
    """What a search chooses."""

    rank: int
    rows: int
    columns: int
    ridge: float


class Sample(abc.ABC):
    """Rows to fit, and the scores of what was fitted; less is better.

    Parameters
    ----------
    form : QuadraticForm
        Of the rows, without ridge.
    noise : callable
        Gives the standard deviation of the noise, for convex starts.
    """

    def __init__(self, form: QuadraticForm, noise: Callable[[], float]) -> None:
        self.form = form
        self._noise = noise
        self._losses: dict[float, FormLoss] = {}

    @abc.abstractmethod
    def null(self) -> float:
        """Score of the zero matrix."""

    @abc.abstractmethod
    def score(self, fit: Fit | None, sizes: Sizes) -> float:
        """Score of a fit of these sizes."""

    def eliminated(self, rows: int, ridge: float) -> RowFit:
        """What tables need of a fit on the rows that elimination leaves."""
        form = self.form.with_ridge(ridge)
        left = self._elimination.rows(rows)
        everything = arrays.indices(range(self.form.shape[1]), self.form.prototype)
        return _on_rows(form, left, everything)

    def fit(self, sizes: Sizes, solver: Pursuit) -> Fit | None:
        """The fit that the estimator would make of these rows from its own start.

        None when there is nothing to fit.
        """
        loss = self._loss(sizes.ridge)
        start = completed(self._start(loss, sizes), loss, sizes.rank, 0)
        return run(solver, loss, start, records=False)[0] if start.rank > 0 else None

    def grow(self, sizes: Sizes, solver: Pursuit, near: Fit) -> Fit:
        """A fit that begins from one of other sizes."""
        start = _trimmed(near, sizes)
        return run(solver, self._loss(sizes.ridge), start, records=False)[0]

    def refit(self, near: Fit | None, ridge: float) -> RowFit | None:
        """What tables need of a fit with another ridge on the rows of a fit."""
        if near is None:
            return None
        return _on_rows(self.form.with_ridge(ridge), near.rows, near.columns)

    @abc.abstractmethod
    def rows_forecast(self, fit: Fit, sizes: Sizes, rows: np.ndarray) -> np.ndarray:
        """Scores to be expected of other numbers of rows, all else being equal.

        Infinite where that cannot be told.
        """

    def _loss(self, ridge: float) -> FormLoss:
        if ridge not in self._losses:
            self._losses[ridge] = FormLoss(self.form, self._noise, ridge)
        return self._losses[ridge]

    def _start(self, loss: FormLoss, sizes: Sizes) -> Factors:
        """start="auto"; rows are eliminated once for all sizes and ridges."""
        start = Auto("pursuit").suited(loss, sizes.rows)
        if isinstance(start, Backward):
            return on_rows(loss.quadratic(), self._elimination.rows(sizes.rows), sizes.rank)
        return start(loss, sizes.rank, sizes.rows, sizes.columns, 0)

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


def _on_rows(form: QuadraticForm, rows: Array, columns: Array) -> _Rows:
    if rows.shape[0] == 0:
        nothing = arrays.zeros((0, 0), form.prototype)
        return _Rows(rows, columns, nothing, nothing)
    root, _ = form.inverse_root(rows)
    return _Rows(rows, columns, root, root @ form.cross_rows(rows))


def _trimmed(near: Fit, sizes: Sizes) -> Factors:
    """The fit without its cheapest rows."""
    xp = arrays.namespace(near.U)
    rows, U = near.rows, near.U
    excess = rows.shape[0] - sizes.rows
    if excess > 0:
        kept = xp.sort(xp.argsort(arrays.half_the_digits(near.costs))[excess:])
        rows, U = arrays.take_rows(rows, kept), arrays.take_rows(U, kept)
    return Factors(arrays.scatter_rows(U, rows, near.shape[0]), near.Q)
