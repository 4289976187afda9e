"""The oracles themselves: stationary points, and no better than any other matrix of the kind."""

import numpy as np
import pytest
from closed_forms import best_over_supports, objective, on_supports, reduced_rank_regression


def data(seed=0, n=30, p=6, k=5):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p)) @ rng.standard_normal((p, p))
    return X, X @ rng.standard_normal((p, 2)) @ rng.standard_normal((2, k)) + rng.standard_normal(
        (n, k)
    )


@pytest.mark.parametrize("ridge", [0.0, 0.5])
def test_reduced_rank_regression_is_a_minimum(ridge):
    """The gradient vanishes along the row and column space, and other matrices are worse."""
    X, Y = data()
    theta = reduced_rank_regression(X, Y, 2, ridge)
    gradient = X.T @ (X @ theta - Y) / len(X) + ridge * theta
    left, values, right = np.linalg.svd(theta)
    assert values[2] < 1e-10 * values[0]
    np.testing.assert_allclose(left[:, :2].T @ gradient, 0, atol=1e-9)
    np.testing.assert_allclose(gradient @ right[:2].T, 0, atol=1e-9)
    rng = np.random.default_rng(1)
    for _ in range(200):
        other = (left[:, :2] * values[:2] + 0.1 * rng.standard_normal((6, 2))) @ (
            right[:2] + 0.1 * rng.standard_normal((2, 5))
        )
        assert objective(X, Y, other, ridge) > objective(X, Y, theta, ridge)


@pytest.mark.parametrize("ridge", [0.0, 0.5])
def test_full_rank_is_ridge_regression(ridge):
    X, Y = data()
    expected = np.linalg.solve(X.T @ X / len(X) + ridge * np.eye(6), X.T @ Y / len(X))
    np.testing.assert_allclose(reduced_rank_regression(X, Y, 5, ridge), expected, atol=1e-10)


@pytest.mark.parametrize("ridge", [0.0, 0.5])
def test_value_is_that_of_the_coefficients(ridge):
    X, Y = data()
    value, rows, columns = best_over_supports(X, Y, 2, 3, 2, ridge)
    theta = on_supports(X, Y, 2, rows, columns, ridge)
    assert value == pytest.approx(objective(X, Y, theta, ridge), rel=1e-12)


def test_dependent_predictors():
    X, Y = data()
    doubled = np.hstack([X, X[:, :2]])
    np.testing.assert_allclose(
        doubled @ reduced_rank_regression(doubled, Y, 2),
        X @ reduced_rank_regression(X, Y, 2),
        atol=1e-9,
    )
