"""Which scores stand out from the others.

The noise of a score A·v depends on v if the columns of A are correlated, and its level is never
known. Scores of rows that do not belong to a block are therefore compared with each other: they
have one common scale, whatever the noise of the columns is.
"""

from __future__ import annotations

import functools

import numpy as np
from scipy.special import chdtri, ndtri

# Probability that one of the scores of noise stands out: rows or columns of one layer.
# Exact supports of a matrix of two layers need four such decisions, so that 98 % remain.
ERROR_RATE = 0.005
# Median absolute value of the normal distribution with unit variance.
_NORMAL_MEDIAN = 0.6744897501960817
# Rounds in which outliers are left out of the scale; two or three are enough.
_MAX_ROUNDS = 5


@functools.lru_cache(maxsize=256)
def limit(count: int, rate: float = ERROR_RATE) -> float:
    """The largest of ``count`` independent normal scores exceeds this with probability ``rate``."""
    return float(-ndtri(rate / (2 * max(count, 1))))


def null_scale(scores: np.ndarray, largest: float) -> float:
    """Standard deviation of the scores that do not stand out.

    It is the median absolute score, repeatedly without those above ``largest`` times the scale, so
    that up to half of the scores may be outliers. If most scores are exactly zero, as in
    counts, the scale is that of the others.
    """
    size = np.sort(np.abs(scores))
    zeros = int(np.searchsorted(size, 0.0, side="right"))
    if len(size) - zeros < 0.5 * len(size):
        size = size[zeros:]
    if len(size) == 0:
        return 0.0
    scale = _middle(size) / _NORMAL_MEDIAN
    for _ in range(_MAX_ROUNDS):
        inner = size[: np.searchsorted(size, largest * scale, side="right")]
        if len(inner) < 0.5 * len(size):
            break
        smaller = _middle(inner) / _NORMAL_MEDIAN
        if smaller >= scale:
            break
        scale = smaller
    return scale


def _middle(ordered: np.ndarray) -> float:
    """The median of sorted numbers."""
    half = len(ordered) // 2
    if len(ordered) % 2:
        return float(ordered[half])
    return float(ordered[half - 1] + ordered[half]) / 2


def outliers(
    scores: np.ndarray, rate: float = ERROR_RATE, known_scale: float = 0.0
) -> tuple[np.ndarray, float]:
    """Flags of the scores that stand out from the others, and the scale of the others.

    The scale is estimated from the scores if it is not known.
    """
    largest = limit(len(scores), rate)
    scale = known_scale or null_scale(scores, largest)
    return np.abs(scores) > largest * scale, scale


def joint_outliers(scores: np.ndarray, inside: np.ndarray, rate: float = ERROR_RATE) -> np.ndarray:
    """Flags of the rows of ``scores`` that stand out in any direction.

    Shapes: ``scores`` (n_rows, rank), ``inside`` (n_rows,), result (n_rows,).
    """
    count, rank = scores.shape
    null = scores[~inside]
    if len(null) < 5 * rank:
        return inside
    values, vectors = np.linalg.eigh(null.T @ null / len(null))
    if values[0] <= np.finfo(scores.dtype).eps * max(values[-1], 1e-300):
        return inside
    distances = np.sum((scores @ vectors) ** 2 / values, axis=1)
    return distances > float(chdtri(rank, rate / count))
