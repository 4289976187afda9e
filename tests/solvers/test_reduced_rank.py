"""Reduced-rank regression where least squares is not unique, or zero."""

import numpy as np
import pytest

from thinrank.solvers.reduced_rank import (
    reduced_rank_from_svd,
    reduced_rank_regression,
    thin_svd,
)


@pytest.mark.parametrize("directions", [10, 3])
def test_dependent_predictors_give_the_solution_of_least_norm(rng, directions):
    X = rng.standard_normal((10, directions)) @ rng.standard_normal((directions, 30))
    Y = rng.standard_normal((10, 6))
    theta = reduced_rank_regression(X, Y, 6).theta
    np.testing.assert_allclose(theta, np.linalg.pinv(X, rtol=1e-12) @ Y, atol=1e-9)


@pytest.mark.parametrize("rank", [0, 2])
def test_rank_zero_and_predictors_of_zeros_give_zero(rank):
    factors = reduced_rank_regression(np.zeros((5, 4)), np.ones((5, 3)), rank)
    assert factors.rank == 0
    assert factors.shape == (4, 3)
    assert reduced_rank_from_svd(thin_svd(np.zeros((5, 4))), np.ones((5, 3)), rank).rank == 0
    assert reduced_rank_regression(np.eye(5), np.ones((5, 3)), 0).rank == 0
