"""Each baseline against an answer that is known without it."""

import numpy as np
import pytest
from sklearn.linear_model import Lasso, MultiTaskLasso, Ridge

import thinrank as tr
from oracles.closed_forms import group_violation, reduced_rank_regression
from thinrank import baselines

LITERAL = {"fit_intercept": False, "standardize": False}


@pytest.fixture(scope="module")
def tall():
    """More rows than predictors, so that least squares is unique."""
    return tr.datasets.make_two_way_sparse(80, 20, 12, 3, 8, 6, random_state=3)


def test_reduced_rank_regression_is_the_closed_form(tall):
    X, Y, _ = tall
    est = baselines.ReducedRankRegression(rank=3, **LITERAL).fit(X, Y)
    np.testing.assert_allclose(est.coef_.T, reduced_rank_regression(X, Y, 3), atol=1e-10)


def test_ridge_is_reduced_rank_regression_of_augmented_data(tall):
    X, Y, _ = tall
    (n, p), k = X.shape, Y.shape[1]
    wide_X = np.concatenate([X, (n * 0.3) ** 0.5 * np.eye(p)])
    wide_Y = np.concatenate([Y, np.zeros((p, k))])
    est = baselines.ReducedRankRegression(rank=2, ridge=0.3, **LITERAL).fit(X, Y)
    np.testing.assert_allclose(est.coef_.T, reduced_rank_regression(wide_X, wide_Y, 2), atol=1e-10)
    full = baselines.ReducedRankRegression(rank=12, ridge=0.3, standardize=False).fit(X, Y)
    np.testing.assert_allclose(full.coef_, Ridge(0.3 * n).fit(X, Y).coef_, atol=1e-10)


def test_rank_constrained_of_full_rank_is_the_group_lasso(tall):
    X, Y, _ = tall
    group = MultiTaskLasso(0.3, fit_intercept=False, tol=1e-12, max_iter=100_000).fit(X, Y)
    est = baselines.RankConstrainedGroupLasso(12, 0.3, tol=1e-12, **LITERAL).fit(X, Y)
    np.testing.assert_allclose(est.coef_, group.coef_, atol=1e-6)


def test_rank_constrained_without_penalty_is_reduced_rank_regression(tall):
    X, Y, _ = tall
    est = baselines.RankConstrainedGroupLasso(3, 0.0, tol=1e-12, **LITERAL).fit(X, Y)
    np.testing.assert_allclose(est.coef_.T, reduced_rank_regression(X, Y, 3), atol=1e-8)


def test_rank_constrained_beats_the_truncated_group_lasso(tall):
    X, Y, _ = tall

    def objective(theta):
        misfit = np.sum((Y - X @ theta) ** 2) / (2 * len(X))
        return misfit + 0.5 * np.sum(np.linalg.norm(theta, axis=1))

    est = baselines.RankConstrainedGroupLasso(2, 0.5, **LITERAL).fit(X, Y)
    whole = baselines.MultiTaskGroupLasso(0.5, **LITERAL).fit(X, Y).coef_.T
    left, values, right = np.linalg.svd(whole, full_matrices=False)
    truncated = (left[:, :2] * values[:2]) @ right[:2]
    assert objective(whole) <= objective(est.coef_.T) < objective(truncated)


def test_joint_rank_row_selection_fits_the_chosen_rows(tall):
    X, Y, _ = tall
    est = baselines.JointRankRowSelection(3, 1.5, **LITERAL).fit(X, Y)
    rows = est.row_support_
    assert 3 <= len(rows) < 20
    expected = reduced_rank_regression(X[:, rows], Y, 3)
    np.testing.assert_allclose(est.coef_.T[rows], expected, atol=1e-10)


def test_double_projected_without_penalty_is_least_squares(tall):
    X, Y, _ = tall
    est = baselines.DoubleProjectedPenalization(12, 0.0, 0.0, **LITERAL).fit(X, Y)
    np.testing.assert_allclose(est.coef_.T, np.linalg.lstsq(X, Y, rcond=None)[0], atol=1e-9)


def test_thresholding_svd_without_thresholds_is_reduced_rank_regression(tall):
    X, Y, _ = tall
    est = baselines.ThresholdingSVD(3, 0.0, 0.0, tol=1e-9, max_iter=10_000, **LITERAL).fit(X, Y)
    np.testing.assert_allclose(est.coef_.T, reduced_rank_regression(X, Y, 3), atol=1e-6)


@pytest.mark.parametrize("size", [(50, 100), (80, 20)])
def test_exclusive_extraction_never_raises_its_objective(size):
    n, p = size
    X, Y, _ = tr.datasets.make_two_way_sparse(n, p, 15, 3, 6, 6, random_state=4)
    for penalty in (0.0, 0.02):
        est = baselines.ExclusiveExtraction(4, penalty, tol=1e-4).fit(X, Y)
        values = est.objectives_
        assert len(values) > 8
        assert np.all(np.diff(values) <= 1e-6 * values[0])
        assert values[-1] < values[0] or penalty == 0


def test_exclusive_extraction_without_penalty_stays_at_reduced_rank_regression(tall):
    X, Y, _ = tall
    est = baselines.ExclusiveExtraction(3, 0.0, tol=1e-12, **LITERAL).fit(X, Y)
    np.testing.assert_allclose(est.coef_.T, reduced_rank_regression(X, Y, 3), atol=1e-8)


def test_null_predicts_the_mean(tall):
    X, Y, _ = tall
    est = baselines.NullRegressor().fit(X, Y + 3)
    np.testing.assert_allclose(est.predict(X[:2]), np.tile((Y + 3).mean(axis=0), (2, 1)))
    assert est.rank_ == 0
    assert est.row_support_.size == est.column_support_.size == 0


# --------------------------------------------------------------- optimality of the convex problems


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
