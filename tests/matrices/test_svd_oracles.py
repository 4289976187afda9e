"""Sparse singular value decompositions against all supports, closed forms and planted blocks."""

from itertools import combinations

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse.linalg import aslinearoperator

import thinrank as tr
from thinrank.core.warnings import SelectionWarning


def best_by_enumeration(A, rank, rows, columns):
    """Largest energy of any block, over all rows and columns."""
    return max(
        np.sum(np.linalg.svd(A[np.ix_(r, c)], compute_uv=False)[:rank] ** 2)
        for r in combinations(range(A.shape[0]), rows)
        for c in combinations(range(A.shape[1]), columns)
    )


def test_exhaustive_search_on_tiny_matrices_of_noise():
    """Noise without any block, where many supports are nearly as good as the best."""
    optimal = []
    for seed in range(25):
        rng = np.random.default_rng(seed)
        shape = rng.integers(4, 7, 2)
        A = rng.standard_normal(shape)
        rows, columns = (int(rng.integers(1, size)) for size in shape)
        rank = min(int(rng.integers(1, 3)), rows, columns)
        found = tr.SparseSVD(rank, rows, columns).fit(A)
        assert len(found.row_support_) <= rows
        assert len(found.column_support_) <= columns
        best = best_by_enumeration(A, rank, rows, columns)
        energy = np.sum(found.singular_values_**2)
        assert energy <= best * (1 + 1e-9)
        # what is captured is what the distance says
        left = np.sum((A - found.factors_.theta) ** 2)
        assert left == pytest.approx(np.sum(A**2) - energy)
        optimal.append(energy >= best * (1 - 1e-7))
    assert np.mean(optimal) >= 0.9


@pytest.mark.parametrize("shape", [(12, 7), (60, 50)])
def test_eckart_young_without_limits(shape):
    A = np.random.default_rng(1).standard_normal(shape)
    left, values, right = np.linalg.svd(A, full_matrices=False)
    found = tr.SparseSVD(3, None, None).fit(A).factors_.theta
    np.testing.assert_allclose(found, (left[:, :3] * values[:3]) @ right[:3], atol=1e-7)


@pytest.mark.parametrize("rows", [15, 90])
def test_a_clear_block_of_given_size(rows):
    rng = np.random.default_rng(2)
    A = rng.standard_normal((300, 250))
    A[:rows, 5:25] += 5 * rng.choice([-1, 1], (rows, 1)) * rng.choice([-1, 1], (1, 20))
    for matrix in (A, sp.csr_array(A)):
        found = tr.SparseSVD(1, rows, 20).fit(matrix)
        assert found.row_support_.tolist() == list(range(rows))
        assert found.column_support_.tolist() == list(range(5, 25))


def test_a_zero_matrix_has_rank_zero():
    assert tr.SparseSVD(2, 3, 2).fit(np.zeros((5, 4))).rank_ == 0


def two_blocks():
    """Two disjoint blocks of the same singular value, whose singular vectors are mixed."""
    rng = np.random.default_rng(0)
    A = rng.standard_normal((200, 150))
    blocks = [(np.arange(15), np.arange(10)), (np.arange(100, 115), np.arange(100, 110))]
    for rows, columns in blocks:
        A[np.ix_(rows, columns)] += 60 / 150**0.5 * rng.choice([-1, 1], (15, 1))
    return A, [(r.tolist(), c.tolist()) for r, c in blocks]


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array, aslinearoperator, lambda A: 1e-9 * A])
def test_equal_blocks_are_separate_layers(form):
    A, blocks = two_blocks()
    svd = tr.SparseSVD(layers=True).fit(form(A))
    found = [tuple(each.tolist() for each in svd.get_indices(i)) for i in range(svd.rank_)]
    assert sorted(found) == blocks


def factor_noise(rng, rows, columns):
    return rng.standard_normal((rows, columns)) + rng.standard_normal((rows, 1))


def neighbours(rng, rows, columns):
    E = rng.standard_normal((rows, columns))
    for j in range(1, columns):
        E[:, j] = 0.9 * E[:, j - 1] + 0.19**0.5 * E[:, j]
    return E


@pytest.mark.parametrize("transpose", [False, True])
@pytest.mark.parametrize("noise", [factor_noise, neighbours])
def test_noise_with_correlated_columns_or_rows_has_rank_zero(noise, transpose):
    A = noise(np.random.default_rng(0), 80, 50)
    with pytest.warns(SelectionWarning, match="No block"):
        assert tr.SparseSVD().fit(A.T.copy() if transpose else A).rank_ == 0


def test_a_factor_of_all_rows_is_found_on_demand():
    """A factor in a few columns and all rows cannot be told from noise with correlated columns."""
    rng = np.random.default_rng(4)
    A = rng.standard_normal((200, 150))
    A[:, :10] += 2 * rng.standard_normal((200, 1))
    svd = tr.SparseSVD(row_sparsity=None).fit(A)
    assert svd.rank_ == 1
    assert svd.column_support_.tolist() == list(range(10))
    with pytest.warns(SelectionWarning, match="No block"):
        assert tr.SparseSVD(background=0).fit(A).rank_ == 0


def test_overlapping_layers_are_fitted_by_least_squares():
    rng = np.random.default_rng(6)
    A = 0.1 * rng.standard_normal((60, 50))
    A[:10, :10] += 4
    A[5:15, 5:15] += np.outer(rng.choice([-1, 1], 10), rng.choice([-1, 1], 10)) * 3
    svd = tr.SparseSVD(2, layers=True).fit(A)
    rest = A - svd.factors_.theta - svd.background_.theta
    for i in range(2):
        rows, columns = svd.get_indices(i)
        inner = rest[np.ix_(rows, columns)]
        # what is left of the matrix is orthogonal to changes of either vector
        size = 1e-3 * svd.singular_values_[i]
        assert np.abs(inner @ svd.components_[i, columns]).max() < size
        assert np.abs(inner.T @ svd.left_vectors_[rows, i]).max() < size


def large_sparse(rng, blocks):
    """500 × 600 cells, 500 of them not zero, and blocks of 40 × 30 that are half full."""
    count = 500
    rows, columns = [rng.integers(0, 500, count)], [rng.integers(0, 600, count)]
    values = [rng.standard_normal(count)]
    for block in range(blocks):
        r, c = np.nonzero(rng.random((40, 30)) < 0.5)
        rows.append(r + 100 * block)
        columns.append(c + 200 * block)
        values.append(2 + rng.standard_normal(len(r)))
    entries = np.concatenate(values), (np.concatenate(rows), np.concatenate(columns))
    return sp.coo_array(entries, shape=(500, 600)).tocsr()


def test_blocks_of_a_large_sparse_matrix(rng):
    svd = tr.SparseSVD().fit(large_sparse(rng, 2))
    assert svd.rank_ == 2
    assert len({*svd.row_support_} ^ {*range(40), *range(100, 140)}) <= 2
    assert len({*svd.column_support_} ^ {*range(30), *range(200, 230)}) <= 2
    with pytest.warns(SelectionWarning, match="No block"):
        assert tr.SparseSVD().fit(large_sparse(rng, 0)).rank_ == 0
