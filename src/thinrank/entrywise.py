"""Functions of the entries of an array: bounds, comparisons, and what could overflow."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from thinrank import arrays
from thinrank.arrays import Array


def at_least(x: Array, bound: Array | float) -> Array:
    """The larger of ``x`` and a number or an array that broadcasts to it."""
    if type(x) is np.ndarray:
        return np.maximum(x, bound)
    return arrays.namespace(x).maximum(x, _broadcastable(bound, x))


def at_most(x: Array, bound: Array | float) -> Array:
    """The smaller of ``x`` and a number or an array that broadcasts to it."""
    if type(x) is np.ndarray:
        return np.minimum(x, bound)
    return arrays.namespace(x).minimum(x, _broadcastable(bound, x))


def _broadcastable(bound: Array | float, like: Array) -> Array:
    return bound if arrays.is_array(bound) else arrays.zeros((), like) + bound


def about_proportional(a: Array, b: Array, tolerance: float) -> bool:
    """Whether positive numbers are others times one number, up to a relative difference."""
    change = np.log(arrays.to_numpy(a) / arrays.to_numpy(b))
    return bool(np.all(np.abs(change - np.mean(change)) < tolerance))


def typical_change(a: Array, b: Array) -> float:
    """Root mean square of relative differences of positive numbers, apart from a common factor."""
    return float(np.std(np.log(arrays.to_numpy(a) / arrays.to_numpy(b))))


def largest(a: Array) -> Array | float:
    """The largest absolute entry, which stays on the device of ``a``; 0 if there is none."""
    if 0 in a.shape:
        return 0.0
    if type(a) is np.ndarray:
        return max(float(a.max()), -float(a.min()))
    return arrays.namespace(a).linalg.vector_norm(a, ord=float("inf"))


def largest_beside_diagonal(a: Array) -> Array | float:
    """The largest absolute entry of a symmetric matrix outside its diagonal.

    The diagonal of a NumPy array is overwritten by zeros.
    """
    if type(a) is not np.ndarray:
        return largest(arrays.namespace(a).tril(a, k=-1))
    np.fill_diagonal(a, 0)  # takes less time than a copy
    return largest(a)


def row_sums(a: Array) -> Array:
    """Sum of every row, with shape (n, 1)."""
    if type(a) is np.ndarray:  # numpy.sum needs ten times as long for rows of a few entries
        return a @ np.ones((a.shape[1], 1), dtype=a.dtype)
    return arrays.namespace(a).sum(a, axis=1, keepdims=True)


def row_maxima(a: Array) -> Array:
    """Largest entry of every row, with shape (n, 1)."""
    if type(a) is np.ndarray:  # the maxima of columns are much faster for rows of a few entries
        return np.ascontiguousarray(a.T).max(axis=0)[:, None]
    return arrays.namespace(a).max(a, axis=1, keepdims=True)


def inners(*pairs: tuple[Array, Array]) -> list[float]:
    """⟨a, b⟩ of several pairs, in one transfer from the device."""
    if type(pairs[0][0]) is np.ndarray:
        return [arrays.inner(a, b) for a, b in pairs]
    xp = arrays.namespace(*pairs[0])
    return arrays.to_numpy(xp.stack([xp.sum(a * b) for a, b in pairs])).tolist()


def log1p_exp(x: Array) -> Array:
    """log(1 + exp(x)), without overflow."""
    xp = arrays.namespace(x)
    return at_least(x, 0.0) + xp.log1p(xp.exp(-xp.abs(x)))


def expit(x: Array) -> Array:
    """1/(1 + exp(−x)), with small relative error for negative ``x``."""
    with arrays.without_overflow_warnings():  # 1/(1 + ∞) = 0 is right
        out = arrays.namespace(x).exp(-x)
    out += 1.0
    return 1.0 / out


def logistic(x: Array) -> tuple[Array, Array, Array]:
    """log(1 + exp(x)), 1/(1 + exp(−x)) and 1/(1 + exp(x)), from one exponential."""
    xp = arrays.namespace(x)
    smaller = xp.exp(-xp.abs(x))
    softplus = xp.log1p(smaller)
    softplus += at_least(x, 0.0)
    larger = 1.0 / (1.0 + smaller)
    smaller *= larger
    positive = x > 0
    return softplus, xp.where(positive, larger, smaller), xp.where(positive, smaller, larger)


def log_or_smallest(x: Array) -> Array:
    """log(x), where numbers below the smallest normal number of the dtype count as that number.

    Thus x·log_or_smallest(x) is x·log(x) with the value 0 at x = 0.
    """
    xp = arrays.namespace(x)
    return xp.log(at_least(x, _smallest_normal(xp, x.dtype)))


@functools.lru_cache(maxsize=16)
def _smallest_normal(xp: Any, dtype: Any) -> float:
    return float(xp.finfo(dtype).smallest_normal)
