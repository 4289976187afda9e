"""How often each function of thinrank is called, for the runs on record.

Many changes leave every result as it is, and only make a search or a solver do more or less: a loop
that ends later, a value computed again that was known, the other one of two ways to the same sums.
The numbers of calls show them, and unlike times they are the same on every machine.
"""

from __future__ import annotations

import cProfile
import csv
import functools
import inspect
import sys
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from types import CodeType
from typing import Any

import thinrank

FILE = Path(__file__).parent / "recorded" / "work.csv"
PACKAGE = Path(thinrank.__file__).parent

# Parts of the package without a count, and why.
FILES_LEFT_OUT = {
    "datasets/": "makes the data",
    "estimators/": "scikit-learn calls its functions, in each version in another number",
    "core/lazy": "imports what was not used before",
}
# Functions without a count, and why.
FUNCTIONS_LEFT_OUT = {
    "core/threads._controller": "called again after every import",
    "designs/transformed._subtract_outer": "not called if rounding errors happen to cancel",
}

_SLOW = "counting makes it slower, and it takes long already"
_TOLERANCE = "inner loops end by a tolerance, on some machines one step later"
# Runs without a count, and why.
RUNS_LEFT_OUT = {
    "blocks": "a thread that reads ahead does part of the work",
    "huber, given": _TOLERANCE,
    "many missing, kept": _TOLERANCE,
    "poisson, criterion": _TOLERANCE,
    "labels, kept": _TOLERANCE,
    "labels, criterion": _TOLERANCE,
    "holes, pursuit": _TOLERANCE,
    "holes, quick pursuit": _TOLERANCE,
    "poisson, quick pursuit": _TOLERANCE,
    "labels, pursuit": _TOLERANCE,
    "labels, quick pursuit": _TOLERANCE,
    "few missing": _SLOW,
    "many missing": _SLOW,
    "huber": _SLOW,
    "tasks": _SLOW,
    "tasks, many ridges": _SLOW,
    "tasks, columns": _SLOW,
    "poisson": _SLOW,
    "poisson, kept and offset": _SLOW,
    "poisson, pursuit": _SLOW,
    "negative binomial": _SLOW,
    "labels": _SLOW,
    "classes": _SLOW,
    "mixture": _SLOW,
}

Work = dict[str, int]


def counted(run: Callable[[], Any]) -> tuple[Any, Work]:
    """The result of a run, and the number of calls of each function."""
    _forget()
    profile = cProfile.Profile(builtins=False)
    result = profile.runcall(run)
    calls: Counter[str] = Counter()
    for entry in profile.getstats():
        if isinstance(entry.code, CodeType) and (name := _name(entry.code)):
            calls[name] += entry.callcount
    return result, dict(calls)


def _forget() -> None:
    """Clear what functions keep from one run to the next (``functools.cache``)."""
    for module in [each for name, each in sys.modules.items() if name.startswith("thinrank.")]:
        for value in vars(module).values():
            if isinstance(value, functools._lru_cache_wrapper):
                value.cache_clear()


def _name(code: CodeType) -> str:
    """File and function; empty if the calls are not counted."""
    path = Path(code.co_filename)
    # Python's versions differ in the calls of comprehensions, and in those of generators
    unsteady = code.co_name.startswith("<") or code.co_flags & inspect.CO_GENERATOR
    if unsteady or not path.is_relative_to(PACKAGE):
        return ""
    file = path.relative_to(PACKAGE).with_suffix("").as_posix()
    name = f"{file}.{code.co_qualname}".replace(".<locals>", "")
    return "" if file.startswith(tuple(FILES_LEFT_OUT)) or name in FUNCTIONS_LEFT_OUT else name


def difference(found: Work, expected: Work) -> str:
    """A line for each function that is called more or less often than on record."""
    changed = sorted(
        name for name in found | expected if found.get(name, 0) != expected.get(name, 0)
    )
    return "\n".join(
        f"{name} is called {found.get(name, 0)} times, on record {expected.get(name, 0)} times"
        for name in changed
    )


def read() -> dict[str, Work]:
    """The record: the calls of each run."""
    with FILE.open(encoding="utf-8", newline="") as file:
        (_, *runs), *rows = csv.reader(file)
    work: dict[str, Work] = {run: {} for run in runs}
    for name, *counts in rows:
        for run, count in zip(runs, counts, strict=True):
            if count:
                work[run][name] = int(count)
    return work


def write(work: Mapping[str, Work]) -> None:
    """Write the record: a line for each function, a column for each run."""
    names = sorted(set().union(*work.values()))
    with FILE.open("w", encoding="utf-8", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(["function", *work])
        table.writerows([name, *(own.get(name, "") for own in work.values())] for name in names)
