"""Data with predictors that are always kept, and least squares by NumPy."""

import numpy as np

import thinrank as tr

N, P, K = 120, 12, 4
KEPT = [3, 7, 8]
OTHERS = [j for j in range(P) if j not in KEPT]
ESTIMATORS = [tr.SparseReducedRankRegressor, tr.SparseReducedRankRegressorCV]
NO_LIMITS = {"rank": K, "row_sparsity": None, "column_sparsity": None}


def data(seed=0, n=N, p=P, noise=1.0):
    """Kept predictors in odd units that are correlated with the others, of which three matter."""
    rng = np.random.default_rng(seed)
    Z = rng.standard_normal((n, len(KEPT)))
    X = rng.standard_normal((n, p))
    X += Z @ rng.standard_normal((len(KEPT), p))
    X[:, KEPT] = Z * [100.0, 1.0, 0.01] + [500.0, 0.0, 3.0]
    theta = np.zeros((p, K))
    theta[[0, 4, 9]] = rng.standard_normal((3, 2)) @ rng.standard_normal((2, K))
    beta = rng.standard_normal((len(KEPT), K)) * 3
    return X, Z @ beta + X @ theta + noise * rng.standard_normal((n, K)) + 2.0


def weights(n=N):
    weight = np.random.default_rng(9).uniform(0.2, 3.0, n)
    weight[5:9] = 0.0
    return weight


def with_ones(X, intercept):
    return np.c_[np.ones(len(X)), X] if intercept else X


def least_squares(X, Y, weight=None):
    root = np.ones((len(X), 1)) if weight is None else np.sqrt(weight)[:, None]
    return np.linalg.lstsq(root * X, root * Y, rcond=None)[0]


def assert_consistent(est, X):
    """``coef_`` contains all coefficients, and the kept ones are not in the factors."""
    coef = est.coef_
    np.testing.assert_allclose(est.predict(X), X @ coef.T + est.intercept_, atol=1e-9)
    np.testing.assert_array_equal(coef[..., est.kept_], est.kept_coef_)
    assert not np.isin(est.kept_, est.row_support_).any()
    np.testing.assert_allclose(est.transform(X), X @ est.factors_.U - est.factor_means_)
