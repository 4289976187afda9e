"""The largest of many numbers, and the rows of largest norm, in arrays of any library."""

from __future__ import annotations

from typing import Any

import numpy as np

from thinrank import arrays
from thinrank.arrays import Array

# Of this number of values or more the largest are found after a bound: ten times as fast.
MANY = 1 << 14


def _kth_largest(x: Array, k: int) -> Array:
    xp = arrays.namespace(x)
    if hasattr(xp, "topk"):
        return xp.topk(x, k).values[-1]
    if hasattr(xp, "partition"):
        if type(x) is np.ndarray and x.shape[0] >= max(MANY, 8 * k):
            x = x[~(x < bound_of_largest(x, k))]  # also if it is NaN
        return xp.partition(x, x.shape[0] - k)[x.shape[0] - k]
    return xp.sort(x, descending=True, stable=False)[k - 1]


def bound_of_largest(x: np.ndarray, k: int) -> Any:
    """A bound that at least k of many numbers reach, and not many more, from maxima of blocks."""
    tops = x[: x.shape[0] // (4 * k) * 4 * k].reshape(4 * k, -1).max(axis=1)
    return np.partition(tops, 3 * k)[3 * k]


def top_rows(a: Array, count: int) -> Array:
    """Sorted indices of the ``count`` rows of largest norm, without rows of zeros.

    Among rows whose norms agree to half of their digits, the first ones are kept.
    """
    return top_positions(arrays.row_norms_squared(a), count)


def top_quotients(squares: Array, divisors: Array, count: int) -> Array:
    """As :func:`top_positions`, for quotients, which are 0 where the divisor is not positive."""
    if arrays.on_host(squares) or squares.shape[0] > arrays.FEW:
        return top_positions(arrays.divide_or_zero(squares, divisors), count)
    both = arrays.to_numpy(arrays.namespace(squares).stack([squares, divisors]))
    return arrays.indices(top_positions(arrays.divide_or_zero(*both), count), squares)


def top_positions(squares: Array, count: int) -> Array:
    """Sorted positions of the ``count`` largest of non-negative numbers, without zeros.

    Among numbers that agree to half of their digits, the first ones are kept.
    """
    xp = arrays.namespace(squares)
    if not arrays.on_host(squares) and squares.shape[0] <= arrays.FEW:
        return arrays.indices(top_positions(arrays.to_numpy(squares), count), squares)
    if count >= squares.shape[0]:
        return arrays.true_positions(squares > 0)
    squares = arrays.half_the_digits(squares)
    threshold = _kth_largest(squares, count) if count else float("inf")
    kept = arrays.true_positions(squares >= threshold)
    if kept.shape[0] != count:  # ties, perhaps of zeros
        above = arrays.true_positions(squares > threshold)
        tied = arrays.true_positions((squares == threshold) & (squares > 0))
        tied = tied[: min(count - above.shape[0], tied.shape[0])]
        kept = xp.sort(xp.concat([above, tied]), stable=False)
    return kept
