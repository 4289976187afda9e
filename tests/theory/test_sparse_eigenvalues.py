"""Restricted eigenvalues against enumeration, and what is said about each number."""

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
    np.testing.assert_allclose([float(exact.smallest), float(exact.largest)], [low, high])
    assert exact.smallest.kind == exact.largest.kind == "exact"
    found = tr.theory.sparse_eigenvalues(X, size, method="search")
    assert found.smallest.value >= low * (1 - 1e-12)
    assert found.largest.value <= high * (1 + 1e-12)
    assert found.smallest.kind == found.largest.kind == "estimate"


def test_search_finds_planted_supports():
    """Three nearly dependent columns among 200, where enumeration is not possible."""
    rng = np.random.default_rng(30002)
    X = rng.standard_normal((400, 200))
    X[:, 50] = X[:, 20] + X[:, 120] + 0.1 * rng.standard_normal(400)
    H = X.T @ X / 400
    S = [20, 50, 120]
    planted = np.linalg.eigvalsh(H[np.ix_(S, S)])
    found = tr.theory.sparse_eigenvalues(X, 3)
    assert found.smallest.kind == "estimate"
    assert found.smallest.value <= planted[0] * (1 + 1e-9)
    assert found.largest.value >= planted[-1] * (1 - 1e-9)
    assert found.condition == found.largest.value / found.smallest.value


def test_losses_with_ridge_and_per_task(X):
    rng = np.random.default_rng(30003)
    Y = rng.standard_normal((15, 4))
    plain = tr.theory.sparse_eigenvalues(X, 3)
    ridged = tr.theory.sparse_eigenvalues(tr.losses.LeastSquares(X, Y, ridge=0.5), 3)
    assert math.isclose(ridged.smallest.value, plain.smallest.value + 0.5)
    other = rng.standard_normal((12, 9))
    stacked = np.concatenate([X, other])
    tasks = tr.losses.PerTask(stacked, rng.standard_normal(27), np.repeat([0, 1], [15, 12]))
    both = tr.theory.sparse_eigenvalues(tasks, 3)
    ends = [by_enumeration(M.T @ M / len(M), 3) for M in (X, other)]
    assert math.isclose(both.smallest.value, min(e[0] for e in ends), rel_tol=1e-9)
    assert math.isclose(both.largest.value, max(e[1] for e in ends), rel_tol=1e-9)
    assert tr.theory.sparse_eigenvalues(tasks, 3, method="search").largest.kind == "estimate"


def test_wrong_arguments(X):
    with pytest.raises(ValueError, match=r"size must be an integer from 1 to 9.*got 10"):
        tr.theory.sparse_eigenvalues(X, 10)
    with pytest.raises(ValueError, match=r"method must be one of .*'exact'.*got 'exhaustive'"):
        tr.theory.sparse_eigenvalues(X, 2, method="exhaustive")
    glm = tr.losses.GeneralizedLinear(X, np.ones((15, 2)), tr.losses.families.Poisson())
    with pytest.raises(TypeError, match="curvature"):
        tr.theory.sparse_eigenvalues(glm, 2)
