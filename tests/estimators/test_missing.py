"""Responses with missing entries."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.metrics import r2_score

import thinrank as tr

SIZES = {"rank": 2, "row_sparsity": 4, "column_sparsity": 4}
GIVEN = tr.SparseReducedRankRegressor(**SIZES, ridge=0.0)


def data(n=60, p=10, k=6, seed=0):
    X, Y, _ = tr.datasets.make_two_way_sparse(
        n_samples=n,
        n_features=p,
        n_targets=k,
        rank=2,
        row_sparsity=4,
        column_sparsity=4,
        random_state=seed,
    )
    return X, Y + np.arange(k)


def mask(Y, share=0.2, seed=1):
    return np.random.default_rng(seed).uniform(size=Y.shape) > share


@pytest.mark.parametrize(
    ("standardize", "ridge", "intercept", "weighted"),
    [(True, 0.0, True, True), (True, 0.1, False, False), (False, 0.1, True, True)],
)
def test_a_mask_without_missing_entries(standardize, ridge, intercept, weighted):
    X, Y = data()
    weight = np.random.default_rng(0).uniform(0.5, 2, len(X)) if weighted else None
    est = tr.SparseReducedRankRegressor(
        **SIZES, ridge=ridge, standardize=standardize, fit_intercept=intercept
    )
    plain = clone(est).fit(X, Y, weight)
    masked = clone(est).fit(X, Y, weight, entry_weight=np.ones(Y.shape))
    np.testing.assert_array_equal(masked.row_support_, plain.row_support_)
    np.testing.assert_array_equal(masked.column_support_, plain.column_support_)
    largest = np.abs(plain.coef_).max()
    np.testing.assert_allclose(masked.coef_, plain.coef_, atol=1e-7 * largest)
    np.testing.assert_allclose(masked.intercept_, plain.intercept_, atol=1e-6)


def test_without_limits_every_response_is_a_regression_on_its_own():
    X, Y = data(p=4)
    seen = mask(Y)
    est = tr.SparseReducedRankRegressor(4, None, None, ridge=0.0, tol=1e-12)
    est.fit(X, np.where(seen, Y, np.nan))
    for j in range(Y.shape[1]):
        own = np.column_stack([np.ones(len(X)), X])[seen[:, j]]
        expected = np.linalg.lstsq(own, Y[seen[:, j], j], rcond=None)[0]
        np.testing.assert_allclose(est.coef_[j], expected[1:], atol=1e-5)
        assert est.intercept_[j] == pytest.approx(expected[0], abs=1e-5)


@pytest.mark.parametrize(
    "est",
    [GIVEN, tr.SparseReducedRankRegressorCV([2], [4], [4], [0.0], cv=2)],
    ids=["given", "chosen"],
)
def test_nan_is_a_weight_of_zero_and_what_it_hides_does_not_matter(est):
    X, Y = data()
    seen = mask(Y)
    fits = [
        clone(est).fit(X, np.where(seen, Y, np.nan)),
        clone(est).fit(X, np.where(seen, Y, 1e6), entry_weight=seen.astype(float)),
        clone(est).fit(X, np.where(seen, Y, np.nan), entry_weight=np.where(seen, 1.0, np.nan)),
    ]
    for other in fits[1:]:
        np.testing.assert_allclose(other.coef_, fits[0].coef_, atol=1e-7)
        np.testing.assert_allclose(other.intercept_, fits[0].intercept_, atol=1e-7)
    assert np.all(np.isfinite(fits[0].predict(X)))
    assert fits[0].score(X, Y) > 0.4


def test_score_leaves_out_missing_entries():
    X, Y = data()
    est = clone(GIVEN).fit(X, Y)
    seen = mask(Y)
    partial, weight = np.where(seen, Y, np.nan), np.random.default_rng(0).uniform(0.5, 1, len(X))
    predicted = est.predict(X)
    by_hand = []
    for j in range(Y.shape[1]):
        own, w = seen[:, j], weight[seen[:, j]]
        y = Y[own, j]
        left = np.sum(w * (y - predicted[own, j]) ** 2)
        by_hand.append(1 - left / np.sum(w * (y - np.average(y, weights=w)) ** 2))
    assert est.score(X, partial, weight) == pytest.approx(np.mean(by_hand))
    assert est.score(X, Y) == pytest.approx(r2_score(Y, predicted))


def test_a_score_that_does_not_exist_is_told():
    X, Y = data()
    est = clone(GIVEN).fit(X, Y)
    with pytest.raises(ValueError, match="y must be finite"):
        est.score(X, np.full_like(Y, np.inf))
    with pytest.warns(UndefinedMetricWarning, match="two observed entries"):
        assert np.isnan(est.score(X, Y, np.eye(len(X))[0]))
    Y[1:] = np.nan
    with pytest.warns(UndefinedMetricWarning, match="two observed entries"):
        assert np.isnan(est.score(X, Y))


@pytest.mark.filterwarnings(
    "ignore:10 of 60 rows of Y", "ignore::thinrank.core.warnings.SelectionWarning"
)
@pytest.mark.parametrize(
    ("est", "hidden"),
    [
        (tr.SparseReducedRankRegressor(2, 3, 2), 0.0),
        (tr.SparseReducedRankRegressor(2, 3, 2), 0.1),
        (tr.SparseReducedRankRegressor(2, 3, 2, loss="huber"), 0.0),
        (tr.SparseReducedRankGLM("gaussian", 2, 3, 2), 0.0),
        (tr.SparseReducedRankRegressor(cv=3, ridge=0.1), 0.0),
        (tr.SparseReducedRankRegressorCV(ranks=[1, 2], row_sparsities=[2, 3], cv=3), 0.0),
    ],
)
def test_rows_without_observed_entries_are_rows_that_are_not_there(est, hidden):
    rng = np.random.default_rng(1)
    X, theta = rng.standard_normal((60, 8)), np.zeros((8, 3))
    theta[:3] = rng.standard_normal((3, 1)) * rng.standard_normal((1, 3))
    Y = X @ theta + 2 * rng.standard_normal((60, 3))
    Y[:, 1:][~mask(Y[:, 1:], hidden)] = np.nan
    empty = rng.permutation(60) < 10
    without = clone(est).fit(X[~empty], Y[~empty])
    found = clone(est).fit(X, np.where(empty[:, None], np.nan, Y))
    np.testing.assert_array_equal(found.row_support_, without.row_support_)
    np.testing.assert_allclose(found.coef_, without.coef_, atol=1e-6)
    np.testing.assert_allclose(found.r2_, without.r2_, atol=1e-6)
    assert found.n_samples_ == without.n_samples_ == 50


@pytest.mark.parametrize(
    "est", [GIVEN, tr.SparseReducedRankRegressorCV(), tr.SparseReducedRankGLM(**SIZES)]
)
def test_a_response_without_observed_entries_is_named(est):
    X, Y = data()
    frame = pd.DataFrame(Y, columns=list("abcdef"))
    frame["c"] = np.nan
    with pytest.raises(ValueError, match=r"every response must have an observed entry.*'c'"):
        clone(est).fit(X, frame)
    with pytest.raises(ValueError, match="1 of 6 have none: '2'"):
        clone(est).fit(X, frame.to_numpy())


@pytest.mark.parametrize(
    "est", [GIVEN, tr.SparseReducedRankRegressorCV(cv=3), tr.SparseReducedRankGLM(**SIZES)]
)
def test_infinite_responses(est):
    X, Y = data()
    Y[0, 0], Y[1, 1] = np.inf, np.nan
    with pytest.raises(ValueError, match="infinity"):
        clone(est).fit(X, Y)


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        (np.ones((60, 2)), r"entry_weight must have the shape of Y, \(60, 6\), got \(60, 2\)"),
        (-np.ones((60, 6)), "entry_weight must be finite and not negative"),
        (np.full((60, 6), 1 + 2j), "Complex data not supported: entry_weight has dtype complex"),
        (np.full((60, 6), 1e299), r"entry_weight has entries of magnitude 1e\+299, too large"),
        (np.full((60, 6), 1e-299), "entry_weight has entries of magnitude 1e-299, so small"),
    ],
)
@pytest.mark.parametrize(
    "est", [GIVEN, tr.SparseReducedRankGLM(family="poisson", rank=1, row_sparsity=3)]
)
def test_invalid_entry_weights(est, weight, message):
    X, Y = data()
    with pytest.raises(ValueError, match=message):
        clone(est).fit(X, np.round(np.abs(Y)), entry_weight=weight)


def test_always_keep_with_missing_entries():
    """Without limits kept predictors are predictors like others."""
    X, Y = data(p=5)
    Y[~mask(Y)] = np.nan
    plain = tr.SparseReducedRankRegressor(5, None, None, ridge=0.0, tol=1e-12).fit(X, Y)
    kept = tr.SparseReducedRankRegressor(
        3, None, None, ridge=0.0, always_keep=[1, 4], tol=1e-12
    ).fit(X, Y)
    np.testing.assert_allclose(kept.coef_, plain.coef_, atol=1e-5)
    np.testing.assert_allclose(kept.intercept_, plain.intercept_, atol=1e-5)
    chosen = tr.SparseReducedRankRegressor(1, "auto", None, cv=2, always_keep=[1]).fit(X, Y)
    assert chosen.kept_.tolist() == [1]
    assert np.all(np.isfinite(chosen.coef_))


@pytest.mark.parametrize("one_dimensional", [True, False])
def test_one_response(one_dimensional):
    X, Y = data()
    y = Y[:, 0].copy()
    y[:10] = np.nan
    est = tr.SparseReducedRankRegressor(1, 3, None, ridge=0.0)
    with pytest.warns(UserWarning, match="10 of 60 rows"):
        est.fit(X, y if one_dimensional else y[:, None])
    expected = tr.SparseReducedRankRegressor(1, 3, None, ridge=0.0).fit(X[10:], y[10:])
    assert est.coef_.shape == ((10,) if one_dimensional else (1, 10))
    np.testing.assert_allclose(est.coef_.ravel(), expected.coef_, atol=1e-6)
    assert est.predict(X).shape == ((60,) if one_dimensional else (60, 1))
    assert est.score(X, y if one_dimensional else y[:, None]) > 0


@pytest.mark.parametrize("seed", [0, *(pytest.param(i, marks=pytest.mark.slow) for i in (2, 4))])
def test_supports_with_half_of_the_entries(seed):
    # with these seeds a response, or half of the predictors, used to be left out
    X, Y, truth = tr.datasets.make_two_way_sparse(random_state=700000 + seed)
    Y[np.random.default_rng(seed).random(Y.shape) < 0.5] = np.nan
    est = tr.SparseReducedRankRegressor(8, 10, 10).fit(X, Y)
    np.testing.assert_array_equal(est.row_support_, truth.row_support)
    np.testing.assert_array_equal(est.column_support_, truth.column_support)
