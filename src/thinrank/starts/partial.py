"""Screening of rows around an earlier fit."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from thinrank import arrays, linalg
from thinrank.arrays import Array, top_positions
from thinrank.core.contracts import QuadraticForm
from thinrank.core.factors import Factors


@dataclass(frozen=True, eq=False)
class PartialScreening:
    """Keep the rows with large partial covariances, given an earlier fit.

    The partial covariance of a predictor is its covariance with what the other predictors of the
    earlier fit leave unexplained, along the row space of that fit. Screening by covariances also
    keeps predictors that are only correlated with relevant ones; partial covariances do so less.
    """

    form: QuadraticForm  # the form to be fitted
    known: Factors  # A fit to nearly the same data, for example with other weights of the responses

    def __call__(self, loss: Any, rank: int, rows: int, columns: int, seed: int) -> Factors:
        """Partial covariances of the rows that are kept, and the row space of the earlier fit."""
        return self.on_picked(loss, self.picked_rows(self.form, rows), rank, columns, seed)

    def on_picked(self, loss: Any, picked: Array, rank: int, columns: int, seed: int) -> Factors:
        """As a call, on rows that :meth:`picked_rows` has returned."""
        partial = arrays.take_rows(self._partial[0], picked)
        return Factors.on_rows(-partial, picked, loss.shape[0], self._row_space[1])

    def picked_rows(self, form: QuadraticForm, rows: int) -> Array:
        """The rows that are kept, sorted."""
        partial, diagonal = self._partial
        squares = arrays.row_norms_squared(partial)
        return top_positions(arrays.divide_or_zero(squares, diagonal), rows)

    @cached_property
    def _row_space(self) -> tuple[Array, Array]:
        """Coefficients of the earlier fit on its rows, and the basis of its row space."""
        known = self.known
        basis, triangle = linalg.tall_qr(known.columns_in_use)
        if basis.shape[0] < known.shape[1]:
            basis = arrays.scatter_rows(basis, known.column_support, known.shape[1])
        return known.rows_in_use @ triangle.T, basis

    @cached_property
    def _partial(self) -> tuple[Array, Array]:
        """Partial covariances of all rows times −1, and the diagonal of H."""
        support, (U, basis) = self.known.row_support, self._row_space
        diagonal = self.form.diagonal()
        gradient = self.form.gradient(support, U, basis)
        own = arrays.take_rows(diagonal, support)[:, None] * U
        partial = arrays.put_rows(gradient, support, arrays.take_rows(gradient, support) - own)
        return partial, diagonal
