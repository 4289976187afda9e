"""Threads of the linear algebra libraries within jobs that run in parallel."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

from threadpoolctl import ThreadpoolController

__all__ = ["one_use_of_cores"]


@contextmanager
def one_use_of_cores(jobs: int) -> Iterator[None]:
    """Limit the threads of each job, so that all jobs together use every core once.

    Otherwise each job would start as many threads as there are cores, and these would wait for one
    another: two jobs on two cores took four times the processor time. Limits that are lower
    already, such as that of ``OMP_NUM_THREADS``, stay as they are.

    Parameters
    ----------
    jobs : int
        Number of jobs that run at the same time.
    """
    limit = max(1, (os.cpu_count() or 1) // jobs)
    controller = _controller()
    pools = {pool.filepath: pool.num_threads for pool in controller.lib_controllers}
    if jobs == 1 or max(pools.values(), default=1) <= limit:
        yield
        return
    with controller.limit(limits=limit):
        yield


@cache  # looking for the libraries takes milliseconds
def _controller() -> ThreadpoolController:
    return ThreadpoolController()
