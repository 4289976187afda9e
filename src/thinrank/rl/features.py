"""φ(s): feature maps of states.

Any callable that turns n states into an (n, p_s) array, or scipy sparse matrix, will do. A map may
also have ``product(states, weights)``, φ(s) @ weights without forming φ(s): the values of next
states need little else, and most rows of the weights are zero.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from thinrank.core.checks import check_finite

__all__ = [
    "Features",
    "Fourier",
    "Identity",
    "Lookup",
    "RadialBasis",
    "Tabular",
    "feature_matrix",
    "feature_product",
]

Features = Callable[[Any], Any]
"""``features(states) -> (n, p_s)``, dense or scipy sparse."""


class _Selective:
    """A map whose features can be computed one by one: products take the needed ones only."""

    def product(self, states: Any, weights: np.ndarray) -> np.ndarray:
        """φ(states) @ weights, from the features of non-zero weight."""
        active = np.flatnonzero(weights.any(axis=1))
        return self._some(np.asarray(states), active) @ weights[active]

    def _some(self, states: np.ndarray, index: np.ndarray) -> np.ndarray:
        raise NotImplementedError


@dataclass(frozen=True)
class Identity(_Selective):
    """The states are their own features: arrays of shape (n, p_s), or (n,) for one feature."""

    def __call__(self, states: Any) -> np.ndarray:
        """The states as floats."""
        array = np.asarray(states)
        columns = array[:, None] if array.ndim == 1 else array
        return columns.astype(np.float64, copy=False)

    def product(self, states: Any, weights: np.ndarray) -> np.ndarray:
        """φ(states) @ weights, from the columns of non-zero weight."""
        return super().product(_points(np.asarray(states), len(weights)), weights)

    def _some(self, states: np.ndarray, index: np.ndarray) -> np.ndarray:
        return states[:, index].astype(np.float64, copy=False)


@dataclass(frozen=True)
class Tabular:
    """One feature a state: states are integers from 0 to ``n_states`` − 1.

    Examples
    --------
    >>> import thinrank as tr
    >>> tr.rl.Tabular(3)([0, 2]).toarray()
    array([[1., 0., 0.],
           [0., 0., 1.]])
    """

    n_states: int

    def __call__(self, states: Any) -> sparse.csr_array:
        """Unit vectors, sparse."""
        # scikit-learn's lasso and trees take no other integers than these
        index = _whole_states(states, self.n_states).astype(np.int32)
        ends = np.arange(len(index) + 1, dtype=np.int32)
        ones = np.ones(len(index))
        return sparse.csr_array((ones, index, ends), shape=(len(index), self.n_states))

    def product(self, states: Any, weights: np.ndarray) -> np.ndarray:
        """Rows of the weights."""
        return weights[_whole_states(states, self.n_states)]


@dataclass(frozen=True, eq=False)
class Lookup:
    """Features from a table: states are integers, the rows of ``table`` their features.

    Parameters
    ----------
    table : array of shape (n_states, p_s)
    """

    table: np.ndarray

    def __call__(self, states: Any) -> np.ndarray:
        """Rows of the table."""
        return self.table[_whole_states(states, len(self.table))]

    def product(self, states: Any, weights: np.ndarray) -> np.ndarray:
        """φ(states) @ weights, by way of all states of the table where those are fewer."""
        index = _whole_states(states, len(self.table))
        active = np.flatnonzero(weights.any(axis=1))
        if len(index) < len(self.table):
            return self.table[index[:, None], active] @ weights[active]
        return (self.table[:, active] @ weights[active])[index]


@dataclass(frozen=True, eq=False)
class RadialBasis(_Selective):
    """exp(−‖s − c‖²/(2·width²)) for each of several centres c, and a constant before them.

    Parameters
    ----------
    centers : array of shape (m, d)
    width : float
    """

    centers: np.ndarray
    width: float

    def __call__(self, states: Any) -> np.ndarray:
        """All 1 + m features."""
        return self._some(np.asarray(states), np.arange(len(self.centers) + 1))

    def _some(self, states: np.ndarray, index: np.ndarray) -> np.ndarray:
        centers = np.asarray(self.centers, dtype=np.float64)[np.maximum(index - 1, 0)]
        points = _points(states, centers.shape[1])
        squares = np.sum((points[:, None, :] - centers) ** 2, axis=2)
        return np.where(index == 0, 1.0, np.exp(-squares / (2 * self.width**2)))


@dataclass(frozen=True, eq=False)
class Fourier(_Selective):
    """The cosines cos(π·⟨c, (s − low)/(high − low)⟩), c with integer entries up to ``order``.

    Parameters
    ----------
    low, high : arrays of shape (d,)
        Ends of the box that states live in.
    order : int
        There are (order + 1)^d features, the constant first.

    References
    ----------
    G. Konidaris, S. Osentoski and P. Thomas, Value function approximation in reinforcement
    learning using the Fourier basis, AAAI 2011.
    """

    low: np.ndarray
    high: np.ndarray
    order: int

    def __call__(self, states: Any) -> np.ndarray:
        """All features."""
        count = (self.order + 1) ** len(np.atleast_1d(self.low))
        return self._some(np.asarray(states), np.arange(count))

    def _some(self, states: np.ndarray, index: np.ndarray) -> np.ndarray:
        low, high = np.atleast_1d(self.low), np.atleast_1d(self.high)
        shape = (self.order + 1,) * len(low)
        frequencies = np.stack(np.unravel_index(index, shape))
        points = _points(states, len(low))
        return np.cos(np.pi * ((points - low) / (high - low)) @ frequencies)


def _points(states: np.ndarray, width: int) -> np.ndarray:
    """States as rows of ``width`` numbers; in one dimension they are rows of one."""
    points = states[:, None] if states.ndim == 1 else states
    if points.ndim != 2 or points.shape[1] != width:
        raise ValueError(f"states must have {width} columns, got shape {states.shape}")
    return points


def _whole_states(states: Any, count: int) -> np.ndarray:
    """Integers from 0 to count − 1."""
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
    """φ(states), checked: a float array or scipy sparse matrix with a row for each state.

    ``where`` begins the message of an error.
    """
    try:
        matrix = features(states)
    except ValueError as error:
        raise ValueError(f"{where}: {error}") from error
    matrix = matrix.tocsr() if sparse.issparse(matrix) else np.asarray(matrix)
    if matrix.ndim != 2 or matrix.shape[0] != len(states) or matrix.dtype.kind not in "biuf":
        raise ValueError(
            f"{where}: features must give {len(states)} rows of numbers, they gave dtype "
            f"{matrix.dtype} and shape {matrix.shape}"
        )
    matrix = matrix.astype(np.float64, copy=False)
    check_finite(f"{where}: features", matrix.data if sparse.issparse(matrix) else matrix)
    return matrix


def feature_product(features: Features, states: Any, weights: np.ndarray, where: str) -> np.ndarray:
    """φ(states) @ weights of shape (n, q), by the map's own ``product`` if it has one."""
    if not weights.any():
        return np.zeros((len(states), weights.shape[1]))
    if hasattr(features, "product"):
        try:
            return features.product(states, weights)
        except ValueError as error:
            raise ValueError(f"{where}: {error}") from error
    matrix = feature_matrix(features, states, where)
    if matrix.shape[1] != len(weights):
        raise ValueError(
            f"{where}: features must have the length {len(weights)} that they have at the design "
            f"states, they have {matrix.shape[1]}"
        )
    return matrix @ weights
