"""What a study is: a list of jobs, each of which can be run by itself, and their records."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

__all__ = ["VOLATILE", "Job", "Record", "Study", "plain", "stable"]

Record = dict[str, Any]
"""One line of results: JSON scalars and short lists, by name."""

VOLATILE = ("seconds", "seconds_start", "seconds_solver", "host", "versions", "started")
"""Fields of a record that may differ between two runs of the same job."""

_KEY_LENGTH = 24


@dataclass(frozen=True)
class Job:
    """The smallest piece of a study that is run, cached and resumed as one.

    Parameters
    ----------
    study : str
        Name of the study.
    cell : dict
        What is done, in values that JSON can hold.
    seed : int
        Of all the random numbers.
    revision : int
        Of the study's code: a higher one makes older cached records worthless.
    """

    study: str
    cell: dict[str, Any] = field(hash=False)
    seed: int = 0
    revision: int = 1

    @property
    def key(self) -> str:
        """Hash of the contents: the same on every machine and in every session."""
        text = json.dumps(self.as_dict(), sort_keys=True, separators=(",", ":"), allow_nan=False)
        return hashlib.sha256(text.encode()).hexdigest()[:_KEY_LENGTH]

    def as_dict(self) -> dict[str, Any]:
        """The contents, for JSON."""
        return {
            "study": self.study,
            "cell": plain(self.cell),
            "seed": int(self.seed),
            "revision": int(self.revision),
        }

    def with_cell(self, **changes: Any) -> Job:
        """The same job with other values in its cell."""
        return replace(self, cell=self.cell | changes)


@dataclass(frozen=True)
class Study:
    """A table or a figure, declared.

    Parameters
    ----------
    name : str
        As on the command line.
    title : str
        For people.
    claim : str
        What the paper says it shows.
    jobs : callable
        ``jobs(quick)`` lists what is to be run, the small version when ``quick``.
    run : callable
        ``run(job)`` returns its records; runs in any process and depends on the job alone.
    timing : bool
        Whether seconds are the result: such a study runs alone, one job after the other, with
        as many BLAS threads as there are.
    foregone : callable or None
        ``foregone(job, records)``: records of a job that need not be run, given all records
        before it, or None. Timing studies only, whose jobs have an order.
    """

    name: str
    title: str
    claim: str
    jobs: Callable[[bool], list[Job]]
    run: Callable[[Job], list[Record]]
    timing: bool = False
    foregone: Callable[[Job, Sequence[Record]], list[Record] | None] | None = None

    @property
    def threads(self) -> int | None:
        """BLAS threads that a job may use; None for as many as there are."""
        return None if self.timing else 1


def plain(value: Any) -> Any:
    """A value as JSON holds it; numbers that are not finite become None."""
    if isinstance(value, dict):
        return {str(name): plain(item) for name, item in value.items()}
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    if isinstance(value, (int, np.integer)):
        return int(value)
    if isinstance(value, (float, np.floating)):
        return float(value) if np.isfinite(value) else None
    if value is None or isinstance(value, str):
        return value
    raise TypeError(f"a record holds JSON values, not {type(value).__name__}")


def stable(record: Record) -> Record:
    """A record without the fields that may differ between two runs of the same job."""
    return {name: value for name, value in record.items() if name not in VOLATILE}
