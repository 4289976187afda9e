"""What dataclasses of the numerical packages promise by their declaration."""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import pkgutil
import re

import pytest

PACKAGES = ("core", "forms", "losses", "solvers", "selection")
# annotations of what cannot be compared by ==, since arrays are compared entry by entry
COMPARED = {"Record", "Solution"}  # entries of histories, which tests compare
ARRAYS = re.compile(r"\b(Array|ndarray|Factors|Fit|RowFit|Evaluation|Prediction|_Found)\b")


def dataclasses_of(package):
    found = {}
    outer = importlib.import_module(f"thinrank.{package}")
    for module in pkgutil.walk_packages(outer.__path__, f"{outer.__name__}."):
        for value in vars(importlib.import_module(module.name)).values():
            own = inspect.isclass(value) and value.__module__.startswith(outer.__name__)
            if own and dataclasses.is_dataclass(value):
                found[f"{value.__module__}.{value.__qualname__}"] = value
    return found


CLASSES = {name: each for package in PACKAGES for name, each in dataclasses_of(package).items()}


def test_there_are_some():
    assert len(CLASSES) > 30


@pytest.mark.parametrize("name", list(CLASSES))
def test_values_are_not_changed_after_they_are_made(name):
    """Results are shared between threads, searches and caches."""
    assert CLASSES[name].__dataclass_params__.frozen


@pytest.mark.parametrize("name", list(CLASSES))
def test_values_with_arrays_are_compared_by_identity(name):
    """With == between arrays the comparison of two values would raise an error."""
    each = CLASSES[name]
    holds_arrays = any(ARRAYS.search(str(f.type)) for f in dataclasses.fields(each) if f.compare)
    if each.__dataclass_params__.eq and "__eq__" in vars(each):
        assert each.__name__ in COMPARED or not holds_arrays
    else:
        assert hash(each) is not None
