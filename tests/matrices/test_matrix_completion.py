import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError

import thinrank as tr
from thinrank.core.warnings import SelectionWarning

GIVEN = {"rank": 1, "row_sparsity": 8, "column_sparsity": 6, "ridge": 0.1}


def block(seed=0, noise=0.1, missing=0.3, shape=(25, 20)):
    """A rank-one block of 8 rows and 6 columns with missing cells, and the truth."""
    rng = np.random.default_rng(seed)
    theta = np.zeros(shape)
    theta[3:11, 2:8] = np.outer(rng.uniform(1, 2, size=8), rng.uniform(1, 2, size=6))
    X = theta + noise * rng.standard_normal(shape)
    X[rng.random(shape) < missing] = np.nan
    return X, theta


def as_stored(X):
    """The observed cells as stored entries."""
    rows, columns = np.nonzero(~np.isnan(X))
    return sparse.coo_array((X[rows, columns], (rows, columns)), shape=X.shape)


def test_nothing_missing_is_the_sparse_svd():
    X, _ = block(missing=0.0, noise=0.5)
    est = tr.SparseMatrixCompletion(2, 9, 7).fit(X)
    expected = tr.SparseSVD(2, 9, 7).fit(X)
    assert est.ridge_ == 0
    np.testing.assert_allclose(est.factors_.theta, expected.factors_.theta, atol=1e-6)


def test_automatic_sizes():
    X, theta = block()
    est = tr.SparseMatrixCompletion()
    filled = est.fit_transform(X)
    assert est.rank_ == 1
    np.testing.assert_array_equal(est.row_support_, np.arange(3, 11))
    np.testing.assert_array_equal(est.column_support_, np.arange(2, 8))
    missing = np.isnan(X)
    np.testing.assert_array_equal(filled[~missing], X[~missing])
    assert np.linalg.norm((filled - theta)[missing]) < 0.1 * np.linalg.norm(theta[missing])
    assert set(est.search_["rank"]) >= {0, 1, 2}
    chosen = {name: values[-1] for name, values in est.search_.items()}
    assert {name: chosen[name] for name in est.best_params_} == est.best_params_
    assert np.max(est.components_) == np.max(np.abs(est.components_))


def test_pure_noise_has_rank_zero():
    X, _ = block()
    noise = np.where(np.isnan(X), np.nan, np.random.default_rng(1).standard_normal(X.shape) + 5)
    with pytest.warns(SelectionWarning, match="filled in with column means"):
        est = tr.SparseMatrixCompletion(center="columns").fit(noise)
    assert est.rank_ == 0
    assert est.score(noise) == 0
    assert "column means" in est.warnings_[0]
    filled = est.transform(noise)
    np.testing.assert_allclose(filled[np.isnan(X)[:, 0], 0], np.nanmean(noise[:, 0]))


@pytest.mark.parametrize("center", [None, "columns", "rows", "both"])
def test_transform_of_the_rows_of_fit_is_fit_transform(center):
    X, _ = block()
    X = X + 3 + np.arange(20)
    est = tr.SparseMatrixCompletion(**GIVEN, center=center)
    filled = est.fit_transform(X)
    np.testing.assert_allclose(est.transform(X), filled, atol=1e-6)
    i, j = np.nonzero(np.isnan(X))
    np.testing.assert_allclose(est.predict_cells(i, j), filled[i, j], atol=1e-12)


def test_new_rows_are_filled_in_from_their_observed_cells():
    X, theta = block(noise=0.02)
    est = tr.SparseMatrixCompletion(**GIVEN).fit(X)
    new = np.full((3, 20), np.nan)
    new[0, 2:5] = 2 * theta[5, 2:5]
    new[1, 8:] = 0.0  # nothing observed where the components are
    filled = est.transform(new)
    np.testing.assert_allclose(filled[0, 5:8], 2 * theta[5, 5:8], rtol=0.1)
    np.testing.assert_array_equal(filled[1:], 0.0)


def test_units_and_centre_of_a_table():
    X, _ = block()
    est = tr.SparseMatrixCompletion(**GIVEN, center="both").fit(X)
    scaled = tr.SparseMatrixCompletion(**(GIVEN | {"ridge": 10.0}), center="both").fit(100 * X + 7)
    np.testing.assert_allclose(scaled.factors_.theta, 100 * est.factors_.theta, atol=1e-4)


@pytest.mark.parametrize("form", [sparse.csr_array, sparse.coo_array])
def test_stored_entries_of_a_sparse_matrix_are_observed(form):
    X, _ = block()
    X[0, np.flatnonzero(~np.isnan(X[0]))[0]] = 0.0  # a zero that is observed
    est, other = tr.SparseMatrixCompletion(**GIVEN), tr.SparseMatrixCompletion(**GIVEN)
    filled = other.fit_transform(form(as_stored(X)))
    np.testing.assert_allclose(filled, est.fit_transform(X), atol=1e-6)
    assert other.score(form(as_stored(X))) == pytest.approx(est.score(X))
    assert 0.9 < est.score(X) < 1


def test_large_sparse_matrices_are_never_dense(monkeypatch):
    monkeypatch.setenv("THINRANK_MEMORY_GIB", "0.001")
    rng = np.random.default_rng(0)
    rows, columns = rng.integers(50_000, size=3000), rng.integers(40_000, size=3000)
    rows[:400], columns[:400] = np.divmod(rng.permutation(900)[:400], 30)
    values = 0.1 * rng.standard_normal(3000)
    left, right = rng.uniform(1, 2, size=30), rng.uniform(1, 2, size=30)
    values[:400] += left[rows[:400]] * right[columns[:400]]
    X = sparse.coo_array((values, (rows, columns)), shape=(50_000, 40_000))
    est = tr.SparseMatrixCompletion(1, 30, 30, ridge=0.1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # most rows and columns are empty
        est.fit(X)
    i, j = np.divmod(np.arange(900), 30)
    assert np.max(np.abs(est.predict_cells(i, j) - left[i] * right[j])) < 0.5
    with pytest.raises(MemoryError, match="predict_cells"):
        est.transform(X)


def test_tensors(torch):
    X, _ = block()
    est = tr.SparseMatrixCompletion(**GIVEN)
    filled = est.fit_transform(torch.asarray(X))
    assert isinstance(filled, torch.Tensor)
    np.testing.assert_allclose(filled.numpy(), est.fit_transform(X))


def test_empty_rows_and_columns_are_named():
    X, _ = block()
    X[[1, 4]] = np.nan
    X[:, 7] = np.nan
    with pytest.warns(UserWarning, match="no observed cell") as caught:
        est = tr.SparseMatrixCompletion(**GIVEN).fit(X)
    texts = [str(warning.message) for warning in caught]
    assert texts == est.warnings_
    assert "2 of 25 rows of X have no observed cell and are filled in with zeros: 1, 4" in texts
    assert "1 of 20 columns of X have no observed cell and are filled in with zeros: 7" in texts
    np.testing.assert_array_equal(est.predict_cells([1, 4], [3, 3]), 0.0)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"rank": 0}, "rank must be an integer from 1 to 20"),
        ({"rank": 4, "row_sparsity": 3}, "rank must be an integer from 1 to 3"),
        ({"row_sparsity": 26}, "row_sparsity must be an integer from 1 to 25"),
        ({"column_sparsity": 2.5}, "column_sparsity must be an integer"),
        ({"ridge": -1.0}, "ridge must be a non-negative number"),
        ({"center": "mean"}, "center must be one of None, .columns."),
        ({"cv": 1}, "cv must be an integer from 2 to"),
        ({"cv": 10_000}, "cv must be an integer from 2 to .*or give rank"),
    ],
)
def test_wrong_parameters(parameters, message):
    with pytest.raises(ValueError, match=message):
        tr.SparseMatrixCompletion(**parameters).fit(block()[0])


def test_wrong_data():
    est = tr.SparseMatrixCompletion(**GIVEN)
    with pytest.raises(NotFittedError):
        est.predict_cells([0], [0])
    with pytest.raises(ValueError, match="all its cells are missing"):
        est.fit(np.full((25, 20), np.nan))
    with pytest.raises(ValueError, match="infinity"):
        est.fit(np.full((25, 20), np.inf))
    est.fit(block()[0])
    with pytest.raises(ValueError, match="columns must be from 0 to 19, got values from 20 to 20"):
        est.predict_cells([0], [20])
    with pytest.raises(ValueError, match="rows must be integers"):
        est.predict_cells([0.5], [0])
