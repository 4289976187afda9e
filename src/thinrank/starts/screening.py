"""Screening of rows and columns (Fan & Lv 2008), then a fit on those that are kept."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from thinrank import arrays, linalg
from thinrank.arrays import Array, top_positions
from thinrank.core.contracts import QuadraticForm, require
from thinrank.core.factors import Factors


@dataclass(frozen=True)
class Screening:
    """Keep the rows and columns with a large gradient at zero, and fit those.

    For regression the gradient at zero is −XᵀY/n, the covariances of predictors and responses;
    they are divided by the scales of the predictors. Fast, and good for predictors with small
    correlations; with large correlations it may select the wrong rows.

    Parameters
    ----------
    excess : float, default=1.0
        Number of rows and columns kept, as a multiple of the requested numbers.
    fit : bool, default=True
        Whether to compute a fit on the rows and columns. If False, which is enough for pursuit,
        the leading directions of their covariances are approximated.
    scaled : bool, default=True
        Whether these directions get the scale of the covariances. If False, data on an accelerator
        give directions of any scale, which take less time. Fits of a quadratic loss on the rows
        do not depend on it.
    """

    excess: float = 1.0
    fit: bool = True
    scaled: bool = True

    def __call__(self, loss: Any, rank: int, rows: int, columns: int, seed: int) -> Factors:
        """Factors of the best rank-``rank`` approximation of the fit."""
        require(loss, "quadratic", 'start="screening"')
        form = loss.quadratic()
        kept_rows = self.picked_rows(form, rows)
        kept_columns = top_positions(form.cross_norms()[1], int(self.excess * columns))
        if kept_rows.shape[0] == 0 or kept_columns.shape[0] == 0:
            return Factors.zero(loss.shape, like=loss.prototype)
        every = kept_columns.shape[0] == loss.shape[1]
        cross = form.cross_rows(kept_rows)
        cross = cross if every else arrays.take_columns(cross, kept_columns)
        if self.fit:
            root, _ = linalg.inverse_cholesky(form.gram(kept_rows))
            small = Factors.from_theta(root.T @ (root @ cross), rank)
        else:
            small = _leading_directions(cross, rank, seed, self.scaled)
        V = small.V if every else arrays.scatter_rows(small.V, kept_columns, loss.shape[1])
        return Factors.on_rows(small.U, kept_rows, loss.shape[0], V)

    def picked_rows(self, form: QuadraticForm, rows: int) -> Array:
        """The rows that are kept, sorted."""
        return top_positions(
            arrays.divide_or_zero(form.cross_norms()[0], form.diagonal()), int(self.excess * rows)
        )


def _leading_directions(cross: Array, rank: int, seed: int, scaled: bool) -> Factors:
    """Approximate leading directions of the covariances, by one step of power iteration.

    With ``scaled``, or on the host, their product approximates the covariances. Elsewhere an
    orthonormal basis, which that takes, would take a wait for the device.
    """
    sketch = cross @ linalg.random_block(cross.shape[1], rank, cross, seed)
    basis = cross.T @ sketch
    if not scaled and not arrays.on_host(cross):
        return Factors(sketch, basis)
    basis, _ = arrays.namespace(basis).linalg.qr(basis)
    return Factors(cross @ basis, basis)


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
        picked = self.picked_rows(self.form, rows)
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
        basis, triangle = arrays.namespace(known.V).linalg.qr(known.columns_in_use)
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
