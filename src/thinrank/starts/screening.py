"""Row and column screening (Fan & Lv 2008), then an unpenalised fit on what is left."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from thinrank import arrays
from thinrank.core import memory
from thinrank.core.contracts import require
from thinrank.core.factors import Factors
from thinrank.solvers.proximal import Proximal, shrink_entries

__all__ = ["Screening"]


@dataclass(frozen=True)
class Screening:
    """Keep the rows and columns where the gradient at zero is large, and fit those.

    For regression the gradient at zero is −XᵀY/n: marginal covariances. Cheap and good when
    predictors are nearly uncorrelated, misled when they are not.

    Parameters
    ----------
    excess : float
        Rows and columns kept, as a multiple of the sparsities asked for.
    """

    excess: float = 1.5

    def __call__(self, loss: Any, rank: int, rows: int, columns: int, seed: int) -> Factors:
        """Balanced factors of the fit's best rank-``rank`` approximation."""
        for capability in ("full_gradient", "smoothness", "restrict"):
            require(loss, capability, 'start="screening"')
        size = arrays.itemsize(loss.prototype)
        memory.check_fits(loss.shape, size, 'start="screening"', 'use start="spectral"')
        gradient = loss.full_gradient(arrays.zeros(loss.shape, like=loss.prototype))[1]
        kept_rows = arrays.top_rows(gradient, max(rank, int(self.excess * rows)))
        kept_columns = arrays.top_rows(gradient.T, max(rank, int(self.excess * columns)))
        if kept_rows.shape[0] == 0:
            return Factors.zero(loss.shape, like=loss.prototype)
        inner = loss.restrict(kept_rows, kept_columns)
        no_penalty = arrays.zeros((inner.shape[0],), like=loss.prototype)
        theta = Proximal(shrink_entries).solve(inner, no_penalty)
        small = Factors.from_theta(theta, rank)
        return Factors(
            arrays.scatter_rows(small.U, kept_rows, loss.shape[0]),
            arrays.scatter_rows(small.V, kept_columns, loss.shape[1]),
        )
