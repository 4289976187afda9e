"""Masked, sparse, complex and lazy data: read as what they mean, or refused in words."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.sparse.linalg import aslinearoperator

import thinrank as tr

SIZES = {"rank": 1, "row_sparsity": 2, "column_sparsity": 2}


@pytest.fixture(scope="module")
def data():
    X, Y, _ = tr.datasets.make_two_way_sparse(20, 5, 3, 1, 2, 2, random_state=30001)
    return X, Y


@pytest.fixture
def estimator():
    return tr.SparseReducedRankRegressor(**SIZES)


@pytest.mark.parametrize("make", [tr.SparseReducedRankRegressor, tr.SparseReducedRankGLM])
def test_masked_responses_are_missing(data, make):
    X, Y = data
    mask = np.zeros(Y.shape, dtype=bool)
    mask[3, 0] = mask[7, 1] = True
    masked = np.ma.MaskedArray(np.where(mask, 1e6, Y), mask)
    found, missing = make(**SIZES).fit(X, masked), make(**SIZES).fit(X, np.where(mask, np.nan, Y))
    np.testing.assert_allclose(found.coef_, missing.coef_)
    assert found.score(X, masked) == pytest.approx(missing.score(X, np.where(mask, np.nan, Y)))


def test_masked_whole_numbers_and_a_mask_without_cells(data):
    X, Y = data
    counts = np.round(Y).astype(int)
    masked = np.ma.MaskedArray(counts, counts == counts.max())
    missing = np.where(masked.mask, np.nan, counts)
    make = tr.SparseReducedRankRegressor
    coef = make(**SIZES).fit(X, masked).coef_
    np.testing.assert_allclose(coef, make(**SIZES).fit(X, missing).coef_)
    plain = make(**SIZES).fit(np.ma.MaskedArray(X), np.ma.MaskedArray(Y)).coef_
    np.testing.assert_allclose(plain, make(**SIZES).fit(X, Y).coef_)


def test_masked_predictors_are_refused(data, estimator):
    X, Y = data
    masked = np.ma.MaskedArray(X, np.abs(X) > 1.5)
    with pytest.raises(ValueError, match=r"X is a masked array with \d+ masked cells.*Fill them"):
        estimator.fit(masked, Y)
    with pytest.raises(ValueError, match="X is a masked array"):
        estimator.fit(X, Y).predict(masked)


def test_masked_cells_of_a_matrix_are_missing_or_refused(data):
    X, _ = data
    mask = np.abs(X) > 1.5
    for make in (tr.SparseSVD, tr.SparsePCA):
        with pytest.raises(ValueError, match="X is a masked array"):
            make(1).fit(np.ma.MaskedArray(X, mask))
    unknown, masked = np.where(mask, np.nan, X), np.ma.MaskedArray(np.where(mask, 1e6, X), mask)
    found = tr.SparseMatrixCompletion(1, 3, 3).fit_transform(masked)
    np.testing.assert_allclose(found, tr.SparseMatrixCompletion(1, 3, 3).fit_transform(unknown))


def test_masked_pairs_of_a_graph_are_unknown(data):
    S = np.abs(data[0] @ data[0].T)
    mask = np.zeros(S.shape, dtype=bool)
    mask[1, 4] = mask[4, 1] = True
    fits = [
        tr.SparseLowRankGraph(1, 4).fit(each)
        for each in (np.ma.MaskedArray(S, mask), np.where(mask, np.nan, S))
    ]
    np.testing.assert_allclose(fits[0].factors_.U, fits[1].factors_.U)


@pytest.mark.parametrize("kind", [np.asarray, aslinearoperator])
def test_complex_and_sparse_responses_are_refused(data, estimator, kind):
    X, Y = data
    with pytest.raises(ValueError, match="Complex data not supported: Y has dtype complex128"):
        estimator.fit(kind(X), Y + 1j)
    with pytest.raises(TypeError, match=r"Sparse data was passed for Y.*Y\.toarray\(\)"):
        estimator.fit(kind(X), csr_array(Y))


def test_lazy_data_are_refused(data, estimator):
    pl = pytest.importorskip("polars")
    X, Y = data
    with pytest.raises(TypeError, match=r"X is a LazyFrame of polars.*X\.collect\(\)"):
        estimator.fit(pl.DataFrame(X).lazy(), Y)
    with pytest.raises(TypeError, match=r"Y is a LazyFrame of polars.*Y\.collect\(\)"):
        estimator.fit(X, pl.DataFrame(Y).lazy())
    with pytest.raises(TypeError, match=r"X is a LazyFrame"):
        estimator.fit(X, Y).predict(pl.DataFrame(X).lazy())


@pytest.mark.parametrize("value", [np.nan, -1.0, "4", True])
@pytest.mark.parametrize("constant", ["per_degree", "per_inflation"])
def test_constants_of_a_criterion_are_numbers(constant, value):
    with pytest.raises(ValueError, match=f"{constant} must be a finite non-negative number"):
        tr.selection.Criterion("pic", **{constant: value})
