"""Lasso and group lasso against scikit-learn and against their optimality conditions."""

import numpy as np
import pytest

from thinrank.losses import LeastSquares
from thinrank.starts.convex import penalized_fit, shrink_entries, shrink_rows

SHAPES = {"n > p": (60, 30, 8), "p > n": (25, 40, 8)}
PROXES = {"lasso": shrink_entries, "group lasso": shrink_rows}


def data(shape):
    n, p, k = SHAPES[shape]
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, p))
    theta = rng.standard_normal((p, k)) * (rng.uniform(size=(p, 1)) < 0.3)
    return X, X @ theta + 0.5 * rng.standard_normal((n, k))


def amount(kind, X, Y, part=0.2):
    """A part of the penalty at which everything is zero."""
    gradient = X.T @ Y / len(X)
    most = np.abs(gradient).max() if kind == "lasso" else np.linalg.norm(gradient, axis=1).max()
    return part * most


def solve(kind, loss, penalty):
    return penalized_fit(loss, penalty, PROXES[kind], max_iter=100_000, tol=1e-12)


def assert_optimal(kind, theta, gradient, penalty, tol):
    """−∇f is in λ times the subdifferential of the penalty."""
    penalty = penalty[:, None]
    if kind == "lasso":
        live = theta != 0
        stationary = gradient + penalty * np.sign(theta)
        np.testing.assert_allclose(stationary[live], 0, atol=tol)
        assert np.all((np.abs(gradient) - penalty)[~live] <= tol)
    else:
        norms = np.linalg.norm(theta, axis=1, keepdims=True)
        live = norms[:, 0] > 0
        stationary = gradient + penalty * theta / np.where(norms > 0, norms, 1)
        np.testing.assert_allclose(stationary[live], 0, atol=tol)
        sizes = np.linalg.norm(gradient, axis=1, keepdims=True)
        assert np.all((sizes - penalty)[~live] <= tol)
    assert live.any()
    assert not live.all()


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("kind", PROXES)
def test_optimality_with_weights_ridge_and_row_penalties(kind, shape):
    X, Y = data(shape)
    rng = np.random.default_rng(1)
    penalty = amount(kind, X, Y) * rng.uniform(0.5, 1.5, X.shape[1])
    loss = LeastSquares(X, Y, sample_weight=rng.uniform(0.2, 2, len(X)), ridge=0.1)
    theta = solve(kind, loss, penalty)
    assert_optimal(kind, theta, loss.full_gradient(theta)[1], penalty, 1e-6)


@pytest.mark.parametrize("kind", PROXES)
def test_a_large_penalty_leaves_nothing(kind):
    X, Y = data("p > n")
    penalty = np.full(X.shape[1], amount(kind, X, Y, part=1.0 + 1e-9))
    assert not np.any(solve(kind, LeastSquares(X, Y), penalty))
