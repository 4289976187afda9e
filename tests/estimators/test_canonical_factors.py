"""Factors have a fixed meaning: orthogonal scores in order of variance, signs by rule."""

import numpy as np
import pytest

import thinrank as tr

N, P, K = 60, 15, 8
SIZES = {"rank": 3, "row_sparsity": 5, "column_sparsity": 6, "ridge": 0.05}


def data(seed=0):
    X, Y, _ = tr.datasets.make_two_way_sparse(
        n_samples=N,
        n_features=P,
        n_targets=K,
        rank=3,
        row_sparsity=5,
        column_sparsity=6,
        random_state=seed,
    )
    return X + 3.0, Y - 2.0


def weights():
    weight = np.random.default_rng(5).uniform(0.1, 2.0, N)
    weight[:4] = 0
    return weight


def assert_canonical(est, X, scale, weight=None):
    scores = est.transform(X)
    weight = np.ones(len(scores)) if weight is None else weight
    products = scores.T @ (weight[:, None] * scores)
    variances = np.diag(products)
    np.testing.assert_allclose(products - np.diag(variances), 0, atol=1e-9 * variances[0])
    assert np.all(np.diff(variances) < 0)
    if est.fit_intercept:
        np.testing.assert_allclose(weight @ scores, 0, atol=1e-8)
    V = est.factors_.V / scale[:, None]
    np.testing.assert_allclose(V.T @ V, np.eye(V.shape[1]), atol=1e-10)
    assert np.all(V[np.abs(V).argmax(axis=0), np.arange(V.shape[1])] > 0)


@pytest.mark.parametrize(("intercept", "weighted"), [(True, False), (False, True)])
def test_scores_are_orthogonal_and_ordered_with_signs_by_rule(intercept, weighted):
    X, Y = data()
    weight = weights() if weighted else None
    est = tr.SparseReducedRankRegressor(**SIZES, fit_intercept=intercept).fit(X, Y, weight)
    mean = np.average(Y, axis=0, weights=weight) if intercept else 0.0
    scale = np.sqrt(np.average((Y - mean) ** 2, axis=0, weights=weight))
    np.testing.assert_allclose(est.target_scale_, scale)
    assert_canonical(est, X, scale, weight)


def test_the_coefficients_are_those_of_the_solution_with_exact_zeros():
    X, Y = data()
    est = tr.SparseReducedRankRegressor(**SIZES).fit(X, Y)
    U, V = est.factors_.U, est.factors_.V
    np.testing.assert_allclose(est.coef_.T, U @ V.T)
    fitted = est.intercept_ + V @ est.factor_means_ + est.transform(X) @ V.T
    np.testing.assert_allclose(fitted, est.predict(X))
    assert np.count_nonzero(np.abs(U).sum(axis=1)) == 5
    assert np.count_nonzero(np.abs(V).sum(axis=1)) == 6


def test_without_standardisation_responses_keep_their_units():
    X, Y = data()
    est = tr.SparseReducedRankRegressor(**SIZES, standardize=False).fit(X, Y)
    assert_canonical(est, X, np.ones(K))
    np.testing.assert_allclose(est.target_scale_, Y.std(axis=0))
    np.testing.assert_allclose(est.feature_scale_, X.std(axis=0))
    total = np.sum((Y - Y.mean(axis=0)) ** 2)
    pooled = 1 - np.sum((Y - est.predict(X)) ** 2) / total
    assert est.explained_variance_ratio_.sum() == pytest.approx(pooled)


def test_kept_predictors_are_not_part_of_the_factors():
    X, Y = data()
    est = tr.SparseReducedRankRegressor(**SIZES, always_keep=[2, 9]).fit(X, Y)
    assert_canonical(est, X, Y.std(axis=0))
    assert not np.any(est.factors_.U[[2, 9]])
    assert est.r2_.mean() == pytest.approx(est.score(X, Y))
    Z = np.c_[np.ones(N), X[:, [2, 9]]]
    left = Y - Z @ np.linalg.lstsq(Z, Y, rcond=None)[0]
    by_kept = 1 - np.sum(left**2, axis=0) / np.sum((Y - Y.mean(axis=0)) ** 2, axis=0)
    assert est.explained_variance_ratio_.sum() == pytest.approx(np.mean(est.r2_ - by_kept))
    np.testing.assert_allclose(est.feature_scale_, X.std(axis=0))


def test_baselines_have_the_same_factors():
    X, Y = data()
    est = tr.baselines.ReducedRankRegression(rank=2).fit(X, Y)
    assert_canonical(est, X, Y.std(axis=0))
    assert est.r2_.mean() == pytest.approx(est.score(X, Y))
    assert est.held_out_r2_ is None
