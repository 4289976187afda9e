"""Search for the sizes with the lowest criterion, with warm starts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, cast

import numpy as np

from thinrank.core.factors import Factors
from thinrank.core.sizes import Sizes
from thinrank.selection.criterion_sample import CriterionSample
from thinrank.selection.evaluation import Evaluation
from thinrank.selection.search import Search
from thinrank.selection.space import Space
from thinrank.selection.tables import RowFits
from thinrank.solvers.pursuit import MANY_ROWS, Fit, Pursuit

__all__ = ["CriterionSearch"]

# The grid ends at the first number of rows with a higher score than a smaller number. Up to this
# number of rows, where scores vary more, it ends at the second. Rule of thumb.
_FEW_ROWS = 16
# Largest number of rounds over ridges and rows after the first.
_MAX_ROUNDS = 3


class CriterionSearch(Search):
    """A search over a coarse grid of numbers of rows, then around the best of them.

    Parameters
    ----------
    samples : sequence of CriterionSample
        The sample, in a list.
    space : Space
        The sizes to choose from.
    rough : bool, default=False
        Whether to end the search after the grid and the forecasts.
    near : Sizes or None, default=None
        Where to begin instead of the grid.
    begin : Factors or None, default=None
        Where the first fit of a long search begins, if the start is left to the data.
    **options
        Options of :class:`thinrank.selection.search.Search`.
    """

    def __init__(
        self,
        samples: Sequence[CriterionSample],
        space: Space,
        *,
        rough: bool = False,
        near: Sizes | None = None,
        begin: Factors | None = None,
        **options: Any,
    ) -> None:
        super().__init__(samples, space, **options)
        self._rough = rough
        self._near, self._begin = near, begin
        self._compared_at: set[Sizes] = set()  # points with which all ridges were compared

    def _search(self) -> None:
        if self._space.null:
            self._evaluate_null()
        if self._space.exhaustive is not None:
            self._evaluate(self._space.exhaustive)
            return
        best = self._by_forecast(self._first())
        if self._rough:
            return
        best = self._neighbours(best)
        for _ in range(_MAX_ROUNDS):
            before = best
            best = self._neighbours(self._by_forecast(self._over_ridges(best)))
            if best is before:
                return

    def _fit(self, sizes: Sizes, i: int, screened: bool) -> Fit | None:
        """The fit from the nearest earlier fit, from its own start, or the better of both."""
        sample = self._samples[i]
        solver = self._solver(sizes)
        nearest = self._nearest(sizes)
        near = nearest.fits[i] if nearest else None
        fit = sample.fit(sizes, solver) if near is None or screened else None
        if near is not None:
            grown = sample.grow(sizes, solver, near)
            if fit is None or grown.objective < fit.objective:
                fit = grown
        return fit

    def _solver(self, sizes: Sizes) -> Pursuit:
        return replace(self._pursuit, thorough=False).sized(*sizes[:3])

    def _tables(
        self, group: Sequence[int], fits: RowFits, ridges: Sequence[float], most: int
    ) -> list[np.ndarray]:
        samples = [cast(CriterionSample, self._samples[i]) for i in group]
        each = zip(samples, fits, ridges, strict=True)
        return [sample.table(fit, ridge, most) for sample, fit, ridge in each]

    def _nearest(self, sizes: Sizes) -> Evaluation | None:
        """The evaluated point nearest to this one, first in the number of rows."""

        def distance(e: Evaluation) -> tuple[float, float]:
            other = e.sizes
            return (
                abs(math.log(other.rows / sizes.rows)),
                abs(math.log(other.rank / sizes.rank))
                + abs(math.log(other.columns / sizes.columns))
                + (other.ridge != sizes.ridge),
            )

        fitted = [e for e in self._known.values() if e.fits]
        return min(fitted, key=distance) if fitted else None

    def _first(self) -> Evaluation:
        """Where the search begins, with the best ridge there."""
        if self._near is not None:
            return self._over_ridges(self._settle(self._evaluate([self._near])[0]))
        return self._over_ridges(self._over_grid())

    def _over_ridges(self, best: Evaluation) -> Evaluation:
        if best.sizes in self._compared_at:  # nothing has changed since
            return best
        self._compared_at.add(best.sizes)
        return super()._over_ridges(best)

    def _neighbours(self, best: Evaluation) -> Evaluation:
        """Move to a neighbouring number of rows, while that is better.

        Not with many rows: one more or less hardly matters, and forecasts of it are exact, given
        the row space.
        """
        return best if best.sizes.rows > MANY_ROWS else super()._neighbours(best)

    def _over_grid(self) -> Evaluation:
        """The best point of the grid; each starts from the one before, until scores increase."""
        best: Evaluation | None = None
        last: Sizes | None = None
        worse = 0
        for rows in self._space.row_grid():
            point = self._space.like(rows, last)
            settled = self._settle(self._evaluate([point], screened=rows <= _FEW_ROWS)[0])
            last = settled.sizes
            if best is None or settled.score < best.score:
                best, worse = settled, 0
            else:
                worse += 1
            if worse == 2 or (worse and rows > _FEW_ROWS):
                break
        assert best is not None
        return best
