"""The statistical error against nested enumeration, and the lemma's bound."""

import math
from itertools import combinations

import numpy as np
import pytest

import thinrank as tr


def by_enumeration(G, rank, rows, columns):
    best = 0.0
    for S in combinations(range(G.shape[0]), rows):
        for T in combinations(range(G.shape[1]), columns):
            values = np.linalg.svd(G[np.ix_(S, T)], compute_uv=False)[:rank]
            best = max(best, math.sqrt(sum(values**2)))
    return best


@pytest.mark.parametrize(
    ("shape", "rank", "rows", "columns"),
    [((6, 5), 1, 2, 3), ((6, 5), 2, 2, 3), ((4, 7), 2, 3, 4), ((5, 5), 2, 5, 5), ((5, 5), 2, 5, 3)],
)
def test_all_methods_against_enumeration(shape, rank, rows, columns):
    G = np.random.default_rng(30000).standard_normal(shape)
    truth = by_enumeration(G, rank, rows, columns)
    found = {
        method: tr.theory.statistical_error(G, rank, rows, columns, method=method)
        for method in ("exact", "bound", "search")
    }
    assert math.isclose(found["exact"].value, truth, rel_tol=1e-12)
    assert found["bound"].value >= truth * (1 - 1e-12)
    assert truth * (1 - 1e-12) >= found["search"].value * (1 - 1e-11) > 0.9 * truth
    assert [q.kind for q in found.values()] == ["exact", "bound", "estimate"]


def test_auto_is_a_bound_where_enumeration_is_too_long():
    G = np.random.default_rng(30001).standard_normal((60, 50))
    auto = tr.theory.statistical_error(G, 4, 10, 10)
    assert auto.kind == "bound"
    assert auto.value >= tr.theory.statistical_error(G, 4, 10, 10, method="search").value
    limits = tr.theory.statistical_error(G, 4, 100, None)  # more rows than there are: no limit
    assert limits.kind == "exact"
    assert math.isclose(limits.value, math.sqrt(sum(np.linalg.svd(G)[1][:4] ** 2)))


def test_the_lemma_bounds_the_error_of_simulated_noise():
    rng = np.random.default_rng(30002)
    n, p, k = 50, 8, 6
    X = rng.standard_normal((n, p))
    kappa = tr.theory.sparse_eigenvalues(X, 3).largest.value
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


def test_wrong_arguments():
    with pytest.raises(ValueError, match="gradient must be a matrix"):
        tr.theory.statistical_error(np.ones(3), 1)
    with pytest.raises(ValueError, match="row_sparsity must be a positive integer, got 0"):
        tr.theory.statistical_error(np.eye(3), 1, 0)
