import itertools

import numpy as np
import pytest
import scipy.sparse as sp

from thinrank.designs import as_design
from thinrank.matrices.given_sizes import nearest


def best_by_enumeration(A, rank, rows, columns):
    """Largest energy of any block, over all rows and columns."""
    return max(
        np.sum(np.linalg.svd(A[np.ix_(r, c)], compute_uv=False)[:rank] ** 2)
        for r in itertools.combinations(range(A.shape[0]), rows)
        for c in itertools.combinations(range(A.shape[1]), columns)
    )


def test_exhaustive_search_on_tiny_matrices_of_noise():
    """Noise without any block, where many supports are nearly as good as the best."""
    optimal = []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        shape = rng.integers(4, 7, 2)
        A = rng.standard_normal(shape)
        rows, columns = (int(rng.integers(1, size)) for size in shape)
        rank = min(int(rng.integers(1, 3)), rows, columns)
        found = nearest(as_design(A), rank, rows, columns)
        assert len(found.row_support) <= rows
        assert len(found.column_support) <= columns
        best = best_by_enumeration(A, rank, rows, columns)
        energy = np.sum(found.singular_values() ** 2)
        assert energy <= best * (1 + 1e-9)
        # what is captured is what the distance says
        assert np.sum((A - found.theta) ** 2) == pytest.approx(np.sum(A**2) - energy)
        optimal.append(energy >= best * (1 - 1e-9))
    assert np.mean(optimal) >= 0.95


@pytest.mark.parametrize("shape", [(12, 7), (7, 12), (60, 50)])
def test_eckart_young_without_limits(shape):
    A = np.random.default_rng(1).standard_normal(shape)
    left, values, right = np.linalg.svd(A, full_matrices=False)
    found = nearest(as_design(A), 3, *shape)
    np.testing.assert_allclose(found.theta, (left[:, :3] * values[:3]) @ right[:3], atol=1e-10)


@pytest.mark.parametrize("rows", [15, 90])
def test_a_clear_block_is_found_in_a_large_matrix(rows):
    """With and without exchanges: the block of candidates is small or large."""
    rng = np.random.default_rng(2)
    A = rng.standard_normal((300, 250))
    A[:rows, 5:25] += 5 * rng.choice([-1, 1], (rows, 1)) * rng.choice([-1, 1], (1, 20))
    for matrix in (A, sp.csr_array(A)):
        found = nearest(as_design(matrix), 1, rows, 20)
        assert found.row_support.tolist() == list(range(rows))
        assert found.column_support.tolist() == list(range(5, 25))


def test_zero_matrix_has_rank_zero():
    assert nearest(as_design(np.zeros((5, 4))), 2, 3, 2).rank == 0
