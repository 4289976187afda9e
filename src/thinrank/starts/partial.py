"""Screening of rows around an earlier fit."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from thinrank import arrays, linalg
from thinrank.arrays import Array
from thinrank.core.contracts import QuadraticForm
from thinrank.core.factors import Factors
from thinrank.largest import top_quotients

__all__ = ["PartialScreening"]


@dataclass(frozen=True, eq=False)
class PartialScreening:
    """Keep the rows with large partial covariances, given an earlier fit.

    The partial covariance of a predictor is its covariance with what the other predictors of the
    earlier fit leave unexplained, along the row space of that fit. Screening by covariances also
    keeps predictors that are only correlated with relevant ones; partial covariances do so less.

    Parameters
    ----------
    form : QuadraticForm
        The form to be fitted.
    known : Factors
        A fit to nearly the same data, for example with other weights of the responses.
    """

    form: QuadraticForm
    known: Factors

    def __call__(self, loss: Any, rank: int, rows: int, columns: int, seed: int) -> Factors:
        """Partial covariances of the rows that are kept, and the row space of the earlier fit."""
        return self.on_picked(loss, self.picked_rows(self.form, rows), rank, columns, seed)

    def on_picked(self, loss: Any, picked: Array, rank: int, columns: int, seed: int) -> Factors:
        """As a call, on rows that :meth:`picked_rows` has returned."""
        negative, basis, _ = self._partial
        U = -arrays.take_rows(negative, picked)
        factors = Factors.on_rows(U, picked, loss.shape[0], basis)
        return factors.with_supports(picked, self.known.column_support)

    def picked_rows(self, form: QuadraticForm, rows: int) -> Array:
        """The rows that are kept, sorted."""
        negative, _, diagonal = self._partial
        return top_quotients(arrays.row_norms_squared(negative), diagonal, rows)

    @cached_property
    def _partial(self) -> tuple[Array, Array, Array]:
        """Partial covariances times −1, the basis of their row space, and the diagonal of H."""
        form, known = self.form, self.known
        support = known.row_support
        basis, triangle = linalg.tall_qr(known.V)
        U = known.rows_in_use @ triangle.T
        diagonal = form.diagonal()
        gradient = form.gradient(support, U, basis)
        own = arrays.take_rows(diagonal, support)[:, None] * U
        partial = arrays.put_rows(gradient, support, arrays.take_rows(gradient, support) - own)
        return partial, basis, diagonal
