import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from thinrank.core import threads
from thinrank.core.threads import (
    in_threads,
    one_library_with_threads,
    one_thread_each,
    one_thread_if_small,
    one_use_of_cores,
)


def most_threads():
    np.ones((2, 2)) @ np.ones((2, 2))
    return max((pool["num_threads"] for pool in threadpool_info()), default=1)


@pytest.mark.parametrize(("cores", "jobs", "expected"), [(8, 2, 4), (8, 3, 2), (4, 8, 1)])
def test_jobs_share_the_cores(monkeypatch, cores, jobs, expected):
    monkeypatch.setattr(threads.os, "cpu_count", lambda: cores)
    with threadpool_limits(6):
        before = most_threads()
        with one_use_of_cores(jobs):
            assert most_threads() == min(before, expected)
        assert most_threads() == before


def test_lower_limits_stay(monkeypatch):
    monkeypatch.setattr(threads.os, "cpu_count", lambda: 16)
    with threadpool_limits(1), one_use_of_cores(2):
        assert most_threads() == 1


def test_one_job_has_all_threads(monkeypatch):
    monkeypatch.setattr(threads.os, "cpu_count", lambda: 1)
    with threadpool_limits(2):
        before = most_threads()
        with one_use_of_cores(1):
            assert most_threads() == before


def blas_threads():
    """Threads of every library of linear algebra, after a product has loaded it."""
    np.ones((2, 2)) @ np.ones((2, 2))
    return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}


def test_small_problems_have_one_thread():
    with threadpool_limits(2):
        before = blas_threads()
        with one_thread_if_small(1e6):
            assert blas_threads() <= {1}  # old versions of threadpoolctl do not find any
        assert blas_threads() == before
        with one_thread_if_small(1e12):
            assert blas_threads() == before


def threads_by_folder():
    return {
        Path(pool["filepath"]).parent.name: pool["num_threads"]
        for pool in threadpool_info()
        if pool["user_api"] == "blas"
    }


def test_one_library_has_threads():
    np.ones((2, 2)) @ np.ones((2, 2))
    with threadpool_limits(2):
        before = threads_by_folder()
        with one_library_with_threads():
            during = threads_by_folder()
        assert threads_by_folder() == before
    others = before.keys() - {"scipy.libs"}
    assert all(during[name] == before[name] for name in others)
    if others:  # else NumPy and SciPy share a library
        assert during.get("scipy.libs", 1) == 1


@pytest.mark.parametrize(
    ("library", "expected"),
    [
        ("/lib/site-packages/scipy.libs/libscipy_openblas.so", True),
        ("/lib/site-packages/scipy/.dylibs/libscipy_openblas.dylib", True),
        ("/lib/site-packages/numpy.libs/libscipy_openblas64_.so", False),
        ("/lib/site-packages/numpy/.dylibs/libscipy_openblas64_.dylib", False),
        ("/lib/libopenblas.so", False),
    ],
)
def test_libraries_of_scipy_are_known_by_their_folder(library, expected):
    assert threads._is_of_scipy(library) is expected


def test_the_limit_of_a_process_is_not_changed_from_other_threads():
    def inside():
        before = blas_threads()  # with OpenMP a new thread has a number of its own
        with one_thread_if_small(1e6):
            return before, blas_threads()

    with threadpool_limits(2), ThreadPoolExecutor(1) as pool:
        before, during = pool.submit(inside).result()
    assert during == before


@pytest.mark.parametrize("count", [0, 1, 2, 25])
@pytest.mark.parametrize("number", [1, 2, 3])
def test_shares_of_items_come_back_in_order(count, number):
    shares = in_threads(list, range(count), number)
    assert [item for share in shares for item in share] == list(range(count))
    assert len(shares) > 1 or number == 1 or count <= 1


def test_all_threads_take_part():
    both = threading.Barrier(2, timeout=10)  # broken if one thread has to do all of the work
    assert sorted(in_threads(lambda _: both.wait(), range(2), 2)) == [0, 1]


def test_errors_in_any_thread_are_raised():
    main = threading.current_thread()
    both = threading.Barrier(2, timeout=10)

    def work(_):
        both.wait()
        if threading.current_thread() is not main:
            raise FloatingPointError

    with pytest.raises(FloatingPointError):
        in_threads(work, range(2), 2)


def test_after_an_error_no_further_shares_are_begun():
    begun = []

    def work(share):
        begun.append(share)
        raise RuntimeError("the first share fails")

    with pytest.raises(RuntimeError, match="first share"):
        in_threads(work, range(800), 2)
    assert len(begun) <= 2  # of eight


def test_settings_of_the_caller_hold_in_threads():
    with np.errstate(over="raise"):
        assert in_threads(lambda _: np.geterr()["over"], range(8), 2) == ["raise"] * 8


def test_products_in_threads_have_one_thread_each():
    with threadpool_limits(2):
        before = blas_threads()
        with one_thread_each(1):
            assert blas_threads() == before
        with one_thread_each(2):
            assert blas_threads() <= {1}  # old versions of threadpoolctl do not find any
        assert blas_threads() == before
