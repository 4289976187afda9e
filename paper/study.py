"""What a study is, and how its jobs are run, stored and resumed.

A study lists jobs, each of which can be run on its own, and makes a page from their records. joblib
runs the jobs; each one writes its records to disk when it is finished, so that a study that was
interrupted continues where it stopped.
"""

from __future__ import annotations

import datetime
import hashlib
import json
import os
import platform
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pandas as pd
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_info, threadpool_limits

from thinrank.core.files import write_text
from thinrank.core.progress import progress_bar
from thinrank.report.document import Block

Record = dict[str, Any]
"""One row of results: JSON scalars and short lists by name."""

Finding = tuple[bool, str]
"""Whether a claim holds, and the numbers that decide it."""

Claim = Callable[[pd.DataFrame], Finding | None]
"""A function that decides a claim, which is its docstring; None if the records do not decide it.

The claim includes the criterion where the paper gives none.
"""

VOLATILE = ("seconds", "seconds_start", "seconds_solver", "versions", "started")
"""Fields of a record that may differ between two runs of the same job."""

_REVISION = 1  # of the records: an increase makes stored ones of no use
_PACKAGES = ("thinrank", "numpy", "scipy", "scikit-learn")


class StudyError(RuntimeError):
    """Some jobs of a study failed; the records of the others are on disk."""


@dataclass(frozen=True)
class Job:
    """The smallest part of a study: what to compute, in values of JSON, and the seed."""

    cell: dict[str, Any] = field(hash=False)
    seed: int = 0

    def key(self, study: str) -> str:
        """The name of the file with its records, the same on every machine."""
        about = {"study": study, "cell": self.cell, "seed": self.seed, "revision": _REVISION}
        text = json.dumps(plain(about), sort_keys=True, separators=(",", ":"), allow_nan=False)
        return hashlib.sha256(text.encode()).hexdigest()[:24]


@dataclass(frozen=True)
class Study:
    """An experiment."""

    name: str  # on the command line, and of its folder
    title: str  # of its page
    jobs: Callable[[bool], list[Job]]  # the list of jobs; True for those of the small version
    run: Callable[[Job], list[Record]]  # in any process, so it depends on nothing but the job
    page: Callable[[pd.DataFrame], list[Block]]
    claims: tuple[Claim, ...] = ()
    timing: bool = False  # whether times are the result: one job at a time, with all BLAS threads

    @property
    def threads(self) -> int | None:
        """Number of BLAS threads that a job may use; None for no limit."""
        return None if self.timing else 1


def replicated(
    seed: int, counts: tuple[int, int], cells: Callable[[bool], list[Record]]
) -> Callable[[bool], list[Job]]:
    """The jobs of a study with the same seeds in every cell, from a first seed on.

    ``counts``: numbers of seeds, in full and in the small version. They are outermost, so that an
    interrupted run has complete curves. ``cells(quick)``: the cells, in the order of the page.
    """
    return lambda quick: [
        Job(cell, seed + i) for i in range(counts[quick]) for cell in cells(quick)
    ]


def text_of(claim: Claim) -> str:
    """The claim in words."""
    return " ".join((claim.__doc__ or "").split()).removesuffix(".")


def run_study(
    study: Study,
    out: Path | str,
    n_jobs: int = 1,
    quick: bool = False,
    progress: bool = False,
) -> list[Record]:
    """Run the jobs of a study that are not finished yet, and return the records of all its jobs.

    They do not depend on ``n_jobs``, the number of processes, except for :data:`VOLATILE` fields.
    If jobs fail the others are run nevertheless, and a :class:`StudyError` is raised at the end.
    ``records.csv`` and ``summary.json`` are written beside the records.
    """
    if n_jobs < 1:
        raise ValueError(f"n_jobs must be at least 1, got {n_jobs}")
    folder = Path(out) / study.name
    jobs = study.jobs(quick)
    files = {_file(folder, job.key(study.name)): job for job in jobs}
    waiting = {file: job for file, job in files.items() if read_records(file) is None}
    failures: list[str] = []
    began = time.perf_counter()
    pool = joblib.Parallel(1 if study.timing else n_jobs, return_as="generator_unordered")
    done = len(files) - len(waiting)
    bar = progress_bar(study.name, len(files), show=progress, completed=done, time_left=True)
    try:
        with bar as update:
            tasks = (joblib.delayed(_run_job)(study, job, file) for file, job in waiting.items())
            for failure in pool(tasks):
                failures += [failure] if failure else []
                update(advance=1)
    finally:
        found = {file: read_records(file) for file in files}
        records = [record for some in found.values() for record in some or []]
        summary = {
            "study": study.name,
            "title": study.title,
            "command": command_of(study.name, quick),
            "quick": quick,
            "finished": _now(),
            "seconds": time.perf_counter() - began,
            "versions": _versions(),
            "machine": _machine(study.threads),
            "jobs": len(files),
            "jobs_finished": sum(some is not None for some in found.values()),
            "jobs_run_now": len(waiting),
            "records": len(records),
            "keys": [file.stem for file in files],
        }
        folder.mkdir(parents=True, exist_ok=True)
        pd.DataFrame(records).to_csv(folder / "records.csv", index=False)
        write_text(
            folder / "summary.json", json.dumps(summary, indent=2, ensure_ascii=False) + "\n"
        )
    if failures:
        raise StudyError(f"{len(failures)} of {len(files)} jobs failed; the first: {failures[0]}")
    return records


def command_of(name: str, quick: bool = False) -> str:
    """The command that runs one study alone."""
    return f"make reproduce STUDY={name}{' QUICK=1' * quick}"


def _run_job(study: Study, job: Job, file: Path) -> str:
    """Run a job and write its records; return what went wrong, if anything."""
    started = _now()
    try:
        with threadpool_limits(study.threads), warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            found = study.run(job)
    except Exception as error:
        return f"{job.cell} with seed {job.seed}: {type(error).__name__}: {error}"
    head = {"study": study.name, **job.cell, "seed": job.seed}
    stamp = {"versions": _versions(), "started": started}
    records = [plain({**head, **record, **stamp}) for record in found]
    text = json.dumps({"records": records}, ensure_ascii=False, allow_nan=False, indent=1)
    file.parent.mkdir(parents=True, exist_ok=True)
    write_text(file, text + "\n")
    return ""


def read_records(file: Path) -> list[Record] | None:
    """The records in the file of a job, or None if there is no complete one."""
    try:
        return list(json.loads(file.read_text(encoding="utf-8"))["records"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def load_records(out: Path | str, name: str) -> list[Record]:
    """The records of all finished jobs of the last run of a study; empty if there are none."""
    folder = Path(out) / name
    found = (read_records(_file(folder, key)) for key in read_summary(folder).get("keys", []))
    return [record for records in found for record in records or []]


def read_summary(folder: Path) -> dict[str, Any]:
    """The contents of ``summary.json``; empty if there is no such file."""
    file = folder / "summary.json"
    return dict(json.loads(file.read_text(encoding="utf-8"))) if file.is_file() else {}


def _file(folder: Path, key: str) -> Path:
    return folder / "records" / f"{key}.json"


def plain(value: Any) -> Any:
    """Convert a value to what JSON represents; numbers that are not finite become None."""
    if isinstance(value, dict):
        return {str(name): plain(item) for name, item in value.items()}
    if isinstance(value, (np.ndarray, np.generic)):
        return plain(value.tolist())
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, float) and not np.isfinite(value):
        return None
    if value is None or isinstance(value, (str, bool, int, float)):
        return value
    raise TypeError(f"a record can hold JSON values only, got {type(value).__name__}")


def _versions() -> str:
    python = f"Python {platform.python_version()}"
    return ", ".join([python, *(f"{name} {version(name)}" for name in _PACKAGES)])


def _now() -> str:
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")


def _machine(threads: int | None) -> str:
    """System, processor and BLAS libraries, the latter limited to some threads."""
    with threadpool_limits(threads):
        pools = threadpool_info()
    libraries = (
        f"{pool['internal_api']} {pool['version'] or ''}, {pool['num_threads']} threads"
        for pool in pools
    )
    system = f"{platform.system()}, {platform.machine()}, {os.cpu_count()} cores"
    return "; ".join([system, *sorted(libraries)])
