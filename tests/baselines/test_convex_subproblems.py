"""Optimality conditions of the lasso and group lasso that the rivals are made of."""

import numpy as np
import pytest
from sklearn.linear_model import Lasso, MultiTaskLasso

import thinrank as tr
from thinrank import baselines
from thinrank.baselines.weighted_lasso import weighted_lasso
from thinrank.solvers.group_lasso import group_lasso, largest_penalty

LITERAL = {"fit_intercept": False, "standardize": False}


def group_violation(X, Y, B, penalty):
    """How far B is from the conditions ∇ = −penalty·Bⱼ/‖Bⱼ‖ or ‖∇ⱼ‖ ≤ penalty."""
    gradient = X.T @ (X @ B - Y) / len(X)
    norms = np.linalg.norm(B, axis=1)
    active = norms > 0
    inside = gradient[active] + penalty * B[active] / norms[active, None]
    outside = np.linalg.norm(gradient[~active], axis=1) - penalty
    return max(np.max(np.abs(inside), initial=0), np.max(outside, initial=0))


def lasso_violation(X, y, b, penalty, scale):
    pull = scale * (X.T @ (y - X @ b)) / len(X)
    active = b != 0
    inside = np.abs(pull[active] - penalty * np.sign(b[active]))
    return max(np.max(inside, initial=0), np.max(np.abs(pull[~active]) - penalty, initial=0))


@pytest.mark.parametrize(
    ("n", "p", "k"), [(60, 30, 4), (30, 60, 5), (100, 400, 6), (500, 300, 3), (400, 160, 1)]
)
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


@pytest.mark.parametrize(("n", "p"), [(60, 30), (40, 80), (100, 400)])
def test_weighted_lasso_is_optimal(n, p, rng):
    X, y = rng.standard_normal((n, p)), rng.standard_normal(n)
    scale = rng.uniform(0.1, 2, p)
    scale[::7] = 0
    penalty = 0.3 * np.max(scale * np.abs(X.T @ y)) / n
    b = weighted_lasso(X, y, penalty, scale, np.zeros(p), tol=1e-14)
    assert not np.any(b[::7])
    assert lasso_violation(X, y, b, penalty, scale) < 1e-6


def test_weighted_lasso_without_penalty_is_least_squares(rng):
    X, y = rng.standard_normal((40, 5)), rng.standard_normal(40)
    b = weighted_lasso(X, y, 0.0, np.ones(5), np.zeros(5))
    np.testing.assert_allclose(b, np.linalg.lstsq(X, y, rcond=None)[0])


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize(("n", "p"), [(60, 40), (50, 200)])
def test_multi_task_equals_scikit_learn(n, p, fit_intercept):
    X, Y, _ = tr.datasets.make_two_way_sparse(n, p, 8, 2, 5, None, random_state=1)
    X, Y = X + 0.5, Y + 2.0
    theirs = MultiTaskLasso(0.3, fit_intercept=fit_intercept, tol=1e-12, max_iter=100_000)
    theirs.fit(X, Y)
    ours = baselines.MultiTaskGroupLasso(
        0.3, fit_intercept=fit_intercept, standardize=False, tol=1e-12
    ).fit(X, Y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-6)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-6)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), atol=1e-5)
    assert set(ours.row_support_) == set(np.flatnonzero(np.any(theirs.coef_, axis=0)))


def test_separate_lassos_equal_scikit_learn():
    X, Y, _ = tr.datasets.make_two_way_sparse(60, 40, 5, 2, 5, 3, random_state=1)
    theirs = Lasso(0.2, fit_intercept=True, tol=1e-12, max_iter=100_000).fit(X, Y)
    ours = baselines.SeparateLassos(0.2, standardize=False, tol=1e-12).fit(X, Y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-6)
    assert np.array_equal(ours.coef_ == 0, theirs.coef_ == 0)


def test_last_steps_of_rcgl_and_dpp_are_optimal():
    X, Y, _ = tr.datasets.make_two_way_sparse(60, 40, 12, 2, 5, 6, random_state=2)
    rivals = [
        baselines.RankConstrainedGroupLasso(2, 0.4, tol=1e-12, max_iter=5000, **LITERAL),
        baselines.DoubleProjectedPenalization(2, 0.4, 3.0, tol=1e-14, **LITERAL),
    ]
    for rival in rivals:
        theta = rival.fit(X, Y).coef_.T
        # Θ = AVᵀ with orthonormal V: A solves the group lasso of YV on X
        V = np.linalg.svd(theta, full_matrices=False)[2][:2].T
        assert group_violation(X, Y @ V, theta @ V, 0.4) < 1e-5


def test_group_lasso_from_a_start_that_nothing_outside_violates():
    """A warm start is a start, not an answer: its own rows are fitted too."""
    rng = np.random.default_rng(5)
    X = np.asfortranarray(rng.standard_normal((60, 300)))
    Y = X[:, :3] @ rng.standard_normal((3, 4)) + 0.1 * rng.standard_normal((60, 4))
    exact = group_lasso(X, Y, 0.3, tol=1e-12)
    start = exact.copy()
    start[np.any(exact != 0, axis=1)] *= 1.01
    np.testing.assert_allclose(group_lasso(X, Y, 0.3, start=start, tol=1e-12), exact, atol=1e-8)
