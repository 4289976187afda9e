"""Predictors that are always kept, against ordinary and penalised least squares by NumPy."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from scipy.sparse.linalg import aslinearoperator
from sklearn.base import clone
from sklearn.model_selection import KFold

import thinrank as tr
from thinrank.core.warnings import SelectionWarning

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
    np.testing.assert_allclose(est.transform(X), X @ est.factors_.U)


# --------------------------------------------------------------------------- closed forms


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("weight", [None, weights()], ids=["equal", "weighted"])
@pytest.mark.parametrize("standardize", [True, False])
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


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("weight", [None, weights()], ids=["equal", "weighted"])
@pytest.mark.parametrize("standardize", [True, False])
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
        np.testing.assert_allclose([e.coef_[OTHERS] for e in coefs], theta[-len(OTHERS) :].T)
        found = np.array([e.kept_coef_ for e in coefs])
    else:
        est.fit(X, Y, weight)
        np.testing.assert_allclose(est.coef_[:, OTHERS], theta[-len(OTHERS) :].T, rtol=1e-6)
        found = est.kept_coef_
    np.testing.assert_allclose(found, theta[int(intercept) : kept.shape[1]].T, rtol=1e-6)


@pytest.mark.parametrize("intercept", [True, False])
def test_kept_coefficients_given_the_others(intercept):
    """They are the least squares coefficients of what the other predictors leave."""
    X, Y = data()
    est = tr.SparseReducedRankRegressor(
        1, 2, 3, ridge=1.0, always_keep=KEPT, fit_intercept=intercept
    ).fit(X, Y)
    assert est.rank_ == 1
    assert len(est.row_support_) == 2
    left = Y - X @ est.factors_.theta
    expected = least_squares(with_ones(X[:, KEPT], intercept), left)
    np.testing.assert_allclose(est.kept_coef_, expected[-3:].T, rtol=1e-8)
    assert_consistent(est, X)


def test_rank_zero_is_least_squares_on_the_kept_predictors():
    X, Y = data()
    est = tr.SparseReducedRankRegressor(0, 0, 0, always_keep=KEPT).fit(X, Y)
    expected = with_ones(X[:, KEPT], True) @ least_squares(with_ones(X[:, KEPT], True), Y)
    np.testing.assert_allclose(est.predict(X), expected, atol=1e-9)
    assert est.rank_ == 0
    assert "always kept" in est.status_.message
    assert_consistent(est, X)


def test_one_response():
    X, Y = data()
    est = tr.SparseReducedRankRegressor(1, None, None, ridge=0.0, always_keep=KEPT).fit(X, Y[:, 0])
    expected = least_squares(with_ones(X, True), Y[:, :1])[:, 0]
    np.testing.assert_allclose(est.coef_, expected[1:], rtol=1e-8, atol=1e-8)
    assert est.kept_coef_.shape == (3,)
    assert isinstance(est.intercept_, float)
    assert_consistent(est, X)


# --------------------------------------------------------------------------- choice of sizes


def confounded(seed, n=200, p=40, k=10):
    """Like ``data``, with more responses and thus a clear signal."""
    rng = np.random.default_rng(seed)
    Z = rng.standard_normal((n, len(KEPT)))
    X = rng.standard_normal((n, p)) + Z @ rng.standard_normal((len(KEPT), p))
    X[:, KEPT] = Z
    theta = np.zeros((p, k))
    theta[[0, 4, 9]] = rng.standard_normal((3, 2)) @ rng.standard_normal((2, k))
    beta = rng.standard_normal((len(KEPT), k)) * 3
    return X, Z @ beta + X @ theta + 0.5 * rng.standard_normal((n, k))


@pytest.mark.parametrize("seed", range(4))
def test_support_with_confounders(seed):
    X, Y = confounded(seed)
    est = tr.SparseReducedRankRegressor(always_keep=KEPT).fit(X, Y)
    assert est.row_support_.tolist() == [0, 4, 9]
    assert est.rank_ == 2
    assert_consistent(est, X)
    again = tr.SparseReducedRankRegressorCV(always_keep=KEPT).fit(X, Y)
    np.testing.assert_array_equal(again.coef_, est.coef_)
    np.testing.assert_array_equal(again.kept_coef_, est.kept_coef_)
    assert again.kept_.tolist() == KEPT
    assert_consistent(again, X)


@pytest.mark.parametrize("criterion", ["pic", "bic", "gic"])
@pytest.mark.parametrize("seed", range(2))
def test_criteria_see_the_residuals(criterion, seed):
    """Their choice is that on residuals of X and Y, which are computed by NumPy."""
    X, Y = confounded(seed)
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


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("weight", [None, weights()], ids=["equal", "weighted"])
@pytest.mark.parametrize("limit", ["gram", "rows"])
def test_held_out_errors(intercept, weight, limit, monkeypatch):
    """Scores of the search equal those of separate regressions on the training rows."""
    if limit == "rows":
        monkeypatch.setattr("thinrank.core.memory.fits", lambda *args: False)
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


def test_held_out_errors_of_rank_zero():
    """The model without other predictors is the regression on the kept ones."""
    rng = np.random.default_rng(1)
    X, _ = data()
    Y = X[:, KEPT] @ rng.standard_normal((3, K)) + rng.standard_normal((N, K))
    est = tr.SparseReducedRankRegressorCV(always_keep=KEPT, cv=KFold(4), standardize=False)
    with pytest.warns(SelectionWarning, match="predictors that are always kept.* all other"):
        est.fit(X, Y)
    assert est.rank_ == 0
    zero = next(i for i, p in enumerate(est.cv_results_["params"]) if p["rank"] == 0)
    for i, (train, test) in enumerate(KFold(4).split(X)):
        expected = held_out_error(X[:, KEPT], Y, train, test, np.ones(N), True)
        np.testing.assert_allclose(-est.cv_results_[f"split{i}_test_score"][zero], expected)


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
    for always_keep in (["x8", "x3", "x7"], [8, "x3", 7], mask, mask.tolist(), np.array(KEPT)):
        est = tr.SparseReducedRankRegressor(2, 3, 4, always_keep=always_keep).fit(frame, Y)
        assert est.kept_.tolist() == KEPT
        np.testing.assert_allclose(est.coef_, by_index.coef_, rtol=1e-9)
        np.testing.assert_allclose(est.predict(frame), by_index.predict(X), rtol=1e-9)


@pytest.mark.parametrize("wrap", [sp.csr_array, sp.csc_array, aslinearoperator])
def test_sparse_matrices_and_operators(wrap):
    X, Y = data()
    X = X * (np.random.default_rng(3).uniform(size=X.shape) < 0.5)
    est = tr.SparseReducedRankRegressor(always_keep=KEPT)
    dense, other = clone(est).fit(X, Y), clone(est).fit(wrap(X), Y)
    assert other.row_support_.tolist() == dense.row_support_.tolist()
    np.testing.assert_allclose(other.coef_, dense.coef_, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(other.predict(wrap(X)), dense.predict(X), atol=1e-8)


def test_every_library(library, dtype):
    X, Y = data(noise=0.5)
    reference = tr.SparseReducedRankRegressor(2, 3, 4, ridge=0.1, always_keep=KEPT).fit(X, Y)
    est = tr.SparseReducedRankRegressor(2, 3, 4, ridge=0.1, always_keep=KEPT)
    new_X = library.array(X, dtype)
    est.fit(new_X, library.array(Y, dtype))
    tol = 1e-3 if dtype == "float32" else 1e-8
    predicted = est.predict(new_X)
    library.check(est.coef_, est.kept_coef_, est.intercept_, predicted, dtype=dtype)
    scale = np.abs(Y).max()
    np.testing.assert_allclose(
        library.numpy(predicted), reference.predict(X), rtol=tol, atol=tol * scale
    )
    assert est.row_support_.tolist() == reference.row_support_.tolist()


@pytest.mark.parametrize("kind", ["float32", "torch"])
def test_automatic_sizes(kind):
    X, Y = data(n=200, p=30, noise=0.5)
    convert = np.float32
    if kind == "torch":
        convert = pytest.importorskip("torch").asarray
    est = tr.SparseReducedRankRegressor(always_keep=KEPT).fit(convert(X), convert(Y))
    assert est.row_support_.tolist() == [0, 4, 9]


# --------------------------------------------------------------------------- invariance


@pytest.mark.parametrize(
    "Estimator", [tr.SparseReducedRankRegressor, tr.SparseReducedRankRegressorCV]
)
def test_units_do_not_matter(Estimator):
    X, Y = data(n=200, p=30, noise=0.5)
    scale = 10.0 ** np.random.default_rng(2).integers(-4, 5, 30)
    moved = X * scale + np.random.default_rng(3).standard_normal(30) * scale
    one = Estimator(always_keep=KEPT).fit(X, Y)
    two = Estimator(always_keep=KEPT).fit(moved, Y)
    np.testing.assert_allclose(two.predict(moved), one.predict(X), atol=1e-8)
    np.testing.assert_allclose(two.kept_coef_ * scale[KEPT], one.kept_coef_, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("nothing", [[], np.zeros(P, dtype=bool), ()])
@pytest.mark.parametrize(
    "Estimator", [tr.SparseReducedRankRegressor, tr.SparseReducedRankRegressorCV]
)
def test_nothing_kept(Estimator, nothing):
    X, Y = data()
    one, two = Estimator().fit(X, Y), Estimator(always_keep=nothing).fit(X, Y)
    np.testing.assert_array_equal(one.coef_, two.coef_)
    np.testing.assert_array_equal(one.predict(X), two.predict(X))
    assert two.kept_.tolist() == []
    assert two.kept_coef_.shape == (K, 0)
    assert [r.sizes for r in one.search_] == [r.sizes for r in two.search_]


@pytest.mark.parametrize("standardize", [True, False])
def test_predictors_that_the_kept_ones_explain_are_left_out(standardize):
    X, Y = data(n=200, p=30, noise=0.5)
    more = np.c_[X, X[:, KEPT], X[:, KEPT] @ [1e-3, 2.0, 1.0] + 7, np.full(200, 3.0)]
    est = tr.SparseReducedRankRegressor(always_keep=KEPT, standardize=standardize)
    one, two = clone(est).fit(X, Y), clone(est).fit(more, Y)
    assert two.row_support_.tolist() == one.row_support_.tolist()
    np.testing.assert_allclose(two.coef_[:, :30], one.coef_, rtol=1e-7, atol=1e-9)


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


def test_more_predictors_than_samples():
    X, Y = data(n=60, p=300, noise=0.3)
    est = tr.SparseReducedRankRegressor(always_keep=KEPT).fit(X, Y)
    assert est.row_support_.tolist() == [0, 4, 9]


@pytest.mark.parametrize("start", ["spectral", "forward", "lasso"])
@pytest.mark.parametrize("solver", ["pursuit", "gdt"])
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
        ([P], f"indices from 0 to {P - 1}, got {P}"),
        ([-1], f"indices from 0 to {P - 1}, got -1"),
        ([0.5], "names or indices of predictors, got 0.5"),
        ([1, True], "names or indices of predictors, got True"),
        ([1, 2, 1], "every predictor once, got 1 repeatedly"),
        (range(P), "must leave predictors to choose from"),
        ([True] * 3, f"a mask of 3 entries, but X has {P} columns"),
    ],
)
@pytest.mark.parametrize(
    "Estimator", [tr.SparseReducedRankRegressor, tr.SparseReducedRankRegressorCV]
)
def test_what_is_refused(Estimator, always_keep, message):
    X, Y = data()
    with pytest.raises(ValueError, match=message):
        Estimator(always_keep=always_keep).fit(X, Y)


def test_unknown_and_repeated_names():
    X, Y = data()
    frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(P)])
    with pytest.raises(ValueError, match=r"name 'age', but X has 'x0', 'x1', .*, \.\.\.$"):
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


def test_clone_pickle_and_another_fit():
    X, Y = data()
    est = tr.SparseReducedRankRegressor(2, 3, 4, always_keep=KEPT).fit(X, Y)
    loaded = pickle.loads(pickle.dumps(est))
    np.testing.assert_array_equal(loaded.predict(X), est.predict(X))
    assert clone(est).always_keep == KEPT
    est.set_params(always_keep=None).fit(X, Y)
    fresh = tr.SparseReducedRankRegressor(2, 3, 4).fit(X, Y)
    np.testing.assert_array_equal(est.predict(X), fresh.predict(X))


def test_no_warnings_in_single_precision():
    X, Y = data()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        est = tr.SparseReducedRankRegressor(**NO_LIMITS, ridge=0.0, always_keep=KEPT)
        est.fit(X.astype(np.float32), Y.astype(np.float32))
    expected = with_ones(X, True) @ least_squares(with_ones(X, True), Y)
    np.testing.assert_allclose(est.predict(X.astype(np.float32)), expected, rtol=1e-3, atol=1e-2)
