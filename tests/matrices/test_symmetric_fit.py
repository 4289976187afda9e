"""Low-rank fits to the known pairs of symmetric matrices, against closed forms."""

from itertools import combinations

import numpy as np
import pytest
import scipy.sparse as sp

from thinrank.matrices.pairs import LowRank, Pairs
from thinrank.matrices.symmetric_fit import best_nodes, fit_nodes, gain, leading

NOTHING = (np.zeros(0, dtype=int), np.zeros(0, dtype=int))


def symmetric(rng, n):
    S = rng.standard_normal((n, n))
    return (S + S.T) / 2


def theta(fit):
    return fit.mean + (fit.vectors * fit.values) @ fit.vectors.T


@pytest.mark.parametrize("n", [12, 90])
def test_without_limits_it_is_the_truncated_eigendecomposition(n):
    S = symmetric(np.random.default_rng(30000), n)
    fit = fit_nodes(Pairs(S, NOTHING, True), 3, center=False, rounds=1)
    values, vectors = np.linalg.eigh(S)
    order = np.argsort(-np.abs(values))[:3]
    expected = (vectors[:, order] * values[order]) @ vectors[:, order].T
    np.testing.assert_allclose(theta(fit), expected, atol=1e-10)


@pytest.mark.parametrize(("rank", "size"), [(1, 3), (2, 4), (2, 5), (3, 4)])
def test_given_sizes_are_those_of_an_exhaustive_search(rank, size):
    for seed in range(30000, 30008):
        S = symmetric(np.random.default_rng(seed), 9)
        nodes, fit = best_nodes(
            Pairs(S, NOTHING, True), rank, size, center=False, rounds=1, thorough=True
        )
        captured = {
            some: np.sum(np.sort(np.linalg.eigvalsh(S[np.ix_(some, some)]) ** 2)[-rank:])
            for some in combinations(range(9), size)
        }
        assert tuple(nodes) == max(captured, key=captured.get)
        assert np.sum(fit.values**2) == pytest.approx(max(captured.values()))


def test_unknown_entries_of_a_low_rank_matrix_are_recovered():
    rng = np.random.default_rng(30001)
    V = rng.standard_normal((30, 2))
    S = V * [1.0, -1.0] @ V.T
    i, j = np.triu_indices(30, 1)
    out = rng.random(len(i)) < 0.2
    i, j = i[out], j[out]
    known = S.copy()
    known[i, j] = known[j, i] = 0.0
    np.fill_diagonal(known, 0.0)
    fit = fit_nodes(Pairs(known, (i, j), False), 2, center=False, rounds=500, tol=1e-12)
    np.testing.assert_allclose(theta(fit), S, atol=1e-6)


def test_the_mean_is_that_of_the_pairs_the_nodes_do_not_explain():
    S = np.full((40, 40), 0.25)
    S[:8, :8] += 1.0
    known = S.copy()
    np.fill_diagonal(known, 0.0)
    nodes, fit = best_nodes(Pairs(known, NOTHING, False), 1, 8, center=True, rounds=200)
    assert nodes.tolist() == list(range(8))
    assert fit.mean == pytest.approx(0.25, abs=1e-3)
    assert fit.values[0] == pytest.approx(8.0, rel=1e-2)


def test_the_gain_is_the_difference_of_the_sums_of_squares():
    rng = np.random.default_rng(30002)
    S = symmetric(rng, 12)
    i, j = np.array([0, 3]), np.array([5, 7])
    known = S.copy()
    known[i, j] = known[j, i] = 0.0
    np.fill_diagonal(known, 0.0)
    pairs = Pairs(known, (i, j), False)
    nodes = np.array([0, 2, 3, 5, 7, 9])
    fit = fit_nodes(pairs, 2, nodes, center=True, rounds=3)
    mask = ~np.eye(12, dtype=bool)
    mask[i, j] = mask[j, i] = False
    Theta = np.zeros((12, 12))
    Theta[np.ix_(nodes, nodes)] = theta(fit) - fit.mean
    E = S - fit.mean
    expected = np.sum(E[mask] ** 2) - np.sum((E - Theta)[mask] ** 2)
    assert gain(pairs, nodes, fit) == pytest.approx(expected)


def test_products_with_a_sparse_matrix_are_those_of_the_dense_one():
    rng = np.random.default_rng(30003)
    S = np.triu(rng.random((20, 20)) < 0.2, 1).astype(float)
    S += S.T
    i, j = np.array([1, 4]), np.array([2, 9])
    S[i, j] = S[j, i] = 0.0
    V, _ = np.linalg.qr(rng.standard_normal((20, 2)))
    fit = LowRank(0.3, np.array([2.0, -1.0]), V)
    B = rng.standard_normal((20, 3))
    dense, sparse = (Pairs(each, (i, j), False) for each in (S, sp.csr_array(S)))
    np.testing.assert_allclose(sparse.filled(fit) @ B, dense.filled(fit) @ B)
    np.testing.assert_allclose(sparse.filled(fit) @ B[:, 0], dense.filled(fit) @ B[:, 0])
    assert sparse.sum_of(fit) == pytest.approx(dense.sum_of(fit))
    values, _ = leading(sparse.filled(fit), 2, tol=0.0)
    expected = np.linalg.eigvalsh(dense.filled(fit))
    np.testing.assert_allclose(np.abs(values), np.sort(np.abs(expected))[-2:][::-1])
