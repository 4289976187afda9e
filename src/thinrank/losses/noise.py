"""The noise level of a matrix that is of low rank apart from noise."""

from __future__ import annotations

import functools

import numpy as np

from thinrank import arrays
from thinrank.core.contracts import Design

# Columns used at most: their median singular value is precise, and the time stays bounded.
_MAX_COLUMNS = 400


def noise_scale(Y: Design, total: float, seed: int = 0) -> float:
    """Robust standard deviation of the noise in Y = (low rank) + noise.

    It is the median singular value of Y divided by that of noise of unit variance and the same
    shape (Gavish & Donoho 2014, "The optimal hard threshold for singular values is 4/√3"). A
    signal of low rank changes only the few largest singular values. With few columns the
    estimate tends to be too large.
    """
    k = min(Y.shape[1], _MAX_COLUMNS)
    drawn = np.sort(np.random.default_rng(seed).choice(Y.shape[1], k, replace=False))
    gram = Y.gram(arrays.indices(drawn.tolist(), Y.prototype))
    rows = max(round(total), 1)
    short, long = min(rows, k), max(rows, k)
    squares = np.linalg.eigvalsh(arrays.to_numpy(gram).astype(np.float64))[::-1][:short]
    median = float(np.median(np.maximum(squares, 0.0)))
    return (median / (long * median_noise_eigenvalue(short / long))) ** 0.5


@functools.lru_cache(maxsize=256)
def median_noise_eigenvalue(aspect: float) -> float:
    """Median of the Marchenko-Pastur law for an aspect ratio in (0, 1] and unit variance."""
    low, high = (1 - aspect**0.5) ** 2, (1 + aspect**0.5) ** 2
    # x = low + (high − low)·sin²t removes the square roots at the ends of the integrand
    t = np.linspace(0.0, np.pi / 2, 4001)[1:]
    x = low + (high - low) * np.sin(t) ** 2
    cumulative = np.cumsum((np.sin(t) * np.cos(t)) ** 2 / x)
    return float(np.interp(0.5, cumulative / cumulative[-1], x))
