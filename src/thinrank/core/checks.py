"""Checks of arguments that the whole package shares."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from numbers import Integral, Real
from typing import Any

import numpy as np

from thinrank import arrays

# Parameters of estimators that are flags.
_FLAGS = ("standardize", "fit_intercept", "layers", "shared_support")


def is_auto(value: Any) -> bool:
    """Whether a parameter is the string "auto", that is, to be chosen from the data."""
    return isinstance(value, str) and value == "auto"


def is_list(value: Any) -> bool:
    """Whether a parameter is a list, an array or another object with several values."""
    single = isinstance(value, (str, bytes)) or (isinstance(value, np.ndarray) and value.ndim == 0)
    return isinstance(value, Iterable) and not single


@contextmanager
def naming(name: str) -> Iterator[None]:
    """A block whose errors, of NumPy and scikit-learn, begin with the name of an argument."""
    try:
        yield
    except (TypeError, ValueError) as error:
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(f"{name}: {error}") from error


def check_finite(name: str, array: Any) -> None:
    """Raise a ValueError if an array contains NaN, infinity or anything but numbers."""
    if not arrays.is_array(array):
        array = np.asarray(array)
    if getattr(array.dtype, "kind", "f") not in "biufc":  # other libraries have numbers only
        raise ValueError(f"{name} must contain numbers, got an array of type {array.dtype}")
    if not arrays.all_finite(array):
        raise ValueError(f"{name} must be finite, but NaN or infinity was found")


def check_range(name: str, data: Any) -> None:
    """Raise a ValueError if data are complex, dates, or integers that no float can hold."""
    if hasattr(data, "iloc") and hasattr(data, "columns"):  # a data frame of pandas
        for j, (column, dtype) in enumerate(data.dtypes.items()):
            if dtype.kind in "Oc":  # of 20,000 columns, all take a second
                check_range(f"the column {column!r} of {name}", data.iloc[:, j])
        return
    try:
        values = np.asarray(data) if isinstance(data, (list, tuple)) else data
        kind = getattr(getattr(values, "dtype", None), "kind", "")
        if kind == "O":
            np.asarray(values).astype(np.float64)
    except OverflowError:
        raise ValueError(
            f"{name} must contain numbers of the dtype float64, but has an integer above 1e308"
        ) from None
    except (TypeError, ValueError):  # no numbers, or rows of different lengths
        return
    if kind in ("m", "M"):
        raise ValueError(f"{name} must contain numbers, got the dtype {values.dtype}")
    if kind == "c":
        raise ValueError(f"Complex data not supported: {name} has dtype {values.dtype}")


def check_flags(estimator: Any) -> None:
    """Raise a ValueError unless the parameters of an estimator that are flags are True or False."""
    for name in _FLAGS:
        value = getattr(estimator, name, False)
        if not isinstance(value, (bool, int, np.bool_, np.integer)) or value not in (0, 1):
            raise ValueError(f"{name} must be True or False, got {value!r}")
    for name, default in (("n_jobs", None), ("verbose", 0)):
        value = getattr(estimator, name, default)
        if value is not default and not isinstance(value, Integral):
            raise ValueError(
                f"{name} must be an integer{' or None' * (name == 'n_jobs')}, got {value!r}"
            )
    if getattr(estimator, "n_jobs", None) == 0:
        raise ValueError("n_jobs must be a number of threads, -1 for all cores, or None, got 0")


def check_callback(callback: Any) -> None:
    """Raise a TypeError unless a callback is None or can be called."""
    if callback is not None and not callable(callback):
        raise TypeError(f"callback must be callable or None, got {callback!r}")


def check_choice(name: str, value: Any, choices: Iterable[str | None]) -> None:
    """Raise a ValueError unless a value is one of some words, or None where that is one of them."""
    choices = tuple(choices)
    if not (value is None or isinstance(value, str)) or value not in choices:
        listed = ", ".join("None" if each is None else f'"{each}"' for each in choices)
        raise ValueError(f"{name} must be one of {listed}, got {value!r}")


def check_number(name: str, value: Any, expected: str = "a finite non-negative number") -> None:
    """Raise a ValueError unless ``value`` is a finite non-negative number."""
    number = isinstance(value, Real) and not isinstance(value, (bool, np.bool_))
    if not (number and 0 <= float(value) < float("inf")):
        raise ValueError(f"{name} must be {expected}, got {value!r}")


def positive_integer(name: str, value: Any) -> int:
    """The value, if it is a positive integer."""
    if not isinstance(value, Integral) or isinstance(value, bool) or value < 1:
        raise ValueError(f"{name} must be a positive integer, got {value!r}")
    return int(value)
