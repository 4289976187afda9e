"""Search for the sizes with the lowest criterion, where every fit takes long."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import cast

import numpy as np

from thinrank.core.sizes import Sizes
from thinrank.selection.criterion_sample import CriterionSample
from thinrank.selection.criterion_search import CriterionSearch
from thinrank.selection.evaluation import Evaluation
from thinrank.selection.mean_scores import mean_table, table_entry
from thinrank.selection.search import COARSE_RIDGES
from thinrank.selection.tables import RowFit, RowFits

__all__ = ["LongSearch"]


class LongSearch(CriterionSearch):
    """A search by a criterion with few fits and small tables.

    It begins with the best point of a grid by tables of the rows that backward elimination leaves,
    for which no model is fitted. Tables of fits, and those of other ridges, have few ranks more
    than the fit: its row space is known, so that a few products take the place of an eigenproblem.
    """

    def _first(self) -> Evaluation:
        if self._near is not None:
            return self._settle(self._evaluate([self._near])[0])
        looked = self._looked_at()
        predicted = self._compared(looked) if len(self._space.ridges) > 1 else {}
        best = min(predicted.values(), default=(looked.score, looked.sizes))
        return self._settle(self._evaluate([best[1]])[0])

    def _looked_at(self) -> Evaluation:
        """The best point of the grid, which is not fitted.

        The grid ends where fewer rows have a higher score even without penalty.
        """
        sample = cast(CriterionSample, self._samples[0])
        best: Evaluation | None = None
        for rows in reversed(self._space.row_grid()):
            sizes = self._space.like(rows, None)
            fit = sample.eliminated(rows, sizes.ridge)
            if best is not None and sizes.ridge == 0 and sample.unpenalised(fit) > best.score:
                break
            looked = self._look(sample, fit, sizes)
            if best is None or looked.score < best.score:
                best = looked
        assert best is not None
        return best

    def _look(self, sample: CriterionSample, fit: RowFit, sizes: Sizes) -> Evaluation:
        """The best rank and number of columns on given rows."""

        def ranks(best: int) -> int:
            return self._space.most_ranks(sizes._replace(rank=best))

        table, row_space = sample.likely_table(fit, sizes.ridge, ranks)
        table = mean_table([table])
        choice = self._space.best_of(table, sizes._replace(rank=table.shape[0]))
        score = table_entry(table, choice)
        known = cast(RowFit, replace(fit, Q=row_space[:, : choice.rank]))  # type: ignore[type-var]
        return Evaluation(choice, score, (score,), (known,), table, 0.0)  # type: ignore[arg-type]

    def _compared(self, near: Evaluation) -> dict[int, tuple[float, Sizes]]:
        """Predictions for ridges, in steps from that of ``near`` as far as scores decrease.

        Steps from the least ridge are large at first.
        """
        ridges = self._space.ridges
        allowed = self._space.ridges_for(near.sizes.rows)
        here = ridges.index(near.sizes.ridge)
        predicted: dict[int, tuple[float, Sizes]] = {}
        look = {here}
        for step in (COARSE_RIDGES, 1) if here == 0 else (1,):
            while look:
                few = sorted(look)
                found = self._predicted(near, [ridges[i] for i in few])
                predicted |= dict(zip(few, found, strict=True))
                leader = min(predicted, key=lambda i: predicted[i][0])
                look = ({leader - step, leader + step} & allowed) - predicted.keys()
            look = ({leader - 1, leader + 1} & allowed) - predicted.keys()
        return predicted

    def _tables(
        self, group: Sequence[int], fits: RowFits, ridges: Sequence[float], most: int
    ) -> list[np.ndarray]:
        samples = [cast(CriterionSample, self._samples[i]) for i in group]
        each = zip(samples, fits, ridges, strict=True)
        return [
            sample.table(fit, ridge, most, None if fit is None else fit.Q)
            for sample, fit, ridge in each
        ]
