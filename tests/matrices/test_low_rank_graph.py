"""Graphs and covariance matrices: sizes, link prediction, input."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.metrics import roc_auc_score

import thinrank as tr
from thinrank.core.warnings import SelectionWarning


def block_model(seed, n=90, free=0, inside=0.6, between=0.1):
    rng = np.random.default_rng(seed)
    label = np.arange(n) % 2
    probability = np.where(label[:, None] == label, inside, between)
    if free:
        probability[n - free :] = probability[:, n - free :] = between
    upper = np.triu(rng.random((n, n)) < probability, 1).astype(float)
    return upper + upper.T, label, rng


def spiked(seed, n=100, p=120):
    rng = np.random.default_rng(seed)
    v = np.zeros(p)
    v[:10] = 10**-0.5
    X = rng.standard_normal((n, p)) + 2 * np.outer(rng.standard_normal(n), v)
    return np.cov(X, rowvar=False), v


@pytest.fixture(scope="module")
def two_blocks():
    adjacency, label, rng = block_model(30000)
    i, j = np.triu_indices(90, 1)
    out = rng.random(len(i)) < 0.1
    pairs = np.column_stack([i[out], j[out]])
    S = adjacency.copy()
    S[i[out], j[out]] = S[j[out], i[out]] = np.nan
    return tr.SparseLowRankGraph().fit(S), adjacency, label, S, pairs


def test_two_blocks_are_one_component_beyond_the_mean(two_blocks):
    graph, _, label, _, _ = two_blocks
    assert graph.rank_ == 1
    assert graph.best_params_["center"]
    assert graph.kind_ == "adjacency"
    same = (graph.eigenvectors_[:, 0] > 0) == (label == label[np.argmax(graph.components_[0])])
    assert same.mean() > 0.95


def test_unknown_pairs_are_predicted_better_than_by_a_truncated_svd(two_blocks):
    graph, adjacency, _, S, pairs = two_blocks
    truth = adjacency[pairs[:, 0], pairs[:, 1]]
    values, vectors = np.linalg.eigh(np.nan_to_num(S))
    order = np.argsort(-np.abs(values))
    best = 0.0
    for rank in range(1, 8):
        V = vectors[:, order[:rank]]
        fit = (V * values[order[:rank]]) @ V.T
        best = max(best, roc_auc_score(truth, fit[pairs[:, 0], pairs[:, 1]]))
    assert roc_auc_score(truth, graph.predict_links(pairs)) >= best - 0.005


def test_the_score_of_a_known_pair_does_not_contain_its_own_entry(two_blocks):
    """Taken out to first order: nearly the score of a fit without the pair."""
    S = two_blocks[3]
    model = tr.SparseLowRankGraph(1, None, center=True)
    i, j = 3, 8
    with_pair = model.fit(S).predict_links([[i, j]])[0]
    plain = model.reconstruct([i, j])[0, 1]
    without = S.copy()
    without[i, j] = without[j, i] = np.nan
    expected = model.fit(without).predict_links([[i, j]])[0]
    assert abs(with_pair - expected) < 0.3 * abs(plain - expected)


def test_the_strongest_links_are_pairs_that_are_not_linked(two_blocks):
    graph, _, label, S, _ = two_blocks
    found = graph.predict_links(top=20)
    assert found.pairs.shape == (20, 2)
    i, j = found.pairs.T
    assert not np.any(S[i, j] == 1)
    assert np.all(label[i] == label[j])
    assert np.all(np.diff(found.scores) <= 0)
    np.testing.assert_allclose(found.scores, graph.predict_links(found.pairs))
    a, b = np.triu_indices(90, 1)
    open_pairs = S[a, b] != 1
    every = graph.predict_links(np.column_stack([a[open_pairs], b[open_pairs]]))
    np.testing.assert_allclose(found.scores, np.sort(every)[::-1][:20])


def test_a_graph_without_structure_has_rank_zero():
    rng = np.random.default_rng(30000)
    S = np.triu(rng.random((60, 60)) < 0.2, 1).astype(float)
    with pytest.warns(SelectionWarning, match="beyond the mean of the pairs"):
        graph = tr.SparseLowRankGraph().fit(S + S.T)
    assert graph.rank_ == 0
    assert len(graph.row_support_) == 0
    assert graph.mean_ == pytest.approx(S.sum() / (60 * 59 / 2))
    np.testing.assert_allclose(graph.reconstruct(), graph.mean_)


def test_eigenvalues_of_noise_are_shrunk_to_nearly_nothing():
    rng = np.random.default_rng(30000)
    S = np.triu(rng.random((60, 60)) < 0.2, 1).astype(float)
    S += S.T
    plain = tr.SparseLowRankGraph(3, None, center=True).fit(S)
    shrunk = tr.SparseLowRankGraph(3, None, center=True, shrinkage=True).fit(S)
    assert plain.shrinkage_.tolist() == [1.0, 1.0, 1.0]
    assert np.all(np.abs(shrunk.eigenvalues_) < 0.3 * np.abs(plain.eigenvalues_))


def test_nodes_of_a_small_block_are_found():
    rng = np.random.default_rng(30000)
    probability = np.full((100, 100), 0.1)
    probability[:20, :20] = 0.8
    S = np.triu(rng.random((100, 100)) < probability, 1).astype(float)
    graph = tr.SparseLowRankGraph(rank=1).fit(S + S.T)
    assert set(range(20)) <= set(graph.row_support_)
    assert len(graph.row_support_) < 50


def test_covariance_with_a_sparse_eigenvector():
    S, v = spiked(30000)
    graph = tr.SparseLowRankGraph(n_samples=100).fit(S)
    assert graph.kind_ == "covariance"
    assert graph.rank_ == 1
    everything = np.linalg.eigh(S)[1][:, -1]
    assert abs(graph.components_[0] @ v) > 0.95 > abs(everything @ v)
    assert len(set(range(10)) & set(graph.row_support_)) >= 9


def test_the_number_of_samples_is_estimated():
    S, _ = spiked(30000, n=60)
    graph = tr.SparseLowRankGraph().fit(S)
    assert graph.n_samples_ == 60  # from the rank
    S, _ = spiked(30000, n=400, p=60)
    graph = tr.SparseLowRankGraph().fit(S)
    assert 250 < graph.n_samples_ < 600  # from the small correlations


def test_correlations_of_few_samples_of_noise_have_rank_zero():
    X = np.random.default_rng(30000).standard_normal((20, 60))
    with pytest.warns(SelectionWarning, match="independent noise"):
        graph = tr.SparseLowRankGraph().fit(np.corrcoef(X, rowvar=False))
    assert graph.kind_ == "correlation"
    assert graph.rank_ == 0


def test_sparse_and_dense_matrices_give_the_same(two_blocks):
    _, adjacency, *_ = two_blocks
    dense = tr.SparseLowRankGraph(2, 50).fit(adjacency)
    sparse = tr.SparseLowRankGraph(2, 50).fit(sp.csr_array(adjacency))
    np.testing.assert_allclose(dense.reconstruct(), sparse.reconstruct(), atol=1e-8)


def test_many_nodes_are_never_made_dense(monkeypatch):
    rng = np.random.default_rng(30000)
    n, size = 4000, 150
    i, j = rng.integers(n, size=(2, 3 * n))
    a, b = rng.integers(size, size=(2, 4000))
    i, j = np.concatenate([i, a]), np.concatenate([j, b])
    i, j = i[i != j], j[i != j]
    S = sp.coo_array((np.ones(len(i)), (i, j)), shape=(n, n)).tocsr()
    S = ((S + S.T) > 0).astype(float)
    monkeypatch.setattr(sp.csr_array, "toarray", lambda *_: pytest.fail("made dense"))
    graph = tr.SparseLowRankGraph("auto", None).fit(S)
    assert graph.rank_ >= 1
    leading = np.argsort(-np.abs(graph.eigenvectors_[:, 0]))[:size]
    assert np.mean(leading < size) > 0.95


def test_names_of_a_data_frame(two_blocks):
    _, adjacency, *_ = two_blocks
    names = [f"node {k}" for k in range(90)]
    frame = pd.DataFrame(adjacency, index=names, columns=names)
    graph = tr.SparseLowRankGraph(1, None).fit(frame)
    found = graph.predict_links(top=3)
    assert set(found.pairs.ravel()) <= set(names)
    np.testing.assert_allclose(graph.predict_links(found.pairs), found.scores)
    with pytest.raises(ValueError, match="'nobody', which is not the name"):
        graph.predict_links([["node 1", "nobody"]])
    with pytest.raises(ValueError, match="same order, but row 0 is 'node 89'"):
        graph.fit(frame.iloc[::-1])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda S: S[:, :-1], "square matrix"),
        (lambda S: S + np.eye(90, k=7) * 0.5, r"pair \(\d+, \d+\) are .* a difference of 0.5"),
        (lambda S: S + np.diag(np.full(90, np.inf)), "must be finite, or NaN"),
        (lambda S: np.where(np.eye(90) > 0, 1.0, np.nan), "must have a known pair"),
    ],
)
def test_invalid_matrices(two_blocks, change, message):
    with pytest.raises(ValueError, match=message):
        tr.SparseLowRankGraph().fit(change(two_blocks[1]))


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"rank": 0}, "rank must be an integer from 1"),
        ({"rank": 3, "row_sparsity": 2}, "rank must be an integer from 1 to 2"),
        ({"row_sparsity": 91}, "row_sparsity must be an integer from 1 to 90"),
        ({"kind": "graph"}, 'kind must be one of "auto", "adjacency"'),
        ({"diagonal": None}, "diagonal must be one of"),
        ({"center": 1}, "center must be True, False"),
        ({"n_samples": 1}, "n_samples must be an integer from 4 .*; or None"),
        ({"kind": "covariance"}, "the diagonal of S must be positive"),
    ],
)
def test_invalid_parameters(two_blocks, parameters, message):
    with pytest.raises(ValueError, match=message):
        tr.SparseLowRankGraph(**parameters).fit(two_blocks[1])


def test_invalid_pairs(two_blocks):
    graph = two_blocks[0]
    with pytest.raises(ValueError, match=r"shape \(n_pairs, 2\)"):
        graph.predict_links([1, 2])
    with pytest.raises(ValueError, match="indices from 0 to 89, got 0 to 90"):
        graph.predict_links([[0, 90]])
    with pytest.raises(ValueError, match="names are known only after fitting a data frame"):
        graph.predict_links([["a", "b"]])
    with pytest.raises(ValueError, match="cannot be given together"):
        graph.predict_links([[0, 1]], top=1)


@pytest.mark.parametrize("rank", ["auto", 1])
def test_two_nodes_have_one_pair_which_leaves_none_when_it_is_held_out(rank):
    S = np.array([[0.0, 2.7], [2.7, 0.0]])
    with pytest.warns(SelectionWarning):
        found = tr.SparseLowRankGraph(rank).fit(S)
    assert found.rank_ == 0  # the mean is all there is
    assert found.reconstruct()[0, 1] == pytest.approx(2.7)


@pytest.mark.parametrize(
    ("S", "options"),
    [
        (np.zeros((80, 80)), {}),
        (np.diag(np.arange(80.0)), {"rank": 2}),
        (np.eye(80), {}),
        (sp.csr_array((1200, 1200)), {"rank": 2, "row_sparsity": 5}),
    ],
)
@pytest.mark.filterwarnings("ignore::thinrank.core.warnings.SelectionWarning")
def test_a_graph_without_links_has_rank_zero(S, options):
    assert tr.SparseLowRankGraph(**options).fit(S).rank_ == 0


@pytest.mark.filterwarnings("ignore::thinrank.core.warnings.SelectionWarning")
def test_a_graph_with_one_link():
    S = np.zeros((80, 80))
    S[3, 7] = S[7, 3] = 1
    assert tr.SparseLowRankGraph().fit(S).rank_ == 0
    found = tr.SparseLowRankGraph(2, 2).fit(S)
    assert found.row_support_.tolist() == [3, 7]
    assert found.reconstruct()[3, 7] == pytest.approx(1)


def test_entries_whose_fourth_powers_overflow():
    S = np.random.default_rng(0).random((9, 9))
    S += S.T
    one, large = (tr.SparseLowRankGraph(1, 3).fit(unit * S) for unit in (1.0, 1e100))
    assert large.row_support_.tolist() == one.row_support_.tolist()
    np.testing.assert_allclose(large.eigenvalues_, 1e100 * one.eigenvalues_)
