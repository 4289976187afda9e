"""Feature maps: products against the features themselves."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import LinearRegression, Ridge

from thinrank.rl import (
    Fourier,
    Identity,
    Lookup,
    MultiTaskFQI,
    Tabular,
    Transitions,
)

POINTS = np.random.default_rng(0).uniform(-1, 1, size=(9, 2))
MAPS = {
    "identity": (Identity(), POINTS, 2),
    "identity of numbers": (Identity(), POINTS[:, 0], 1),
    "tabular": (Tabular(5), np.array([0, 4, 4, 2]), 5),
    "few of a table": (Lookup(POINTS), np.array([8, 0]), 2),
    "all of a table": (Lookup(POINTS), np.arange(20) % 9, 2),
    "fourier": (Fourier(np.array([-1, -1]), np.array([1, 1]), 2), POINTS, 9),
    "fourier of numbers": (Fourier(np.array(-1.0), np.array(1.0), 3), POINTS[:, 0], 4),
}


def learned(features, states):
    """One action, one iteration: the values are a regression on the features."""
    n = len(states)
    log = Transitions(states, np.zeros(n, int), np.arange(float(n)), states, np.ones(n, bool))
    fqi = MultiTaskFQI(features, 1, 0.5, LinearRegression(fit_intercept=False), n_iterations=1)
    return fqi.fit_batch(log)


@pytest.mark.parametrize("name", MAPS)
def test_values_are_products_of_the_features(name):
    features, states, width = MAPS[name]
    matrix = features(states)
    matrix = matrix.toarray() if sparse.issparse(matrix) else matrix
    assert matrix.shape == (len(states), width)
    fqi = learned(features, states)
    np.testing.assert_allclose(fqi.q_values(0, states), matrix @ fqi.theta_, atol=1e-9)


@pytest.mark.parametrize("kind", [sparse.coo_array, sparse.lil_array])
def test_sparse_features_of_any_format(kind):
    fqi = learned(lambda s: kind(np.eye(5)[s]), np.arange(5))
    np.testing.assert_allclose(fqi.q_values(0, np.arange(5))[:, 0], np.arange(5), atol=1e-9)


@pytest.mark.parametrize(
    ("features", "message"),
    [
        (lambda s: np.ones(len(s)), r"features must return 2 rows of numbers.*\(2,\)"),
        (lambda s: np.array([["a"], ["b"]]), "must return 2 rows of numbers"),
        (lambda s: np.full((2, 1), np.nan), "features must be finite"),
        (lambda s: sparse.coo_array(np.full((2, 1), np.nan)), "features must be finite"),
    ],
)
def test_bad_features_are_named(features, message):
    with pytest.raises(ValueError, match=message):
        learned(features, np.arange(2))


def test_values():
    cosines = Fourier(np.array([0.0]), np.array([2.0]), 2)(np.array([[0.0], [1.0], [2.0]]))
    np.testing.assert_allclose(cosines, [[1, 1, 1], [1, 0, -1], [1, -1, 1]], atol=1e-12)


@pytest.mark.parametrize(
    "states", [np.array([5]), np.array([-1]), np.array([0.5]), np.ones((2, 2))]
)
def test_states_outside_the_table(states):
    for features in (Tabular(5), Lookup(np.ones((5, 2)))):
        with pytest.raises(ValueError, match="states must be integers from 0 to 4"):
            features(states)


def test_the_width_of_states_is_checked():
    for features, message in (
        (Identity(), "features must have 2 columns, as at the design states, got 3"),
        (Fourier(np.zeros(2), np.ones(2), 1), r"states must have 2 columns.*\(4, 3\)"),
    ):
        with pytest.raises(ValueError, match=message):
            learned(features, POINTS).q_values(0, np.ones((4, 3)))
    with pytest.raises(ValueError, match=r"states must have 2 columns, got shape \(4, 1\)"):
        Fourier(np.zeros(2), np.ones(2), 1)(np.ones((4, 1)))


@pytest.mark.parametrize("high", [[1.0, np.inf], [1.0, 0.0], [1.0, np.nan]])
def test_bounds_of_a_space_without_bounds(high):
    with pytest.raises(ValueError, match=r"low and high must be finite.*quantile"):
        Fourier(np.zeros(2), np.array(high), 3)


def test_default_features_are_finite_and_of_use():
    """A coordinate without bounds, a constant one, and one with few values."""
    rng = np.random.default_rng(0)
    n = 300
    states = np.stack(
        [rng.standard_cauchy(n), np.full(n, 7.0), rng.integers(2, size=n), rng.uniform(size=n)], 1
    )
    y = np.cos(3 * states[:, 3])
    log = Transitions(states, np.zeros(n, int), y, states, np.ones(n, bool))
    fqi = MultiTaskFQI(n_iterations=1).fit_batch(log)
    assert fqi.n_features_ <= 150
    found = fqi.q_values(0, states)[:, 0]
    assert np.mean((found - y) ** 2) < 0.02 * np.var(y)
    wide = np.zeros((5, 40)) + np.arange(5)[:, None]
    log = Transitions(wide, [0] * 5, np.zeros(5), wide, np.ones(5, bool))
    assert (
        MultiTaskFQI(n_iterations=1, regressor=LinearRegression()).fit_batch(log).n_features_ == 121
    )
    broken = np.full((2, 1), np.nan)
    log = Transitions(broken, [0, 0], [0.0, 0.0], broken, [True, True])
    with pytest.raises(ValueError, match="states must be finite"):
        MultiTaskFQI().fit_batch(log)


def test_states_after_an_end_may_be_anything():
    states = np.random.default_rng(0).standard_normal((20, 2))
    ended = np.arange(20) % 5 == 4
    after = np.where(ended[:, None], np.nan, np.roll(states, -1, axis=0))
    log = Transitions(states, np.arange(20) % 2, np.ones(20), after, ended)
    fqi = MultiTaskFQI(regressor=Ridge(1.0), n_iterations=2).fit_batch(log)
    assert np.all(np.isfinite(fqi.q_values(0, states)))


@pytest.mark.parametrize("numbers", [[-2, 5], [0, 10**9]])
def test_numbers_that_are_no_labels_have_a_fourier_basis(numbers):
    log = Transitions(numbers * 4, [0, 0, 1, 1] * 2, [0.0, 1.0] * 4, numbers * 4, np.ones(8, bool))
    assert (
        MultiTaskFQI(regressor=LinearRegression(), n_iterations=2).fit_batch(log).n_features_ == 6
    )


def test_states_that_are_numbers_have_indicators():
    log = Transitions([0, 1, 2], [0, 0, 0], [1.0, 2.0, 3.0], [0, 0, 4], np.ones(3, bool))
    fqi = MultiTaskFQI(regressor=LinearRegression(), n_iterations=1).fit_batch(log)
    assert fqi.n_features_ == 5
    np.testing.assert_allclose(fqi.q_values(0, np.arange(3))[:, 0], [1, 2, 3])
