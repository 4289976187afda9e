"""Predictors that are always kept: kinds of X, invariances, messages."""

import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from kept_data import (
    KEPT,
    K,
    N,
    P,
    assert_consistent,
    data,
)
from scipy.sparse.linalg import aslinearoperator
from sklearn.base import clone

import thinrank as tr
from thinrank.core.warnings import SelectionWarning

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


@pytest.mark.parametrize("wrap", [sp.csr_array, aslinearoperator])
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


# --------------------------------------------------------------------------- invariance


def test_units_do_not_matter():
    Estimator = tr.SparseReducedRankRegressor
    X, Y = data(n=80, p=15, noise=0.5)
    scale = 10.0 ** np.random.default_rng(2).integers(-4, 5, 15)
    moved = X * scale + np.random.default_rng(3).standard_normal(15) * scale
    one = Estimator(always_keep=KEPT).fit(X, Y)
    two = Estimator(always_keep=KEPT).fit(moved, Y)
    np.testing.assert_allclose(two.predict(moved), one.predict(X), atol=1e-6)
    np.testing.assert_allclose(two.kept_coef_ * scale[KEPT], one.kept_coef_, rtol=1e-6, atol=1e-9)


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


@pytest.mark.parametrize(("solver", "start"), [("pursuit", "forward"), ("gdt", "lasso")])
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
def test_what_is_refused(always_keep, message):
    X, Y = data()
    with pytest.raises(ValueError, match=message):
        tr.SparseReducedRankRegressor(always_keep=always_keep).fit(X, Y)


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
    np.testing.assert_allclose(loaded.predict(X), est.predict(X))
    assert clone(est).always_keep == KEPT
    est.set_params(always_keep=None).fit(X, Y)
    fresh = tr.SparseReducedRankRegressor(2, 3, 4, always_keep=[]).fit(X, Y)
    np.testing.assert_allclose(est.predict(X), fresh.predict(X))
    assert fresh.kept_.tolist() == []
    assert fresh.kept_coef_.shape == (K, 0)
