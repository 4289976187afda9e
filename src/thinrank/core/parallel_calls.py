"""Calls in parallel threads, whose results are used one by one."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from typing import Any

from joblib import Parallel, effective_n_jobs

from thinrank.core.threads import one_use_of_cores


@contextmanager
def parallel_calls(
    calls: Iterable[Any], n_jobs: int | None, *, in_order: bool = True
) -> Iterator[Iterator[Any]]:
    """The results of calls in threads, as soon as they are there.

    An error within the context ends the run; calls that have not begun are given up.
    """
    jobs = effective_n_jobs(n_jobs)
    order = "generator" if in_order else "generator_unordered"
    with one_use_of_cores(jobs), warnings.catch_warnings():
        # joblib warns of calls that are given up
        warnings.filterwarnings("ignore", r"\d+ tasks", UserWarning, "joblib")
        with closing(Parallel(jobs, prefer="threads", return_as=order)(calls)) as results:
            yield results
