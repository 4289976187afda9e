"""Matrix completion against least squares, finite differences, soft-impute and all supports."""

from itertools import combinations

import numpy as np
import pytest
from scipy import sparse

import thinrank as tr


def table(shape, share, seed=0):
    rng = np.random.default_rng(seed)
    A = rng.standard_normal(shape)
    A[rng.random(shape) > share] = np.nan
    return A


def completion(A, rank, rows, columns, ridge):
    return tr.SparseMatrixCompletion(rank, rows, columns, ridge=ridge).fit(A)


def objective(A, U, V, ridge):
    return np.nansum((A - U @ V.T) ** 2) + ridge * (np.sum(U**2) + np.sum(V**2))


def test_derivatives_vanish_on_the_rows_and_columns_in_use():
    A, ridge, step = table((12, 9), 0.7), 0.4, 1e-5
    factors = completion(A, 2, 6, 5, ridge).factors_
    U, V = np.array(factors.U), np.array(factors.V)
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
                assert abs(values[0] - values[1]) / (2 * step) < 0.02


def test_without_limits_it_is_soft_impute():
    A, ridge = table((12, 9), 0.6), 0.7
    seen, theta = ~np.isnan(A), np.zeros(A.shape)
    for _ in range(3000):
        left, values, right = np.linalg.svd(np.where(seen, A, theta), full_matrices=False)
        theta = left * np.maximum(values - ridge, 0.0) @ right
    found = completion(A, 9, None, None, ridge).factors_.theta
    np.testing.assert_allclose(found, theta, atol=2e-3)


def best_of_block(A, rows, columns, ridge):
    """The lowest objective of rank one on two rows and two columns, from several starts."""
    block = A[np.ix_(rows, columns)]
    seen = ~np.isnan(block)
    least = np.inf
    for start in ([1.0, 1.0], [1.0, -1.0]):
        v = np.array(start)
        for _ in range(20):
            u = np.nansum(block * v, axis=1) / (seen @ v**2 + ridge)
            v = np.nansum(block * u[:, None], axis=0) / (seen.T @ u**2 + ridge)
        value = objective(block, u[:, None], v[:, None], ridge)
        least = min(least, value + np.nansum(A**2) - np.nansum(block**2))
    return least


def test_exhaustive_search_on_small_matrices():
    as_low = 0
    for seed in range(4):
        A = table((5, 4), 0.75, seed)
        fit = completion(A, 1, 2, 2, 0.1).factors_
        found = objective(A, np.array(fit.U), np.array(fit.V), 0.1)
        pairs = [list(combinations(range(size), 2)) for size in A.shape]
        least = min(best_of_block(A, r, c, 0.1) for r in pairs[0] for c in pairs[1])
        assert found >= least - 1e-3
        as_low += found <= least + 1e-4
    assert as_low >= 3


def test_few_cells_of_a_sparse_matrix_have_the_same_result():
    A = table((40, 30), 0.2)
    stored = sparse.coo_array((A[~np.isnan(A)], np.nonzero(~np.isnan(A))), shape=A.shape)
    dense, few = (completion(each, 2, 12, 9, 0.5).factors_.theta for each in (A, stored.tocsr()))
    np.testing.assert_allclose(few, dense, atol=1e-5)


@pytest.mark.parametrize("center", ["columns", "rows", "both"])
def test_the_centre_is_a_least_squares_fit_of_the_observed_cells(center):
    A = table((8, 6), 0.6) + np.arange(8)[:, None] - 2.0 * np.arange(6)
    fit = tr.SparseMatrixCompletion(1, 2, 2, ridge=0.1, center=center).fit(A)
    rows, columns = np.nonzero(~np.isnan(A))
    design = np.hstack(
        [np.eye(8)[rows] * (center != "columns"), np.eye(6)[columns] * (center != "rows")]
    )
    expected = design @ np.linalg.lstsq(design, A[rows, columns], rcond=None)[0]
    found = fit.row_center_[rows] + fit.column_center_[columns]
    np.testing.assert_allclose(found, expected, atol=1e-6)
