"""Predictors that are always kept: against NumPy, in the choice of sizes, kinds of X, messages."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.model_selection import KFold

import thinrank as tr
from thinrank.core.warnings import SelectionWarning

N, P, K = 120, 12, 4
KEPT = [3, 7, 8]
OTHERS = [j for j in range(P) if j not in KEPT]
NO_LIMITS = {"rank": K, "row_sparsity": None, "column_sparsity": None}


def data(seed=0, n=N, p=P, noise=1.0, k=K):
    """Kept predictors in odd units that are correlated with the others, of which three matter."""
    rng = np.random.default_rng(seed)
    Z = rng.standard_normal((n, len(KEPT)))
    X = rng.standard_normal((n, p))
    X += Z @ rng.standard_normal((len(KEPT), p))
    X[:, KEPT] = Z * [100.0, 1.0, 0.01] + [500.0, 0.0, 3.0]
    theta = np.zeros((p, k))
    theta[[0, 4, 9]] = rng.standard_normal((3, 2)) @ rng.standard_normal((2, k))
    beta = rng.standard_normal((len(KEPT), k)) * 3
    return X, Z @ beta + X @ theta + noise * rng.standard_normal((n, k)) + 2.0


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


# --------------------------------------------------------------------------- closed forms

# whether there is an intercept, weights of rows, standardisation
some = pytest.mark.parametrize(
    ("intercept", "weight", "standardize"),
    [(True, None, True), (False, weights(), True), (True, weights(), False)],
    ids=["usual", "no intercept", "literal"],
)


@some
def test_without_limits_it_is_least_squares_on_all_predictors(intercept, weight, standardize):
    X, Y = data()
    est = tr.SparseReducedRankRegressor(
        **NO_LIMITS,
        ridge=0.0,
        always_keep=KEPT,
        fit_intercept=intercept,
        standardize=standardize,
    ).fit(X, Y, weight)
    expected = least_squares(with_ones(X, intercept), Y, weight)
    np.testing.assert_allclose(est.coef_.T, expected[-P:], rtol=1e-8, atol=1e-8)
    if intercept:
        np.testing.assert_allclose(est.intercept_, expected[0], rtol=1e-8, atol=1e-8)
    assert est.kept_.tolist() == KEPT
    assert est.kept_coef_.shape == (K, 3)
    assert est.row_support_.tolist() == OTHERS
    assert_consistent(est, X)


@some
def test_ridge_does_not_shrink_the_kept_predictors(intercept, weight, standardize):
    """The penalised normal equations of all predictors, without a penalty on the kept ones."""
    X, Y = data()
    w = np.ones(N) if weight is None else weight * np.count_nonzero(weight) / weight.sum()
    ridge = 0.7
    kept = with_ones(X[:, KEPT], intercept)
    scale = np.ones(len(OTHERS))
    if standardize:
        left = X[:, OTHERS] - kept @ least_squares(kept, X[:, OTHERS], w)
        scale = np.sqrt(w @ left**2 / w.sum())
    every = np.c_[kept, X[:, OTHERS]]
    penalty = np.r_[np.zeros(kept.shape[1]), w.sum() * ridge * scale**2]
    theta = np.linalg.solve(
        (every.T * w) @ every + np.diag(penalty), (every.T * w) @ Y
    )  # the ridge is on the coefficients of the scaled predictors
    est = tr.SparseReducedRankRegressor(
        **NO_LIMITS,
        ridge=ridge,
        always_keep=KEPT,
        fit_intercept=intercept,
        standardize=standardize,
    )
    if standardize:  # one response at a time, as their scales change the weight of the ridge
        est.set_params(rank=1)
        coefs = [clone(est).fit(X, Y[:, j], weight) for j in range(K)]
        found = [e.coef_[OTHERS] for e in coefs]
        np.testing.assert_allclose(found, theta[-len(OTHERS) :].T, rtol=1e-7, atol=1e-9)
        found = np.array([e.kept_coef_ for e in coefs])
    else:
        est.fit(X, Y, weight)
        np.testing.assert_allclose(est.coef_[:, OTHERS], theta[-len(OTHERS) :].T, rtol=1e-6)
        found = est.kept_coef_
    np.testing.assert_allclose(found, theta[int(intercept) : kept.shape[1]].T, rtol=1e-6)


def test_rank_zero_is_least_squares_on_the_kept_predictors():
    X, Y = data()
    est = tr.SparseReducedRankRegressor(0, 0, 0, always_keep=KEPT).fit(X, Y)
    expected = with_ones(X[:, KEPT], True) @ least_squares(with_ones(X[:, KEPT], True), Y)
    np.testing.assert_allclose(est.predict(X), expected, atol=1e-9)
    assert est.rank_ == 0
    assert "always kept" in est.status_.message
    assert_consistent(est, X)


# --------------------------------------------------------------------------- choice of sizes


def test_support_with_confounders():
    X, Y = data(n=100, p=15, noise=0.5, k=8)
    est = tr.SparseReducedRankRegressor(always_keep=KEPT).fit(X, Y)
    assert est.row_support_.tolist() == [0, 4, 9]
    assert est.rank_ == 2
    assert_consistent(est, X)
    again = tr.SparseReducedRankRegressorCV(always_keep=KEPT).fit(X, Y)
    np.testing.assert_allclose(again.coef_, est.coef_, atol=1e-7)
    assert again.kept_.tolist() == KEPT
    assert_consistent(again, X)


@pytest.mark.parametrize("criterion", ["pic", "bic"])
def test_criteria_see_the_residuals(criterion):
    """Their choice is that on residuals of X and Y, which are computed by NumPy."""
    X, Y = data(n=100, p=15, noise=0.5, k=8)
    Z = with_ones(X[:, KEPT], True)
    others = np.delete(X, KEPT, axis=1)
    left_X, left_Y = others - Z @ least_squares(Z, others), Y - Z @ least_squares(Z, Y)
    # without scaling by the noise, whose degrees of freedom differ
    expected = tr.SparseReducedRankRegressor(criterion=criterion, standardize=False)
    est = clone(expected).set_params(always_keep=KEPT).fit(X, Y)
    expected.fit(left_X, left_Y)
    assert est.best_params_ == pytest.approx(expected.best_params_, rel=1e-6)
    np.testing.assert_allclose(
        np.delete(est.coef_, KEPT, axis=1), expected.coef_, rtol=1e-6, atol=1e-8
    )


def held_out_error(X, Y, train, test, weight, intercept):
    """Mean squared error of least squares on all predictors, by NumPy."""
    theta = least_squares(with_ones(X[train], intercept), Y[train], weight[train])
    errors = (Y[test] - with_ones(X[test], intercept) @ theta) ** 2
    return weight[test] @ errors.sum(axis=1) / (Y.shape[1] * weight[test].sum())


@pytest.mark.parametrize(("intercept", "weight"), [(True, None), (False, weights())])
@pytest.mark.parametrize("memory", ["4", "1e-5"])
def test_held_out_errors(intercept, weight, memory, monkeypatch):
    """Scores of the search equal those of separate regressions on the training rows."""
    monkeypatch.setenv("THINRANK_MEMORY_GIB", memory)
    X, Y = data()
    est = tr.SparseReducedRankRegressorCV(
        [K],
        [None],
        [None],
        [0.0],
        cv=KFold(4),
        always_keep=KEPT,
        fit_intercept=intercept,
        standardize=False,
    ).fit(X, Y, weight)
    w = np.ones(N) if weight is None else weight
    expected = [
        held_out_error(X, Y, train, test, w, intercept) for train, test in KFold(4).split(X)
    ]
    found = [-est.cv_results_[f"split{i}_test_score"][0] for i in range(4)]
    np.testing.assert_allclose(found, expected, rtol=1e-7)


def test_batches_that_occur_in_held_out_rows_only():
    """Nothing of a held-out batch is known: not its mean of the responses, nor of predictors."""
    rng = np.random.default_rng(0)
    batch = np.repeat(np.arange(4), N // 4)
    indicators = (batch[:, None] == np.arange(1, 4)).astype(float)
    X = np.c_[indicators, rng.standard_normal((N, 5)) + indicators @ rng.standard_normal((3, 5))]
    Y = X @ rng.standard_normal((8, K)) + 0.1 * rng.standard_normal((N, K))
    splits = [(np.flatnonzero(batch != b), np.flatnonzero(batch == b)) for b in range(1, 4)]
    est = tr.SparseReducedRankRegressorCV(
        [K], [None], [None], [0.0], cv=splits, always_keep=[0, 1, 2], standardize=False
    ).fit(X, Y)
    for i, (train, test) in enumerate(splits):  # lstsq leaves out the column of zeros
        expected = held_out_error(X, Y, train, test, np.ones(N), True)
        np.testing.assert_allclose(-est.cv_results_[f"split{i}_test_score"][0], expected)


# --------------------------------------------------------------------------- kinds of X


def test_names_of_a_data_frame():
    X, Y = data()
    names = [f"x{j}" for j in range(P)]
    frame = pd.DataFrame(X, columns=names)
    by_index = tr.SparseReducedRankRegressor(2, 3, 4, always_keep=KEPT).fit(X, Y)
    mask = np.isin(np.arange(P), KEPT)
    for always_keep in (["x8", "x3", "x7"], [8, "x3", 7], mask.tolist(), np.array(KEPT)):
        est = tr.SparseReducedRankRegressor(2, 3, 4, always_keep=always_keep).fit(frame, Y)
        assert est.kept_.tolist() == KEPT
        np.testing.assert_allclose(est.coef_, by_index.coef_, rtol=1e-6, atol=1e-9)
        np.testing.assert_allclose(est.predict(frame), by_index.predict(X), rtol=1e-6)


# --------------------------------------------------------------------------- invariance


@pytest.mark.parametrize("standardize", [True, False])
def test_predictors_that_the_kept_ones_explain_are_left_out(standardize):
    X, Y = data(n=80, p=15, noise=0.5)
    more = np.c_[X, X[:, KEPT], X[:, KEPT] @ [1e-3, 2.0, 1.0] + 7, np.full(80, 3.0)]
    est = tr.SparseReducedRankRegressor(always_keep=KEPT, standardize=standardize)
    one, two = clone(est).fit(X, Y), clone(est).fit(more, Y)
    assert two.row_support_.tolist() == one.row_support_.tolist()
    np.testing.assert_allclose(two.coef_[:, :15], one.coef_, rtol=1e-7, atol=1e-9)


def test_dependent_kept_predictors():
    """A duplicate, a combination and a constant column predict the same."""
    X, Y = data()
    more = np.c_[X, X[:, 3], X[:, 7] - X[:, 8], np.full(N, 4.0)]
    one = tr.SparseReducedRankRegressor(2, 3, 4, always_keep=KEPT).fit(X, Y)
    two = tr.SparseReducedRankRegressor(2, 3, 4, always_keep=[*KEPT, P, P + 1, P + 2]).fit(more, Y)
    np.testing.assert_allclose(two.predict(more), one.predict(X), atol=1e-9)
    assert np.abs(two.kept_coef_[:, -1]).max() == 0
    np.testing.assert_allclose(two.kept_coef_[:, 0], two.kept_coef_[:, 3])
    assert_consistent(two, more)


def test_kept_predictors_explain_everything():
    X, _ = data()
    Y = X[:, KEPT] @ np.ones((3, K)) + 1
    with pytest.warns(SelectionWarning, match="explain all others, or the responses"):
        est = tr.SparseReducedRankRegressor(always_keep=KEPT).fit(X, Y)
    np.testing.assert_allclose(est.predict(X), Y, atol=1e-9)
    few = X[:4]
    with pytest.warns(SelectionWarning, match="explain all others, or the responses"):
        est = tr.SparseReducedRankRegressor(always_keep=KEPT, cv=2).fit(few, Y[:4] + few[:, :K])
    np.testing.assert_allclose(est.predict(few), Y[:4] + few[:, :K], atol=1e-8)


@pytest.mark.parametrize(("solver", "start"), [("pursuit", "screening"), ("gdt", "lasso")])
def test_solvers_and_starts(solver, start):
    X, Y = data(noise=0.3)
    est = tr.SparseReducedRankRegressor(2, 3, K, always_keep=KEPT, solver=solver, start=start)
    est.fit(X, Y)
    assert est.row_support_.tolist() == [0, 4, 9]
    again = clone(est).set_params(start=est.coef_.T).fit(X, Y)  # the kept rows are left out
    np.testing.assert_allclose(again.predict(X), est.predict(X), atol=1e-3)


# --------------------------------------------------------------------------- interface


@pytest.mark.parametrize(
    ("always_keep", "message"),
    [
        (["age"], "names need X to be a data frame"),
        ("age", "must be a list of names or indices"),
        (3, "must be a list of names or indices"),
        ([P], f"positions from 0 to {P - 1}, got {P}"),
        ([-1], f"positions from 0 to {P - 1}, got -1"),
        ([0.5], "names or positions from 0 to .*, got 0.5"),
        ([1, True], "names or positions from 0 to .*, got True"),
        ([1, 2, 1], "every predictor once, got 1 repeatedly"),
        (range(P), "must leave predictors to choose from"),
        ([True] * 3, f"a mask of 3 entries, but X has {P} columns"),
    ],
)
def test_what_is_refused(always_keep, message):
    X, Y = data()
    with pytest.raises(ValueError, match=message):
        tr.SparseReducedRankRegressor(always_keep=always_keep).fit(X, Y)


def test_unknown_and_repeated_names():
    X, Y = data()
    frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(P)])
    with pytest.raises(ValueError, match=r"name 'age'; there are 'x0', 'x1', .* more$"):
        tr.SparseReducedRankRegressor(always_keep=["age"]).fit(frame, Y)
    with pytest.raises(ValueError, match="every predictor once"):
        tr.SparseReducedRankRegressor(always_keep=["x1", 1]).fit(frame, Y)


def test_kept_predictors_are_not_counted_in_the_sizes():
    X, Y = data()
    tr.SparseReducedRankRegressor(K, P - 3, K, always_keep=KEPT).fit(X, Y)
    with pytest.raises(ValueError, match="row_sparsity"):
        tr.SparseReducedRankRegressor(K, P - 2, K, always_keep=KEPT).fit(X, Y)
    with pytest.raises(ValueError, match="row_sparsit"):
        tr.SparseReducedRankRegressorCV([1], [P - 2], always_keep=KEPT).fit(X, Y)
