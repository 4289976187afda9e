"""A set of rows to fit, and the judgement of its fits."""

from __future__ import annotations

import abc
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from thinrank import arrays
from thinrank.arrays import Array
from thinrank.core.contracts import Design, QuadraticForm
from thinrank.core.factors import Factors
from thinrank.losses.explicit import Explicit
from thinrank.selection.criteria import Complexity, Criterion
from thinrank.selection.elimination import held_out_changes
from thinrank.selection.tables import Directions, RowFit, directions, error_table
from thinrank.solvers.loop import run
from thinrank.solvers.pursuit import Fit, Pursuit
from thinrank.starts import Auto, Backward, completed
from thinrank.starts.backward import Elimination, on_rows

__all__ = ["CriterionSample", "HeldOut", "HeldOutSample", "Sample", "Sizes"]


# Elimination of single rows forecasts from fits of at most this many rows: it takes time with the
# third power of their number.
_MOST_FORECAST = 100
# Part of the error of the means below which a prediction is perfect.
_PERFECT = 1e-10


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
        self._losses: dict[float, Explicit] = {}

    @abc.abstractmethod
    def null(self) -> float:
        """Score of the zero matrix."""

    @abc.abstractmethod
    def _scores(self, known: Directions, fit: RowFit, ridge: float) -> np.ndarray:
        """What :meth:`scores` returns, from the directions of a fit."""

    @abc.abstractmethod
    def score(self, fit: Fit | None, sizes: Sizes) -> float:
        """Score of a fit of these sizes."""

    def scores(self, fit: Fit | None, ridge: float, most: int) -> np.ndarray:
        """Scores of all ranks up to ``most`` and all numbers of columns, on the rows of a fit.

        Entry (r − 1, s − 1) of the table is for rank r and s columns; ranks that the rows do not
        have are left out, and a fit of nothing is the zero matrix at any size. Two models are
        known for each entry, one from the directions of the columns in use and one from those of
        all columns; the better counts.
        """
        if fit is None:
            return self._nothing()
        table = self.row_scores(fit, ridge, most)
        if 0 < fit.columns.shape[0] < self.form.shape[1]:
            known = directions(fit, most, fit.columns)
            if known.weights.shape[0] > 0:
                table = _lower(table, self._scores(known, fit, ridge))
        return table

    def row_scores(self, fit: RowFit, ridge: float, most: int) -> np.ndarray:
        """The same from the directions of all columns alone."""
        known = directions(fit, most)
        return self._scores(known, fit, ridge) if known.weights.shape[0] else self._nothing()

    def _nothing(self) -> np.ndarray:
        return np.full((1, self.form.shape[1]), self.null())

    def eliminated(self, rows: int, ridge: float) -> RowFit:
        """What tables need of a fit on the rows that elimination leaves."""
        form = self.form.with_ridge(ridge)
        left = self._elimination.rows(rows)
        if left.shape[0] == 0:
            nothing = arrays.zeros((0, 0), self.form.prototype)
            return _Rows(left, nothing, nothing)
        root, _ = form.inverse_root(left)
        return _Rows(left, root, root @ form.cross_rows(left))

    def fit(self, sizes: Sizes, solver: Pursuit) -> Fit | None:
        """The fit that the estimator would make of these rows from its own start.

        None when there is nothing to fit.
        """
        loss = self._loss(sizes.ridge)
        start = completed(self._start(loss, sizes), loss, sizes.rank, 0)
        return run(solver, loss, start)[0] if start.rank > 0 else None

    def grow(self, sizes: Sizes, solver: Pursuit, near: Fit) -> Fit:
        """A fit that begins from one of other sizes."""
        return run(solver, self._loss(sizes.ridge), _trimmed(near, sizes))[0]

    def refit(self, sizes: Sizes, near: Fit | None) -> Fit | None:
        """The best fit on the rows of another one."""
        if near is None:
            return None
        solver = Pursuit(sizes.rank, sizes.rows, sizes.columns)
        return solver.init(self._loss(sizes.ridge), near.factors)

    @abc.abstractmethod
    def rows_forecast(self, fit: Fit, sizes: Sizes, rows: np.ndarray) -> np.ndarray:
        """Scores to be expected of other numbers of rows, all else being equal.

        Infinite where that cannot be told.
        """

    def _loss(self, ridge: float) -> Explicit:
        if ridge not in self._losses:
            self._losses[ridge] = Explicit(self.form, self._noise, ridge)
        return self._losses[ridge]

    def _start(self, loss: Explicit, sizes: Sizes) -> Factors:
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
    root: Array
    whitened: Array


def _lower(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """The smaller of two tables, entry by entry; the last rank stands for the ranks beyond."""
    height = np.arange(max(len(one), len(other)))
    return np.minimum(
        one[np.minimum(height, len(one) - 1)], other[np.minimum(height, len(other) - 1)]
    )


def _trimmed(near: Fit, sizes: Sizes) -> Factors:
    """The fit without its cheapest rows."""
    xp = arrays.namespace(near.U)
    rows, U = near.rows, near.U
    excess = rows.shape[0] - sizes.rows
    if excess > 0:
        kept = xp.sort(xp.argsort(arrays.half_the_digits(near.costs))[excess:])
        rows, U = arrays.take_rows(rows, kept), arrays.take_rows(U, kept)
    return Factors(arrays.scatter_rows(U, rows, near.shape[0]), near.Q)


class CriterionSample(Sample):
    """All the rows, judged by a criterion on the fit itself.

    Parameters
    ----------
    form : QuadraticForm
        Without ridge.
    criterion : Criterion
    select_rows, select_columns : bool
        Whether rows and columns are chosen.
    """

    def __init__(
        self,
        form: QuadraticForm,
        noise: Callable[[], float],
        criterion: Criterion,
        select_rows: bool,
        select_columns: bool,
    ) -> None:
        super().__init__(form, noise)
        self._criterion = criterion
        self._selects = select_rows, select_columns

    def null(self) -> float:
        """Criteria are relative to the zero matrix."""
        return 0.0

    def _scores(self, known: Directions, fit: RowFit, ridge: float) -> np.ndarray:
        q = known.weights.shape[0]
        overlap = arrays.to_numpy(known.map.T @ known.map).astype(np.float64) * ridge
        # the directions are orthonormal in H, of which the ridge is a part
        table = error_table(known, known.weights, np.eye(q) - overlap)
        residual = self.form.samples * (self.form.constant + table)
        null = self.form.samples * self.form.constant
        complexity = self._complexity(fit, known, overlap, ridge)
        return self._criterion.scores(residual, null, self.form.observations, complexity)

    def score(self, fit: Fit | None, sizes: Sizes) -> float:
        """The criterion; a fit of nothing scores as the zero matrix."""
        known = None if fit is None else directions(fit, sizes.rank, fit.columns)
        if fit is None or known is None or known.weights.shape[0] == 0:
            return self.null()
        table = self._scores(known, fit, sizes.ridge)
        return float(table[-1, sizes.columns - 1])

    def rows_forecast(self, fit: Fit, sizes: Sizes, rows: np.ndarray) -> np.ndarray:
        """The cheapest rows leave, or the most promising enter, Q and one another held fixed.

        Right for one row, and a guess for many.
        """
        form = self.form.with_ridge(sizes.ridge)
        solver = Pursuit(sizes.rank, sizes.rows, sizes.columns)
        costs, _, gains = solver.costs_and_gains(form, fit)
        costs = np.sort(arrays.to_numpy(costs).astype(np.float64))
        gains = -np.sort(-arrays.to_numpy(gains).astype(np.float64))
        # objective by number of rows: what leaves adds its costs, what enters takes its gains off
        changes = np.concatenate([np.cumsum(costs)[::-1], [0.0], -np.cumsum(gains)])
        penalised = np.maximum(2 * fit.objective + changes[np.minimum(rows, len(changes) - 1)], 0.0)
        shrinkage = sizes.ridge * arrays.inner(fit.U, fit.U)
        residual = self.form.samples * np.maximum(penalised - shrinkage, 0.0)
        rank = fit.U.shape[1]
        degrees = (rows + sizes.columns - rank) * rank
        complexity = Complexity(degrees, rows, sizes.columns, *self.form.shape, *self._selects)
        null = self.form.samples * self.form.constant
        return self._criterion.scores(residual, null, self.form.observations, complexity)

    def _complexity(
        self, fit: RowFit, known: Directions, overlap: np.ndarray, ridge: float
    ) -> Complexity:
        """Degrees of freedom with the traces of the ridge's hat matrices in place of s₁ and r."""
        q, k = known.weights.shape
        count = fit.rows.shape[0]
        rows = fit.root.shape[0] - ridge * arrays.norm(fit.root) ** 2 if ridge else float(count)
        ranks = np.arange(1, q + 1)[:, None]
        shrunk = np.cumsum(1.0 - np.diag(overlap))[:, None]
        columns = np.arange(1, k + 1)[None, :]
        degrees = shrunk * columns + np.maximum(rows - shrunk, 0.0) * ranks
        return Complexity(degrees, count, columns, *self.form.shape, *self._selects)


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Rows held out from a fit, and the units of the rows that were fitted.

    Attributes
    ----------
    index : ndarray of int, of shape (h,)
        Which rows they are.
    X, Y : Design
        The rows, times the roots of their weights.
    roots : array of shape (h,)
        Those roots.
    center_x, inverse_scale : arrays of shape (p,)
        Means of the predictors in the rows that were fitted, and one over their scales.
    center_y : array of shape (k,)
        Means of the responses.
    """

    index: np.ndarray
    X: Design
    Y: Design
    roots: Array
    center_x: Array
    inverse_scale: Array
    center_y: Array


class HeldOutSample(Sample):
    """Some rows to fit, judged by the mean squared error on others.

    Parameters
    ----------
    form : QuadraticForm
        Form of the training rows, without ridge.
    noise : callable
        As for every sample.
    held_out : HeldOut
    """

    def __init__(self, form: QuadraticForm, noise: Callable[[], float], held_out: HeldOut) -> None:
        super().__init__(form, noise)
        self.index, self._roots, self._X = held_out.index, held_out.roots, held_out.X
        self._units = held_out
        Y, roots = held_out.Y, held_out.roots
        everything = arrays.indices(range(Y.shape[1]), form.prototype)
        self._Y = Y.columns(everything) - roots[:, None] * held_out.center_y
        self.weight = arrays.norm(roots) ** 2
        self.entries = Y.shape[1] * self.weight
        self._null = arrays.norm(self._Y) ** 2 / self.entries

    def null(self) -> float:
        """Mean squared error of the training means."""
        return self._null

    def score(self, fit: Fit | None, sizes: Sizes) -> float:
        """Mean squared error; what is left of a perfect prediction is rounding."""
        error = float(np.sum(self.row_errors(fit))) / self.entries
        return max(error, _PERFECT * self._null)

    def row_errors(self, fit: Fit | None) -> np.ndarray:
        """Squared errors of the held-out rows, summed over the responses, of shape (h,)."""
        residual = self._Y
        if fit is not None:
            residual = residual - (self._predictors(fit.rows) @ fit.U) @ fit.Q.T
        return arrays.to_numpy(arrays.row_norms_squared(residual)).astype(np.float64)

    def null_errors(self) -> np.ndarray:
        """Squared errors of the training means, summed over the rows, of shape (k,)."""
        return arrays.to_numpy(arrays.column_norms_squared(self._Y)).astype(np.float64)

    def response_errors(self, fit: RowFit) -> np.ndarray:
        """Squared errors of the fit of full rank on some rows, summed over the held-out rows."""
        residual = self._Y - self._predictors(fit.rows) @ (fit.root.T @ fit.whitened)
        return arrays.to_numpy(arrays.column_norms_squared(residual)).astype(np.float64)

    def rows_forecast(self, fit: Fit, sizes: Sizes, rows: np.ndarray) -> np.ndarray:
        """The cheapest row leaves, one after the other, Q held fixed; none enters."""
        scores = np.full(int(rows[-1]) + 1, np.inf)
        if fit.rows.shape[0] <= _MOST_FORECAST and not fit.has_more_rows_than_samples:
            X = arrays.to_numpy(self._predictors(fit.rows)).astype(np.float64)
            root, U, Q, Y = (
                arrays.to_numpy(x).astype(np.float64) for x in (fit.root, fit.U, fit.Q, self._Y)
            )
            changes = held_out_changes(root, U, X, Y @ Q) / self.entries
            known = min(len(changes), len(scores))
            scores[:known] = self._null + changes[:known]
        return scores[rows]

    def _predictors(self, rows: Array) -> Array:
        """The held-out rows of some predictors, in the units of the training rows."""
        X = self._X.columns(rows)
        X -= self._roots[:, None] * arrays.take_rows(self._units.center_x, rows)
        X *= arrays.take_rows(self._units.inverse_scale, rows)
        return X

    def _scores(self, known: Directions, fit: RowFit, ridge: float) -> np.ndarray:
        image = self._predictors(fit.rows) @ known.map
        products = arrays.to_numpy(image.T @ self._Y).astype(np.float64)
        inner = arrays.to_numpy(image.T @ image).astype(np.float64)
        errors = self._null + error_table(known, products, inner) / self.entries
        # what is left of a perfect prediction is rounding, and no reason to prefer a model
        return np.maximum(errors, _PERFECT * self._null)
