"""Moves of a search by held-out error from one point to better ones."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from thinrank.core.sizes import Sizes
from thinrank.selection.elimination import MOST_FORECAST, forecasts
from thinrank.selection.evaluation import Evaluation
from thinrank.selection.search import Search
from thinrank.solvers.pursuit import Fit

__all__ = ["MAX_RATIO", "HeldOutDescent"]

# Largest number of rounds over ridges and rows after the first.
_MAX_ROUNDS = 3
# If the score of a model exceeds the best one by this factor, no model with fewer rows is tried.
MAX_RATIO = 1.15
# Largest number of numbers of rows that are tried between others, and the least ratio of these.
_MAX_GAPS = 4
_MIN_GAP = 1.15
# A ridge is tried if its predicted score exceeds the best one by at most this fraction: predictions
# use the rows of known fits, and fits with the ridge itself may be better.
_RIDGE_TOLERANCE = 0.02


class HeldOutDescent(Search):
    """A search that moves from a point to ridges, rows, ranks and columns of lower held-out error.

    The options are those of :class:`thinrank.selection.search.Search`.
    """

    @property
    def _best_model(self) -> Evaluation:
        """The best point of rank above 0."""
        return min((e for e in self.evaluations if e.sizes.rank > 0), key=lambda e: e.score)

    def _descend(self, start: Evaluation) -> None:
        """Move from a point to better ones, until there are none."""
        best = self._neighbours(self._over_rows(self._over_ridges(start)))
        for _ in range(_MAX_ROUNDS):
            before = best
            best = self._neighbours(self._by_forecast(self._over_ridges(best)))
            if best is before:
                break
        self._fill_gaps(best)

    def _to_keep(self, fit: Fit) -> Fit:
        """The fit, without its largest arrays if it has many rows."""
        few = fit.rows.shape[0] <= MOST_FORECAST
        return fit.changed(prospects=None) if few else fit.without_root()

    def _forecasts(self, fitted: Sequence[tuple[Any, Fit]], sizes: Sizes) -> np.ndarray:
        removals = [sample.removal(fit, sizes.ridge) for sample, fit in fitted]
        return forecasts(removals, self._space.rows)

    _ridge_tolerance = _RIDGE_TOLERANCE

    def _least_gain(self, score: float) -> float:
        """The least predicted gain of a move: the penalty of one coefficient in AIC, as an error.

        Smaller gains are noise, and a choice among many points by noise increases the error.
        """
        return self._gain_factor * 2 * score / self._samples[0].form.observations

    def _over_rows(self, start: Evaluation) -> Evaluation:
        """The best number of rows at the same ridge.

        Held-out samples can forecast scores for fewer rows, but not for more. So the number of rows
        is increased by half while that is better, and fewer are tried by forecasts.
        """
        best = start
        while True:
            here = best.sizes.rows
            above = self._space.above(here)
            if above is None or above in self._tried_rows(best.sizes.ridge):
                break
            upper = self._evaluate([self._space.like(above, best.sizes)])[0]
            best = min(best, self._by_forecast(upper), key=lambda e: e.score)
            if best.sizes.rows <= here:
                break
        return self._by_forecast(best)

    def _fill_gaps(self, best: Evaluation) -> None:
        """Try more numbers of rows, if scores do not simply fall and then rise with them.

        This happens with correlated predictors, where the best of few numbers is found by chance.
        The widest gaps between numbers that were tried, from half to twice that of the best model,
        are halved.
        """
        for _ in range(_MAX_GAPS):
            tried: dict[int, float] = {}
            for e in self.evaluations:
                if e.sizes.rank > 0:
                    tried[e.sizes.rows] = min(e.score, tried.get(e.sizes.rows, np.inf))
            rows = sorted(tried)
            if _falls_then_rises([tried[count] for count in rows]):
                return
            here = best.sizes.rows
            gaps = [
                (high / low, low, high)
                for low, high in itertools.pairwise(rows)
                if 2 * high > here and low < 2 * here
            ]
            ratio, low, high = max(gaps, default=(1.0, here, here))
            wanted = self._space.between(low, high)
            if ratio < _MIN_GAP or wanted is None:
                return
            best = self._best_with([wanted], best)

    def _far_too_few(self, best: Evaluation, limit: float | None = None) -> int:
        """The largest number of rows whose forecast score is far above ``limit``.

        Forecasts for few rows are too high, hence twice the distance to the limit is required.
        """
        limit = MAX_RATIO * best.score if limit is None else limit
        expected = self._expected(best)
        too_high = np.isfinite(expected) & (expected > 2 * limit - best.score)
        fewer = self._space.rows[too_high & (self._space.rows < best.sizes.rows)]
        return int(fewer.max(initial=0))


def _falls_then_rises(scores: Sequence[float]) -> bool:
    """Whether the scores decrease up to the least one and increase after it."""
    least = int(np.argmin(scores))
    steps = np.diff(scores)
    return bool(np.all(steps[:least] <= 0) and np.all(steps[least:] >= 0))
