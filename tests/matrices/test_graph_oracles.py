"""Low-rank fits to the known pairs of symmetric matrices, against closed forms."""

from itertools import combinations

import numpy as np
import pytest

import thinrank as tr


def symmetric(rng, n):
    S = rng.standard_normal((n, n))
    return (S + S.T) / 2


def graph(S, rank, nodes, **options):
    options = {"kind": "adjacency", "diagonal": "keep", "center": False, **options}
    return tr.SparseLowRankGraph(rank, nodes, shrinkage=False, **options).fit(S)


@pytest.mark.parametrize("n", [12, 90])
def test_without_limits_it_is_the_truncated_eigendecomposition(n):
    S = symmetric(np.random.default_rng(30000), n)
    values, vectors = np.linalg.eigh(S)
    order = np.argsort(-np.abs(values))[:3]
    expected = (vectors[:, order] * values[order]) @ vectors[:, order].T
    np.testing.assert_allclose(graph(S, 3, None).factors_.theta, expected, atol=1e-7)


@pytest.mark.parametrize(("rank", "size"), [(1, 3), (2, 5)])
def test_given_sizes_are_those_of_an_exhaustive_search(rank, size):
    optimal = []
    for seed in range(30000, 30008):
        S = symmetric(np.random.default_rng(seed), 9)
        best = max(
            np.sum(np.sort(np.linalg.eigvalsh(S[np.ix_(some, some)]) ** 2)[-rank:])
            for some in combinations(range(9), size)
        )
        captured = np.sum(graph(S, rank, size).eigenvalues_ ** 2)
        assert captured <= best * (1 + 1e-9)
        optimal.append(captured >= best * (1 - 1e-7))
    assert np.mean(optimal) >= 0.8


def test_unknown_entries_of_a_low_rank_matrix_are_recovered():
    rng = np.random.default_rng(30001)
    V = rng.standard_normal((30, 2))
    S = V * [1.0, -1.0] @ V.T
    i, j = np.triu_indices(30, 1)
    out = rng.random(len(i)) < 0.2
    known = S.copy()
    known[i[out], j[out]] = known[j[out], i[out]] = np.nan
    fit = graph(known, 2, None, diagonal="ignore", max_iter=500)
    np.testing.assert_allclose(fit.factors_.theta, S, atol=1e-3)


def test_the_mean_is_that_of_the_pairs_the_nodes_do_not_explain():
    S = np.full((40, 40), 0.25)
    S[:8, :8] += 1.0
    fit = graph(S, 1, 8, diagonal="ignore", center=True, max_iter=200)
    assert fit.row_support_.tolist() == list(range(8))
    assert fit.mean_ == pytest.approx(0.25, abs=1e-3)
    assert fit.eigenvalues_[0] == pytest.approx(8.0, rel=1e-2)
