"""R² in the training rows and in held-out rows, and the shares of the factors."""

import numpy as np
import pytest
from sklearn.metrics import d2_log_loss_score, d2_tweedie_score, r2_score
from sklearn.model_selection import KFold

import thinrank as tr

N, P, K = 60, 10, 5
GRID = {"ranks": [1], "row_sparsities": [2], "column_sparsities": [3], "ridges": [0.01]}


def data(seed=0, noise=1.0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((N, P)) + 1
    theta = np.zeros((P, K))
    theta[:2, :3] = np.outer([1.0, -2.0], [1.0, 0.5, -1.0])
    return X, X @ theta + noise * rng.standard_normal((N, K)) + 4


def test_shares_add_up_to_the_r2_of_all_responses():
    X, Y = data()
    est = tr.SparseReducedRankRegressor(rank=2, row_sparsity=4, column_sparsity=4).fit(X, Y)
    expected = r2_score(Y, est.predict(X), multioutput="raw_values")
    np.testing.assert_allclose(est.r2_, expected, atol=1e-12)
    assert est.explained_variance_ratio_.sum() == pytest.approx(est.r2_.mean())
    assert np.all(np.diff(est.explained_variance_ratio_) < 0)
    assert est.n_samples_ == N
    assert est.held_out_r2_ is None


@pytest.mark.parametrize(("kept", "intercept"), [(None, True), ([3], True), (None, False)])
def test_held_out_r2_is_that_of_fits_to_the_other_rows(kept, intercept):
    X, Y = data()
    weight = np.random.default_rng(4).uniform(0.5, 2.0, N)
    splits = list(KFold(4).split(X))
    options = {"always_keep": kept, "fit_intercept": intercept, "standardize": False}
    est = tr.SparseReducedRankRegressorCV(**GRID, cv=splits, **options).fit(X, Y, weight)
    errors, totals = np.zeros(K), np.zeros(K)
    for train, test in splits:
        own = tr.SparseReducedRankRegressor(1, 2, 3, ridge=0.01, **options)
        own.fit(X[train], Y[train], weight[train])
        mean = np.average(Y[train], axis=0, weights=weight[train]) if intercept else 0.0
        errors += weight[test] @ (Y[test] - own.predict(X[test])) ** 2
        totals += weight[test] @ (Y[test] - mean) ** 2
    np.testing.assert_allclose(est.held_out_r2_, 1 - errors / totals, atol=1e-6)


@pytest.mark.parametrize("general", [False, True])
def test_constant_responses_have_no_r2(general):
    X, Y = data()
    Y[:, 1] = 3.0
    if general:
        Y[0, 0] = np.nan
    est = tr.SparseReducedRankRegressor(1, "auto", None, cv=3).fit(X, Y)
    assert np.flatnonzero(np.isnan(est.r2_)).tolist() == [1]
    assert np.flatnonzero(np.isnan(est.held_out_r2_)).tolist() == [1]
    assert est.target_scale_[1] == 1
    assert np.isfinite(est.explained_variance_ratio_).all()


def test_missing_entries_are_left_out():
    X, Y = data()
    Y[np.random.default_rng(0).uniform(size=Y.shape) < 0.2] = np.nan
    est = tr.SparseReducedRankRegressor(1, 2, 3).fit(X, Y)
    assert np.mean(est.r2_) == pytest.approx(est.score(X, Y))
    np.testing.assert_allclose(est.target_scale_, np.nanstd(Y, axis=0))
    scores = est.transform(X)
    assert scores.mean() == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("kept", [None, [4]])
def test_counts_have_their_share_of_deviance(kept):
    X, _ = data()
    rng = np.random.default_rng(1)
    Y = rng.poisson(np.exp(0.5 * X[:, [0]] @ [[1.0, -0.5]]))
    glm = tr.SparseReducedRankGLM("poisson", 1, 2, 2, ridge=0.01, always_keep=kept).fit(X, Y)
    expected = [d2_tweedie_score(Y[:, j], glm.predict(X)[:, j], power=1) for j in range(2)]
    np.testing.assert_allclose(glm.r2_, expected, rtol=1e-6)
    np.testing.assert_array_equal(glm.target_scale_, 1)
    scores = glm.transform(X)
    np.testing.assert_allclose(scores.mean(axis=0), 0, atol=1e-12)
    assert 0 < glm.explained_variance_ratio_.sum() <= np.mean(glm.r2_) + 1e-12


def test_classes_share_the_deviance_of_their_response():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((80, 4))
    y = np.argmax(X[:, :3] + rng.standard_normal((80, 3)), axis=1)
    clf = tr.SparseReducedRankClassifier("auto", None, None, ridge=0.1, cv=3).fit(X, y)
    assert clf.r2_.shape == clf.held_out_r2_.shape == (3,)
    assert len(set(clf.r2_.tolist())) == len(set(clf.held_out_r2_.tolist())) == 1
    assert clf.r2_[0] == pytest.approx(d2_log_loss_score(y, clf.predict_proba(X)), rel=1e-6)
    assert clf.held_out_r2_[0] < clf.r2_[0]
