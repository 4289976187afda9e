"""Checks of the parts that several kinds of models have."""

from __future__ import annotations

from typing import Any

import numpy as np

from thinrank.core.factors import Factors
from thinrank.persistence.errors import ModelFileError


def check_factors(factors: Any) -> None:
    """Raise a ModelFileError unless these are factors of floats."""
    if not isinstance(factors, Factors):
        raise ModelFileError("factors_ must be Factors")
    for name, array in (("U", factors.U), ("V", factors.V)):
        if not isinstance(array, np.ndarray) or array.dtype.kind != "f" or array.ndim != 2:
            raise ModelFileError(f"{name} of the factors must be a matrix of floats")


def check_shapes(model: Any, expected: dict[str, tuple[int, ...]]) -> None:
    """Raise a ModelFileError unless the attributes are arrays of floats of these shapes."""
    for name, shape in expected.items():
        if not has_shape(vars(model).get(name), shape):
            raise ModelFileError(f"{name} must have the shape {shape}")


def has_shape(array: Any, shape: tuple[int, ...]) -> bool:
    """Whether this is an array of floats of a shape."""
    return isinstance(array, np.ndarray) and array.dtype.kind == "f" and array.shape == shape
