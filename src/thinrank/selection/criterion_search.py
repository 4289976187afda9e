"""The search for the sizes of least criterion, every fit from the one before."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, cast

import numpy as np

from thinrank.core.sizes import Sizes
from thinrank.selection.criterion_sample import CriterionSample
from thinrank.selection.evaluation import Evaluation
from thinrank.selection.search import Search
from thinrank.selection.space import Space
from thinrank.selection.tables import RowFit
from thinrank.solvers.pursuit import Fit

__all__ = ["CriterionSearch"]

# The grid ends at the first number of rows that is worse than one before it; for few rows, where
# a score may well dip, at the second.
_FEW_ROWS = 16
# Rounds of ridges and rows after the first.
_MOST_ROUNDS = 3


class CriterionSearch(Search):
    """A coarse grid over the number of rows, then between the best of it and its neighbours.

    Parameters
    ----------
    samples : sequence of CriterionSample
    space : Space
    rough : bool, default=False
        Whether what the grid and forecasts find will do.
    **options
        Of :class:`thinrank.selection.search.Search`.
    """

    def __init__(
        self,
        samples: Sequence[CriterionSample],
        space: Space,
        *,
        rough: bool = False,
        **options: Any,
    ) -> None:
        super().__init__(samples, space, **options)
        self._rough = rough

    def _search(self) -> None:
        if self._space.null:
            self._evaluate_null()
        if self._space.exhaustive is not None:
            self._evaluate(self._space.exhaustive)
            return
        best = self._by_forecast(self._over_ridges(self._over_grid()))
        if self._rough:
            return
        best = self._neighbours(best)
        for _ in range(_MOST_ROUNDS):
            before = best
            best = self._neighbours(self._by_forecast(self._over_ridges(best)))
            if best is before:
                return

    def _fit(self, sizes: Sizes, i: int, screened: bool) -> Fit | None:
        """The fit from the nearest one before it, or from its own start, or the better of both."""
        sample = self._samples[i]
        solver = replace(self._pursuit, thorough=False).sized(*sizes[:3])
        nearest = self._nearest(sizes)
        near = nearest.fits[i] if nearest else None
        fit = sample.fit(sizes, solver) if near is None or screened else None
        if near is not None:
            grown = sample.grow(sizes, solver, near)
            if fit is None or grown.objective < fit.objective:
                fit = grown
        return fit

    def _tables(
        self, group: Sequence[int], fits: Sequence[RowFit | None], ridge: float, most: int
    ) -> list[np.ndarray]:
        samples = [cast(CriterionSample, self._samples[i]) for i in group]
        pairs = zip(samples, fits, strict=True)
        return [sample.table(fit, ridge, most) for sample, fit in pairs]

    def _nearest(self, sizes: Sizes) -> Evaluation | None:
        """The fitted point that is most like this one, the number of rows mattering most."""

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

    def _over_grid(self) -> Evaluation:
        """The grid: each number of rows from the one before, until they get worse."""
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
