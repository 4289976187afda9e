"""Sparse principal components: known optima, known structure, every kind of input."""

from itertools import combinations

import numpy as np
import pytest
import scipy.sparse
from sklearn.decomposition import PCA

import thinrank as tr
from thinrank.core.warnings import SelectionWarning


def two_blocks(rng, n=60, p=30):
    """Features 0 to 5 vary together, and features 10 to 14."""
    X = rng.standard_normal((n, p))
    X[:, :6] += 2 * rng.standard_normal((n, 1))
    X[:, 10:15] += 1.5 * rng.standard_normal((n, 1))
    return X


@pytest.mark.parametrize("shape", [(30, 8), (8, 30)])
@pytest.mark.parametrize("shared", [True, False])
def test_without_limits_it_is_pca(rng, shape, shared):
    X = rng.standard_normal(shape) * np.linspace(1, 3, shape[1]) + 5
    reference = PCA(4).fit(X)
    pca = tr.SparsePCA(4, None, shared_support=shared).fit(X)
    signs = np.sign(np.sum(pca.components_ * reference.components_, axis=1))
    np.testing.assert_allclose(
        pca.components_ * signs[:, None], reference.components_, rtol=0, atol=1e-8
    )
    for name in ("explained_variance_", "explained_variance_ratio_", "singular_values_", "mean_"):
        np.testing.assert_allclose(getattr(pca, name), getattr(reference, name), rtol=1e-8)
    np.testing.assert_allclose(pca.transform(X) * signs, reference.transform(X), atol=1e-8)
    back = pca.inverse_transform(pca.transform(X))
    np.testing.assert_allclose(back, reference.inverse_transform(reference.transform(X)), atol=1e-7)


@pytest.mark.parametrize(("seed", "p", "rank"), [(0, 7, 1), (1, 12, 1), (2, 12, 2)])
def test_given_sizes_reach_the_best_of_all_sets_of_features(seed, p, rank):
    rng = np.random.default_rng(30_000 + seed)
    X = rng.standard_normal((12, p)) @ rng.standard_normal((p, p))
    centred = X - X.mean(axis=0)
    best = max(
        np.sum(np.linalg.svd(centred[:, list(some)], compute_uv=False)[:rank] ** 2)
        for some in combinations(range(p), 3)
    )
    pca = tr.SparsePCA(rank, 3).fit(X)
    assert len(pca.column_support_) == 3
    assert np.sum(pca.singular_values_**2) == pytest.approx(best, rel=1e-7)


@pytest.mark.parametrize("shared", [True, False])
def test_finds_the_components_and_their_features(rng, shared):
    X = two_blocks(rng)
    pca = tr.SparsePCA(shared_support=shared).fit(X)
    assert pca.rank_ == 2
    blocks = [{*range(6)}, {*range(10, 15)}]
    assert {*pca.column_support_} >= blocks[0] | blocks[1]
    assert len(pca.column_support_) <= 13
    if not shared:
        supports = [set(np.flatnonzero(row)) for row in pca.components_]
        for support, block in zip(supports, blocks, strict=True):
            assert support >= block
            assert len(support) <= len(block) + 2
        assert pca.best_params_["column_sparsity"] == [len(support) for support in supports]
    assert [record["rank"] for record in pca.search_][:2] == [1, 2]
    assert pca.search_[1]["accepted"]


def test_one_size_given_and_the_other_automatic(rng):
    X = two_blocks(rng)
    by_rank = tr.SparsePCA(rank=1).fit(X)
    assert {*by_rank.column_support_} >= {*range(6)}
    assert len(by_rank.column_support_) <= 8
    by_features = tr.SparsePCA(column_sparsity=11).fit(X)
    assert by_features.rank_ == 2
    assert tr.SparsePCA(column_sparsity=None).fit(X).rank_ == 2


def test_components_of_their_own_explain_what_their_span_explains(rng):
    """Overlapping supports: the components are not orthogonal."""
    X = rng.standard_normal((50, 10)) @ rng.standard_normal((10, 10))
    pca = tr.SparsePCA(3, 4, shared_support=False).fit(X)
    assert (np.count_nonzero(pca.components_, axis=1) == 4).all()
    products = pca.components_ @ pca.components_.T
    assert np.abs(products - np.eye(3)).max() > 0.01
    centred = X - X.mean(axis=0)
    span, _ = np.linalg.qr(pca.components_.T)
    explained = np.sum((centred @ span) ** 2) / 49
    assert pca.explained_variance_.sum() == pytest.approx(explained)
    np.testing.assert_allclose(
        pca.inverse_transform(pca.transform(X)), centred @ span @ span.T + X.mean(axis=0)
    )


def test_white_noise_gives_rank_0_and_a_warning(rng):
    X = rng.standard_normal((60, 40)) * np.linspace(1, 5, 40)
    with pytest.warns(SelectionWarning, match="no component is supported"):
        pca = tr.SparsePCA().fit(X)
    assert pca.rank_ == 0
    assert pca.best_params_ == {"rank": 0, "column_sparsity": 0}
    assert pca.transform(X).shape == (60, 0)
    np.testing.assert_allclose(pca.inverse_transform(np.zeros((2, 0))), [X.mean(axis=0)] * 2)
    assert len(pca.warnings_) == 1


def test_units_have_no_effect_with_standardize(rng):
    X = two_blocks(rng)
    units = 10.0 ** rng.integers(-3, 4, X.shape[1])
    pca = tr.SparsePCA(standardize=True).fit(X)
    other = tr.SparsePCA(standardize=True).fit(X * units)
    np.testing.assert_allclose(other.components_, pca.components_, atol=1e-8)
    np.testing.assert_allclose(
        other.inverse_transform(other.transform(X * units)),
        pca.inverse_transform(pca.transform(X)) * units,
        rtol=1e-6,
    )


def test_fourth_powers_of_large_numbers(rng):
    with np.errstate(over="raise"):
        assert tr.SparsePCA().fit(1e100 * two_blocks(rng)).rank_ == 2


@pytest.mark.parametrize("standardize", [True, False])
def test_sparse_matrices_are_centred_implicitly(rng, standardize):
    X = np.where(rng.random((60, 30)) < 0.3, rng.poisson(3.0, (60, 30)), 0.0)
    X[:, :4] *= rng.poisson(2.0, (60, 1))
    dense = tr.SparsePCA(2, standardize=standardize).fit(X)
    sparse = tr.SparsePCA(2, standardize=standardize).fit(scipy.sparse.csr_array(X))
    np.testing.assert_allclose(sparse.components_, dense.components_, atol=1e-8)
    np.testing.assert_allclose(
        sparse.transform(scipy.sparse.csr_array(X)), dense.transform(X), atol=1e-8
    )


@pytest.mark.arrays
@pytest.mark.parametrize("shared", [True, False])
def test_arrays_of_every_library(library, rng, shared):
    if library.is_strict:
        pytest.skip("lists of features are made on the CPU, which the strict device forbids")
    X = two_blocks(rng, 50, 18)
    reference = tr.SparsePCA(shared_support=shared).fit(X)
    pca = tr.SparsePCA(shared_support=shared).fit(library.array(X))
    scores = pca.transform(library.array(X))
    library.check(pca.components_, pca.explained_variance_ratio_, scores)
    library.check(pca.inverse_transform(scores))
    np.testing.assert_allclose(library.numpy(scores), reference.transform(X), atol=1e-8)


def test_constant_features_and_few_samples():
    X = np.zeros((60, 5))
    X[:, 1] = np.arange(60.0)
    X[:, 3] = -X[:, 1]
    pca = tr.SparsePCA(standardize=True).fit(X)
    assert pca.rank_ == 1
    np.testing.assert_array_equal(pca.column_support_, [1, 3])
    np.testing.assert_allclose(pca.inverse_transform(pca.transform(X)), X, atol=1e-10)
    with pytest.warns(SelectionWarning, match="too few samples"):
        assert tr.SparsePCA(rank=1).fit(X[:3]).rank_ == 1


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"rank": 0}, "rank must be an integer from 1 to 6"),
        ({"rank": 3, "column_sparsity": 2}, "rank must be an integer from 1 to 2"),
        ({"column_sparsity": 7}, "column_sparsity must be an integer from 1 to 6"),
        ({"least_share": 1.0}, "least_share must be a number from 0 to below 1, got 1.0"),
    ],
)
def test_invalid_parameters(rng, parameters, message):
    with pytest.raises(ValueError, match=message):
        tr.SparsePCA(**parameters).fit(rng.standard_normal((10, 6)))
