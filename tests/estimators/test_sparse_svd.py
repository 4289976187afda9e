import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.decomposition import TruncatedSVD

import thinrank as tr
from thinrank.core.warnings import SelectionWarning


@pytest.fixture(scope="module")
def blocks():
    rng = np.random.default_rng(0)
    A = rng.standard_normal((120, 90))
    A[:12, :9] += 5
    A[60:72, 40:49] -= 4
    return A


def test_automatic_sizes(blocks):
    svd = tr.SparseSVD().fit(blocks)
    assert svd.best_params_ == {"rank": 2, "row_sparsity": 24, "column_sparsity": 18}
    assert svd.row_support_.tolist() == [*range(12), *range(60, 72)]
    assert svd.column_support_.tolist() == [*range(9), *range(40, 49)]
    block = blocks[np.ix_(svd.row_support_, svd.column_support_)]
    np.testing.assert_allclose(
        svd.singular_values_, np.linalg.svd(block, compute_uv=False)[:2], rtol=1e-10
    )
    np.testing.assert_allclose(svd.components_ @ svd.components_.T, np.eye(2), atol=1e-12)
    theta = (svd.left_vectors_ * svd.singular_values_) @ svd.components_
    np.testing.assert_allclose(svd.factors_.theta, theta, atol=1e-10)
    assert svd.search_["accepted"][:2].all()


def test_layers_are_biclusters(blocks):
    svd = tr.SparseSVD(layers=True).fit(blocks)
    rows, columns = svd.biclusters_
    assert rows.shape == (2, 120)
    assert columns.shape == (2, 90)
    assert svd.get_shape(0) == (12, 9)
    assert svd.get_indices(0)[0].tolist() == list(range(12))
    assert svd.get_indices(1)[1].tolist() == list(range(40, 49))
    assert svd.get_submatrix(1, blocks).shape == (12, 9)
    assert svd.singular_values_[0] > svd.singular_values_[1]


def test_biclusters_need_layers(blocks):
    svd = tr.SparseSVD(layers=True).fit(blocks).set_params(layers=False).fit(blocks)
    with pytest.raises(AttributeError, match="layers=True"):
        _ = svd.rows_


@pytest.mark.parametrize(
    ("sizes", "expected"),
    [
        ({"rank": 1}, (1, 12, 9)),
        ({"rank": 2, "row_sparsity": 24, "column_sparsity": 18}, (2, 24, 18)),
        ({"row_sparsity": 30}, (2, 30, 18)),
        ({"column_sparsity": 12}, (2, 24, 12)),
        ({"row_sparsity": None}, (2, 120, 18)),
        ({"rank": 2, "row_sparsity": None, "column_sparsity": None}, (2, 120, 90)),
    ],
)
def test_some_sizes_given(blocks, sizes, expected):
    svd = tr.SparseSVD(**sizes).fit(blocks)
    assert (svd.rank_, len(svd.row_support_), len(svd.column_support_)) == expected


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


def test_without_limits_it_is_truncated_svd(blocks):
    ours = tr.SparseSVD(3, None, None).fit(blocks)
    other = TruncatedSVD(3, algorithm="arpack").fit(blocks)
    np.testing.assert_allclose(ours.singular_values_, other.singular_values_, rtol=1e-6)
    np.testing.assert_allclose(np.abs(ours.components_), np.abs(other.components_), atol=1e-3)


@pytest.mark.parametrize("layers", [False, True])
def test_transform_and_back(blocks, layers):
    svd = tr.SparseSVD(layers=layers).fit(blocks)
    scores = svd.transform(blocks)
    again = svd.transform(svd.inverse_transform(scores))
    np.testing.assert_allclose(again, scores, atol=1e-10)
    assert svd.get_feature_names_out().tolist() == ["sparsesvd0", "sparsesvd1"]
    with pytest.raises(ValueError, match=r"shape \(n_rows, 2\)"):
        svd.inverse_transform(np.ones((3, 5)))


def test_signs_by_rule_and_same_result_for_the_negative(blocks):
    one, two = tr.SparseSVD().fit(blocks), tr.SparseSVD().fit(-blocks)
    for svd in (one, two):
        largest = np.abs(svd.components_).argmax(axis=1)
        assert (svd.components_[np.arange(2), largest] > 0).all()
    np.testing.assert_allclose(one.components_, two.components_, atol=1e-10)
    np.testing.assert_allclose(one.left_vectors_, -two.left_vectors_, atol=1e-10)


def test_noise_has_rank_zero_and_says_what_to_do():
    A = np.random.default_rng(0).standard_normal((50, 40))
    with pytest.warns(SelectionWarning, match="row_sparsity=None"):
        svd = tr.SparseSVD().fit(A)
    assert svd.rank_ == 0
    assert svd.transform(A).shape == (50, 0)
    assert svd.inverse_transform(np.empty((50, 0))).shape == (50, 40)
    with pytest.warns(SelectionWarning, match="keep all"):
        assert tr.SparseSVD(2).fit(A).rank_ == 2


def test_sparse_input_is_the_same(blocks):
    for layers in (False, True):
        dense = tr.SparseSVD(layers=layers).fit(blocks)
        sparse = tr.SparseSVD(layers=layers).fit(sp.csr_array(blocks))
        np.testing.assert_allclose(sparse.components_, dense.components_, atol=1e-8)
        np.testing.assert_allclose(
            sparse.transform(sp.csc_array(blocks)), dense.transform(blocks), atol=1e-6
        )


def test_data_frames_keep_names(blocks):
    frame = pd.DataFrame(blocks, columns=[f"gene{j}" for j in range(90)])
    svd = tr.SparseSVD().set_output(transform="pandas").fit(frame)
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


def test_tensors_in_and_out(blocks, torch):
    dense = tr.SparseSVD().fit(blocks)
    X = torch.asarray(blocks)
    svd = tr.SparseSVD().fit(X)
    assert isinstance(svd.components_, torch.Tensor)
    assert isinstance(svd.transform(X), torch.Tensor)
    np.testing.assert_allclose(svd.components_.numpy(), dense.components_, atol=1e-8)
    assert svd.row_support_.tolist() == dense.row_support_.tolist()
