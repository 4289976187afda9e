"""Closed-form reduced-rank regression against computations that do not use it."""

import numpy as np
import pytest

from oracles.closed_forms import reduced_rank_regression as by_qr
from thinrank.solvers.reduced_rank import (
    reduced_rank_from_svd,
    reduced_rank_regression,
    thin_svd,
)


@pytest.fixture
def tall(rng):
    X = rng.standard_normal((60, 12))
    return X, X @ rng.standard_normal((12, 8)) + rng.standard_normal((60, 8))


@pytest.mark.parametrize("rank", [1, 3, 8])
def test_it_is_least_squares_projected_on_the_leading_directions_of_the_fit(tall, rank):
    X, Y = tall
    factors = reduced_rank_regression(X, Y, rank)
    assert factors.rank == rank
    np.testing.assert_allclose(factors.theta, by_qr(X, Y, rank), atol=1e-9)
    np.testing.assert_allclose(factors.V.T @ factors.V, np.eye(rank), atol=1e-9)


def test_more_predictors_than_rows_give_the_solution_of_least_norm(rng):
    X, Y = rng.standard_normal((10, 30)), rng.standard_normal((10, 6))
    theta = reduced_rank_regression(X, Y, 6).theta
    np.testing.assert_allclose(theta, np.linalg.pinv(X) @ Y, atol=1e-9)


@pytest.mark.parametrize("rank", [0, 2])
def test_rank_zero_and_predictors_of_zeros_give_zero(rank):
    factors = reduced_rank_regression(np.zeros((5, 4)), np.ones((5, 3)), rank)
    assert factors.rank == 0
    assert factors.shape == (4, 3)
    assert reduced_rank_from_svd(thin_svd(np.zeros((5, 4))), np.ones((5, 3)), rank).rank == 0
    assert reduced_rank_regression(np.eye(5), np.ones((5, 3)), 0).rank == 0


def test_thin_svd_drops_singular_values_that_are_rounding(rng):
    X = rng.standard_normal((20, 3)) @ rng.standard_normal((3, 9))
    svd = thin_svd(X)
    assert svd.values.shape == (3,)
    np.testing.assert_allclose((svd.left * svd.values) @ svd.right.T, X, atol=1e-9)
