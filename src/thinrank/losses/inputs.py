"""Checks of the arrays that a loss is given."""

from __future__ import annotations

from typing import Any

from thinrank import arrays
from thinrank.arrays import Array
from thinrank.core.checks import check_finite


def as_matrix(name: str, x: Any, rows: int, columns: int | None, like: Array) -> Array:
    """A finite matrix with given numbers of rows and columns; raise a ValueError otherwise."""
    x = arrays.from_numpy(arrays.as_float_array(x), like)
    if x.ndim != 2 or x.shape[0] != rows or columns not in (None, x.shape[1]):
        expected = f"{rows} rows" + ("" if columns is None else f" and {columns} columns")
        raise ValueError(f"{name} must be a matrix with {expected}, got shape {tuple(x.shape)}")
    check_finite(name, x)
    return x


def as_vector(name: str, x: Any, size: int, like: Array) -> Array:
    """A finite vector of a given size; raise a ValueError otherwise."""
    x = arrays.from_numpy(arrays.as_float_array(x), like)
    if tuple(x.shape) != (size,):
        raise ValueError(f"{name} must contain {size} numbers, got shape {tuple(x.shape)}")
    check_finite(name, x)
    return x


def as_weights(name: str, x: Array) -> Array:
    """Weights that are not negative; raise a ValueError otherwise."""
    if not bool(arrays.namespace(x).all(x >= 0)):
        raise ValueError(f"{name} must not be negative")
    return x
