"""What dataclasses of the numerical packages promise by their declaration."""

from __future__ import annotations

import ast
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


# "rank, rows : int, default=2": names and the value that the documentation states
DOCUMENTED = re.compile(r"^ *([\w*]+(?:, \w+)*) : .*?default=(.+?)$", re.MULTILINE)


def functions_of(package):
    """Functions and classes with a documented default: (name, parameter, what is documented)."""
    outer = importlib.import_module(f"thinrank.{package}")
    for module in pkgutil.walk_packages(outer.__path__, f"{outer.__name__}."):
        for value in vars(importlib.import_module(module.name)).values():
            if getattr(value, "__module__", None) != module.name or not callable(value):
                continue
            members = vars(value).values() if inspect.isclass(value) else ()
            for each in (value, *(m for m in members if inspect.isfunction(m))):
                for names, stated in DOCUMENTED.findall(inspect.getdoc(each) or ""):
                    for name in names.split(", "):
                        yield each, name, stated.strip()


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


def test_defaults_are_those_of_the_documentation():
    checked = 0
    for package in PACKAGES:
        for each, name, stated in functions_of(package):
            parameters = inspect.signature(each).parameters
            if name not in parameters:
                continue
            try:
                expected = ast.literal_eval(stated)
            except (SyntaxError, ValueError):  # described in words
                continue
            checked += 1
            assert parameters[name].default == expected, f"{each.__qualname__}: {name}"
    assert checked > 100
