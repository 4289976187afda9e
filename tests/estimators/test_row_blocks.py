"""Fits to row blocks against fits to the same data in memory."""

import warnings

import numpy as np
import pytest
from sklearn.model_selection import KFold, ShuffleSplit

import thinrank as tr
from thinrank.designs import Blocks

N, P, K = 2100, 30, 6  # with at most 2000 rows blocks are read into memory
ROWS = np.arange(N)
SIZES = {"rank": 2, "row_sparsity": 6, "column_sparsity": 4}


@pytest.fixture
def in_blocks(monkeypatch):
    """A memory budget with which the data below are too large to be read at once."""
    monkeypatch.setenv("THINRANK_MEMORY_GIB", "0.02")


def simulated(p=P):
    X, Y, _ = tr.datasets.make_two_way_sparse(
        N, p, K, rank=2, row_sparsity=6, column_sparsity=4, correlation=0.4, random_state=30003
    )
    X, Y = X + 0.1 * np.arange(p), Y * np.linspace(1, 3, K) + 5
    X[:, 7] = 3.0  # constant
    return X, Y


@pytest.fixture(scope="module")
def data():
    return simulated()


def as_blocks(X):
    return Blocks([X[:100], X[100:105], X[105:]], block_rows=700)


def assert_same(one, other, tol=1e-8):
    assert other.n_passes_ >= 1
    np.testing.assert_array_equal(one.row_support_, other.row_support_)
    np.testing.assert_array_equal(one.column_support_, other.column_support_)
    scale = np.abs(one.coef_).max()
    np.testing.assert_allclose(one.coef_, other.coef_, rtol=0, atol=tol * scale)
    for name, value in one.best_params_.items():
        found = other.best_params_[name]
        assert found is value if value is None else found == pytest.approx(value, rel=tol)
    for name in ("intercept_", "factor_means_", "factor_scale_", "r2_", "target_scale_"):
        np.testing.assert_allclose(
            getattr(one, name), getattr(other, name), rtol=100 * tol, atol=100 * tol
        )
    np.testing.assert_allclose(one.factors_.V, other.factors_.V, rtol=1e3 * tol, atol=1e3 * tol)
    if one.held_out_r2_ is not None:
        shares = (np.nan_to_num(est.held_out_r2_) for est in (one, other))
        np.testing.assert_allclose(*shares, atol=100 * tol)
    used = one.row_support_
    np.testing.assert_allclose(one.feature_scale_[used], other.feature_scale_[used], rtol=10 * tol)


PARAMETERS = [
    {**SIZES, "fit_intercept": False},
    {**SIZES, "solver": tr.solvers.GDT(tol=1e-12)},
    {**SIZES, "start": "spectral", "row_sparsity": None},
    {},
    {"standardize": False, "n_jobs": 2},
    {"cv": ShuffleSplit(3, random_state=0), "refit_rule": "thinnest"},
    {"criterion": "pic", "ridge": 0.1},
]


@pytest.mark.parametrize("parameters", PARAMETERS, ids=str)
def test_the_fit_is_that_of_the_data_in_memory(in_blocks, data, parameters):
    X, Y = data
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        one = tr.SparseReducedRankRegressor(**parameters).fit(X, Y)
        other = tr.SparseReducedRankRegressor(**parameters).fit(as_blocks(X), as_blocks(Y))
    assert_same(one, other)


SEARCHED = {"column_sparsity": None, "cv": KFold(3)}


@pytest.mark.parametrize(
    "parameters",
    [
        SIZES,
        {**SEARCHED, "criterion": "pic"},
        pytest.param({**SEARCHED, "criterion": "cv"}, marks=pytest.mark.slow),
    ],
    ids=str,
)
def test_inner_products_of_predictors_in_use_only(monkeypatch, parameters):
    """With many predictors XᵀX is computed for some of them, in more passes through the data."""
    monkeypatch.setenv("THINRANK_MEMORY_GIB", "0.004")
    X, Y = simulated(300)
    one = tr.SparseReducedRankRegressor(**parameters).fit(X, Y)
    other = tr.SparseReducedRankRegressor(**parameters).fit(as_blocks(X), Y)
    assert_same(one, other)
    assert 1 < other.n_passes_ <= 12


@pytest.mark.parametrize("weighted", [True, False])
def test_a_grid_with_given_splits(in_blocks, data, weighted):
    """Some rows are never held out, and some are on neither side."""
    X, Y = data
    weight = np.where(ROWS % 7 == 0, 0.0, np.linspace(0.5, 2, N)) if weighted else None
    splits = [(ROWS[900:], ROWS[:900]), (ROWS[:1500], ROWS[1400:2000])]
    grid = {"ranks": [1, 2], "row_sparsities": [6, 9], "column_sparsities": [4, None]}
    est = tr.SparseReducedRankRegressorCV(**grid, ridges=[0.0, 0.1], cv=splits)
    scores = [record.split_scores for record in est.fit(X, Y, weight).search_]
    found = est.fit(as_blocks(X), Y, weight).search_
    np.testing.assert_allclose([record.split_scores for record in found], scores, rtol=1e-6)


def test_splits_without_rows_are_refused(in_blocks, data):
    X, Y = data
    weight = np.where(ROWS < 800, 0.0, 1.0)
    first, last = ROWS[:800], ROWS[800:]
    for train, test, words in ((first, last, "training"), (last, first, "held")):
        est = tr.SparseReducedRankRegressorCV(ranks=[1], row_sparsities=[2], cv=[(train, test)])
        with pytest.raises(ValueError, match=f"no {words}.*positive weight"):
            est.fit(as_blocks(X), Y, weight)


@pytest.mark.filterwarnings("ignore:overflow encountered:RuntimeWarning")
def test_predictors_that_are_constant_up_to_rounding_errors_or_overflow(in_blocks, data):
    X, Y = data[0].copy(), data[1]
    X[:, 4] = 1e8 + 5e-7 * np.random.default_rng(0).standard_normal(N)
    est = tr.SparseReducedRankRegressor(1, None, None, ridge=0.1).fit(as_blocks(X), Y)
    assert not {4, 7} & set(est.row_support_.tolist())
    X[3, 1] = 1e200
    with pytest.raises(ValueError, match="so must be the sums of squares of its columns"):
        tr.SparseReducedRankRegressor(1, 2, None).fit(as_blocks(X), Y)


def test_weights_and_single_precision(in_blocks, data):
    X, Y = data
    parameters = {"rank": 2, "row_sparsity": "auto", "column_sparsity": 4, "cv": 3}
    weight = np.random.default_rng(30004).integers(0, 3, N).astype(float)
    one = tr.SparseReducedRankRegressor(**parameters).fit(X, Y, weight)
    assert_same(one, tr.SparseReducedRankRegressor(**parameters).fit(as_blocks(X), Y, weight))
    X, Y = X.astype(np.float32), Y.astype(np.float32)
    one = tr.SparseReducedRankRegressor(**parameters).fit(X, Y)
    other = tr.SparseReducedRankRegressor(**parameters).fit(as_blocks(X), Y)
    assert other.coef_.dtype == np.float32
    assert_same(one, other, tol=1e-4)


def test_other_losses_read_the_blocks_at_every_product(in_blocks, data):
    X, Y = data
    holes = Y.copy()
    holes[5, 1] = np.nan
    for parameters, target in (({"always_keep": [3]}, Y), ({}, holes)):
        est = tr.SparseReducedRankRegressor(**SIZES, **parameters)
        one = est.fit(X, target).coef_
        np.testing.assert_allclose(est.fit(as_blocks(X), target).coef_, one, atol=1e-6)


def test_small_data_are_read_into_memory(data):
    X, Y = data
    est = tr.SparseReducedRankRegressor(**SIZES).fit(as_blocks(X), as_blocks(Y))
    assert est.n_passes_ == 1
    expected = tr.SparseReducedRankRegressor(**SIZES).fit(X, Y)
    np.testing.assert_allclose(est.coef_, expected.coef_, atol=1e-8)
    assert not hasattr(expected, "n_passes_")


def test_names_of_parquet_files(in_blocks, data, tmp_path):
    pd = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    X, Y = data
    frames = {"x": X, "y": Y}
    for name, values in frames.items():
        columns = [f"{name}_{j}" for j in range(values.shape[1])]
        pd.DataFrame(values, columns=columns).to_parquet(tmp_path / f"{name}.parquet")
    blocks, responses = Blocks(tmp_path / "x.parquet"), Blocks(tmp_path / "y.parquet")
    est = tr.SparseReducedRankRegressor(**SIZES).fit(blocks, responses)
    assert est.feature_names_in_[3] == "x_3"
    assert est.target_names_in_[1] == "y_1"
    renamed = pd.DataFrame(X, columns=[f"y_{j}" for j in range(P)])
    renamed.to_parquet(tmp_path / "renamed.parquet")
    other = Blocks(tmp_path / "renamed.parquet")
    with pytest.raises(ValueError, match="predictor 0 is 'y_0' instead of 'x_0'"):
        est.predict(other)


def test_errors_name_the_row_and_the_block(in_blocks, data):
    X, Y = data
    est = tr.SparseReducedRankRegressor(**SIZES)
    with pytest.raises(ValueError, match="same number of rows: X has 2100, Y has 2099"):
        est.fit(as_blocks(X), as_blocks(Y[1:]))
    holes = X.copy()
    holes[200, 3] = np.nan
    with pytest.raises(ValueError, match=r"row 200 \(block 2\), column 3; 1 rows have such cells"):
        est.fit(as_blocks(holes), Y)
    holes = Y.copy()
    holes[20, 3] = np.nan
    with pytest.raises(ValueError, match="Y has entries that are not finite, the first in row 20"):
        est.fit(as_blocks(X), as_blocks(holes))
    assert not hasattr(est, "factors_")


def test_a_product_that_does_not_fit_into_memory(in_blocks, data, monkeypatch):
    X, Y = data
    monkeypatch.setenv("THINRANK_MEMORY_GIB", "1e-6")
    with pytest.raises(MemoryError, match=r"XᵀY of row blocks would hold a dense \d+×\d+ matrix"):
        tr.SparseReducedRankRegressor(**SIZES).fit(as_blocks(X), Y)
