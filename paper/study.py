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
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import joblib
import pandas as pd
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_info, threadpool_limits

from thinrank.core.files import write_text
from thinrank.core.progress import progress_bar
from thinrank.report.document import Block

Record = dict[str, Any]
"""One row of results: numbers, words and short lists by name."""

Finding = tuple[bool, str]
"""Whether a claim holds, and the numbers that decide it."""

Claim = Callable[[pd.DataFrame], Finding | None]
"""A function that decides a claim, which is its docstring; None if the records do not decide it.

The claim includes the criterion where the paper gives none.
"""

_PACKAGES = ("thinrank", "numpy", "scipy", "scikit-learn")


class StudyError(RuntimeError):
    """Some jobs of a study failed; the records of the others are on disk."""


@dataclass(frozen=True)
class Job:
    """The smallest part of a study: what to compute, in values of JSON, and the seed."""

    cell: dict[str, Any]
    seed: int = 0

    def key(self, study: str) -> str:
        """The name of the file with its records, the same on every machine."""
        text = _json({"study": study, "cell": self.cell, "seed": self.seed}, sort_keys=True)
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
    seed: int, full: int, small: int
) -> Callable[[Callable[[bool], list[Record]]], Callable[[bool], list[Job]]]:
    """Turn a function that lists cells into one that lists jobs, with the same seeds in every cell.

    ``full``, ``small``: numbers of seeds of the two versions, from ``seed`` on. They are outermost,
    so that the first replication of every cell is finished early.
    """
    return lambda cells: (
        lambda quick: [
            Job(cell, seed + i) for i in range(small if quick else full) for cell in cells(quick)
        ]
    )


def run_study(
    study: Study,
    out: Path | str,
    n_jobs: int = 1,
    quick: bool = False,
    progress: bool = False,
) -> list[Record]:
    """Run the jobs of a study that are not finished yet, and return the records of all its jobs.

    They do not depend on ``n_jobs``, the number of processes, except for times, versions and the
    day. If jobs fail the others are run nevertheless, and a :class:`StudyError` is raised at the
    end. Otherwise ``records.csv`` and ``summary.json`` are written beside the records.
    """
    folder = Path(out) / study.name
    files = {_file(folder, job.key(study.name)): job for job in study.jobs(quick)}
    waiting = {file: job for file, job in files.items() if not file.is_file()}
    failures: list[str] = []
    began = time.perf_counter()
    pool = joblib.Parallel(1 if study.timing else n_jobs, return_as="generator_unordered")
    tasks = (joblib.delayed(_run_job)(study, job, file) for file, job in waiting.items())
    done = len(files) - len(waiting)
    bar = progress_bar(study.name, len(files), show=progress, completed=done, time_left=True)
    with bar as update:
        for failure in pool(tasks):
            failures += [failure] if failure else []
            update(advance=1)
    if failures:
        raise StudyError(f"{len(failures)} of {len(files)} jobs failed; the first: {failures[0]}")
    summary = {
        "command": f"make reproduce STUDY={study.name}{' QUICK=1' * quick}",
        "quick": quick,
        "seconds": time.perf_counter() - began,
        "versions": _versions(),
        "machine": _machine(study.threads),
        "jobs": len(files),
        "jobs_run_now": len(waiting),
        "keys": [file.stem for file in files],
    }
    write_text(folder / "summary.json", _json(summary, indent=2) + "\n")
    records = load_records(out, study.name)
    pd.DataFrame(records).to_csv(folder / "records.csv", index=False)
    return records


def _run_job(study: Study, job: Job, file: Path) -> str:
    """Run a job and write its records; return what went wrong, if anything."""
    try:
        with threadpool_limits(study.threads), warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            found = study.run(job)
    except Exception as error:
        return f"{job.cell} with seed {job.seed}: {type(error).__name__}: {error}"
    head = {"study": study.name, **job.cell, "seed": job.seed}
    stamp = {"versions": _versions(), "day": datetime.date.today().isoformat()}
    write_text(file, _json([{**head, **record, **stamp} for record in found], indent=1) + "\n")
    return ""


def load_records(out: Path | str, name: str) -> list[Record]:
    """The records of the last complete run of a study; empty if there is none."""
    folder = Path(out) / name
    files = [_file(folder, key) for key in read_summary(folder).get("keys", [])]
    return [record for file in files for record in json.loads(file.read_text(encoding="utf-8"))]


def read_summary(folder: Path) -> dict[str, Any]:
    """The contents of ``summary.json``; empty if there is no such file."""
    file = folder / "summary.json"
    return dict(json.loads(file.read_text(encoding="utf-8"))) if file.is_file() else {}


def _file(folder: Path, key: str) -> Path:
    return folder / "records" / f"{key}.json"


def _json(value: Any, **options: Any) -> str:
    """A value as JSON, with arrays and scalars of NumPy as lists and numbers."""
    return json.dumps(value, default=lambda item: item.tolist(), ensure_ascii=False, **options)


def _versions() -> str:
    python = f"Python {platform.python_version()}"
    return ", ".join([python, *(f"{name} {version(name)}" for name in _PACKAGES)])


def _machine(threads: int | None) -> str:
    """System, processor and BLAS libraries, the latter limited to some threads."""
    with threadpool_limits(threads):
        libraries = [
            f"{pool['internal_api']} {pool['version'] or ''}, {pool['num_threads']} threads"
            for pool in threadpool_info()
        ]
    system = f"{platform.system()}, {platform.machine()}, {os.cpu_count()} cores"
    return "; ".join([system, *sorted(libraries)])
