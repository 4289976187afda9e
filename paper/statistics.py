"""Statistics over replications, and how they are formatted."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

Record = dict[str, Any]
"""Named values of one replication."""


@dataclass(frozen=True)
class Spread:
    """Mean, sample standard deviation (denominator count − 1) and count."""

    mean: float
    sd: float
    count: int


def values(records: Iterable[Record], field: str) -> list[float]:
    """Return the finite values of a field; missing, null and NaN values are left out."""
    found = [record.get(field) for record in records]
    numbers = [float(value) for value in found if value is not None and value != ""]
    return [value for value in numbers if math.isfinite(value)]


def spread(records: Iterable[Record], field: str) -> Spread | None:
    """Return mean and standard deviation of a field, or None if no record has a value."""
    numbers = values(records, field)
    if not numbers:
        return None
    sd = float(np.std(numbers, ddof=1)) if len(numbers) > 1 else math.nan
    return Spread(float(np.mean(numbers)), sd, len(numbers))


def group(records: Iterable[Record], key: str | Callable[[Record], Any]) -> dict[Any, list[Record]]:
    """Group records by the value of a field or of a function, in order of appearance."""
    of = key if callable(key) else lambda record: record.get(key)
    groups: dict[Any, list[Record]] = {}
    for record in records:
        groups.setdefault(of(record), []).append(record)
    return groups


def paired_difference(
    first: Sequence[Record], second: Sequence[Record], field: str
) -> Spread | None:
    """Return the mean of first − second over common seeds; ``sd`` is its standard error."""
    left = {r.get("seed"): r for r in first if values([r], field)}
    right = {r.get("seed"): r for r in second if values([r], field)}
    shared = [seed for seed in left if seed in right]
    if len(shared) < 2:
        return None
    gaps = [float(left[s][field]) - float(right[s][field]) for s in shared]
    error = float(np.std(gaps, ddof=1) / math.sqrt(len(gaps)))
    return Spread(float(np.mean(gaps)), error, len(gaps))


def distance(mean: float, reference: Sequence[float]) -> float | None:
    """Return mean − printed mean in printed standard deviations; None if the latter is 0."""
    return None if reference[1] == 0 else (mean - reference[0]) / reference[1]


def number(value: float | None, digits: int = 4) -> str:
    """Format a number with the given number of decimals; None and NaN give an empty string."""
    return "" if value is None or math.isnan(value) else f"{value:.{digits}f}"


def pm(value: Spread | Sequence[float] | None, digits: int = 4) -> str:
    """Format mean ± standard deviation."""
    if value is None:
        return ""
    mean, sd = (value.mean, value.sd) if isinstance(value, Spread) else (value[0], value[1])
    return number(mean, digits) + ("" if math.isnan(sd) else f" ± {sd:.{digits}f}")


def percent(ratio: float, digits: int = 1) -> str:
    """Format a ratio as a signed percentage of change."""
    return f"{100 * (ratio - 1):+.{digits}f} %"


def seconds(value: float | None) -> str:
    """Format seconds with three significant digits; infinity stands for the paper's "> 2h"."""
    if value is None or math.isnan(value):
        return ""
    if math.isinf(value):
        return "> 2 h"
    if value >= 1000:
        return f"{value:.0f}"
    return f"{value:.3g}" if value >= 0.001 else f"{value:.1g}"
