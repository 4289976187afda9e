"""Base class of solvers with the sizes of a model, and checks of their parameters."""

from __future__ import annotations

import copy
import sys
from numbers import Integral, Real
from typing import Any, Self


class Sized:
    """Limits on rank, rows and columns, set by :meth:`sized`; without it there are none."""

    rank: int = sys.maxsize
    rows: int = sys.maxsize
    columns: int = sys.maxsize

    def sized(self, rank: int, rows: int, columns: int) -> Self:
        """The same solver for at most ``rows`` rows and ``columns`` columns, of rank ``rank``."""
        other = copy.copy(self)
        for name, limit in (("rank", rank), ("rows", rows), ("columns", columns)):
            object.__setattr__(other, name, limit)  # subclasses are frozen dataclasses
        return other


def check_number(name: str, value: Any) -> None:
    """Raise a ValueError unless ``value`` is a finite non-negative number."""
    if not isinstance(value, Real) or not 0 <= float(value) < float("inf"):
        raise ValueError(f"{name} must be a finite non-negative number, got {value!r}")


def check_iterations(value: Any) -> None:
    """Raise a ValueError unless ``value`` is a positive integer."""
    if not isinstance(value, Integral) or isinstance(value, bool) or value < 1:
        raise ValueError(f"max_iter must be a positive integer, got {value!r}")
