"""Evidence from the neighbours of a predictor: residuals, directions, p-values and weights."""

import numpy as np
import pytest
from scipy.stats import kstest

from thinrank.inference.checked_data import as_sample
from thinrank.inference.directed_tests import (
    DirectedScores,
    directed_p_values,
    directed_scores,
    prior_weights,
)
from thinrank.inference.neighbour_evidence import Products, residuals_given
from thinrank.inference.row_scores import weighted_tail
from thinrank.inference.row_tests import row_tests_given_all, row_tests_given_selected


def chain(seed, n=200, p=12, rho=0.8):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    for j in range(1, p):
        X[:, j] = rho * X[:, j - 1] + np.sqrt(1 - rho**2) * X[:, j]
    return rng, X


def left(basis, A):
    return A - basis @ np.linalg.lstsq(basis, A, rcond=None)[0]


def test_residuals_are_those_of_least_squares():
    rng, X = chain(0)
    sample = as_sample(X, rng.standard_normal((200, 3)))
    X, Y = sample.X, sample.Y
    working, near = np.array([9, 1]), np.array([4, 6])
    found = residuals_given(Products.of(X, Y), 5, working, near)
    x, R = left(X[:, [1, 9, 4, 6]], X[:, 5]), left(X[:, [1, 9, 4, 6]], Y)
    assert found.n_given == 4
    assert found.square == pytest.approx(x @ x)
    np.testing.assert_allclose(found.cross, x @ R, atol=1e-9)
    np.testing.assert_allclose(found.covariance, R.T @ R, atol=1e-9)
    # the fit of the predictor from its neighbours, given the working set
    apart = left(X[:, working], X)
    fit = apart[:, 5] - left(apart[:, near], apart[:, 5])
    np.testing.assert_allclose(found.expected, fit @ Y / np.linalg.norm(fit), atol=1e-8)
    units = apart[:, near] / np.linalg.norm(apart[:, near], axis=0)
    np.testing.assert_allclose(found.alternatives, units.T @ Y, atol=1e-8)


def test_distant_neighbours_expect_nothing():
    rng = np.random.default_rng(1)
    sample = as_sample(rng.standard_normal((200, 4)), rng.standard_normal((200, 2)))
    data = Products.of(sample.X, sample.Y)
    assert residuals_given(data, 0, np.array([], dtype=int), np.array([1])).expected is None
    alone = residuals_given(data, 0, np.array([], dtype=int), np.array([], dtype=int))
    assert (alone.square, alone.n_given, alone.expected) == (1.0, 0, None)


@pytest.mark.no_cover
@pytest.mark.parametrize(("k", "rank"), [(1, 0), (1, 1), (5, 0), (5, 2), (5, 4), (5, 5)])
def test_p_values_are_uniform_for_uniform_directions(k, rank):
    rng = np.random.default_rng(2)
    expected, near = rng.standard_normal(k), rng.standard_normal((2, k))
    V = rng.standard_normal((k, rank))
    x = rng.standard_normal((1500, 30))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    # residuals of responses with any covariance: directions on the sphere stay uniform
    R = np.linalg.qr(rng.standard_normal((30, k)))[0] @ (np.eye(k) + rng.random((k, k)))
    scores = [directed_scores(y @ R, R.T @ R, V, 30, 50, expected, near) for y in x]
    p_values = directed_p_values(scores, k, np.full(len(x), 30))
    assert kstest(p_values, "uniform").pvalue > 1e-3


def test_weighted_tail_is_uniform_and_keeps_digits():
    rng = np.random.default_rng(3)
    parts = rng.random((3, 4000))
    assert kstest(weighted_tail(parts, (1.0, 0.7, 0.45)), "uniform").pvalue > 1e-3
    tiny = weighted_tail([np.array([1e-200]), np.array([0.5])], (1.0, 0.5))
    assert 0 < tiny[0] < 1e-198


def test_expected_side_and_the_other():
    scores = [DirectedScores(t, 0.0, t**2, 0, 0.5) for t in (0.4, -0.4, 0.0)]
    right, wrong, none = directed_p_values(scores, 1, np.full(3, 50))
    assert right < wrong < none
    assert wrong == pytest.approx(9 * right)


@pytest.mark.parametrize("tests", [row_tests_given_all, row_tests_given_selected])
def test_neighbours_of_an_effect_raise_its_weight(tests):
    weights, p_values = [], []
    for seed in range(5):
        rng, X = chain(seed)
        Y = 0.25 * X[:, [5]] * rng.standard_normal(6) + rng.standard_normal((200, 6))
        sample = as_sample(X, Y)
        found = tests(sample.X, sample.Y)
        assert found.weights.mean() == pytest.approx(1)
        weights.append(found.weights)
        p_values.append(found.p_values)
    assert np.mean(weights, axis=0).argmax() == 5
    assert np.median(p_values, axis=0).argmin() == 5


def test_effects_that_hide_each_other_are_found():
    """Neighbours with opposite effects: their fits have the wrong sign."""
    rng, X = chain(7)
    Y = (X[:, [5]] - X[:, [6]]) * rng.standard_normal(4) + rng.standard_normal((200, 4))
    sample = as_sample(X, Y)
    p_values = row_tests_given_selected(sample.X, sample.Y).p_values
    assert p_values[[5, 6]].max() < 1e-6


def test_unknown_odds_have_weight_one():
    weights = prior_weights(np.array([np.nan, 0.1, 0.3, np.nan]))
    np.testing.assert_allclose(weights, [1, 0.25 + 0.375, 0.25 + 1.125, 1])
    np.testing.assert_array_equal(prior_weights(np.full(3, np.nan)), np.ones(3))
