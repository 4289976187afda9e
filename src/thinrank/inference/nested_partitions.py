"""Partitions of the rows into folds, for nested cross-validation."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np
from sklearn.model_selection import check_cv


def group_numbers(groups: Any, n: int) -> np.ndarray:
    """Number of the group of each row; every row by itself without groups.

    Shapes: ``groups`` (n,), result (n,).
    """
    if groups is None:
        return np.arange(n)
    given = np.asarray(groups)
    if given.shape != (n,):
        raise ValueError(f"groups must have one entry per row, {n} in all, got {given.shape}")
    return np.unique(given, return_inverse=True)[1].reshape(-1)


def partitions_of_rows(
    cv: Any, repeats: int, X: Any, Y: Any, groups: Any, members: np.ndarray, seed: int
) -> list[np.ndarray]:
    """Fold of each row, for each partition.

    Shapes: ``members`` (n_samples,), result (n_samples,).
    """
    n, units = len(members), int(members.max()) + 1
    if isinstance(cv, Integral) and not isinstance(cv, bool):
        folds = int(cv)
        if not 3 <= folds <= units // 2:
            raise ValueError(
                f"cv must be from 3 to {units // 2} folds, so that each has at least two of the "
                f"{units} {'rows' if groups is None else 'groups'}, got {folds}"
            )
        rng = np.random.default_rng(seed)
        return [rng.permutation(np.arange(units) % folds)[members] for _ in range(repeats)]
    splitter = check_cv(cv)
    found: list[np.ndarray] = []
    for _ in range(repeats):
        fold = np.full(n, -1)
        tests = [test for _, test in splitter.split(X, Y, groups)]
        for f, test in enumerate(tests):
            fold[test] = f
        if len(tests) < 3 or np.any(fold < 0) or sum(len(test) for test in tests) != n:
            raise ValueError(
                "cv must be an integer or a splitter whose test sets are a partition of the rows "
                f"into at least 3 folds, got {cv!r}"
            )
        if any(len(np.unique(members[fold == f])) < 2 for f in range(len(tests))):
            raise ValueError("cv must have at least two rows, or groups, in each fold")
        if not any(np.array_equal(fold, other) for other in found):
            found.append(fold)
    return found
