"""Checks of arguments that the whole package shares."""

from __future__ import annotations

from typing import Any

import numpy as np

from thinrank import arrays

__all__ = ["check_callback", "check_finite", "check_flags", "is_auto"]

# Parameters of estimators that are flags.
_FLAGS = ("standardize", "fit_intercept", "layers", "shared_support")


def is_auto(value: Any) -> bool:
    """Whether a parameter is the string "auto", that is, to be chosen from the data.

    Parameters
    ----------
    value : object
        Value of the parameter. Arrays are allowed; they are not compared entry by entry.

    Returns
    -------
    bool
    """
    return isinstance(value, str) and value == "auto"


def check_finite(name: str, array: Any) -> None:
    """Raise a ValueError if an array contains NaN, infinity or anything but numbers.

    Parameters
    ----------
    name : str
        Name of the array in the message.
    array : array of any supported library, sequence of numbers or number
        Integers and booleans are always finite.
    """
    if not arrays.is_array(array):
        array = np.asarray(array)
    if getattr(array.dtype, "kind", "f") not in "biufc":  # other libraries have numbers only
        raise ValueError(f"{name} must contain numbers, got an array of type {array.dtype}")
    xp = arrays.namespace(array)
    exact = xp.isdtype(array.dtype, ("bool", "integral"))
    if not exact and not bool(xp.all(xp.isfinite(array))):
        raise ValueError(f"{name} must be finite, but NaN or infinity was found")


def check_flags(estimator: Any) -> None:
    """Raise a ValueError unless the parameters of an estimator that are flags are True or False.

    Parameters
    ----------
    estimator : object
        With the parameters as attributes; 0 and 1 are taken for False and True.
    """
    for name in _FLAGS:
        value = getattr(estimator, name, False)
        if not isinstance(value, (bool, int, np.bool_, np.integer)) or value not in (0, 1):
            raise ValueError(f"{name} must be True or False, got {value!r}")


def check_callback(callback: Any) -> None:
    """Raise a TypeError unless a callback is None or can be called.

    Parameters
    ----------
    callback : object
        The parameter.
    """
    if callback is not None and not callable(callback):
        raise TypeError(f"callback must be callable or None, got {callback!r}")
