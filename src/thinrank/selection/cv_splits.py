"""Splits for cross-validation, from a ``cv`` parameter as in scikit-learn."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np
from sklearn.model_selection import KFold, check_cv

from thinrank.core.checks import is_list

__all__ = ["Splits", "given_splits", "make_splits", "partitions_of"]

Splits = list[tuple[np.ndarray, np.ndarray]]

# The best models are evaluated on further partitions until about _ENOUGH_PREDICTIONS rows were
# predicted, in at most _MAX_PARTITIONS partitions: the fewer rows, the more scores depend on the
# partition. Rules of thumb.
_ENOUGH_PREDICTIONS = 500
_MAX_PARTITIONS = 3


def make_splits(
    cv: Any, weight: np.ndarray | None, rows: int, seed: int, groups: Any = None
) -> tuple[Splits, list[Splits]]:
    """Training and held-out rows, and further partitions to evaluate the best models again.

    Parameters
    ----------
    cv : int, splitter or iterable of (train, test)
        An integer is the number of folds of a random partition of the rows of positive weight;
        there are further partitions only in this case.
    weight : ndarray of shape (rows,) or None
        Sample weights.
    rows : int
        Number of rows of the data.
    seed : int
        Seed of the partitions.
    groups : array of shape (rows,), default=None
        Groups, for splitters that use them.

    Returns
    -------
    splits : list of (ndarray, ndarray)
        Training and held-out rows of each split.
    further : list of splits
        Further partitions.
    """
    if not isinstance(cv, Integral) or isinstance(cv, bool):
        return given_splits(cv, np.zeros((rows, 1)), None, groups), []
    live = np.arange(rows) if weight is None else np.flatnonzero(weight > 0)
    if cv < 2:
        raise ValueError(f"cv must be at least 2 folds, a splitter or splits, got {cv!r}")
    if len(live) < 2:
        raise ValueError(
            f'"auto" sizes need at least 2 samples of positive weight, got {len(live)} sample'
        )
    folds = min(int(cv), len(live))
    partitions = partitions_of(len(live))
    if folds == len(live):
        partitions = 1  # there is only one way to leave out single rows
    first, *further = (_partition(live, folds, seed + i) for i in range(partitions))
    return first, further


def partitions_of(rows: int) -> int:
    """Number of partitions of this number of rows on which the best models are evaluated."""
    return min(max(_ENOUGH_PREDICTIONS // rows, 1), _MAX_PARTITIONS)


def given_splits(cv: Any, X: Any, Y: Any = None, groups: Any = None) -> Splits:
    """The splits of a splitter, an iterable or, without shuffling, a number of folds.

    Parameters
    ----------
    cv : int, splitter or iterable of (train, test)
        What to split by.
    X, Y : array of shape (n_samples, n_columns)
        Data for the splitter.
    groups : array of shape (n_samples,), default=None
        Groups, for splitters that use them.

    Returns
    -------
    list of (ndarray, ndarray)
        Training and held-out rows of each split; at least one.
    """
    expected = "cv must be a number of folds, a splitter or a list of (training, held-out) rows"
    if is_list(cv):
        cv = list(cv)
        if not all(isinstance(split, (tuple, list)) and len(split) == 2 for split in cv):
            raise ValueError(f"{expected}, got {cv!r}")
    elif isinstance(cv, (bool, np.bool_, str)) or not (
        cv is None or isinstance(cv, Integral) or hasattr(cv, "split")
    ):
        raise ValueError(f"{expected}, got {cv!r}")
    splits = list(check_cv(cv).split(X, Y, groups))
    if not splits:
        raise ValueError("cv must have at least one split, got none")
    return splits


def _partition(rows: np.ndarray, folds: int, seed: int) -> Splits:
    splitter = KFold(folds, shuffle=True, random_state=seed)
    return [(rows[train], rows[test]) for train, test in splitter.split(rows)]
