"""Ways to run jobs: one after another, in processes, or on a Dask cluster."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from typing import Any

from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from paper.studies.machine import now, stamp
from paper.studies.spec import Job, Study, StudyRecord, plain
from thinrank.core.imports import import_optional

EXECUTORS = ("serial", "processes", "dask")

Finished = tuple[Job, list[StudyRecord] | Exception]
"""A job, and its records or the exception that it raised."""

Work = Callable[[Job], list[StudyRecord]]


def run_job(study: Study, job: Job) -> list[StudyRecord]:
    """Run a job in this process, with one BLAS thread unless it is a timing study."""
    started = now()
    with threadpool_limits(study.threads), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        found = study.run(job)
    head = {"study": job.study, **job.cell, "seed": job.seed}
    return [plain({**head, **record, **stamp(started)}) for record in found]


def execute(
    executor: str, work: Work, jobs: Sequence[Job], workers: int, address: str | None = None
) -> Iterator[Finished]:
    """Run jobs and yield each one as it finishes.

    ``address``: None starts a cluster on this machine.
    """
    if executor not in EXECUTORS:
        raise ValueError(f"executor must be one of {EXECUTORS}, got {executor!r}")
    if executor == "dask":
        return _on_dask(work, jobs, workers, address)
    if executor == "processes" and workers > 1 and len(jobs) > 1:
        return _in_processes(work, jobs, workers)
    return _one_by_one(work, jobs)


def _one_by_one(work: Work, jobs: Sequence[Job]) -> Iterator[Finished]:
    for job in jobs:
        try:
            found: list[StudyRecord] | Exception = work(job)
        except Exception as error:
            found = error
        yield job, found


def _in_processes(work: Work, jobs: Sequence[Job], workers: int) -> Iterator[Finished]:
    context = multiprocessing.get_context("spawn")
    count = min(workers, len(jobs))
    pool = ProcessPoolExecutor(count, mp_context=context, initializer=_become_worker)
    try:
        with _blocked_ctrl_c():
            asked = {pool.submit(work, job): job for job in jobs}
        for future in as_completed(asked):
            yield asked[future], _result(future)
    except BaseException:  # including Ctrl-C: abandon the jobs that are running
        for process in list((pool._processes or {}).values()):
            process.kill()
        raise
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


@contextmanager
def _blocked_ctrl_c() -> Iterator[None]:
    """Start processes that Ctrl-C does not reach, not even while they import their libraries.

    The terminal sends Ctrl-C to them too, and each would print a traceback. They inherit what is
    blocked here; what arrives meanwhile is delivered to this process at the end of the block.
    """
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    former = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, former)


def _become_worker() -> None:
    """Ignore Ctrl-C, which the parent handles, and exit when the parent has died."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    if parent is None:
        return

    def watch() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def _on_dask(
    work: Work, jobs: Sequence[Job], workers: int, address: str | None
) -> Iterator[Finished]:
    distributed = import_optional("distributed")
    where: dict[str, Any] = {"address": address}
    if address is None:
        where = {
            "n_workers": max(1, workers),
            "threads_per_worker": 1,
            "dashboard_address": None,
            "processes": True,
        }
    try:
        cluster = distributed.Client(**where)
    except (OSError, ValueError) as error:  # includes timeouts, and addresses that are none
        if address is None:
            raise
        raise ConnectionError(f"there is no Dask scheduler at {address} ({error})") from error
    with cluster as client:
        asked = {client.submit(work, job, pure=False): job for job in jobs}
        for future in distributed.as_completed(list(asked)):
            yield asked[future], _result(future)


def _result(future: Future[Any] | Any) -> list[StudyRecord] | Exception:
    try:
        return future.result()
    except Exception as error:
        return error
