"""What a study is: a list of jobs, each of which can be run on its own, and their records."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

StudyRecord = dict[str, Any]
"""One row of results: a flat dict of JSON scalars and short lists."""

VOLATILE = ("seconds", "seconds_start", "seconds_solver", "host", "versions", "started")
"""Fields of a record that may differ between two runs of the same job."""

_KEY_LENGTH = 24  # hexadecimal digits, 96 bits: collisions are out of the question


@dataclass(frozen=True)
class Job:
    """The smallest part of a study: it is run, cached and resumed as a whole.

    Parameters
    ----------
    study : str
        Name of the study.
    cell : dict
        What to compute, in values that JSON can represent.
    seed : int, default=0
        Seed of all random numbers.
    revision : int, default=1
        Revision of the code of the study. Increase it to invalidate cached records.
    """

    study: str
    cell: dict[str, Any] = field(hash=False)
    seed: int = 0
    revision: int = 1

    @property
    def key(self) -> str:
        """Hash of the contents, the same on every machine and in every session."""
        text = json.dumps(self.as_dict(), sort_keys=True, separators=(",", ":"), allow_nan=False)
        return hashlib.sha256(text.encode()).hexdigest()[:_KEY_LENGTH]

    def as_dict(self) -> dict[str, Any]:
        """Return the contents as a dict that JSON can represent."""
        return {
            "study": self.study,
            "cell": plain(self.cell),
            "seed": int(self.seed),
            "revision": int(self.revision),
        }

    def with_cell(self, **changes: Any) -> Job:
        """Return the same job with some values of its cell changed."""
        return replace(self, cell=self.cell | changes)


@dataclass(frozen=True)
class Study:
    """The specification of an experiment.

    Parameters
    ----------
    name : str
        Name on the command line.
    title : str
        Title for people.
    claim : str
        What the experiment is meant to show.
    jobs : callable
        ``jobs(quick)`` returns the list of jobs; with ``quick=True``, those of the small version.
    run : callable
        ``run(job)`` returns the records of a job. It may be called in any process, so it must
        depend on nothing but the job.
    timing : bool, default=False
        Whether running times are the result. The jobs of such a study run one at a time in this
        process, with all BLAS threads.
    skip : callable, default=None
        ``skip(job, records)`` gets the records of all jobs before this one, and returns the records
        of the job if it need not be run, or None. Only for timing studies, whose jobs run in order.
    """

    name: str
    title: str
    claim: str
    jobs: Callable[[bool], list[Job]]
    run: Callable[[Job], list[StudyRecord]]
    timing: bool = False
    skip: Callable[[Job, Sequence[StudyRecord]], list[StudyRecord] | None] | None = None

    @property
    def threads(self) -> int | None:
        """Number of BLAS threads that a job may use; None for no limit."""
        return None if self.timing else 1


def plain(value: Any) -> Any:
    """Convert a value to what JSON represents; numbers that are not finite become None."""
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
    raise TypeError(f"a record can hold JSON values only, got {type(value).__name__}")


def stable(record: StudyRecord) -> StudyRecord:
    """Return a record without the fields that may differ between two runs of the same job."""
    return {name: value for name, value in record.items() if name not in VOLATILE}
