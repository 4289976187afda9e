"""What a look at a coarse grid shows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from thinrank.core.sizes import Sizes

__all__ = ["CoarseGrid"]

# Points of the coarse grid from which the search goes on.
_MOST_STARTS = 2


@dataclass(frozen=True)
class CoarseGrid:
    """What a look at a coarse grid showed.

    Attributes
    ----------
    points : list of Sizes
        With the best rank and number of columns for their rows and ridges; the most promising
        first.
    noise : ndarray of shape (k,)
        The least root mean squared error of every response, whatever the point.
    """

    points: list[Sizes]
    noise: np.ndarray

    @property
    def starts(self) -> list[Sizes]:
        """The most promising points of different numbers of rows."""
        best: dict[int, Sizes] = {}
        for sizes in self.points:
            best.setdefault(sizes.rows, sizes)
        return list(best.values())[:_MOST_STARTS]
