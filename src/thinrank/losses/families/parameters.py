"""Parameters of families that are one number, or one number per column."""

from __future__ import annotations

from typing import Any

import numpy as np

from thinrank import arrays
from thinrank.arrays import Array

Parameter = float | np.ndarray | None
"""One number, an array of shape (q,), or None for the default."""


def as_parameter(name: str, value: Any, *, allow_zero: bool = False) -> Parameter:
    """Check a parameter: None, a positive number or a vector of positive numbers.

    Shapes: ``value`` (q,), result (q,).
    """
    if value is None:
        return None
    is_other = arrays.is_array(value) and not isinstance(value, np.generic)
    numbers = arrays.to_numpy(value) if is_other else np.asarray(value)
    numbers = numbers.astype(np.float64)
    low = "not negative" if allow_zero else "positive"
    valid = np.isfinite(numbers) & ((numbers >= 0) if allow_zero else (numbers > 0))
    if numbers.ndim > 1 or not valid.all():
        raise ValueError(
            f"{name} must be a finite number that is {low}, or a vector of them with one entry "
            f"per response, got {value!r}"
        )
    return float(numbers) if numbers.ndim == 0 else numbers


def matched(parameter: float | np.ndarray, like: Array) -> Array | float:
    """The parameter in a form that broadcasts with ``like``: a number, or an array of its kind."""
    if isinstance(parameter, np.ndarray):
        return arrays.from_numpy(parameter, like)
    return parameter


def entries(parameter: Parameter, count: int, default: float = 1.0) -> np.ndarray:
    """The parameter of each of ``count`` columns, as a NumPy array."""
    return np.broadcast_to(default if parameter is None else parameter, (count,)).astype(float)


def taken(parameter: Parameter, columns: Any) -> Parameter:
    """The parameter of some of the columns."""
    if not isinstance(parameter, np.ndarray):
        return parameter
    index = arrays.to_numpy(columns) if arrays.is_array(columns) else np.asarray(columns)
    return parameter[index.astype(int)]
