"""Reading the records of a search: the models that can be compared, and their standard errors."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from thinrank.core.result import Record
from thinrank.core.sizes import Sizes
from thinrank.selection.evaluation import Evaluation

__all__ = ["amend_scores", "last_search", "one_standard_error", "standard_error"]


def last_search(records: Sequence[Record]) -> list[Record]:
    """The models that the sizes were chosen from, those of the last search with finite scores.

    Parameters
    ----------
    records : sequence of Record
        ``search_`` of an estimator.

    Returns
    -------
    list of Record
    """
    if not records:
        return []
    last = records[-1].search_round
    return [r for r in records if r.search_round == last and math.isfinite(r.objective)]


def standard_error(record: Record) -> float:
    """Standard error of the score over the splits; nan with fewer than two splits.

    Parameters
    ----------
    record : Record
        A model of a search.

    Returns
    -------
    float
    """
    parts = record.split_scores
    if len(parts) < 2:
        return math.nan
    return float(np.std(parts, ddof=1)) / len(parts) ** 0.5


def one_standard_error(records: Sequence[Record]) -> Record | None:
    """The model with the fewest predictors within one standard error of the least score.

    Models that were evaluated on fewer splits than the best one are left out. Of several models
    with the fewest predictors it is the one with the lowest rank, then the one with the least
    score (Breiman et al., 1984).

    Parameters
    ----------
    records : sequence of Record
        Models that can be compared; see :func:`last_search`.

    Returns
    -------
    Record or None
        None if there is no standard error, as for criteria.
    """
    best = min(records, key=lambda r: r.objective, default=None)
    if best is None or math.isnan(standard_error(best)):
        return None
    limit = best.objective + standard_error(best)
    # the best models have scores on further partitions, which those of others would not stand
    alike = [r for r in records if len(r.split_scores) >= len(best.split_scores)]
    within = [r for r in alike if r.objective <= limit and r.sizes is not None]

    def thinness(record: Record) -> tuple[int, int, float]:
        assert record.sizes is not None
        return record.sizes.rows, record.sizes.rank, record.objective

    return min(within, key=thinness)


def amend_scores(records: list[Record], number: int, confirmed: Mapping[Sizes, Evaluation]) -> None:
    """Put scores on further splits into the records, since the choice is made by them.

    The scores of other ranks on the same rows remain those of the first splits.

    Parameters
    ----------
    records : list of Record
        Records of searches, changed in place.
    number : int
        Number of the search, ``search_round``.
    confirmed : mapping of Sizes to Evaluation
        Models with their scores on all splits.
    """
    for i, record in enumerate(records):
        point = None if record.sizes is None else confirmed.get(record.sizes)
        if point is None or record.search_round != number:
            continue
        records[i] = replace(
            record,
            objective=point.score,
            split_scores=tuple(float(part) for part in point.parts),
            rank_scores=tuple(
                (rank, point.score if rank == point.sizes.rank else score)
                for rank, score in record.rank_scores
            ),
        )
