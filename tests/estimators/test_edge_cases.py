"""Awkward data give sensible results; bad input gets a message that names it."""

import numpy as np
import pytest
from scipy.sparse.linalg import aslinearoperator

import thinrank as tr
from thinrank.core.result import Outcome
from thinrank.designs import Dense


def fit(X, Y, rank=1, rows=None, columns=None, **options):
    return tr.SparseReducedRankRegressor(rank, rows, columns, **options).fit(X, Y)


def data(n, p, k, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    theta = np.zeros((p, k))
    theta[: min(p, 3)] = rng.standard_normal((min(p, 3), k))
    return X, X @ theta + 0.1 * rng.standard_normal((n, k))


@pytest.mark.parametrize(
    ("n", "p", "k", "rank", "rows", "columns"),
    [
        (10, 40, 5, 2, 3, 5),  # n < p
        (30, 4, 25, 2, 3, 10),  # p < k
        (30, 8, 1, 1, 3, 1),  # k = 1
        (30, 8, 6, 2, 8, 6),  # no limits
        (30, 1, 1, 1, 1, 1),
        (2, 3, 3, 1, 1, 1),
        (8, 20, 20, 8, 20, 20),  # s1 > n, r = n
    ],
)
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_shapes(n, p, k, rank, rows, columns, intercept):
    X, Y = data(n, p, k)
    est = fit(X, Y, rank, rows, columns, fit_intercept=intercept, max_iter=2000)
    assert np.isfinite(est.coef_).all()
    assert est.rank_ <= rank
    assert len(est.row_support_) <= rows
    assert len(est.column_support_) <= columns
    null = np.mean((Y - (Y.mean(0) if intercept else 0)) ** 2)
    assert np.mean((Y - est.predict(X)) ** 2) <= null


@pytest.mark.parametrize("constant", [0.0, 5.0])
def test_nothing_to_fit_is_rank_zero(constant):
    X, _ = data(20, 6, 4)
    est = fit(X, np.full((20, 4), constant))
    assert est.rank_ == 0
    assert est.factors_.U.shape == (6, 0)
    assert est.row_support_.size == est.column_support_.size == 0
    assert est.status_.outcome is Outcome.ZERO
    assert est.n_iter_ == 0
    np.testing.assert_allclose(est.predict(X), constant)
    assert est.transform(X).shape == (20, 0)


GOOD = {"rank": 2, "row_sparsity": 3, "column_sparsity": 4}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"rank": 4}, r"rank must be an integer from 1 to 3 .*got 4"),
        ({"rank": 0}, r"rank .*from 1 to 3.*got 0"),
        ({"rank": -1}, r"rank .*got -1"),
        ({"rank": 2.0}, r"rank must be an integer .*got 2.0"),
        ({"rank": True}, r"rank must be an integer .*got True"),
        ({"rank": None}, r"rank must be an integer .*got None"),
        ({"rank": "many"}, r"rank must be an integer .*got 'many'"),
        ({"row_sparsity": 9}, r"row_sparsity .*from 1 to 8 .*got 9"),
        ({"row_sparsity": 2.5}, r"row_sparsity .*got 2.5"),
        ({"column_sparsity": 7}, r"column_sparsity .*from 1 to 6 .*got 7"),
        ({"column_sparsity": -3}, r"column_sparsity .*got -3"),
        ({"rank": "auto", "row_sparsity": 9}, r"row_sparsity .*from 1 to 8 .*got 9"),
        ({"row_sparsity": "auto", "rank": 5}, r"rank must be an integer from 1 to 4 .*got 5"),
        ({"ridge": -1.0}, r"ridge must be .*got -1.0"),
        ({"ridge": float("inf")}, r"ridge must be .*got inf"),
        ({"ridge": float("nan")}, r"ridge must be .*got nan"),
        ({"start": np.zeros((6, 8))}, r"start must have shape \(8, 6\).*\(6, 8\)"),
        ({"start": tr.Factors(np.ones((6, 1)), np.ones((8, 1)))}, r"start must have shape"),
        ({"start": np.full((8, 6), np.nan)}, r"start must be finite"),
    ],
)
def test_bad_parameters(change, message):
    X, Y = data(20, 8, 6)
    with pytest.raises(ValueError, match=message):
        tr.SparseReducedRankRegressor(**(GOOD | change)).fit(X, Y)


@pytest.mark.parametrize("wrap", [aslinearoperator, Dense])
def test_not_finite_in_operators_and_designs(wrap):
    X, Y = data(20, 8, 6)
    X[3, 2] = np.nan
    with pytest.raises(ValueError, match="X must be finite"):
        tr.SparseReducedRankRegressor(**GOOD).fit(wrap(X), Y)
    with pytest.raises(ValueError, match="X must be finite"):
        tr.losses.LeastSquares(X, Y)


def test_shapes_that_do_not_match():
    X, Y = data(20, 8, 6)
    with pytest.raises(ValueError, match="X has 20, Y has 19"):
        tr.SparseReducedRankRegressor(**GOOD).fit(X, Y[:-1])
    est = tr.SparseReducedRankRegressor(**GOOD).fit(X, Y)
    with pytest.raises(ValueError, match="X has 7 features"):
        est.predict(X[:, :7])


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        (np.zeros(20), "all are zero"),
        (-np.ones(20), "Negative values"),
        (np.ones(5), "sample_weight.shape"),
    ],
)
def test_bad_weights(weight, message):
    X, Y = data(20, 8, 6)
    with pytest.raises(ValueError, match=message):
        tr.SparseReducedRankRegressor(**GOOD).fit(X, Y, sample_weight=weight)
