"""Running a study: what is finished stays finished, whatever happens next."""

from __future__ import annotations

import csv
import io
import json
import time
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path

from thinrank.core.progress import progress_bar
from thinrank.studies.cache import Cache, write_atomically
from thinrank.studies.executors import Finished, execute, run_job
from thinrank.studies.machine import describe_machine, now, versions
from thinrank.studies.spec import Job, Record, Study, plain

__all__ = ["StudyError", "read_records", "run_jobs", "write_tables"]


class StudyError(RuntimeError):
    """Some jobs of a study failed; the others are finished and cached."""


def run_jobs(
    study: Study,
    jobs: Sequence[Job],
    folder: Path,
    *,
    workers: int = 1,
    executor: str = "processes",
    address: str | None = None,
    about: Record | None = None,
    progress: bool = False,
) -> list[Record]:
    """Run those jobs of a study that are not finished, and return the records of all.

    Parameters
    ----------
    study : Study
    jobs : sequence of Job
        In the order in which their records shall come.
    folder : Path
        Of this study.
    workers, executor, address
        See :func:`thinrank.studies.executors.execute`. Timing studies are always run here, one
        job after the other.
    about : dict, optional
        What else the summary shall say: the command, for one.
    progress : bool
        Whether to show a bar with the time left.

    Returns
    -------
    list of dict
        The same for every executor and number of workers, but for the volatile fields.
    """
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
            f"{len(failures)} of {len(jobs)} jobs of {study.name} failed; the first, "
            f"{job.cell} with seed {job.seed}: {type(error).__name__}: {error}"
        ) from error
    return records


def _results(
    study: Study,
    jobs: Sequence[Job],
    waiting: Sequence[Job],
    done: dict[str, list[Record] | None],
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
    done: dict[str, list[Record] | None],
) -> Iterator[Finished]:
    """One job after the other; some are foregone given the records before them."""
    pending = {job.key for job in waiting}
    before: list[Record] = []
    for job in jobs:
        if job.key in pending:
            settled = study.foregone(job, before) if study.foregone else None
            if settled is not None:
                head = {"study": job.study, **job.cell, "seed": job.seed}
                yield job, [plain({**head, **record}) for record in settled]
            else:
                yield from execute("serial", partial(run_job, study), [job], 1)
        before += done[job.key] or []


def write_tables(folder: Path, records: Sequence[Record], summary: Record) -> None:
    """Write ``records.csv`` and ``summary.json``."""
    names = list(dict.fromkeys(name for record in records for name in record))
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, names, lineterminator="\n")
    writer.writeheader()
    for record in records:
        writer.writerow({name: _in_csv(value) for name, value in record.items()})
    write_atomically(folder / "records.csv", text.getvalue())
    content = json.dumps(plain(summary), indent=2, ensure_ascii=False)
    write_atomically(folder / "summary.json", content + "\n")


def _in_csv(value: object) -> object:
    return json.dumps(value, ensure_ascii=False) if isinstance(value, list) else value


def read_records(folder: Path) -> list[Record]:
    """The records of a study's last run, or of all finished jobs where it was cut short."""
    cache = Cache(folder)
    found: Iterable[list[Record] | None] = map(cache.load, _keys(folder, cache))
    return [record for records in found for record in records or []]


def _keys(folder: Path, cache: Cache) -> list[str]:
    try:
        keys = json.loads((folder / "summary.json").read_text(encoding="utf-8"))["keys"]
    except (OSError, ValueError, KeyError, TypeError):
        return cache.keys()
    return [str(key) for key in keys]
