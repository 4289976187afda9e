"""Restricted eigenvalues and the statistical error against enumeration, and the lemma's bound."""

import math
from itertools import combinations

import numpy as np
import pytest

import thinrank as tr


def by_enumeration(H, size):
    """Extreme eigenvalues over all supports, one at a time."""
    spectra = [
        np.linalg.eigvalsh(H[np.ix_(list(S), list(S))]) for S in combinations(range(len(H)), size)
    ]
    return min(s[0] for s in spectra), max(s[-1] for s in spectra)


@pytest.fixture(scope="module")
def X():
    return np.random.default_rng(30000).standard_normal((15, 9))


@pytest.mark.parametrize("size", [1, 2, 4, 9])
def test_exact_values_and_search_against_enumeration(X, size):
    low, high = by_enumeration(X.T @ X / len(X), size)
    exact = tr.theory.sparse_eigenvalues(X, size)
    np.testing.assert_allclose([float(end) for end in exact], [low, high])
    assert [end.kind for end in exact] == ["exact", "exact"]
    found = tr.theory.sparse_eigenvalues(X, size, method="search")
    assert found[0].value >= low * (1 - 1e-12)
    assert found[1].value <= high * (1 + 1e-12)
    assert [end.kind for end in found] == ["estimate", "estimate"]


def test_search_finds_planted_supports():
    """Three nearly dependent columns among 200, where enumeration is not possible."""
    rng = np.random.default_rng(30002)
    X = rng.standard_normal((400, 200))
    X[:, 50] = X[:, 20] + X[:, 120] + 0.1 * rng.standard_normal(400)
    H = X.T @ X / 400
    S = [20, 50, 120]
    planted = np.linalg.eigvalsh(H[np.ix_(S, S)])
    found = tr.theory.sparse_eigenvalues(X, 3)
    assert found[0].kind == "estimate"
    assert found[0].value <= planted[0] * (1 + 1e-9)
    assert found[1].value >= planted[-1] * (1 - 1e-9)


def test_losses_with_ridge_and_per_task(X):
    rng = np.random.default_rng(30003)
    Y = rng.standard_normal((15, 4))
    plain = tr.theory.sparse_eigenvalues(X, 3)
    ridged = tr.theory.sparse_eigenvalues(tr.losses.LeastSquares(X, Y, ridge=0.5), 3)
    assert math.isclose(ridged[0].value, plain[0].value + 0.5)
    other = rng.standard_normal((12, 9))
    stacked = np.concatenate([X, other])
    tasks = tr.losses.PerTask(stacked, rng.standard_normal(27), np.repeat([0, 1], [15, 12]))
    both = tr.theory.sparse_eigenvalues(tasks, 3)
    ends = [by_enumeration(M.T @ M / len(M), 3) for M in (X, other)]
    assert math.isclose(both[0].value, min(e[0] for e in ends), rel_tol=1e-9)
    assert math.isclose(both[1].value, max(e[1] for e in ends), rel_tol=1e-9)
    assert tr.theory.sparse_eigenvalues(tasks, 3, method="search")[1].kind == "estimate"


def test_wrong_arguments(X):
    with pytest.raises(ValueError, match=r"size must be an integer from 1 to 9.*got 10"):
        tr.theory.sparse_eigenvalues(X, 10)
    with pytest.raises(ValueError, match=r'method must be one of .*"exact".*got .exhaustive'):
        tr.theory.sparse_eigenvalues(X, 2, method="exhaustive")
    glm = tr.losses.GeneralizedLinear(X, np.ones((15, 2)), tr.losses.families.Poisson())
    with pytest.raises(TypeError, match="curvature"):
        tr.theory.sparse_eigenvalues(glm, 2)


def largest_block(G, rank, rows, columns):
    best = 0.0
    for S in combinations(range(G.shape[0]), rows):
        for T in combinations(range(G.shape[1]), columns):
            values = np.linalg.svd(G[np.ix_(S, T)], compute_uv=False)[:rank]
            best = max(best, math.sqrt(sum(values**2)))
    return best


@pytest.mark.parametrize(
    ("shape", "rank", "rows", "columns"),
    [
        ((6, 5), 1, 2, 3),
        ((6, 5), 2, 2, 3),
        ((6, 4), 2, 3, 2),
        ((4, 7), 2, 3, 4),
        ((5, 5), 2, 5, 5),
        ((5, 5), 2, 5, 3),
    ],
)
def test_all_methods_against_enumeration(shape, rank, rows, columns):
    G = np.random.default_rng(30000).standard_normal(shape)
    truth = largest_block(G, rank, rows, columns)
    found = {
        method: tr.theory.statistical_error(G, rank, rows, columns, method=method)
        for method in ("exact", "bound", "search")
    }
    assert math.isclose(found["exact"].value, truth, rel_tol=1e-12)
    assert found["bound"].value >= truth * (1 - 1e-12)
    assert truth * (1 - 1e-12) >= found["search"].value * (1 - 1e-11) > 0.9 * truth
    assert [q.kind for q in found.values()] == ["exact", "bound", "estimate"]


def test_the_lemma_bounds_the_error_of_simulated_noise():
    rng = np.random.default_rng(30002)
    n, p, k = 50, 8, 6
    X = rng.standard_normal((n, p))
    kappa = tr.theory.sparse_eigenvalues(X, 3)[1].value
    bound = tr.theory.statistical_error_bound(n, p, k, 2, 3, 3, noise=2.0, largest_eigenvalue=kappa)
    gradients = [X.T @ (2 * rng.standard_normal((n, k))) / n for _ in range(20)]
    errors = [tr.theory.statistical_error(G, 2, 3, 3).value for G in gradients]
    assert max(errors) < bound.value
    by_hand = (
        8
        * 2
        * math.sqrt(
            kappa / n * (3 * math.log(8) + 3 * math.log(6) + 12 * math.log(6) + math.log(8))
        )
    )
    assert math.isclose(bound.value, by_hand)
    with pytest.raises(ValueError, match="level must be between 0 and 1, got 2"):
        tr.theory.statistical_error_bound(n, p, k, 2, 3, 3, level=2)


def test_wrong_gradients():
    with pytest.raises(ValueError, match="gradient must be a finite matrix"):
        tr.theory.statistical_error(np.ones(3), 1)
    with pytest.raises(ValueError, match="row_sparsity must be a positive integer, got 0"):
        tr.theory.statistical_error(np.eye(3), 1, 0)
