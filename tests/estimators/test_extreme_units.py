"""Columns in very different units, and units in which squares overflow or underflow."""

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from scipy.sparse.linalg import aslinearoperator

import thinrank as tr

pytestmark = pytest.mark.filterwarnings("ignore::thinrank.core.warnings.SelectionWarning")

GIVEN = {"rank": 2, "row_sparsity": 4, "column_sparsity": 4}


@pytest.fixture(scope="module")
def data():
    X, Y, _ = tr.datasets.make_two_way_sparse(30, 12, 6, 2, 4, 4, random_state=30000)
    return X, Y


@pytest.mark.parametrize("kind", ["dense", "sparse", "missing", "float32"])
def test_columns_in_units_of_their_own(data, kind):
    of_x, of_y = np.linspace(-60, 60, 12).astype(int), np.linspace(40, -40, 6).astype(int)
    X, Y = np.ldexp(data[0], of_x), np.ldexp(data[1], of_y)
    own, moved, target, moved_target = data[0], X, data[1], Y
    if kind == "sparse":
        own, moved = csr_matrix(own), csr_matrix(moved)
    if kind == "float32":
        own, moved = own.astype(np.float32), moved.astype(np.float32)
    if kind == "missing":
        hole = np.arange(30)[:, None] == np.arange(6)
        target, moved_target = np.where(hole, np.nan, target), np.where(hole, np.nan, Y)
    make = tr.SparseReducedRankRegressor
    reference, found = make(**GIVEN).fit(own, target), make(**GIVEN).fit(moved, moved_target)
    assert found.rank_ == reference.rank_ > 0
    np.testing.assert_array_equal(found.row_support_, reference.row_support_)
    factor, rtol = 2.0 ** (of_y[:, None] - of_x), 1e-3 if kind == "float32" else 1e-5
    np.testing.assert_allclose(found.coef_, reference.coef_ * factor, rtol=rtol, atol=0)
    np.testing.assert_allclose(np.ldexp(found.intercept_, -of_y), reference.intercept_, rtol=rtol)


@pytest.mark.parametrize(
    "estimator",
    [
        tr.SparseReducedRankRegressor(**GIVEN),
        tr.SparseReducedRankRegressor(**GIVEN, standardize=False),
        tr.baselines.ReducedRankRegression(rank=2),
        tr.SparseReducedRankGLM(**GIVEN, family="gaussian"),
    ],
)
@pytest.mark.parametrize(("factor", "words"), [(1e300, "too large"), (1e-300, "so small")])
def test_squares_that_overflow_are_an_error(data, estimator, factor, words):
    X, Y = data
    with pytest.raises(ValueError, match=f"Y has entries of magnitude .*{words}.*divide them"):
        estimator.fit(X, Y * factor)


def test_without_standardisation_a_tiny_column_is_allowed(data):
    X, Y = data[0].copy(), data[1]
    X[:, 0] *= 1e-250
    found = tr.SparseReducedRankRegressor(**GIVEN, standardize=False).fit(X, Y)
    assert 0 not in found.row_support_
    with pytest.raises(ValueError, match=r"X has entries of magnitude .*so small"):
        tr.SparseReducedRankRegressor(**GIVEN).fit(X, Y)  # not left out without a word


@pytest.mark.parametrize(
    ("unit", "words", "standardize"),
    [(1e-300, "so small", True), (1e-170, "so small", False), (1e170, "too large", True)],
)
def test_operators_in_extreme_units_are_refused(unit, words, standardize):
    X, Y, _ = tr.datasets.make_two_way_sparse(20, 5, 3, 1, 2, 2, random_state=0)
    est = tr.SparseReducedRankRegressor(1, 2, 2, standardize=standardize)
    with pytest.raises(ValueError, match=f"X is an operator with products.*{words}"):
        est.fit(aslinearoperator(X * unit), Y)
    assert est.fit(aslinearoperator(X * 0.0), Y).rank_ == 0  # zero in any units
    assert est.fit(aslinearoperator(X * 1e100), Y).rank_ == 1


@pytest.mark.parametrize(
    "make", [tr.SparseMatrixCompletion, tr.SparseLowRankGraph, tr.SparseSVD, tr.SparsePCA]
)
def test_matrices_whose_squares_overflow_are_refused(make):
    S = np.abs(np.add.outer(np.arange(6.0), np.arange(6.0)) - 4)
    S[1, 2] = S[2, 1] = 1e308
    with pytest.raises(ValueError, match=r"has entries of magnitude 1e\+308, too large"):
        make(1).fit(S)


@pytest.mark.parametrize(("of_x", "of_y"), [(1e5, 0.0), (0.0, 1e6)])
@pytest.mark.parametrize("est", [tr.SparseReducedRankRegressor, tr.SparseReducedRankGLM])
def test_means_hide_nothing_in_single_precision(est, of_x, of_y):
    rng = np.random.default_rng(0)
    X = (rng.standard_normal((60, 6)) + of_x).astype(np.float32)
    Y = (X - np.float32(of_x))[:, :2] @ rng.standard_normal((2, 3)) + of_y
    Y += 0.1 * rng.standard_normal(Y.shape)
    sizes = {"rank": 2, "row_sparsity": 2, "column_sparsity": 3}
    single, double = est(**sizes).fit(X, Y), est(**sizes).fit(X.astype(np.float64), Y)
    np.testing.assert_array_equal(single.row_support_, [0, 1])
    np.testing.assert_allclose(single.coef_, double.coef_, rtol=1e-3)
    assert single.score(X, Y) > 0.9


@pytest.mark.parametrize("unit", [1e-60, 1e60])
def test_responses_that_single_precision_cannot_hold(data, unit):
    X, Y = data
    est = tr.SparseReducedRankRegressor(**GIVEN)
    single, double = est.fit(X.astype(np.float32), unit * Y).predict(X), est.fit(X, Y).predict(X)
    np.testing.assert_allclose(single, unit * double, rtol=1e-3, atol=1e-3 * unit)


def test_a_spectral_start_whose_squares_underflow(data):
    X, Y = data
    est = tr.SparseReducedRankRegressor(**GIVEN, standardize=False, start="spectral")
    large, plain = est.fit(1e100 * X, Y).predict(1e100 * X), est.fit(X, Y).predict(X)
    np.testing.assert_allclose(large, plain, rtol=1e-6)


def test_deviations_of_scores_whose_squares_overflow(data):
    X, Y = data
    grid = {"ranks": [1, 2], "row_sparsities": [4], "column_sparsities": [4], "ridges": [0.0]}
    with np.errstate(over="raise"):
        est = tr.SparseReducedRankRegressorCV(**grid, standardize=False).fit(X, 1e100 * Y)
    assert np.isfinite(est.cv_results_["std_test_score"]).all()
