"""Means over samples of scores and of tables of scores."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from thinrank import arrays
from thinrank.core.sizes import Sizes
from thinrank.selection.tables import to_height

__all__ = ["mean_score", "mean_table", "table_entry"]


def mean_score(parts: Sequence[float]) -> float:
    """Mean over samples, to half of its digits, so that rounding errors decide nothing."""
    return float(_half_the_digits(np.asarray(np.mean(parts))))


def mean_table(tables: Sequence[np.ndarray]) -> np.ndarray:
    """Mean over samples, to half of its digits.

    Ranks beyond the last one of a sample have the scores of its last rank.
    """
    if len(tables) == 1:
        return _half_the_digits(tables[0])
    height = max(table.shape[0] for table in tables)
    return _half_the_digits(np.mean([to_height(table, height) for table in tables], axis=0))


def _half_the_digits(scores: np.ndarray) -> np.ndarray:
    """Round scores, some of which may be infinite, to half of their digits."""
    finite = np.isfinite(scores)
    if finite.all():
        return arrays.half_the_digits(scores)
    return np.where(finite, arrays.half_the_digits(np.where(finite, scores, 0.0)), scores)


def table_entry(table: np.ndarray, sizes: Sizes) -> float:
    """Score of a rank and number of columns; higher ranks have the score of the last one."""
    return float(table[min(sizes.rank, table.shape[0]) - 1, sizes.columns - 1])
