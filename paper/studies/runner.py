"""Run a study; finished jobs are kept on disk, and a later run continues from them."""

from __future__ import annotations

import csv
import io
import json
import time
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path

from paper.studies.cache import Cache
from paper.studies.executors import EXECUTORS, Finished, execute, run_job
from paper.studies.machine import describe_machine, now, versions
from paper.studies.spec import Job, Study, StudyRecord, plain
from thinrank.core.files import write_text
from thinrank.core.progress import progress_bar


class StudyError(RuntimeError):
    """Some jobs of a study failed; the records of the others are on disk."""


def run_study(
    study: Study,
    out: Path | str,
    jobs: int = 1,
    quick: bool = False,
    executor: str = "processes",
    *,
    limit: float | None = None,
    address: str | None = None,
    command: str | None = None,
    progress: bool = False,
) -> list[StudyRecord]:
    """Run the jobs of a study that are not finished yet, and return the records of all jobs.

    The records of a job are written to ``out/<study>/records/<key>.json`` as soon as it finishes.
    After an interruption the same call continues from there. ``records.csv`` and ``summary.json``
    are written at the end.

    Parameters
    ----------
    study : Study
        The specification, for example from :func:`paper.find_study`.
    out : path
        Folder of all results.
    jobs : int, default=1
        Number of processes. Ignored by timing studies, which run one job at a time.
    quick : bool, default=False
        Whether to run the small version.
    executor : {"processes", "serial", "dask"}, default="processes"
        Where to run the jobs. The records do not depend on it, except for the fields in
        :data:`VOLATILE`.
    limit : float, default=None
        Time limit in seconds for each job of a timing study; None for that of the study.
    address : str, default=None
        Address of a Dask scheduler; None starts a cluster on this machine.
    command : str, default=None
        The command that the summary shows.
    progress : bool, default=False
        Whether to show a progress bar.

    Returns
    -------
    records : list of dict
        In the order of the jobs.

    Raises
    ------
    StudyError
        If some jobs failed. The other jobs are run nevertheless.
    """
    if jobs < 1:
        raise ValueError(f"jobs must be at least 1, got {jobs}")
    if executor not in EXECUTORS:
        raise ValueError(f"executor must be one of {EXECUTORS}, got {executor!r}")
    todo = study.jobs(quick)
    if limit is not None:
        todo = [job.with_cell(limit=limit) if "limit" in job.cell else job for job in todo]
    typed = command or f"python -m paper {study.name}" + (" --quick" if quick else "")
    return run_jobs(
        study,
        todo,
        Path(out) / study.name,
        workers=jobs,
        executor=executor,
        address=address,
        about={"command": typed, "quick": quick},
        progress=progress,
    )


def run_jobs(
    study: Study,
    jobs: Sequence[Job],
    folder: Path,
    *,
    workers: int = 1,
    executor: str = "processes",
    address: str | None = None,
    about: StudyRecord | None = None,
    progress: bool = False,
) -> list[StudyRecord]:
    """Run the given jobs of a study that are not finished yet, and return the records of all."""
    cache = Cache(folder)
    done = {job.key: cache.load(job.key) for job in jobs}
    waiting = [job for job in jobs if done[job.key] is None]
    began = time.perf_counter()
    failures: list[tuple[Job, Exception]] = []
    ran = 0
    try:
        finished = len(jobs) - len(waiting)
        results = _results(study, jobs, waiting, done, workers, executor, address)
        bar = progress_bar(study.name, len(jobs), show=progress, completed=finished, time_left=True)
        with closing(results), bar as update:
            for job, found in results:
                if isinstance(found, Exception):
                    failures.append((job, found))
                else:
                    cache.store(job, found)
                    done[job.key] = found
                    ran += 1
                update(advance=1)
    finally:
        records = [record for job in jobs for record in done[job.key] or []]
        write_tables(
            folder,
            records,
            {
                "study": study.name,
                "title": study.title,
                "claim": study.claim,
                **(about or {}),
                "finished": now(),
                "seconds": time.perf_counter() - began,
                "versions": versions(),
                "machine": describe_machine(study.threads),
                "jobs": len(jobs),
                "jobs_finished": sum(found is not None for found in done.values()),
                "jobs_run_now": ran,
                "jobs_failed": len(failures),
                "records": len(records),
                "keys": [job.key for job in jobs],
            },
        )
    if failures:
        job, error = failures[0]
        raise StudyError(
            f"{len(failures)} of {len(jobs)} jobs of {study.name} failed; the first one, "
            f"{job.cell} with seed {job.seed}: {type(error).__name__}: {error}"
        ) from error
    return records


def _results(
    study: Study,
    jobs: Sequence[Job],
    waiting: Sequence[Job],
    done: dict[str, list[StudyRecord] | None],
    workers: int,
    executor: str,
    address: str | None,
) -> Generator[Finished, None, None]:
    if waiting and study.timing:
        yield from _in_order(study, jobs, waiting, done)
    elif waiting:
        yield from execute(executor, partial(run_job, study), waiting, workers, address)


def _in_order(
    study: Study,
    jobs: Sequence[Job],
    waiting: Sequence[Job],
    done: dict[str, list[StudyRecord] | None],
) -> Iterator[Finished]:
    """Run the jobs one at a time; the study may skip a job given the records before it."""
    pending = {job.key for job in waiting}
    before: list[StudyRecord] = []
    for job in jobs:
        if job.key in pending:
            settled = study.skip(job, before) if study.skip else None
            if settled is not None:
                head = {"study": job.study, **job.cell, "seed": job.seed}
                yield job, [plain({**head, **record}) for record in settled]
            else:
                yield from execute("serial", partial(run_job, study), [job], 1)
        before += done[job.key] or []


def write_tables(folder: Path, records: Sequence[StudyRecord], summary: StudyRecord) -> None:
    """Write ``records.csv`` and ``summary.json``."""
    names = list(dict.fromkeys(name for record in records for name in record))
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, names, lineterminator="\n")
    writer.writeheader()
    for record in records:
        writer.writerow({name: _in_csv(value) for name, value in record.items()})
    write_text(folder / "records.csv", text.getvalue())
    content = json.dumps(plain(summary), indent=2, ensure_ascii=False)
    write_text(folder / "summary.json", content + "\n")


def _in_csv(value: object) -> object:
    return json.dumps(value, ensure_ascii=False) if isinstance(value, list) else value


def load_records(out: Path | str, name: str) -> list[StudyRecord]:
    """Load the records of the last run of a study.

    Parameters
    ----------
    out : path
        Folder of all results.
    name : str
        Name of the study.

    Returns
    -------
    records : list of dict
        Records of all finished jobs if the last run was interrupted; empty if there are none.
    """
    folder = Path(out) / name
    cache = Cache(folder)
    found: Iterable[list[StudyRecord] | None] = map(cache.load, _keys(folder, cache))
    return [record for records in found for record in records or []]


def _keys(folder: Path, cache: Cache) -> list[str]:
    try:
        keys = json.loads((folder / "summary.json").read_text(encoding="utf-8"))["keys"]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return cache.keys()
    return [str(key) for key in keys]
