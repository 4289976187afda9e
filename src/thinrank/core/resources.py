"""Memory and threads: the budget for optional arrays, and which computations use which cores."""

from __future__ import annotations

import functools
import os
import sys
import threading
import warnings
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext
from typing import Any, TypeVar

from joblib import Parallel, effective_n_jobs
from threadpoolctl import ThreadpoolController

Item = TypeVar("Item")

# States another budget than the default.
_VARIABLE = "THINRANK_MEMORY_GIB"
# Rule of thumb.
_DEFAULT_GIB = 4.0
# Largest number of multiplications of a fit with one thread; see one_thread_if_small.
_SMALL = 2e9
# Entries of an intermediate array that is formed in parts: 8 MiB in double precision.
BLOCK_ENTRIES = 1 << 20


def budget_bytes() -> float:
    """Largest size of an optional array in bytes, which the environment may state in GiB."""
    stated = os.environ.get(_VARIABLE, "")
    try:
        gib = float(stated) if stated else _DEFAULT_GIB
    except ValueError:
        gib = -1.0
    if not gib > 0:
        raise ValueError(f"{_VARIABLE} must be a positive number of GiB, got {stated!r}")
    return gib * 2**30


def fits(entries: int, itemsize: int) -> bool:
    """Whether an array with this number of entries is within the budget."""
    return entries * itemsize <= budget_bytes()


def check_fits(shape: tuple[int, int], itemsize: int, purpose: str, instead: str) -> None:
    """Raise a MemoryError if a matrix is over the budget; ``instead`` says what to do."""
    if fits(shape[0] * shape[1], itemsize):
        return
    need = shape[0] * shape[1] * itemsize / 2**30
    raise MemoryError(
        f"{purpose} would hold a dense {shape[0]}×{shape[1]} matrix of {need:.1f} GiB, over the "
        f"budget of {budget_bytes() / 2**30:.1f} GiB; {instead}, or raise the environment "
        f"variable {_VARIABLE}"
    )


def explained(error: MemoryError) -> MemoryError:
    """A MemoryError that says what was needed and what to do, from any other."""
    text = str(error)
    if _VARIABLE in text:
        return error
    reason = text[:1].lower() + text[1:] if text else "the size is not known"
    return MemoryError(
        f"there is not enough memory for the fit ({reason.rstrip('.')}). Pass X and Y as float32, "
        "which takes half of it; a scipy sparse matrix or a LinearOperator as X, which is not made "
        "dense; fewer jobs (n_jobs); or set the environment variable "
        f"{_VARIABLE} to less than {budget_bytes() / 2**30:g}, so that fewer intermediate results "
        "are held in memory"
    )


def one_thread_if_small(multiplications: float) -> AbstractContextManager[Any]:
    """Limit the linear algebra libraries to one thread if a problem is small.

    In thousands of products of small matrices several threads mostly wait for one another: on two
    idle cores a fit of 200 × 400 predictors to 50 responses took four times as long with two
    threads as with one. From about the size of this limit on both take the same time.
    """
    return _limited_threads(1, "blas") if multiplications <= _SMALL else nullcontext()


def one_use_of_cores(jobs: int) -> AbstractContextManager[Any]:
    """Limit the threads of each job: otherwise two on two cores took four times as long."""
    return _limited_threads(max(1, (os.cpu_count() or 1) // jobs)) if jobs > 1 else nullcontext()


def _limited_threads(limit: int, kind: str | None = None) -> AbstractContextManager[Any]:
    """A limit for each library; lower ones, such as that of ``OMP_NUM_THREADS``, stay."""
    if threads_in_use(kind) <= limit:
        return nullcontext()
    return _controller(len(sys.modules)).limit(limits=limit, user_api=kind)


def threads_in_use(kind: str | None = "blas") -> int:
    """The number of threads that a product of large matrices uses; 1 within a parallel job.

    Only the main thread sets it: of several, one could leave the limit of another.
    """
    if threading.current_thread() is not threading.main_thread():
        return 1
    pools = _controller(len(sys.modules)).lib_controllers
    return max((pool.num_threads for pool in pools if kind in (None, pool.user_api)), default=1)


@functools.lru_cache(maxsize=1)
def _controller(n_modules: int) -> ThreadpoolController:
    """The libraries that are loaded, found again when further modules of Python are."""
    return ThreadpoolController()


@contextmanager
def parallel_calls(
    calls: Iterable[Any], n_jobs: int | None, *, in_order: bool = True
) -> Iterator[Iterator[Any]]:
    """The results of calls in threads, as soon as they are there; an error ends the run."""
    jobs = effective_n_jobs(n_jobs)
    order = "generator" if in_order else "generator_unordered"
    with one_use_of_cores(jobs), warnings.catch_warnings():
        # joblib warns of calls that are given up
        warnings.filterwarnings("ignore", r"\d+ tasks", UserWarning, "joblib")
        with closing(Parallel(jobs, prefer="threads", return_as=order)(calls)) as results:
            yield results


def prefetched(items: Iterable[Item]) -> Iterator[Item]:
    """The same items, each made by another thread while the one before is used."""
    source = iter(items)
    with ThreadPoolExecutor(1, thread_name_prefix="thinrank-prefetch") as pool:
        coming = pool.submit(next, source, None)
        while (item := coming.result()) is not None:
            coming = pool.submit(next, source, None)
            yield item
