"""Screening of rows around an earlier fit."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from thinrank import arrays, linalg
from thinrank.arrays import Array, top_positions
from thinrank.core.contracts import QuadraticForm
from thinrank.core.factors import Factors
from thinrank.solvers.exchanges import descending

# Partial covariances are computed one by one for this number of rows at most.
_MOST_POSSIBLE = 256


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
        rows, partial = self.__dict__.get("_picked", (None, None))
        if rows is not picked:
            partial = arrays.take_rows(self._partial[0], picked)
        factors = Factors.on_rows(-partial, picked, loss.shape[0], self._row_space[1])
        return factors.with_supports(picked, self.known.column_support)

    def picked_rows(self, form: QuadraticForm, rows: int) -> Array:
        """The rows that are kept, sorted."""
        possible = self._possible(rows)
        if possible is None:
            partial, diagonal = self._partial
            return top_positions(
                arrays.divide_or_zero(arrays.row_norms_squared(partial), diagonal), rows
            )
        partial, squares = self._of(possible)
        places = top_positions(squares, rows)
        picked = possible[places]
        self.__dict__["_picked"] = picked, partial[places]
        return picked

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

    def _of(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Partial covariances of a few sorted rows times −1, and their squares divided by H_jj."""
        form, support, (U, basis) = self.form, self.known.row_support, self._row_space
        diagonal = arrays.take_rows(form.diagonal(), rows)
        products = form.gram_between(support, rows)
        products[rows == support[:, None]] = 0  # given the other predictors of the earlier fit
        partial = products.T @ U - form.cross_rows(rows) @ basis
        return partial, arrays.divide_or_zero(arrays.row_norms_squared(partial), diagonal)

    def _possible(self, count: int) -> np.ndarray | None:
        """Sorted rows with the ``count`` largest partial covariances among them, from bounds.

        None if there are many, or if no bounds are known.
        """
        support, nearby = self.known.row_support, getattr(self.form, "gradient_nearby", None)
        if nearby is None or not 0 < support.shape[0] + count <= _MOST_POSSIBLE:
            return None
        found = nearby(support, *self._row_space)
        if found is None:
            return None
        gradient, distance = found
        squares = arrays.divide_or_zero(arrays.row_norms_squared(gradient), self.form.diagonal())
        size = np.sqrt(squares)  # up to the distance
        size[support] = np.inf
        first = np.sort(descending(size, support.shape[0] + count))
        # the largest of some are a bound of the largest of all; they are compared to half of their
        # digits
        bound = np.sqrt(np.partition(self._of(first)[1], -count)[-count])
        limit = (1 - arrays.eps(size) ** 0.25) * bound - distance
        possible = np.flatnonzero(size >= limit)
        return possible if possible.shape[0] <= _MOST_POSSIBLE else None
