"""Splits for cross-validation, from what scikit-learn takes as ``cv``."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np
from sklearn.model_selection import KFold, check_cv

__all__ = ["Splits", "make_splits"]

Splits = list[tuple[np.ndarray, np.ndarray]]

# The best models are judged on further partitions until about this many rows were predicted, in
# this many partitions at most: the fewer rows, the more depends on the partition.
_ENOUGH_PREDICTIONS = 500
_MOST_PARTITIONS = 3


def make_splits(
    cv: Any, weight: np.ndarray | None, rows: int, seed: int, groups: Any = None
) -> tuple[Splits, list[Splits]]:
    """Training and held-out rows, and further partitions to judge the best models again.

    Parameters
    ----------
    cv : int, splitter or iterable of (train, test)
        An integer is the number of folds of a random partition of the rows of positive weight;
        only then there are further partitions.
    weight : ndarray of shape (rows,), optional
    rows : int
    seed : int
        Of the partitions.
    groups : array of shape (rows,), optional
        For splitters that keep groups together.
    """
    if not isinstance(cv, Integral) or isinstance(cv, bool):
        splits = list(check_cv(cv).split(np.zeros((rows, 1)), None, groups))
        if not splits:
            raise ValueError("cv must have at least one split, it has none")
        return splits, []
    live = np.arange(rows) if weight is None else np.flatnonzero(weight > 0)
    if cv < 2:
        raise ValueError(f"cv must be at least 2 folds, a splitter or splits, got {cv!r}")
    if len(live) < 2:
        raise ValueError(
            f'sizes that are "auto" need at least 2 samples of positive weight; there is '
            f"{len(live)} sample"
        )
    folds = min(int(cv), len(live))
    partitions = min(max(_ENOUGH_PREDICTIONS // len(live), 1), _MOST_PARTITIONS)
    if folds == len(live):
        partitions = 1  # there is only one way to leave out single rows
    first, *further = (_partition(live, folds, seed + i) for i in range(partitions))
    return first, further


def _partition(rows: np.ndarray, folds: int, seed: int) -> Splits:
    splitter = KFold(folds, shuffle=True, random_state=seed)
    return [(rows[train], rows[test]) for train, test in splitter.split(rows)]
