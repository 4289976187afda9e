"""Knockoffs: identities of their Gram matrices, optimality, exchange with the original."""

import numpy as np
import pytest

from thinrank.inference.knockoffs import (
    fixed_knockoffs,
    gaussian_knockoffs,
    knockoff_statistics,
    knockoff_variances,
)


def chain(n, p, rho, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    for j in range(1, p):
        X[:, j] = rho * X[:, j - 1] + np.sqrt(1 - rho**2) * X[:, j]
    X -= X.mean(axis=0)
    return X / np.linalg.norm(X, axis=0)


@pytest.mark.parametrize(
    ("make", "n", "tol"), [(fixed_knockoffs, 60, 1e-9), (gaussian_knockoffs, 4000, 0.06)]
)
def test_gram_identities(make, n, tol):
    X = chain(n, 6, 0.6)
    copies = make(X, 0)
    s = knockoff_variances(X.T @ X)
    np.testing.assert_allclose(copies.T @ copies, X.T @ X, atol=tol)
    np.testing.assert_allclose(X.T @ copies, X.T @ X - np.diag(s), atol=tol)
    np.testing.assert_allclose(copies.mean(axis=0), 0, atol=tol)


def test_variances_minimise_the_reconstructability():
    gram = chain(60, 6, 0.7).T @ chain(60, 6, 0.7)
    s = knockoff_variances(gram)

    def objective(s):
        return np.sum(1 / s) + np.trace(np.linalg.inv(2 * gram - np.diag(s)))

    assert np.linalg.eigvalsh(2 * gram - np.diag(s))[0] > 0
    slopes = -1 / s**2 + np.sum(np.linalg.inv(2 * gram - np.diag(s)) ** 2, axis=0)
    np.testing.assert_allclose(slopes * s**2, 0, atol=1e-2)
    assert objective(s) < objective(np.full(6, np.linalg.eigvalsh(gram)[0]))


def test_copies_are_unrelated_to_data_drawn_with_the_same_seed():
    """A trap: data and knockoffs from one sequence of random numbers."""
    X = np.random.default_rng(0).standard_normal((200, 6))
    X -= X.mean(axis=0)
    X /= np.linalg.norm(X, axis=0)
    for copies in (fixed_knockoffs(X, 0), gaussian_knockoffs(X, 0)):
        assert np.abs(np.diag(X.T @ copies)).max() < 0.4


def test_exchanging_a_predictor_and_its_copy_changes_one_sign():
    X = chain(80, 10, 0.4)
    rng = np.random.default_rng(1)
    Y = 4 * X[:, :3] @ rng.standard_normal((3, 4)) + rng.standard_normal((80, 4))
    Y -= Y.mean(axis=0)
    copies = fixed_knockoffs(X, 0)
    W = knockoff_statistics(X, copies, Y)
    swapped, others = X.copy(), copies.copy()
    swapped[:, [1, 6]], others[:, [1, 6]] = copies[:, [1, 6]], X[:, [1, 6]]
    changed = knockoff_statistics(swapped, others, Y)
    expected = W.copy()
    expected[[1, 6]] *= -1
    assert W[1] != 0
    np.testing.assert_allclose(changed, expected, atol=1e-6)


def test_dependent_predictors_are_refused():
    X = chain(40, 4, 0.2)
    with pytest.raises(ValueError, match="linearly independent columns"):
        fixed_knockoffs(np.column_stack([X, X[:, 0]]), 0)
