import copy

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import thinrank as tr
from thinrank.core.warnings import SelectionWarning


@pytest.fixture(scope="module")
def blocks():
    rng = np.random.default_rng(0)
    A = rng.standard_normal((120, 90))
    A[:12, :9] += 5
    A[60:72, 40:49] -= 4
    return A


@pytest.fixture(scope="module")
def fitted(blocks):
    return {layers: tr.SparseSVD(layers=layers).fit(blocks) for layers in (False, True)}


def test_automatic_sizes(blocks, fitted):
    svd = fitted[False]
    assert svd.best_params_ == {"rank": 2, "row_sparsity": 24, "column_sparsity": 18}
    assert svd.row_support_.tolist() == [*range(12), *range(60, 72)]
    assert svd.column_support_.tolist() == [*range(9), *range(40, 49)]
    each = (
        np.linalg.svd(block, compute_uv=False)[0]
        for block in (blocks[:12, :9], blocks[60:72, 40:49])
    )
    np.testing.assert_allclose(svd.singular_values_, list(each), rtol=1e-10)
    np.testing.assert_allclose(svd.components_ @ svd.components_.T, np.eye(2), atol=1e-12)
    theta = (svd.left_vectors_ * svd.singular_values_) @ svd.components_
    np.testing.assert_allclose(svd.factors_.theta, theta, atol=1e-10)
    assert svd.search_["accepted"][:2].all()


def test_layers_are_biclusters(blocks, fitted):
    svd = fitted[True]
    rows, columns = svd.biclusters_
    assert rows.shape == (2, 120)
    assert columns.shape == (2, 90)
    assert svd.get_shape(0) == (12, 9)
    assert svd.get_indices(0)[0].tolist() == list(range(12))
    assert svd.get_indices(1)[1].tolist() == list(range(40, 49))
    assert svd.get_submatrix(1, blocks).shape == (12, 9)
    assert svd.singular_values_[0] > svd.singular_values_[1]
    again = copy.deepcopy(svd).set_params(layers=False, rank=1, row_sparsity=5, column_sparsity=5)
    with pytest.raises(AttributeError, match="layers=True"):
        _ = again.fit(blocks).rows_


@pytest.mark.parametrize(
    ("sizes", "expected"),
    [
        ({"rank": 1}, (1, 12, 9)),
        ({"rank": 2, "row_sparsity": 24, "column_sparsity": 18}, (2, 24, 18)),
        ({"row_sparsity": 30}, (2, 30, 18)),
        ({"column_sparsity": 12}, (2, 24, 12)),
        ({"rank": 2, "row_sparsity": None, "column_sparsity": None}, (2, 120, 90)),
    ],
)
def test_some_sizes_given(blocks, sizes, expected):
    svd = tr.SparseSVD(**sizes).fit(blocks)
    assert (svd.rank_, len(svd.row_support_), len(svd.column_support_)) == expected


def test_all_rows_and_few_columns(blocks):
    svd = tr.SparseSVD(row_sparsity=None).fit(blocks)
    assert (svd.rank_, len(svd.row_support_)) == (2, 120)
    assert {*range(9), *range(40, 49)} <= {*svd.column_support_}
    assert len(svd.column_support_) <= 20


def test_a_block_with_two_patterns_keeps_its_rows():
    """Two layers leave out rows that are weak in one of them; together they stay."""
    rng = np.random.default_rng(1)
    truth = np.zeros((150, 100))
    truth[:30, :20] = rng.standard_normal((30, 2)) * (2.0, 1.5) @ rng.standard_normal((2, 20))
    A = truth + rng.standard_normal(truth.shape)
    one, layers = (tr.SparseSVD(layers=each).fit(A).factors_.theta for each in (False, True))
    assert np.sum((one - truth) ** 2) < 0.8 * np.sum((layers - truth) ** 2)


@pytest.mark.parametrize("seed", [0, 1, 7])
def test_a_strong_block_in_a_small_matrix_for_every_seed(seed):
    """Half of the seeds once gave rank 0, which the folds of rows and columns decided."""
    rng = np.random.default_rng(seed)
    A = np.zeros((40, 25))
    A[:10, :8] = 2 * np.outer(rng.standard_normal(10) + 2, rng.standard_normal(8) + 1)
    A += rng.standard_normal((40, 25))
    found = [tr.SparseSVD(random_state=state).fit(A) for state in (0, 3)]
    assert [svd.rank_ for svd in found] == [1, 1]
    np.testing.assert_array_equal(found[0].factors_.theta, found[1].factors_.theta)


def test_blocks_with_all_their_rows_despite_weak_ones():
    """Rows that dropped out once enlarged the noise, and more rows dropped out."""
    rng = np.random.default_rng(3)
    truth = np.zeros((180, 120))
    for rows, columns, value in ((slice(30), slice(20), 49), (slice(30, 65), slice(20, 48), 44)):
        u, v = (rng.uniform(0.5, 1, x.stop - (x.start or 0)) for x in (rows, columns))
        truth[rows, columns] = value * np.outer(u, v) / np.linalg.norm(u) / np.linalg.norm(v)
    A = truth + rng.standard_normal(truth.shape)
    left, values, right = np.linalg.svd(A)
    truncated = (left[:, :2] * values[:2]) @ right[:2]
    svd = tr.SparseSVD().fit(A)
    assert np.sum((svd.factors_.theta - truth) ** 2) < 0.4 * np.sum((truncated - truth) ** 2)


def test_column_means_and_factors_are_removed_before(blocks):
    rng = np.random.default_rng(4)
    A = blocks + 10 * rng.standard_normal(90) + rng.standard_normal((120, 1))
    svd = tr.SparseSVD().fit(A)
    assert svd.background_.rank in (2, 3)
    assert svd.row_support_.tolist() == [*range(12), *range(60, 72)]
    assert svd.column_support_.tolist() == [*range(9), *range(40, 49)]
    given = tr.SparseSVD(2, 24, 18, background=2).fit(A)
    assert given.background_.rank == 2
    assert len(np.intersect1d(given.row_support_, svd.row_support_)) >= 20
    assert tr.SparseSVD(2, 24, 18).fit(A).background_.rank == 0


@pytest.mark.parametrize("layers", [False, True])
def test_transform_and_back(blocks, fitted, layers):
    svd = fitted[layers]
    scores = svd.transform(blocks)
    again = svd.transform(svd.inverse_transform(scores))
    np.testing.assert_allclose(again, scores, atol=1e-10)
    assert svd.get_feature_names_out().tolist() == ["sparsesvd0", "sparsesvd1"]
    with pytest.raises(ValueError, match=r"shape \(n_rows, 2\)"):
        svd.inverse_transform(np.ones((3, 5)))


def test_noise_has_rank_zero_and_says_what_to_do():
    A = np.random.default_rng(0).standard_normal((50, 40))
    with pytest.warns(SelectionWarning, match="row_sparsity=None"):
        svd = tr.SparseSVD().fit(A)
    assert svd.rank_ == 0
    assert svd.transform(A).shape == (50, 0)
    assert svd.inverse_transform(np.empty((50, 0))).shape == (50, 40)
    with pytest.warns(SelectionWarning, match="keep all"):
        assert tr.SparseSVD(2).fit(A).rank_ == 2


def test_sparse_input_is_the_same(blocks, fitted):
    sparse = tr.SparseSVD().fit(sp.csr_array(blocks))
    np.testing.assert_allclose(sparse.components_, fitted[False].components_, atol=1e-8)
    found, expected = sparse.transform(sp.csc_array(blocks)), fitted[False].transform(blocks)
    np.testing.assert_allclose(found, expected, atol=1e-6)


def test_data_frames_keep_names(blocks):
    frame = pd.DataFrame(blocks, columns=[f"gene{j}" for j in range(90)])
    svd = tr.SparseSVD(2, 24, 18).set_output(transform="pandas").fit(frame)
    assert list(svd.transform(frame).columns) == ["sparsesvd0", "sparsesvd1"]
    assert svd.feature_names_in_[svd.column_support_[0]] == "gene0"


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"rank": 0}, "rank must be an integer from 1 to 90"),
        ({"rank": 6, "row_sparsity": 5}, "rank must be an integer from 1 to 5"),
        ({"row_sparsity": 121}, "row_sparsity must be an integer from 1 to 120"),
        ({"background": -1}, "background must be an integer from 0 to 90 .or"),
        ({"column_sparsity": "half"}, "column_sparsity must be an integer from 1 to 90"),
    ],
)
def test_wrong_sizes(blocks, wrong, message):
    with pytest.raises(ValueError, match=message):
        tr.SparseSVD(**wrong).fit(blocks)


def test_tensors_in_and_out(blocks, fitted, torch):
    dense = fitted[False]
    X = torch.asarray(blocks)
    svd = tr.SparseSVD().fit(X)
    assert isinstance(svd.components_, torch.Tensor)
    assert isinstance(svd.transform(X), torch.Tensor)
    np.testing.assert_allclose(svd.components_.numpy(), dense.components_, atol=1e-8)
    assert svd.row_support_.tolist() == dense.row_support_.tolist()
