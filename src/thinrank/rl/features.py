"""Feature maps φ(s) of states.

A feature map is any callable that turns states into an array or scipy sparse matrix of shape
(n_states, n_features).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, product
from typing import Any

import numpy as np
from scipy import sparse

from thinrank.core.checks import check_finite

# Default features: limits of the Fourier basis.
_MAX_ORDER, _MOST_FUNCTIONS = 5, 150

Features = Callable[[Any], Any]
"""``features(states)`` returns an array or sparse matrix of shape (n_states, n_features)."""


@dataclass(frozen=True)
class Identity:
    """The states are their own features.

    States are arrays of shape (n_states, n_features), or (n_states,) for one feature.
    """

    def __call__(self, states: Any) -> np.ndarray:
        """The states as floats."""
        array = np.asarray(states)
        columns = array[:, None] if array.ndim == 1 else array
        return columns.astype(np.float64, copy=False)


@dataclass(frozen=True)
class Tabular:
    """One indicator feature per state.

    Parameters
    ----------
    n_states : int
        States are integers from 0 to ``n_states`` − 1.

    Examples
    --------
    >>> import thinrank as tr
    >>> tr.rl.Tabular(3)([0, 2]).toarray()
    array([[1., 0., 0.],
           [0., 0., 1.]])
    """

    n_states: int

    def __call__(self, states: Any) -> sparse.csr_array:
        """Unit vectors, as a sparse matrix."""
        # scikit-learn's lasso and trees accept only 32-bit indices
        index = _whole_states(states, self.n_states).astype(np.int32)
        ends = np.arange(len(index) + 1, dtype=np.int32)
        ones = np.ones(len(index))
        return sparse.csr_array((ones, index, ends), shape=(len(index), self.n_states))


@dataclass(frozen=True, eq=False)
class Lookup:
    """Features from a table.

    Parameters
    ----------
    table : ndarray of shape (n_states, n_features)
        The features of all states. States are integers, indices of the rows.
    """

    table: np.ndarray

    def __call__(self, states: Any) -> np.ndarray:
        """Rows of the table."""
        return self.table[_whole_states(states, len(self.table))]


@dataclass(frozen=True, eq=False)
class Fourier:
    """The Fourier basis: cos(π·⟨c, (s − low)/(high − low)⟩) for integer vectors c.

    Parameters
    ----------
    low, high : ndarray of shape (n_dimensions,)
        Smallest and largest value of each coordinate of a state.
    order : int
        Largest entry of c. There are (order + 1)^n_dimensions features, the constant first.
    coupled : int or None, default=None
        Largest number of non-zero entries of c, which limits the number of features; None for any.
    clip : bool, default=False
        Whether coordinates outside the range count as its ends. Otherwise the basis is periodic.

    References
    ----------
    G. Konidaris, S. Osentoski and P. Thomas, Value function approximation in reinforcement
    learning using the Fourier basis, AAAI 2011.
    """

    low: np.ndarray
    high: np.ndarray
    order: int
    coupled: int | None = None
    clip: bool = False

    def __post_init__(self) -> None:
        low, high = (np.asarray(bound, dtype=np.float64) for bound in (self.low, self.high))
        if not (np.isfinite(low).all() and np.isfinite(high).all() and (low < high).all()):
            raise ValueError(
                "low and high must be finite, and low below high in every coordinate, got "
                f"low={low.tolist()} and high={high.tolist()}; where a space has no bounds, take "
                "them from logged states, such as np.quantile(log.states, [0.01, 0.99], axis=0), "
                "or leave out the features of MultiTaskFQI"
            )

    def __call__(self, states: Any) -> np.ndarray:
        """All features."""
        low, high = np.atleast_1d(self.low), np.atleast_1d(self.high)
        points = np.asarray(states)
        points = points[:, None] if points.ndim == 1 else points
        if points.ndim != 2 or points.shape[1] != len(low):
            raise ValueError(f"states must have {len(low)} columns, got shape {points.shape}")
        points = (points - low) / (high - low)
        if self.clip:
            points = np.clip(points, 0.0, 1.0)
        return np.cos(np.pi * points @ self._frequencies)

    @cached_property
    def _frequencies(self) -> np.ndarray:
        """The vectors c as columns."""
        size, entries = len(np.atleast_1d(self.low)), range(1, self.order + 1)
        if self.coupled is None or self.coupled >= size:
            every = np.indices((self.order + 1,) * size).reshape(size, -1)
            return every.astype(np.float64)
        columns = [np.zeros(size)]
        for count in range(1, self.coupled + 1):
            for places in combinations(range(size), count):
                for values in product(entries, repeat=count):
                    columns.append(np.zeros(size))
                    columns[-1][list(places)] = values
        return np.stack(columns, axis=1)


def default_features(states: np.ndarray, n_states: int | None = None) -> Features:
    """Features for given states: indicators of numbered states, or a Fourier basis.

    The range of a coordinate is that of 99 % of the states. Functions have at most two coordinates.
    The order is the largest, up to 5, with at most 150 functions; if order 1 has more, functions
    have one coordinate, and order 3.
    """
    if states.ndim == 1 and states.dtype.kind in "iu":
        count = int(states.max()) + 1 if n_states is None else n_states
        if states.min() >= 0 and (n_states is not None or count <= len(states)):
            return Tabular(count)
    if states.dtype.kind not in "biuf" or states.ndim > 2:
        raise ValueError(
            "features must be given for states that are not vectors of numbers, got states of "
            f"dtype {states.dtype} and shape {states.shape[1:]}"
        )
    points = states.reshape(len(states), -1).astype(np.float64)
    check_finite("states", points)
    low, high = np.quantile(points, [0.005, 0.995], axis=0)
    # a coordinate that hardly varies: all of its values, or any range around a constant
    narrow = high <= low
    low = np.where(narrow, points.min(axis=0), low)
    high = np.where(narrow, points.max(axis=0), high)
    high = np.where(high > low, high, low + 1.0)
    size = points.shape[1]
    pairs = size * (size - 1) // 2
    orders = [o for o in range(1, _MAX_ORDER + 1) if 1 + size * o + pairs * o**2 <= _MOST_FUNCTIONS]
    return Fourier(low, high, *((orders[-1], 2) if orders else (3, 1)), clip=True)


def _whole_states(states: Any, count: int) -> np.ndarray:
    """States, if they are integers from 0 to ``count`` − 1."""
    index = np.asarray(states)
    whole = index.ndim == 1 and index.dtype.kind in "iu"
    if not whole or (index.size and not 0 <= index.min() <= index.max() < count):
        raise ValueError(
            f"states must be integers from 0 to {count - 1} in one dimension, got "
            f"dtype {index.dtype}, shape {index.shape}"
            + (f", from {index.min()} to {index.max()}" if whole else "")
        )
    return index


def feature_matrix(features: Features, states: Any, where: str) -> Any:
    """φ(states), of shape (n_states, n_features), checked."""
    try:
        matrix = features(states)
    except ValueError as error:
        raise ValueError(f"{where}: {error}") from error
    matrix = matrix.tocsr() if sparse.issparse(matrix) else np.asarray(matrix)
    if matrix.ndim != 2 or matrix.shape[0] != len(states) or matrix.dtype.kind not in "biuf":
        raise ValueError(
            f"{where}: features must return {len(states)} rows of numbers, got dtype "
            f"{matrix.dtype} and shape {matrix.shape}"
        )
    matrix = matrix.astype(np.float64, copy=False)
    check_finite(f"{where}: features", matrix.data if sparse.issparse(matrix) else matrix)
    return matrix
