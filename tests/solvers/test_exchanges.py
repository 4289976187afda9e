"""The largest values of many, without sorting all of them."""

import numpy as np
import pytest

from thinrank.solvers.exchanges import descending, promising


@pytest.mark.parametrize("count", [1, 7, 40, 399, 400, 1000])
def test_the_first_of_all_in_order(count):
    rng = np.random.default_rng(30_103)
    values = rng.integers(0, 60, 400) / 7.0  # with ties
    values[::9] *= 1 + 1e-13  # equal to half of the digits
    np.testing.assert_array_equal(descending(values, count), descending(values)[:count])


def test_nan_comes_last():
    values = np.array([1.0, np.nan, 3.0] + [0.0] * 50)
    assert descending(values, 2).tolist() == [2, 0]


@pytest.mark.parametrize("free", [0, 2, 5])
def test_promising_exchanges_of_many(free):
    rng = np.random.default_rng(30_104)
    costs, gains = rng.uniform(0, 1, 6), rng.uniform(0, 1.02, 900)
    ordered, cheap = -np.sort(-gains), np.sort(costs)
    expected = free + int(np.sum(ordered[free : free + 6] > cheap + 0.02))
    assert promising(costs, gains, free, 0.01) == expected
