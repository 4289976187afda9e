"""The group lasso: optimality conditions, and scikit-learn's MultiTaskLasso."""

import numpy as np
import pytest
from sklearn.linear_model import MultiTaskLasso

import thinrank as tr
from oracles.closed_forms import group_violation
from thinrank.arrays import nonzero_rows
from thinrank.solvers.group_lasso import group_lasso, group_lasso_path, largest_penalty


@pytest.mark.parametrize(("n", "p", "k"), [(60, 30, 4), (50, 200, 5), (400, 160, 1)])
@pytest.mark.parametrize("part", [0.5, 0.1])
def test_group_lasso_is_optimal(n, p, k, part):
    X, Y, _ = tr.datasets.make_two_way_sparse(n, p, k, 1, 10, None, random_state=n)
    X = np.asfortranarray(X)
    penalty = part * largest_penalty(X.T @ Y, n)
    B = group_lasso(X, Y, penalty, tol=1e-14)
    assert group_violation(X, Y, B, penalty) < 1e-6
    again = group_lasso(X, Y, penalty, start=B, tol=1e-14)
    np.testing.assert_allclose(again, B, atol=1e-6)


def test_group_lasso_is_zero_from_its_largest_penalty(rng):
    for p in (20, 300):
        X = np.asfortranarray(rng.standard_normal((40, p)))
        Y = rng.standard_normal((40, 3))
        largest = largest_penalty(X.T @ Y, 40)
        assert not np.any(group_lasso(X, Y, largest * (1 + 1e-9)))
        assert np.any(group_lasso(X, Y, largest * 0.99))


def test_group_lasso_from_a_start_that_nothing_outside_violates():
    """A warm start is a start, not an answer: its own rows are fitted too."""
    rng = np.random.default_rng(5)
    X = np.asfortranarray(rng.standard_normal((60, 300)))
    Y = X[:, :3] @ rng.standard_normal((3, 4)) + 0.1 * rng.standard_normal((60, 4))
    exact = group_lasso(X, Y, 0.3, tol=1e-12)
    start = exact.copy()
    start[np.any(exact != 0, axis=1)] *= 1.01
    np.testing.assert_allclose(group_lasso(X, Y, 0.3, start=start, tol=1e-12), exact, atol=1e-8)


@pytest.mark.parametrize("p", [40, 200])
def test_path_equals_scikit_learn_at_every_penalty(p):
    X, Y, _ = tr.datasets.make_two_way_sparse(50, p, 6, 2, 5, None, random_state=2)
    penalties = largest_penalty(X.T @ Y, 50) * np.geomspace(1, 0.05, 6)
    path = list(group_lasso_path(X, Y, penalties, tol=1e-12))
    assert len(path) == 6
    for penalty, B in zip(penalties, path, strict=True):
        theirs = MultiTaskLasso(penalty, fit_intercept=False, tol=1e-12, max_iter=100_000)
        np.testing.assert_allclose(B, theirs.fit(X, Y).coef_.T, atol=1e-5)
    found = np.flatnonzero(theirs.coef_.any(axis=0))
    np.testing.assert_array_equal(nonzero_rows(path[-1]), found)


def test_without_penalty_it_is_least_squares_of_least_norm(rng):
    X, Y = rng.standard_normal((10, 30)), rng.standard_normal((10, 3))
    np.testing.assert_allclose(group_lasso(X, Y, 0.0), np.linalg.pinv(X) @ Y, atol=1e-9)
