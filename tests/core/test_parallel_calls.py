"""Calls in threads: their order, and what happens if one who uses the results stops."""

import time

import pytest
from joblib import delayed

from thinrank.core.parallel_calls import parallel_calls


def _after(seconds, value):
    time.sleep(seconds)
    return value


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_results_in_order(n_jobs):
    calls = (delayed(_after)(0.05 - 0.01 * i, i) for i in range(5))
    with parallel_calls(calls, n_jobs) as results:
        assert list(results) == [0, 1, 2, 3, 4]


def test_results_as_they_come():
    calls = (delayed(_after)(seconds, seconds) for seconds in (0.4, 0.0))
    with parallel_calls(calls, 2, in_order=False) as results:
        assert list(results) == [0.0, 0.4]


def test_an_error_ends_the_run():
    begun = []

    def first_only():
        calls = (delayed(begun.append)(i) for i in range(1000))
        with parallel_calls(calls, 2) as results:
            next(results)
            raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        first_only()
    assert len(begun) < 1000
