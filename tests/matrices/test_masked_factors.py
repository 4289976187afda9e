from itertools import combinations, pairwise

import numpy as np
import pytest
from scipy import sparse

from thinrank.matrices import masked_factors
from thinrank.matrices.masked_factors import alternate, balanced, best_rows, regressions
from thinrank.matrices.observed_cells import Block, ObservedCells
from thinrank.matrices.ridge_path import fit_sizes


def table(shape, share, seed=0):
    rng = np.random.default_rng(seed)
    A = rng.standard_normal(shape)
    A[rng.random(shape) > share] = np.nan
    return A


def objective(A, U, V, ridge):
    return np.nansum((A - U @ V.T) ** 2) + ridge * (np.sum(U**2) + np.sum(V**2))


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_regressions_are_those_of_each_row(form, monkeypatch):
    A, W = table((7, 5), 0.6), np.random.default_rng(1).standard_normal((5, 2))
    seen = ~np.isnan(A)
    block = Block(form(seen.astype(float)), form(np.where(seen, A, 0.0)))
    expected = [
        np.linalg.solve(W[s].T @ W[s] + 0.3 * np.eye(2), W[s].T @ row[s])
        for row, s in zip(A, seen, strict=True)
    ]
    monkeypatch.setattr(masked_factors, "_GROUP_ENTRIES", 8)  # two rows at a time
    U, gains = regressions(block, W, 0.3)
    np.testing.assert_allclose(U, expected, rtol=1e-10)
    lowered = [
        np.sum(row[s] ** 2) - np.sum((row[s] - W[s] @ u) ** 2) - 0.3 * u @ u
        for row, s, u in zip(A, seen, expected, strict=True)
    ]
    np.testing.assert_allclose(gains, lowered, rtol=1e-10)


def test_the_best_rows_are_those_of_an_exhaustive_search():
    A, V = table((6, 5), 0.7), np.random.default_rng(1).standard_normal((5, 2))
    V[1] = 0.0
    U, _ = best_rows(ObservedCells.of(A), V, 3, 0.2)
    everything, _ = best_rows(ObservedCells.of(A), V, 6, 0.2)
    values = []
    for rows in combinations(range(6), 3):
        kept = np.zeros_like(everything)
        kept[list(rows)] = everything[list(rows)]
        values.append(objective(A, kept, V, 0.2))
    assert np.count_nonzero(U.any(axis=1)) == 3
    assert objective(A, U, V, 0.2) == pytest.approx(min(values), rel=1e-12)


def test_derivatives_vanish_on_the_rows_and_columns_in_use():
    A, ridge, step = table((12, 9), 0.7), 0.4, 1e-5
    fit = fit_sizes(ObservedCells.of(A), 2, 6, 5, ridge, tol=1e-14, max_iter=3000)
    U, V = fit.U, fit.V
    assert fit.objective == pytest.approx(objective(A, U, V, ridge), rel=1e-10)
    assert np.count_nonzero(U.any(axis=1)) == 6
    assert np.count_nonzero(V.any(axis=1)) == 5
    for W in (U, V):
        for i in np.flatnonzero(W.any(axis=1)):
            for k in range(2):
                at = W[i, k]
                values = []
                for sign in (1, -1):
                    W[i, k] = at + sign * step
                    values.append(objective(A, U, V, ridge))
                W[i, k] = at
                assert abs(values[0] - values[1]) / (2 * step) < 1e-4


def test_alternations_never_increase_the_objective():
    A = table((15, 10), 0.6)
    cells, V = ObservedCells.of(A), np.random.default_rng(2).standard_normal((10, 2))
    values = [
        alternate(cells, V, 6, 4, 0.1, tol=0.0, max_iter=10 * n).objective for n in (1, 2, 3, 6)
    ]
    assert all(later <= earlier + 1e-12 for earlier, later in pairwise(values))


@pytest.mark.parametrize("share", [0.05, 0.6])
def test_a_few_cells_are_held_in_sparse_form_with_the_same_result(share, monkeypatch):
    A = table((40, 30), share)
    cells = ObservedCells.of(A)
    assert sparse.issparse(cells.by_row.mask) == (share < 0.1)
    fit = fit_sizes(cells, 2, 12, 9, 0.5, tol=1e-10, max_iter=500)
    monkeypatch.setattr("thinrank.matrices.observed_cells._DENSE_SHARE", 0.0)
    dense = fit_sizes(ObservedCells.of(A), 2, 12, 9, 0.5, tol=1e-10, max_iter=500)
    np.testing.assert_allclose(fit.U @ fit.V.T, dense.U @ dense.V.T, atol=1e-5)


def test_without_limits_it_is_soft_impute():
    A, ridge = table((12, 9), 0.6), 0.7
    seen, theta = ~np.isnan(A), np.zeros(A.shape)
    for _ in range(3000):
        left, values, right = np.linalg.svd(np.where(seen, A, theta), full_matrices=False)
        theta = left * np.maximum(values - ridge, 0.0) @ right
    fit = fit_sizes(ObservedCells.of(A), 9, 12, 9, ridge, tol=1e-13, max_iter=5000)
    np.testing.assert_allclose(fit.U @ fit.V.T, theta, atol=1e-4)


def test_exhaustive_search_on_small_matrices():
    """All pairs of two rows and two columns; a 2 × 2 block is fitted from several starts."""
    as_low = 0
    for seed in range(4):
        A = table((5, 4), 0.75, seed)
        found = fit_sizes(ObservedCells.of(A), 1, 2, 2, 0.1, tol=1e-12, max_iter=500).objective
        least = np.inf
        for rows in combinations(range(5), 2):
            for columns in combinations(range(4), 2):
                part = np.full(A.shape, np.nan)
                here = np.ix_(rows, columns)
                part[here] = A[here]
                rest = np.nansum(A**2) - np.nansum(part**2)
                for start in ([1.0, 1.0], [1.0, -1.0]):
                    V = np.zeros((4, 1))
                    V[list(columns), 0] = start
                    fit = alternate(ObservedCells.of(part), V, 2, 2, 0.1, tol=1e-9, max_iter=100)
                    least = min(least, fit.objective + rest)
        assert found >= least - 1e-6
        as_low += found <= least + 1e-6
    assert as_low >= 3


def test_balanced_factors_have_the_same_product():
    rng = np.random.default_rng(0)
    U, V = rng.standard_normal((6, 3)), rng.standard_normal((5, 3))
    U[2] = 0.0
    new_U, new_V = balanced(U, V)
    np.testing.assert_allclose(new_U @ new_V.T, U @ V.T, atol=1e-12)
    np.testing.assert_allclose(new_U.T @ new_U, new_V.T @ new_V, atol=1e-12)
    raised, _ = balanced(U[:, :1] @ np.ones((1, 3)), V, 0.1)
    norms = np.sum(raised**2, axis=0)
    np.testing.assert_allclose(norms[1:], 0.1 * norms[0])
