import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from thinrank.core import threads
from thinrank.core.threads import one_use_of_cores


def most_threads():
    np.ones((2, 2)) @ np.ones((2, 2))
    return max(pool["num_threads"] for pool in threadpool_info())


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
