"""Thresholds against brute force and SciPy."""

import numpy as np
import pytest
from scipy.stats import false_discovery_control

from thinrank.inference.thresholds import (
    adjusted_p_values,
    false_discovery_proportion,
    rates_cut,
    sign_threshold,
    weighted_p_values,
)


@pytest.mark.parametrize("seed", range(3))
def test_adjusted_p_values_are_those_of_scipy(seed):
    p_values = np.random.default_rng(seed).random(40) ** 3
    p_values[:3] = p_values[3]  # ties
    np.testing.assert_allclose(adjusted_p_values(p_values), false_discovery_control(p_values))


@pytest.mark.parametrize("fdr", [0.1, 0.2, 0.5])
@pytest.mark.parametrize("seed", range(10))
def test_sign_threshold_by_brute_force(seed, fdr):
    rng = np.random.default_rng(seed)
    W = np.round(rng.standard_normal(60) + 3 * (np.arange(60) < 20), 1)  # with ties and zeros
    good = [
        t
        for t in sorted(set(np.abs(W)) - {0.0})
        if (1 + np.count_nonzero(t <= -W)) <= fdr * np.count_nonzero(t <= W)
    ]
    assert sign_threshold(W, fdr) == (good[0] if good else np.inf)
    if good:
        assert false_discovery_proportion(W, good[0]) <= fdr


def test_fewer_than_one_over_fdr_signs_select_nothing():
    assert sign_threshold(np.arange(1.0, 10.0), 0.1) == np.inf
    assert sign_threshold(np.arange(1.0, 11.0), 0.1) == 1.0
    assert sign_threshold(np.zeros(5), 0.1) == np.inf
    assert false_discovery_proportion(np.zeros(5), 1.0) == np.inf


def test_rates_leave_out_the_smallest_that_sum_to_the_level():
    rates = np.array([0.3, 0.02, 0.3, 0.05, 0.0, 0.03, 0.3])
    assert rates_cut(rates, 0.1) == 0.3  # 0 + 0.02 + 0.03 + 0.05 is just 0.1
    assert rates_cut(rates, 0.09) == 0.05
    assert rates_cut(np.zeros(4), 0.1) == np.inf
    assert rates_cut(np.full(20, 0.05), 0.1) == 0.05  # equal rates stay together
    assert rates_cut(np.full(10, 0.002), 0.1) == np.inf  # one of 50 splits selects something


def test_weighted_p_values():
    p_values = np.array([0.001, 0.2, 0.6, 0.9])
    # with equal weights: (1 + 2 large ones) / (0.5 · 4) is above 1
    np.testing.assert_array_equal(weighted_p_values(p_values, np.ones(4)), p_values)
    p_values, weights = np.array([0.001, 0.002, 0.01, 0.6]), np.array([1.8, 0.9, 0.9, 0.4])
    part = (1.8 + 0.4) / 0.5 / 4
    found = weighted_p_values(np.append(p_values, [0.001] * 4), np.append(weights, np.ones(4)))
    np.testing.assert_allclose(found[:4], p_values / weights * part / 2)
    assert len(weighted_p_values(np.zeros(0), np.zeros(0))) == 0
    assert weighted_p_values(np.array([0.9]), np.array([0.5]))[0] == 1
