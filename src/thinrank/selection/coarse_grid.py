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
    score : float
        The least predicted score.
    """

    points: list[Sizes]
    noise: np.ndarray
    score: float

    @property
    def starts(self) -> list[Sizes]:
        """The points of least predicted score with different numbers of rows."""
        best: dict[int, Sizes] = {}
        for sizes in self.points:
            best.setdefault(sizes.rows, sizes)
        return list(best.values())[:_MAX_STARTS]
