"""All rows of the data as a sample, with models scored by a criterion."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from thinrank import arrays
from thinrank.arrays import Array
from thinrank.core.contracts import QuadraticForm
from thinrank.core.sizes import Sizes
from thinrank.selection.criteria import Complexity, Criterion
from thinrank.selection.samples import Sample
from thinrank.selection.tables import (
    Directions,
    RowFit,
    best_first,
    column_changes,
    directions,
    lower_table,
)
from thinrank.solvers.at_once import together
from thinrank.solvers.pursuit import Fit, Pursuit

__all__ = ["CriterionSample"]


class CriterionSample(Sample):
    """All rows of the data, with models scored by a criterion on the same rows.

    Parameters
    ----------
    form : QuadraticForm
        The form of the rows, without ridge.
    noise : callable
        ``noise() -> float``: the standard deviation of the noise, for convex starts.
    criterion : Criterion
        The criterion.
    select_rows, select_columns : bool
        Whether rows and columns are selected.
    **options
        ``start`` and ``seed`` of :class:`thinrank.selection.samples.Sample`.
    """

    def __init__(
        self,
        form: QuadraticForm,
        noise: Callable[[], float],
        criterion: Criterion,
        select_rows: bool,
        select_columns: bool,
        **options: Any,
    ) -> None:
        super().__init__(form, noise, **options)
        self._criterion = criterion
        self._selects = select_rows, select_columns

    # the last fit that tables were made of, and that of the columns in use
    _last: tuple[RowFit, float, np.ndarray] | None = None

    def null(self) -> float:
        """Zero, since scores are relative to the zero matrix."""
        return 0.0

    def table(
        self, fit: RowFit | None, ridge: float, most: int, near: Array | None = None
    ) -> np.ndarray:
        """Scores of all ranks up to ``most`` and all numbers of columns, on the rows of a fit.

        Entry (r − 1, s − 1) is for rank r and s columns. Ranks above the rank of the fit are left
        out; without a fit the table has one row, for the zero matrix. Every entry is the lower
        score of two models, one with the directions of the columns in use and one with those of
        all columns. With ``near``, a basis close to the row space, ranks far above its own are left
        out, too.
        """
        if fit is None:
            return self._nothing()
        table = in_use = self._directions_table(fit, ridge, most, None, near)
        if 0 < fit.columns.shape[0] < self.form.shape[1]:
            in_use = self._directions_table(fit, ridge, most, fit.columns, near)
            table = lower_table(table, in_use)
        self._last = fit, ridge, in_use
        return table

    def likely_table(
        self, fit: RowFit, ridge: float, ranks: Callable[[int], int]
    ) -> tuple[np.ndarray, Array]:
        """The table of the first ranks on the rows of a fit, and a basis of their row space.

        ``ranks(best)`` is the number of ranks if ``best`` is the best rank for all columns, which
        the singular values tell.
        """

        def most(squares: np.ndarray) -> int:
            return ranks(self._best_rank(fit, squares.astype(np.float64)))

        known = directions(fit.root, fit.whitened, most)
        xp = arrays.namespace(fit.whitened)
        space = xp.astype(known.weights.T, fit.whitened.dtype, copy=False)
        return self._scores(known, fit, ridge), space

    def _best_rank(self, fit: RowFit, squares: np.ndarray) -> int:
        """The best rank for all columns, from squared singular values, as if without ridge."""
        ranks, (_, columns) = np.arange(1, len(squares) + 1), self.form.shape
        count = fit.rows.shape[0]
        residual = self.form.samples * (self.form.constant - np.cumsum(squares))
        degrees = (count + columns - ranks) * ranks
        complexity = Complexity(degrees, count, columns, *self.form.shape, *self._selects)
        scores = self._penalised(np.maximum(residual, 0.0), complexity)
        best = int(np.argmin(scores))
        return int(ranks[best if np.isfinite(scores[best]) else -1])

    def _directions_table(
        self,
        fit: RowFit,
        ridge: float,
        most: int,
        columns: Array | None,
        near: Array | None = None,
    ) -> np.ndarray:
        known = self._directions(fit, most, columns, near)
        return self._scores(known, fit, ridge) if known.weights.shape[0] else self._nothing()

    def _nothing(self) -> np.ndarray:
        return np.full((1, self.form.shape[1]), self.null())

    def _directions(
        self, fit: RowFit, most: int, columns: Array | None, near: Array | None = None
    ) -> Directions:
        mask = None
        if columns is not None:
            ones = arrays.zeros((columns.shape[0],), fit.root) + 1
            mask = arrays.scatter_rows(ones, columns, self.form.shape[1])
        return directions(fit.root, fit.whitened, most, mask, near)

    def _scores(self, known: Directions, fit: RowFit, ridge: float) -> np.ndarray:
        xp = arrays.namespace(known.weights)
        overlap = xp.astype(known.map.T @ known.map, xp.float64, copy=False)
        # the directions are orthonormal in H, which includes the ridge
        inner = arrays.add_to_diagonal(overlap * -ridge, 1.0)
        changes = best_first(known, column_changes(known.weights, known.weights, inner))
        table, kept, norm = together(
            changes, xp.linalg.diagonal(inner), xp.linalg.vector_norm(fit.root)
        )
        residual = self.form.samples * (self._form_at(fit).constant + table)
        complexity = self._complexity(fit, known, kept, ridge * float(norm) ** 2)
        return self._penalised(residual, complexity)

    def unpenalised(self, fit: RowFit, fewer: int | None = None) -> float:
        """The criterion without penalty, of a fit of full rank without ridge to all columns.

        With ``fewer`` a forecast for this number of the rows, which is rather too low: half of the
        costs of the other rows, if each was removed alone.
        """
        xp = arrays.namespace(fit.whitened)
        norm, rise = xp.linalg.vector_norm(fit.whitened), 0.0
        if fewer is not None:
            squares = arrays.row_norms_squared(fit.root.T @ fit.whitened)
            costs, norm = together(squares / arrays.column_norms_squared(fit.root), norm)
            least = np.sort(costs.astype(np.float64))[: max(len(costs) - fewer, 0)]
            rise = float(np.sum(least)) / 2
        left = self.form.constant - float(norm) ** 2 + rise
        residual = self.form.samples * left
        nothing = Complexity(0.0, 0, 0, *self.form.shape, False, False)
        return float(self._penalised(np.maximum(residual, 0.0), nothing))

    def _form_at(self, fit: RowFit) -> QuadraticForm:
        """The form that the fit is a fit of."""
        return self.form

    def _penalised(self, residual: np.ndarray, complexity: Complexity) -> np.ndarray:
        """The criterion of residual sums of squares."""
        null = self.form.samples * self.form.constant
        return self._criterion.scores(residual, null, self.form.observations, complexity)

    def score(self, fit: Fit | None, sizes: Sizes) -> float:
        """The criterion; None is scored like the zero matrix.

        It is an entry of the table of the columns in use, which is known if :meth:`table` was
        called for this fit before.
        """
        if fit is None or fit.columns.shape[0] == 0:
            return self.null()
        last = self._last
        if last is not None and last[0] is fit and last[1] == sizes.ridge:
            table = last[2]
        else:
            table = self._directions_table(fit, sizes.ridge, sizes.rank, fit.columns)
        return float(table[min(sizes.rank, table.shape[0]) - 1, sizes.columns - 1])

    def rows_forecast(self, fit: Fit, sizes: Sizes, rows: np.ndarray) -> np.ndarray:
        """Scores after removing rows of least cost or adding rows of largest gain, Q held fixed.

        Exact for one row, given Q; for several rows their interactions are neglected.
        """
        prospects = fit.prospects
        if prospects is None:
            form = self._form_at(fit).with_ridge(sizes.ridge)
            prospects = Pursuit().sized(*sizes[:3]).prospects(form, fit)
        costs = np.sort(arrays.to_numpy(prospects.costs).astype(np.float64))
        gains = -np.sort(-arrays.to_numpy(prospects.gains).astype(np.float64))
        # change of the objective for every number of rows, from sums of costs and of gains
        changes = np.concatenate([np.cumsum(costs)[::-1], [0.0], -np.cumsum(gains)])
        penalised = np.maximum(2 * fit.objective + changes[np.minimum(rows, len(changes) - 1)], 0.0)
        shrinkage = sizes.ridge * arrays.inner(fit.U, fit.U)
        residual = self.form.samples * np.maximum(penalised - shrinkage, 0.0)
        rank = fit.U.shape[1]
        degrees = (rows + sizes.columns - rank) * rank
        complexity = Complexity(degrees, rows, sizes.columns, *self.form.shape, *self._selects)
        return self._penalised(residual, complexity)

    def _complexity(
        self, fit: RowFit, known: Directions, kept: np.ndarray, lost: float
    ) -> Complexity:
        """Degrees of freedom; with a ridge, traces of hat matrices take the place of s₁ and r.

        ``kept`` is what the ridge leaves of the degree of freedom of each direction, and ``lost``
        what it takes from those of the rows.
        """
        q, k = known.weights.shape
        count = fit.rows.shape[0]
        rows = fit.root.shape[0] - lost if lost else float(count)
        ranks = np.arange(1, q + 1)[:, None]
        shrunk = np.cumsum(kept)[:, None]
        columns = np.arange(1, k + 1)[None, :]
        degrees = shrunk * columns + np.maximum(rows - shrunk, 0.0) * ranks
        return Complexity(degrees, count, columns, *self.form.shape, *self._selects)
