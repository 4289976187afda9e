"""One fuzzed case: its random numbers, its limits, and what its end means.

A case is a kind and a seed. Its input depends on nothing else, so that it can be run again.
"""

from __future__ import annotations

import contextlib
import logging
import os
import re
import signal
import tempfile
import time
import traceback
import warnings
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.exceptions import NotFittedError
from sklearn.utils._param_validation import InvalidParameterError

from thinrank.persistence import ModelFileError
from thinrank.tables import TableError

LIMIT = 60.0
"""Seconds by the clock that a case may take."""

_DOCUMENTED = (
    ValueError,
    TypeError,
    NotFittedError,
    InvalidParameterError,
    TableError,
    ModelFileError,
)
# Messages of NumPy, SciPy and Python about code of ours rather than about the input.
_INTERNAL = re.compile(
    "zero-size array|could not be broadcast|matmul: Input operand|not aligned|dimension mismatch"
    "|need at least one array|object is not (subscriptable|iterable|callable)"
    "|object cannot be interpreted|object has no attribute|has no len|unsupported operand"
    "|not supported between|bad operand type|unhashable|unexpected keyword|positional argument"
    "|not supported for the input types|truth value of an array"
    "|only (length-1|0-dimensional|integer scalar) array|array must not contain infs or NaNs"
    "|cannot reshape array|not enough values to unpack|too many values to unpack"
    "|math domain error|cannot convert float|^Cannot cast ufunc"
)


class HangError(BaseException):
    """The clock ran out; no handler of Exception catches it."""


class WrongError(Exception):
    """A case that ended well, but did what it must not do."""


@dataclass
class Trial:
    """The random numbers and the folder of a case, and notes about its input."""

    rng: np.random.Generator
    folder: Path
    notes: list[str] = field(default_factory=list)

    def chance(self, probability: float) -> bool:
        return bool(self.rng.random() < probability)

    def choice(self, options: Sequence[Any]) -> Any:
        """One of the options; NumPy would convert it."""
        return options[int(self.rng.integers(len(options)))]

    def number(self, low: int, high: int) -> int:
        """A whole number from low to high, both included."""
        return int(self.rng.integers(low, high + 1))

    def note(self, text: str) -> None:
        self.notes.append(text if len(text) <= 600 else text[:600] + "…")


@dataclass(frozen=True)
class Outcome:
    """How a case ended."""

    kind: str
    seed: int
    label: str
    failed: bool
    seconds: float
    detail: str = ""


def run_case(kind: str, seed: int, attempt: Callable[[Trial], None]) -> Outcome:
    """Run a case in a folder of its own, which is also the current one."""
    rng = np.random.default_rng([zlib.crc32(kind.encode()), seed])
    error: BaseException | None = None
    with tempfile.TemporaryDirectory() as name, contextlib.chdir(name), _silent():
        trial, began = Trial(rng, Path(name)), time.monotonic()
        try:
            with _alarm():
                attempt(trial)
        except (Exception, HangError) as raised:
            error = raised
        seconds = time.monotonic() - began
    label, failed = ("succeeded", False) if error is None else _judge(error)
    told = [] if error is None else traceback.format_exception(error)[-6:]
    detail = "\n".join([*trial.notes, *map(str.rstrip, told)]) if failed else ""
    return Outcome(kind, seed, label, failed, seconds, detail)


def _judge(error: BaseException) -> tuple[str, bool]:
    """The class of an error, and whether it is a failure."""
    name, text = type(error).__name__, str(error)
    if isinstance(error, MemoryError):
        return name, "THINRANK_MEMORY_GIB" not in text
    if type(error) not in _DOCUMENTED and not isinstance(error, OSError):
        return name, True
    if not text.strip() or (type(error) in (ValueError, TypeError) and _INTERNAL.search(text)):
        return f"{name} of the inside", True
    return name, False


@contextlib.contextmanager
def unchanged(folder: Path) -> Iterator[None]:
    """Check that reading writes nothing."""

    def contents() -> dict[str, bytes]:
        return {str(each): each.read_bytes() for each in folder.rglob("*") if each.is_file()}

    before = contents()
    try:
        yield
    finally:
        if contents() != before:
            raise WrongError("files were changed by reading")


@contextlib.contextmanager
def no_numpy_warnings() -> Iterator[None]:
    """Turn the warnings of NumPy about arithmetic into failures; those of others are expected."""
    with warnings.catch_warnings(record=True) as told, np.errstate(all="warn", under="ignore"):
        warnings.simplefilter("always")
        yield
    for each in told:
        if each.category in (RuntimeWarning, np.exceptions.ComplexWarning):
            raise WrongError(f"a warning of NumPy: {each.message} ({each.filename}:{each.lineno})")


@contextlib.contextmanager
def _alarm() -> Iterator[None]:
    """Raise a HangError when the clock runs out."""

    def ring(number: int, frame: Any) -> None:
        raise HangError(f"no end after {LIMIT:.0f} s")

    former = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, LIMIT, 1.0)  # again, should a library catch the first
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, former)


@contextlib.contextmanager
def _silent() -> Iterator[None]:
    """Neither warnings nor messages: odd input is expected to cause many."""
    with (
        warnings.catch_warnings(),
        np.errstate(all="ignore"),
        open(os.devnull, "w") as nowhere,
        contextlib.redirect_stdout(nowhere),
        contextlib.redirect_stderr(nowhere),
    ):
        warnings.simplefilter("ignore")
        logging.disable(logging.CRITICAL)
        try:
            yield
        finally:
            logging.disable(logging.NOTSET)
