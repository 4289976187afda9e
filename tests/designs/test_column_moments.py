"""Means and norms of columns from one pass, for every memory order and number of threads."""

import numpy as np
import pytest

from thinrank.designs import Dense, column_moments, standardize
from thinrank.designs.column_moments import column_moments as moments_of


def data(dtype="float64", n=70, p=300):
    rng = np.random.default_rng(30_100)
    X = rng.standard_normal((n, p)) * rng.uniform(0.1, 10, p)
    X[:, ::3] += 1e4  # far from zero: sums of squares about zero would lose digits
    X[:, 5] = 0
    X[:, 7] = 0.1
    return X.astype(dtype)


def explicit(X):
    wide = X.astype(np.longdouble)
    mean = wide.mean(axis=0)
    return mean, np.sqrt(((wide - mean) ** 2).sum(axis=0))


@pytest.mark.parametrize("order", ["C", "F", "A"])
@pytest.mark.parametrize(("dtype", "tol"), [("float64", 1e-12), ("float32", 2e-5)])
def test_equal_to_the_definition(order, dtype, tol, monkeypatch):
    monkeypatch.setattr(column_moments, "_TILE_ENTRIES", 1 << 10)  # several tiles
    X = data(dtype)
    X = np.repeat(X, 2, axis=0)[::2] if order == "A" else np.asarray(X, order=order)
    found = moments_of(X)
    mean, norms = explicit(X)
    live = norms > 1e-3
    np.testing.assert_allclose(found.mean, mean, rtol=tol, atol=tol)
    np.testing.assert_allclose(found.norms[live], norms[live], rtol=tol)
    assert np.all(found.norms[~live] < 1e-4)
    assert found.mean.dtype == found.norms.dtype == X.dtype
    np.testing.assert_allclose(found.lengths, np.linalg.norm(X.astype(float), axis=0), rtol=1e-5)


@pytest.mark.parametrize("order", ["C", "F"])
def test_threads_give_the_same_numbers(monkeypatch, order):
    X = np.asarray(data(), order=order)
    one = moments_of(X)
    monkeypatch.setattr(column_moments, "_WORTH_THREADS", 1)
    monkeypatch.setattr(column_moments, "_BLOCK_COLUMNS", 64)
    monkeypatch.setattr(column_moments, "_TILE_ENTRIES", 16 * len(X))
    monkeypatch.setattr(column_moments, "threads_in_use", lambda: 3)
    for a, b in zip(one, moments_of(X), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-13, atol=1e-15)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 1e200, 1e-200])
def test_not_finite_overflow_and_underflow_are_noticed(bad):
    X = data()
    X[:, 11] = 0
    X[3, 11] = bad
    assert not moments_of(X).finite
    assert Dense(X).column_moments is None


def test_columns_of_zeros_are_no_underflow():
    assert moments_of(np.zeros((4, 3))).finite


def test_standardisation_uses_them_and_agrees_with_weights_of_one():
    X = data()
    a = standardize(Dense(X))
    b = standardize(Dense(X), sample_weight=np.ones(len(X)))
    np.testing.assert_allclose(a.center, b.center, rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(a.scale, b.scale, rtol=1e-10)
    assert a.scale[7] == b.scale[7] == 0
