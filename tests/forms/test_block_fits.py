"""Fits to row blocks, which are read a few times and never held, against fits in memory."""

import numpy as np
import pytest
from sklearn.model_selection import KFold

import thinrank as tr
from thinrank.designs import Blocks

N, P, K = 2500, 9, 4  # data with fewer rows are read into memory
ROWS = np.arange(N)


@pytest.fixture(autouse=True)
def little_memory(monkeypatch):
    """Data of a megabyte are large, too."""
    monkeypatch.setenv("THINRANK_MEMORY_GIB", "0.01")


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(3)
    X = rng.standard_normal((N, P)) * np.linspace(0.5, 4, P) + np.linspace(-2, 3, P)
    Y = X[:, :3] @ rng.standard_normal((3, 2)) @ rng.standard_normal((2, K))
    Y += rng.standard_normal((N, K)) + 4
    X[:, 6] = 2.5  # constant
    return X, Y, np.where(ROWS % 7 == 0, 0.0, rng.uniform(0.5, 2, N))


def blocks_of(X):
    return Blocks([X[:700], X[700:]], block_rows=400)


@pytest.mark.parametrize("weighted", [True, False])
def test_a_grid_with_given_splits(data, weighted):
    """Some rows are never held out, and some are on neither side."""
    X, Y, weight = data
    weight = weight if weighted else None
    splits = [(ROWS[900:], ROWS[:900]), (ROWS[:1500], ROWS[1400:2000])]
    grid = {"ranks": [1, 2], "row_sparsities": [3, 5], "column_sparsities": [3, None]}
    est = tr.SparseReducedRankRegressorCV(**grid, ridges=[0.0, 0.1], cv=splits)
    scores = [record.split_scores for record in est.fit(X, Y, weight).search_]
    found = est.fit(blocks_of(X), Y, weight).search_
    np.testing.assert_allclose([record.split_scores for record in found], scores, rtol=1e-6)


@pytest.mark.parametrize("criterion", [pytest.param("cv", marks=pytest.mark.slow), "pic"])
def test_searched_sizes_with_many_predictors(criterion, monkeypatch):
    """So many that only some of their inner products are computed."""
    monkeypatch.setenv("THINRANK_MEMORY_GIB", "0.03")
    rng = np.random.default_rng(5)
    X = rng.standard_normal((N, 300)) + 1
    theta = np.zeros((300, K))
    theta[:4] = rng.standard_normal((4, 2)) @ rng.standard_normal((2, K))
    Y = X @ theta + rng.standard_normal((N, K))
    est = tr.SparseReducedRankRegressor(column_sparsity=None, criterion=criterion, cv=KFold(3))
    est.fit(blocks_of(X), Y)
    assert est.rank_ == 2
    assert est.row_support_.tolist() == [0, 1, 2, 3]
    exact = np.linalg.norm(est.coef_.T - theta) / np.linalg.norm(theta)
    assert exact < 0.1
    assert est.n_passes_ <= 10


def test_splits_without_rows_are_refused(data):
    X, Y, _ = data
    weight = np.where(ROWS < 800, 0.0, 1.0)
    first, last = ROWS[:800], ROWS[800:]
    for train, test, words in ((first, last, "training"), (last, first, "held")):
        est = tr.SparseReducedRankRegressorCV(ranks=[1], row_sparsities=[2], cv=[(train, test)])
        with pytest.raises(ValueError, match=f"no {words}.*positive weight"):
            est.fit(blocks_of(X), Y, weight)


def test_predictors_that_are_constant_up_to_rounding_errors_are_not_used(data):
    X, Y, _ = data
    X = X.copy()
    X[:, 4] = 1e8 + 5e-7 * np.random.default_rng(0).standard_normal(N)
    est = tr.SparseReducedRankRegressor(1, None, None, ridge=0.1).fit(blocks_of(X), Y)
    assert not {4, 6} & set(est.row_support_.tolist())


@pytest.mark.filterwarnings("ignore:overflow encountered:RuntimeWarning")
def test_overflow_of_finite_predictors_is_named(data):
    X, Y, _ = data
    X = X.copy()
    X[3, 1] = 1e200
    with pytest.raises(ValueError, match="so must be the sums of squares of its columns"):
        tr.SparseReducedRankRegressor(1, 2, None).fit(blocks_of(X), Y)
