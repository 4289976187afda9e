"""What must not matter: the array library, the kind of X, units, scale of weights, constants."""

from functools import lru_cache

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.sparse.linalg import aslinearoperator
from sklearn.base import clone

import thinrank as tr

pytestmark = pytest.mark.filterwarnings("ignore::thinrank.core.warnings.SelectionWarning")

SIZES = {"rank": 2, "row_sparsity": 4, "column_sparsity": 5}
REGRESSOR = tr.SparseReducedRankRegressor
CASES = {
    "given": REGRESSOR(**SIZES),
    "literal": REGRESSOR(**SIZES, standardize=False, fit_intercept=False),
    "ridge": REGRESSOR(2, 4, None, ridge=0.2),
    "gdt": REGRESSOR(**SIZES, solver="gdt"),
    "automatic": REGRESSOR(cv=3),
    "criterion": REGRESSOR(criterion="pic", ridge=0.0),
    "grid": tr.SparseReducedRankRegressorCV([1, 2], [4, 8], [5], [0.0], cv=3),
    "kept": REGRESSOR(**SIZES, ridge=0.1, always_keep=[1, 4]),
    "missing": REGRESSOR(**SIZES, ridge=0.0),
    "huber": REGRESSOR(**SIZES, loss="huber"),
    "poisson": tr.SparseReducedRankGLM("poisson", 1, 4, 5, ridge=0.05),
    "bernoulli": tr.SparseReducedRankGLM("bernoulli", 1, 4, 5, ridge=0.05),
    "classes": tr.SparseReducedRankClassifier(1, 4, None, ridge=0.1),
}
FEW = ["given", "automatic", "kept", "missing", "huber", "poisson", "classes"]
NUMBERS = [name for name in CASES if name not in ("literal", "poisson", "bernoulli", "classes")]


@lru_cache
def data(name):
    X, Y, _ = tr.datasets.make_two_way_sparse(50, 12, 7, 2, 4, 5, correlation=0.5, random_state=4)
    changed = {
        "missing": lambda: np.where(np.arange(Y.size).reshape(Y.shape) % 11, Y, np.nan),
        "poisson": lambda: np.round(np.exp(Y / (2 * Y.std()))),
        "bernoulli": lambda: (Y > 0).astype(float),
        "classes": lambda: np.argmax(Y[:, np.argsort(-Y.std(axis=0))[:3]], axis=1),
    }
    return X, changed.get(name, lambda: Y)()


def fitted(name, X, y, weight=None):
    return clone(CASES[name]).fit(X, y, weight)


@lru_cache
def reference(name):
    return fitted(name, *data(name))


def assert_same(found, expected, coef=None, tol=1e-5):
    np.testing.assert_array_equal(found.row_support_, expected.row_support_)
    np.testing.assert_array_equal(found.column_support_, expected.column_support_)
    assert found.rank_ == expected.rank_ > 0
    coef = found.coef_ if coef is None else coef
    largest = np.abs(expected.coef_).max()
    np.testing.assert_allclose(coef, expected.coef_, rtol=0, atol=tol * largest)
    np.testing.assert_allclose(found.r2_, expected.r2_, atol=tol)
    shares = found.explained_variance_ratio_, expected.explained_variance_ratio_
    np.testing.assert_allclose(*shares, atol=tol)


@pytest.mark.parametrize("name", FEW)
def test_every_array_library(name, library, dtype):
    X, y = data(name)
    expected, moved = reference(name), library.array(X, dtype)
    y = library.index(y) if name == "classes" else library.array(y, dtype)
    est = fitted(name, moved, y)
    predicted = (est.predict_proba if name == "classes" else est.predict)(moved)
    parts = est.coef_, est.factors_.U, est.factors_.V, est.intercept_, est.factor_means_
    library.check(*parts, predicted, est.transform(moved), dtype=dtype)
    assert isinstance(est.row_support_, np.ndarray)
    assert est.r2_.dtype == est.feature_scale_.dtype == np.float64
    assert_same(est, expected, library.numpy(est.coef_), 5e-3 if dtype == "float32" else 1e-5)


@pytest.mark.parametrize("wrap", [csr_array, aslinearoperator])
@pytest.mark.parametrize("name", FEW)
def test_every_kind_of_predictors(name, wrap):
    X, y = data(name)
    X = np.where(np.abs(X) > 0.3, X, 0.0)
    weight = np.random.default_rng(1).uniform(0.5, 2, len(X))
    expected, found = fitted(name, X, y, weight), fitted(name, wrap(X), y, weight)
    assert_same(found, expected)
    np.testing.assert_allclose(found.predict(wrap(X)), expected.predict(X), atol=1e-4)
    np.testing.assert_allclose(found.transform(wrap(X)), expected.transform(X), atol=1e-4)


def drawn(seed):
    """Units of the predictors, some of them negative, and of the responses."""
    rng = np.random.default_rng(seed)
    signs = rng.choice([-1, 1], 30)
    return 10 ** rng.uniform(-3, 3, 30) * signs, 10 ** rng.uniform(-3, 3, 7)


@pytest.mark.parametrize("name", [name for name in CASES if name != "literal"])
def test_units(name):
    X, y = data(name)
    of_x, of_y = drawn(0)
    of_x = of_x[:12]
    if name in NUMBERS:
        found = fitted(name, (X + 1) * of_x, (y - 2) * of_y)
        coef = found.coef_ * of_x / of_y[:, None]
    else:
        found = fitted(name, (X + 1) * of_x, y)
        coef = found.coef_ * of_x
    assert_same(found, reference(name), coef)


@pytest.mark.parametrize("name", CASES)
def test_scale_of_the_weights_and_rows_without_weight(name):
    X, y = data(name)
    weight = np.random.default_rng(5).uniform(0.3, 3, len(X))
    weight[::7] = 0
    expected, rows = fitted(name, X, y, weight), weight > 0
    assert_same(fitted(name, X, y, 1e4 * weight), expected)
    assert_same(fitted(name, X[rows], y[rows], weight[rows]), expected)


@pytest.mark.parametrize("name", NUMBERS)
def test_constant_responses_and_predictors(name):
    X, Y = data(name)
    wide, many = np.c_[X, np.full((50, 3), 7.0)], np.c_[Y, np.full((50, 5), -2.5)]
    est, expected = fitted(name, wide, many), reference(name)
    np.testing.assert_array_equal(est.row_support_, expected.row_support_)
    np.testing.assert_array_equal(est.column_support_, expected.column_support_)
    np.testing.assert_allclose(est.coef_[:7, :12], expected.coef_, atol=1e-5)
    np.testing.assert_allclose(est.predict(wide)[:, 7:], -2.5)


@pytest.mark.parametrize("seed", [1, 17])
def test_units_do_not_decide_between_identical_predictors(seed):
    """Which of them a fold takes decides about the error on its held-out rows."""
    rng = np.random.default_rng(seed)
    X = (rng.random((40, 30)) < rng.uniform(0.03, 0.12, 30)).astype(float)  # zeros and a few ones
    coef = np.zeros((30, 5))
    coef[::7] = 2 * rng.standard_normal((5, 1)) * rng.standard_normal((1, 5))
    Y = X @ coef + 0.5 * rng.standard_normal((40, 5))
    of_x, of_y = drawn(100 + seed)
    found, expected = REGRESSOR().fit(X * of_x, Y * of_y[:5]), REGRESSOR().fit(X, Y)
    assert_same(found, expected, found.coef_ * of_x / of_y[:5, None], 1e-7)
