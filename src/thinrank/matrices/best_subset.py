"""The best set of features by complete enumeration, where there are few sets."""

from __future__ import annotations

from itertools import combinations
from math import comb

import numpy as np

# Up to this number of sets all are tried: less than 0.1 s.
_MAX_SUBSETS = 5000


def few_subsets(total: int, size: int) -> bool:
    """Whether the sets of ``size`` out of ``total`` features are few enough to try all."""
    return comb(total, size) <= _MAX_SUBSETS


def best_subset(gram: np.ndarray, rank: int, size: int) -> np.ndarray:
    """The features whose leading principal components have the largest sum of variances.

    Shapes: ``gram`` (n_features, n_features), result (size,).
    """
    sets = np.array(list(combinations(range(gram.shape[0]), size)))
    values = np.linalg.eigvalsh(gram[sets[:, :, None], sets[:, None, :]])
    return sets[np.argmax(values[:, -rank:].sum(axis=1))]
