import numpy as np
import pytest
import scipy.sparse as sp

import thinrank as tr
from thinrank.core.factors import Factors
from thinrank.core.warnings import SelectionWarning
from thinrank.designs import Deflated, Dense, Sparse
from thinrank.matrices.cell_squares import cell_squares, mostly_zero, weighted_squares


def few_cells(rng, shape=(40, 60), share=0.05):
    return np.where(rng.random(shape) < share, rng.standard_normal(shape), 0.0)


@pytest.mark.parametrize("kind", [Dense, lambda A: Sparse(sp.csr_array(A))])
def test_squares_are_those_of_the_cells(rng, kind):
    A = few_cells(rng)
    removed = [Factors(rng.standard_normal((40, k)), rng.standard_normal((60, k))) for k in (2, 1)]
    design, rest, weights = kind(A), A, rng.random(60)
    for one in [None, *removed]:
        if one is not None:
            design, rest = Deflated(design, one), rest - one.theta
        np.testing.assert_allclose(weighted_squares(design, weights), rest**2 @ weights)
        found = cell_squares(design)
        np.testing.assert_allclose(found.rows, np.mean(rest**2, axis=1))
        np.testing.assert_allclose(found.columns, np.mean(rest**2, axis=0))


def test_only_matrices_of_few_cells_have_a_known_scale(rng):
    A = Dense(few_cells(rng, share=0.3))
    assert not mostly_zero(A)
    assert not cell_squares(A).rows.any()
    assert not cell_squares(A).columns.any()


def large_sparse(rng, blocks):
    """3000 × 4000 cells, 6,000 of them not zero, and blocks of 40 × 30 that are half full."""
    count = 6000
    rows, columns = [rng.integers(0, 3000, count)], [rng.integers(0, 4000, count)]
    values = [rng.standard_normal(count)]
    for block in range(blocks):
        r, c = np.nonzero(rng.random((40, 30)) < 0.5)
        rows.append(r + 100 * block)
        columns.append(c + 200 * block)
        values.append(2 + rng.standard_normal(len(r)))
    entries = np.concatenate(values), (np.concatenate(rows), np.concatenate(columns))
    return sp.coo_array(entries, shape=(3000, 4000)).tocsr()


def test_blocks_of_a_large_sparse_matrix_are_found(rng):
    svd = tr.SparseSVD().fit(large_sparse(rng, 2))
    assert svd.rank_ == 2
    rows = {*range(40), *range(100, 140)}
    columns = {*range(30), *range(200, 230)}
    assert len({*svd.row_support_} ^ rows) <= 2
    assert len({*svd.column_support_} ^ columns) <= 2


def test_a_large_sparse_matrix_of_noise_has_rank_0(rng):
    with pytest.warns(SelectionWarning, match="No block"):
        assert tr.SparseSVD().fit(large_sparse(rng, 0)).rank_ == 0
