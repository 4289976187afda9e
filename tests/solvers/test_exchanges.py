"""The largest values of many, without sorting all of them."""

import numpy as np
import pytest
from scipy.stats import norm

import thinrank as tr
from thinrank import arrays
from thinrank.losses import LeastSquares
from thinrank.solvers.exchanges import (
    best_exchanges,
    descending,
    largest_noise,
    outside,
    promising,
)
from thinrank.solvers.pursuit import Pursuit


@pytest.fixture(params=[1, 1 << 14])
def many(request, monkeypatch):
    """The number of values from which on a bound is found first."""
    monkeypatch.setattr("thinrank.solvers.exchanges.MANY", request.param)


@pytest.mark.parametrize("count", [1, 7, 40, 399, 400, 1000])
def test_the_first_of_all_in_order(count, many):
    rng = np.random.default_rng(30_103)
    values = rng.integers(0, 60, 400) / 7.0  # with ties
    values[::9] *= 1 + 1e-13  # equal to half of the digits
    np.testing.assert_array_equal(descending(values, count), descending(values)[:count])


@pytest.mark.parametrize("scale", [1.0, -1.0, 1e-300, 0.0])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_largest_of_many_in_any_units(scale, dtype, many):
    values = (scale * np.random.default_rng(30_105).standard_normal(3001) ** 2).astype(dtype)
    for count in (1, 10, 128, 375):
        np.testing.assert_array_equal(descending(values, count), descending(values)[:count])


def test_nan_comes_last(many):
    values = np.array([1.0, np.nan, 3.0] + [0.0] * 50)
    assert descending(values, 2).tolist() == [2, 0]


@pytest.mark.parametrize("on_host", [True, False])
@pytest.mark.parametrize("rows", [[], [0], [2, 3, 6], list(range(7))])
def test_what_is_outside_of_some_rows(library, monkeypatch, rows, on_host):
    monkeypatch.setattr(arrays, "on_host", lambda x: on_host)  # accelerators take another path
    found = outside(arrays.indices(rows, library.array([0.0])), 7)
    assert library.numpy(found).tolist() == [row for row in range(7) if row not in rows]


@pytest.mark.parametrize("free", [0, 2, 5])
def test_promising_exchanges_of_many(free, many):
    rng = np.random.default_rng(30_104)
    costs, gains = rng.uniform(0, 1, 6), rng.uniform(0, 1.02, 900)
    ordered, cheap = -np.sort(-gains), np.sort(costs)
    expected = free + int(np.sum(ordered[free : free + 6] > cheap + 0.02))
    assert promising(costs, gains, free, 0.01) == expected


def test_the_largest_of_many_squares_of_noise():
    """One of ``count`` variables is expected above it, by the tails of the normal distribution."""
    assert largest_noise(50, 1) == pytest.approx(norm.isf(1 / 100) ** 2)
    assert largest_noise(50, 2) == pytest.approx(2 * np.log(50))
    assert largest_noise(1, 0) == largest_noise(2, 1)  # never of nothing


@pytest.mark.parametrize("ratio", [0.5, 1.0, 4.0, np.inf])
def test_exchanges_that_cost_too_much_are_left_out(ratio):
    X, Y, _ = tr.datasets.make_two_way_sparse(40, 9, 7, 2, 3, 4, signal=0.3, random_state=2)
    form = LeastSquares(X, Y).quadratic()
    solver = Pursuit().sized(2, 3, 7)
    fit = solver._fit_form(form, np.array([4, 6, 8]), np.arange(7), np.ones((7, 2)))
    prospects = solver.prospects(form, fit)
    nets = prospects.of_pairs(fit)
    gains = nets + prospects.costs[:, None]
    expected = [
        sorted({4, 6, 8} - {fit.rows[i]} | {prospects.candidates[prospects.exact][j]})
        for i, j in zip(*np.unravel_index(np.argsort(-nets, axis=None), nets.shape), strict=True)
        if prospects.costs[i] <= ratio * gains[i, j]
    ]
    found = [rows.tolist() for rows in best_exchanges(fit, prospects, ratio)]
    assert found == expected[: len(found)]
    assert len(found) == min(len(expected), 16)
    if ratio == 0.5:
        assert 0 < len(found) < 16


def test_the_largest_of_many_infinite_values():
    values = np.full(40_000, np.inf)
    values[100:] = 1.0
    assert descending(values, 150).tolist() == list(range(150))
    values[:] = np.inf
    assert descending(values, 3).tolist() == [0, 1, 2]
