"""Results of a coarse grid of sizes, the first stage of a search by held-out error."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from thinrank.core.sizes import Sizes
from thinrank.core.stored_values import storable

__all__ = ["CoarseGrid"]

# Number of points of the coarse grid from which the search continues.
_MAX_STARTS = 2


@storable
@dataclass(frozen=True, eq=False)
class CoarseGrid:
    """Results of a coarse grid.

    Attributes
    ----------
    points : list of Sizes
        The points, each with the best rank and number of columns for its rows and ridge, in
        increasing order of predicted score.
    noise : ndarray of shape (n_targets,)
        The least root mean squared error of every response over all points.
    thin : Sizes or None
        A point with few rows and the largest rank; see
        :meth:`thinrank.selection.space.Space.thin_start`.
    """

    points: list[Sizes]
    noise: np.ndarray
    thin: Sizes | None = None

    @property
    def starts(self) -> list[Sizes]:
        """The points of least predicted score with different numbers of rows.

        Backward elimination may miss the few relevant predictors among many, and then all models
        with few rows have high predicted scores. So if no start has few rows, the thin point takes
        the place of the last one: its fit exchanges rows.
        """
        best: dict[int, Sizes] = {}
        for sizes in self.points:
            best.setdefault(sizes.rows, sizes)
        starts = list(best.values())[:_MAX_STARTS]
        thin = self.thin
        if thin is not None and all(sizes.rows >= 2 * thin.rows for sizes in starts):
            starts[_MAX_STARTS - 1 :] = [thin]
        return starts
