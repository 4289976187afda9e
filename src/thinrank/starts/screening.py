"""Row and column screening (Fan & Lv 2008), then an exact fit on what is left."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from thinrank import arrays, linalg
from thinrank.arrays import Array
from thinrank.core.contracts import QuadraticForm, require
from thinrank.core.factors import Factors

__all__ = ["Screening"]


@dataclass(frozen=True)
class Screening:
    """Keep the rows and columns where the gradient at zero is large, and fit those.

    For regression the gradient at zero is −XᵀY/n: marginal covariances, here per unit of scale
    of the predictor. Cheap; good when predictors are nearly uncorrelated, misled when they are
    not.

    Parameters
    ----------
    excess : float
        Rows and columns kept, as a multiple of the sparsities asked for.
    fit : bool
        Whether to fit what is kept. Pursuit fits it anyway; without, the start is a quick look
        at the leading directions of the covariances that were kept.
    """

    excess: float = 1.0
    fit: bool = True

    def __call__(self, loss: Any, rank: int, rows: int, columns: int, seed: int) -> Factors:
        """Factors of the fit's best rank-``rank`` approximation."""
        require(loss, "quadratic", 'start="screening"')
        form = loss.quadratic()
        kept_rows = self.picked_rows(form, rows)
        kept_columns = _largest(form.cross_norms()[1], int(self.excess * columns))
        if kept_rows.shape[0] == 0 or kept_columns.shape[0] == 0:
            return Factors.zero(loss.shape, like=loss.prototype)
        cross = arrays.take_columns(form.cross_rows(kept_rows), kept_columns)
        if self.fit:
            root, _ = linalg.inverse_cholesky(form.gram(kept_rows))
            small = Factors.from_theta(root.T @ (root @ cross), rank)
        else:
            small = _leading_directions(cross, rank, seed)
        return Factors(
            arrays.scatter_rows(small.U, kept_rows, loss.shape[0]),
            arrays.scatter_rows(small.V, kept_columns, loss.shape[1]),
        )

    def picked_rows(self, form: QuadraticForm, rows: int) -> Array:
        """The rows that are kept, sorted."""
        by_row = arrays.divide_or_zero(form.cross_norms()[0], form.diagonal())
        return _largest(by_row, int(self.excess * rows))


def _leading_directions(cross: Array, rank: int, seed: int) -> Factors:
    """The cross-covariances on a subspace that one pass of power iteration finds."""
    xp = arrays.namespace(cross)
    sketch = cross @ linalg.random_block(cross.shape[1], rank, cross, seed)
    basis, _ = xp.linalg.qr(cross.T @ sketch)
    return Factors(cross @ basis, basis)


def _largest(squares: Array, count: int) -> Array:
    """Sorted indices of the ``count`` largest, zeros never among them."""
    xp = arrays.namespace(squares)
    return arrays.top_rows(xp.sqrt(squares)[:, None], count)
