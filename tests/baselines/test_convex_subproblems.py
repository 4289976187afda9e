"""Optimality conditions of the convex problems inside the baselines."""

import numpy as np
import pytest
from sklearn.linear_model import Lasso, MultiTaskLasso

import thinrank as tr
from thinrank import baselines
from thinrank.baselines.weighted_lasso import weighted_lasso

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
    estimators = [
        baselines.RankConstrainedGroupLasso(2, 0.4, tol=1e-12, max_iter=5000, **LITERAL),
        baselines.DoubleProjectedPenalization(2, 0.4, 3.0, tol=1e-14, **LITERAL),
    ]
    for est in estimators:
        theta = est.fit(X, Y).coef_.T
        # Θ = AVᵀ with orthonormal V: A solves the group lasso of YV on X
        V = np.linalg.svd(theta, full_matrices=False)[2][:2].T
        assert group_violation(X, Y @ V, theta @ V, 0.4) < 1e-5
