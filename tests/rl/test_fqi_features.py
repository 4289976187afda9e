"""Feature maps: products against the features themselves."""

import numpy as np
import pytest
from scipy import sparse

from thinrank.rl import Fourier, Identity, Lookup, RadialBasis, Tabular
from thinrank.rl.features import feature_matrix, feature_product

POINTS = np.random.default_rng(0).uniform(-1, 1, size=(9, 2))
MAPS = {
    "identity": (Identity(), POINTS, 2),
    "identity of numbers": (Identity(), POINTS[:, 0], 1),
    "tabular": (Tabular(5), np.array([0, 4, 4, 2]), 5),
    "few of a table": (Lookup(POINTS), np.array([8, 0]), 2),
    "all of a table": (Lookup(POINTS), np.arange(20) % 9, 2),
    "radial": (RadialBasis(POINTS[:3], 0.5), POINTS, 4),
    "radial of numbers": (RadialBasis(POINTS[:3, :1], 0.5), POINTS[:, 0], 4),
    "fourier": (Fourier(np.array([-1, -1]), np.array([1, 1]), 2), POINTS, 9),
    "fourier of numbers": (Fourier(np.array(-1.0), np.array(1.0), 3), POINTS[:, 0], 4),
}


@pytest.mark.parametrize("name", MAPS)
def test_products_are_those_of_the_features(name):
    features, states, width = MAPS[name]
    matrix = feature_matrix(features, states, "here")
    assert matrix.shape == (len(states), width)
    weights = np.random.default_rng(1).standard_normal((width, 3))
    weights[::2] = 0
    found = feature_product(features, states, weights, "here")
    np.testing.assert_allclose(found, matrix @ weights, atol=1e-14)
    assert not feature_product(features, states, 0 * weights, "here").any()


def test_values():
    radial = RadialBasis(np.zeros((1, 2)), 2.0)(np.array([[0.0, 0.0], [2.0, 0.0]]))
    np.testing.assert_allclose(radial, [[1, 1], [1, np.exp(-0.5)]])
    cosines = Fourier(np.array([0.0]), np.array([2.0]), 2)(np.array([[0.0], [1.0], [2.0]]))
    np.testing.assert_allclose(cosines, [[1, 1, 1], [1, 0, -1], [1, -1, 1]], atol=1e-15)
    assert sparse.issparse(Tabular(3)([1]))


@pytest.mark.parametrize(
    ("features", "message"),
    [
        (lambda s: np.ones(len(s)), r"task 3: features must return 2 rows of numbers.*\(2,\)"),
        (lambda s: np.ones((1, 4)), r"must return 2 rows of numbers.*\(1, 4\)"),
        (lambda s: np.array([["a"], ["b"]]), "must return 2 rows of numbers"),
        (lambda s: np.full((2, 1), np.nan), "task 3: features must be finite"),
    ],
)
def test_bad_features_are_named(features, message):
    with pytest.raises(ValueError, match=message):
        feature_matrix(features, np.arange(2), "task 3")


@pytest.mark.parametrize(
    "states", [np.array([5]), np.array([-1]), np.array([0.5]), np.ones((2, 2))]
)
def test_states_outside_the_table(states):
    for features in (Tabular(5), Lookup(np.ones((5, 2)))):
        with pytest.raises(ValueError, match="states must be integers from 0 to 4"):
            features(states)


def test_the_width_of_states_is_checked():
    wide = np.ones((4, 3))
    for features, width in ((Identity(), 2), (RadialBasis(np.zeros((1, 2)), 1.0), 2)):
        with pytest.raises(ValueError, match=r"task 1: states must have 2 columns.*\(4, 3\)"):
            feature_product(features, wide, np.ones((width, 1)), "task 1")
    with pytest.raises(ValueError, match=r"states must have 2 columns, got shape \(4, 1\)"):
        Fourier(np.zeros(2), np.ones(2), 1)(np.ones((4, 1)))


@pytest.mark.parametrize("kind", [sparse.coo_array, sparse.lil_array, sparse.dok_array])
def test_sparse_features_of_any_format(kind):
    found = feature_matrix(lambda s: kind(np.eye(len(s))), np.arange(3), "here")
    np.testing.assert_array_equal(found.toarray(), np.eye(3))
    with pytest.raises(ValueError, match="here: features must be finite"):
        feature_matrix(lambda s: kind(np.full((3, 2), np.nan)), np.arange(3), "here")
