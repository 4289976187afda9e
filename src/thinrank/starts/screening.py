"""Screening of rows and columns (Fan & Lv 2008), then a fit on those that are kept."""

from __future__ import annotations

from dataclasses import dataclass
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
    """

    excess: float = 1.0
    fit: bool = True

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
            small = _leading_directions(cross, rank, seed)
        V = small.V if every else arrays.scatter_rows(small.V, kept_columns, loss.shape[1])
        return Factors.on_rows(small.U, kept_rows, loss.shape[0], V)

    def picked_rows(self, form: QuadraticForm, rows: int) -> Array:
        """The rows that are kept, sorted."""
        return top_positions(
            arrays.divide_or_zero(form.cross_norms()[0], form.diagonal()), int(self.excess * rows)
        )


def _leading_directions(cross: Array, rank: int, seed: int) -> Factors:
    """Approximate leading directions of the covariances, by one step of power iteration."""
    sketch = cross @ linalg.random_block(cross.shape[1], rank, cross, seed)
    basis = cross.T @ sketch
    basis, _ = arrays.namespace(basis).linalg.qr(basis)
    return Factors(cross @ basis, basis)
