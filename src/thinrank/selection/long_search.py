"""Search for the sizes with the lowest criterion, where every fit takes long."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, cast

import numpy as np

from thinrank.core.factors import Factors
from thinrank.core.sizes import Sizes
from thinrank.selection.criterion_sample import CriterionSample
from thinrank.selection.criterion_search import CriterionSearch
from thinrank.selection.evaluation import Evaluation
from thinrank.selection.mean_scores import mean_table, table_entry
from thinrank.selection.samples import with_row_space
from thinrank.selection.search import COARSE_RIDGES
from thinrank.selection.tables import RowFit, RowFits
from thinrank.solvers.pursuit import Fit

__all__ = ["LongSearch"]

# The best ridge is taken to be the same for numbers of rows that differ by less than this part.
_SIMILAR_ROWS = 0.1


class LongSearch(CriterionSearch):
    """A search by a criterion with few fits and small tables.

    It begins with the best point of a grid by tables of the rows that backward elimination leaves,
    for which no model is fitted. Tables of fits, and those of other ridges, have few ranks more
    than the fit: its row space is known, so that a few products take the place of an eigenproblem.
    """

    def _first(self) -> Evaluation:
        if self._near is not None:
            return self._settle(self._evaluate([self._near])[0])
        looked = self._best_of_grid()
        self._begin = _factors(cast(RowFit, looked.fits[0]), self.shape[0])
        _, choice = min(self._compared(looked).values())
        self._compared_at.add(choice)
        return self._settle(self._evaluate([choice])[0])

    def _fit(self, sizes: Sizes, i: int, screened: bool) -> Fit | None:
        if self._begin is None or self._nearest(sizes) is not None:
            return super()._fit(sizes, i, screened)
        return self._samples[i].fit_from(sizes, self._solver(sizes), self._begin)

    def _tables(
        self, group: Sequence[int], fits: RowFits, ridges: Sequence[float], most: int
    ) -> list[np.ndarray]:
        samples = [cast(CriterionSample, self._samples[i]) for i in group]
        each = zip(samples, fits, ridges, strict=True)
        return [
            sample.table(fit, ridge, most, None if fit is None else fit.Q)
            for sample, fit, ridge in each
        ]

    def _over_ridges(self, best: Evaluation) -> Evaluation:
        """Compare ridges, unless they were compared with about as many rows."""
        if any(_is_similar(best.sizes, sizes) for sizes in self._compared_at):
            return best
        return super()._over_ridges(best)

    # ------------------------------------------------------------------ without fits

    def _best_of_grid(self) -> Evaluation:
        """The best point of the grid of rows.

        The grid ends where fewer rows have a higher score even without penalty.
        """
        sample = cast(CriterionSample, self._samples[0])
        best: Evaluation | None = None
        more: RowFit | None = None  # a fit on more rows, without ridge
        for rows in reversed(self._space.row_grid()):
            sizes = self._space.like(rows, None)
            limit = best.score if best is not None and sizes.ridge == 0 else math.inf
            if more is not None and sample.unpenalised(more, rows) > limit:
                break
            fit = sample.eliminated(rows, sizes.ridge)
            if limit < math.inf and sample.unpenalised(fit) > limit:
                break
            looked = self._look(sample, fit, sizes, best)
            if best is None or not best.score < looked.score:
                best = looked
            more = fit if sizes.ridge == 0 else None
        assert best is not None
        return best

    def _look(
        self, sample: CriterionSample, fit: RowFit, sizes: Sizes, near: Evaluation | None
    ) -> Evaluation:
        """The best rank and number of columns on given rows.

        ``near`` is the best on other rows, whose row space is a guess of that on these. Where the
        best rank is far above that of ``near``, it does not help.
        """

        def ranks(best: int) -> int:
            allowed = max(best, int(self._space.ranks[0]))
            return self._space.most_ranks(sizes._replace(rank=allowed))

        if near is not None and not math.isfinite(near.score):  # near saturation
            near = None
        if near is not None:
            Q = cast(Any, near.fits[0]).Q
            table = sample.table(fit, sizes.ridge, ranks(near.sizes.rank), Q)
            found = self._best_in(table, sizes)
        if near is None or found.sizes.rank == found.table.shape[0]:
            table, Q = sample.likely_table(fit, sizes.ridge, ranks)
            found = self._best_in(table, sizes)
        # refits with other ridges need no more of a fit
        rows: Any = with_row_space(fit, Q[:, : found.sizes.rank])
        return replace(found, fits=(rows,))

    def _best_in(self, table: np.ndarray, sizes: Sizes) -> Evaluation:
        """The best point of a table."""
        table = mean_table([table])
        choice = self._space.best_of(table, sizes._replace(rank=table.shape[0]))
        score = table_entry(table, choice)
        return Evaluation(choice, score, (score,), (), table, 0.0)

    def _compared(self, near: Evaluation) -> dict[int, tuple[float, Sizes]]:
        """Predictions for ridges, in steps from that of ``near`` as long as scores decrease.

        Steps from the least ridge are large at first. Scores are roughly quadratic in small ridges,
        so that the best is above half of every ridge that is better than none: the first step can
        be a double one.
        """
        ridges = self._space.ridges
        allowed = self._space.ridges_for(near.sizes.rows)
        predicted: dict[int, tuple[float, Sizes]] = {}

        def score(place: int) -> float:
            if place not in allowed:
                return math.inf
            if place not in predicted:
                (predicted[place],) = self._predicted(near, [ridges[place]])
            return predicted[place][0]

        def last(place: int, step: int) -> int:
            while score(place + step) < score(place):
                place += step
            return place

        here = ridges.index(near.sizes.ridge)
        if here == 0:
            far = 2 * COARSE_RIDGES
            here = last(far if score(far) < score(0) else 0, COARSE_RIDGES)
        if last(here, 1) == here:
            last(here, -1)
        return predicted


def _is_similar(one: Sizes, other: Sizes) -> bool:
    """Whether two points have the same ridge and about as many rows."""
    return one.ridge == other.ridge and abs(one.rows / other.rows - 1) < _SIMILAR_ROWS


def _factors(fit: RowFit, size: int) -> Factors:
    """The fit on given rows with their row space, as factors with ``size`` rows."""
    U = fit.root.T @ (fit.whitened @ fit.Q)
    return Factors.on_rows(U, fit.rows, size, fit.Q).with_supports(fit.rows, fit.columns)
