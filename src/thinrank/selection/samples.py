"""A set of rows to fit, and the judgement of its fits."""

from __future__ import annotations

import abc
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from thinrank import arrays
from thinrank.arrays import Array
from thinrank.core.contracts import Design, QuadraticForm
from thinrank.core.factors import Factors
from thinrank.losses.explicit import Explicit
from thinrank.losses.remainder import Remainder
from thinrank.selection.criteria import Complexity, Criterion
from thinrank.selection.elimination import held_out_changes
from thinrank.selection.tables import Directions, directions, error_table
from thinrank.solvers.loop import run
from thinrank.solvers.pursuit import Fit, Pursuit
from thinrank.starts import Auto, completed
from thinrank.starts.convex import ConvexStart

__all__ = ["CriterionSample", "HeldOutSample", "Sample", "Sizes"]


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
        self._convex: dict[float, Array] = {}

    @abc.abstractmethod
    def null(self) -> float:
        """Score of the zero matrix."""

    @abc.abstractmethod
    def _scores(self, known: Directions, fit: Fit, ridge: float) -> np.ndarray:
        """What :meth:`scores` returns, from the directions of a fit."""

    def scores(self, fit: Fit | None, ridge: float, most: int) -> np.ndarray:
        """Scores of all ranks up to ``most`` and all numbers of columns, on the rows of a fit.

        Entry (r − 1, s − 1) of the table is for rank r and s columns; ranks that the rows do not
        have are left out, and a fit of nothing is the zero matrix at any size.
        """
        known = None if fit is None else directions(fit, most)
        if fit is None or known is None or known.weights.shape[0] == 0:
            return np.full((1, self.form.shape[1]), self.null())
        return self._scores(known, fit, ridge)

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
        """start="auto"; a convex problem, which knows no sizes, is solved once for each ridge."""
        start = Auto("pursuit").suited(loss, sizes.rows)
        if not isinstance(start, ConvexStart):
            return start(loss, sizes.rank, sizes.rows, sizes.columns, 0)
        if loss.ridge not in self._convex:
            self._convex[loss.ridge] = start.solution(loss, 0)
        return Factors.from_theta(self._convex[loss.ridge], sizes.rank)


def _trimmed(near: Fit, sizes: Sizes) -> Factors:
    """The fit without its cheapest rows."""
    xp = arrays.namespace(near.U)
    rows, U = near.rows, near.U
    excess = rows.shape[0] - sizes.rows
    if excess > 0:
        kept = xp.sort(xp.argsort(near.costs)[excess:])
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

    def _scores(self, known: Directions, fit: Fit, ridge: float) -> np.ndarray:
        q = known.weights.shape[0]
        overlap = arrays.to_numpy(known.map.T @ known.map).astype(np.float64) * ridge
        # the directions are orthonormal in H, of which the ridge is a part
        table = error_table(known, known.weights, np.eye(q) - overlap)
        residual = self.form.samples * (self.form.constant + table)
        null = self.form.samples * self.form.constant
        complexity = self._complexity(fit, known, overlap, ridge)
        return self._criterion.scores(residual, null, self.form.observations, complexity)

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
        self, fit: Fit, known: Directions, overlap: np.ndarray, ridge: float
    ) -> Complexity:
        """Degrees of freedom with the traces of the ridge's hat matrices in place of s₁ and r."""
        q, k = known.weights.shape
        count = fit.rows.shape[0]
        rows = count - ridge * arrays.norm(fit.root) ** 2 if ridge else float(count)
        ranks = np.arange(1, q + 1)[:, None]
        shrunk = np.cumsum(1.0 - np.diag(overlap))[:, None]
        columns = np.arange(1, k + 1)[None, :]
        degrees = shrunk * columns + np.maximum(rows - shrunk, 0.0) * ranks
        return Complexity(degrees, count, columns, *self.form.shape, *self._selects)


class HeldOutSample(Sample):
    """Some rows to fit, judged by the mean squared error on others.

    Parameters
    ----------
    remainder : Remainder
        Form of the training rows.
    noise : callable
        As for every sample.
    X, Y : Design
        The rows held out, in the units of the whole and times the roots of their weights.
    roots : array of shape (h,)
        Those roots.
    hold : bool
        Whether to hold the Gram matrix of the training rows: faster, if it is small.
    """

    def __init__(
        self,
        remainder: Remainder,
        noise: Callable[[], float],
        X: Design,
        Y: Design,
        roots: Array,
        *,
        hold: bool,
    ) -> None:
        super().__init__(remainder.held() if hold else remainder, noise)
        self._units = remainder
        self._X, self._roots = X, roots
        everything = arrays.indices(range(Y.shape[1]), remainder.prototype)
        self._Y = Y.columns(everything) - roots[:, None] * remainder.center_y
        self._entries = Y.shape[1] * arrays.norm(roots) ** 2
        self._null = arrays.norm(self._Y) ** 2 / self._entries

    def null(self) -> float:
        """Mean squared error of the training means."""
        return self._null

    def rows_forecast(self, fit: Fit, sizes: Sizes, rows: np.ndarray) -> np.ndarray:
        """The cheapest row leaves, one after the other, Q held fixed; none enters."""
        X = arrays.to_numpy(self._predictors(fit.rows)).astype(np.float64)
        target = arrays.to_numpy(self._Y @ fit.Q).astype(np.float64)
        root, U = (arrays.to_numpy(x).astype(np.float64) for x in (fit.root, fit.U))
        changes = held_out_changes(root, U, X, target) / self._entries
        scores = np.full(max(int(rows[-1]), len(changes) - 1) + 1, np.inf)
        scores[: len(changes)] = self._null + changes
        return scores[rows]

    def _predictors(self, rows: Array) -> Array:
        """The held-out rows of some predictors, in the units of the training rows."""
        X = self._X.columns(rows)
        X -= self._roots[:, None] * arrays.take_rows(self._units.center_x, rows)
        X *= arrays.take_rows(self._units.inverse_scale, rows)
        return X

    def _scores(self, known: Directions, fit: Fit, ridge: float) -> np.ndarray:
        image = self._predictors(fit.rows) @ known.map
        products = arrays.to_numpy(image.T @ self._Y).astype(np.float64)
        inner = arrays.to_numpy(image.T @ image).astype(np.float64)
        errors = self._null + error_table(known, products, inner) / self._entries
        # what is left of a perfect prediction is rounding, and no reason to prefer a model
        return np.maximum(errors, _PERFECT * self._null)
