"""Weighted medians of columns."""

from __future__ import annotations

import numpy as np

# Relative tolerance with which a sum of weights counts as half of the total; it is far above the
# rounding errors of sums and far below the share of one entry.
_TIE = 1e-12


def weighted_median(x: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Median of each column, where entries count as often as their weights say.

    Shapes: ``x`` (n, q), result (q,).
    """
    x = np.where(weight > 0, x, np.inf)  # at the end of the order
    order = np.argsort(x, axis=0)
    x = np.take_along_axis(x, order, axis=0)
    below = np.cumsum(np.take_along_axis(weight, order, axis=0), axis=0)
    empty = ~(weight > 0).any(axis=0)
    if empty.all():
        return np.zeros(x.shape[1])
    half = 0.5 * below[-1]
    lower = np.argmax(below >= half * (1 - _TIE), axis=0)
    upper = np.argmax(below > half * (1 + _TIE), axis=0)
    columns = np.arange(x.shape[1])
    first = np.where(empty, 0.0, x[lower, columns])
    last = np.where(empty, 0.0, x[upper, columns])
    return 0.5 * (first + last)
