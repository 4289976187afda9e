"""Designs made from others: some rows or columns, blocks on the diagonal, without a product."""

import numpy as np
import pytest
import scipy.linalg
import scipy.sparse as sp
from contract import assert_acts_like
from test_designs import BASES, explicit, matrix, parts

import thinrank as tr
from thinrank.designs import (
    BlockDiagonal,
    ColumnSubset,
    Dense,
    Transformed,
    as_design,
    standardize,
    take_rows,
)

ROWS, COLUMNS = np.array([0, 2, 3, 7, 8, 12]), np.array([0, 3, 4, 80, 255])


# --------------------------------------------------------------------------- rows and columns


@pytest.mark.parametrize("base", BASES)
@pytest.mark.parametrize("transformed", [False, True])
def test_rows_and_columns_of_every_design(base, transformed):
    design, X = as_design(BASES[base](matrix())), matrix()
    if transformed:
        design, X = Transformed(design, **parts("all")), explicit(X, **parts("all"))
    rows, columns = take_rows(design, ROWS), ColumnSubset(design, COLUMNS)
    assert_acts_like(rows, X[ROWS])
    assert_acts_like(take_rows(rows, np.array([1, 4])), X[ROWS][[1, 4]])
    assert_acts_like(columns, X[:, COLUMNS])
    assert_acts_like(take_rows(columns, ROWS), X[np.ix_(ROWS, COLUMNS)])


@pytest.mark.parametrize("transformed", [False, True])
def test_rows_of_every_library(library, dtype, transformed):
    design, X = Dense(library.array(matrix(), dtype)), matrix()
    if transformed:
        moved = {name: library.array(v, dtype) for name, v in parts("all").items()}
        design, X = Transformed(design, **moved), explicit(X, **parts("all"))
    assert_acts_like(take_rows(design, library.index(ROWS)), X[ROWS], library, dtype)


# --------------------------------------------------------------------------- without a product


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_without_a_product(kind):
    rng = np.random.default_rng(0)
    X, U, V = rng.standard_normal((9, 6)), rng.standard_normal((9, 2)), rng.standard_normal((6, 2))
    design, expected = Transformed(as_design(kind(X)), removed=tr.Factors(U, V)), X - U @ V.T
    assert_acts_like(design, expected)
    rows, B = np.array([0, 3, 8]), rng.standard_normal((6, 3))
    np.testing.assert_allclose(design.rows(rows) @ B, expected[rows] @ B)


# --------------------------------------------------------------------------- diagonal blocks


def matrices():
    rng = np.random.default_rng(0)
    return [rng.standard_normal(shape) for shape in [(4, 3), (0, 3), (5, 4)]]


def test_diagonal_blocks_of_every_library(library, dtype):
    design = BlockDiagonal([Dense(library.array(block, dtype)) for block in matrices()])
    assert_acts_like(design, scipy.linalg.block_diag(*matrices()), library, dtype)


def test_sparse_blocks_their_rows_and_standardization():
    X = scipy.linalg.block_diag(*matrices())
    design = BlockDiagonal([as_design(sp.csr_array(block)) for block in matrices()])
    assert_acts_like(design, X)
    rows = np.array([1, 3, 4, 8])
    np.testing.assert_allclose(take_rows(design, rows) @ np.eye(10), X[rows])
    live = X.std(axis=0) > 0
    expected = (X - X.mean(axis=0))[:, live] / X.std(axis=0)[live]
    found = standardize(design).design @ np.eye(10)
    np.testing.assert_allclose(found[:, live], expected, atol=1e-12)


def test_blocks_that_do_not_fit_together():
    with pytest.raises(ValueError, match="blocks must contain at least one design"):
        BlockDiagonal([])
    with pytest.raises(TypeError, match="got ndarray at position 1"):
        BlockDiagonal([Dense(np.ones((2, 2))), np.ones((2, 2))])
    with pytest.raises(ValueError, match="same dtype, got float32, float64"):
        BlockDiagonal([Dense(np.ones((2, 2))), Dense(np.ones((2, 2), np.float32))])
