"""Blocks along the diagonal, against the dense matrix with its zeros."""

import tracemalloc

import numpy as np
import pytest
import scipy.linalg
import scipy.sparse as sp

import thinrank as tr
from thinrank.designs import BlockDiagonal, Dense, as_design, standardize, take_rows

SHAPES = [(4, 3), (0, 3), (5, 4)]


def matrices(dtype="float64"):
    rng = np.random.default_rng(0)
    return [rng.standard_normal(shape).astype(dtype) for shape in SHAPES]


def explicit():
    return scipy.linalg.block_diag(*matrices())


def check_against(design, X, convert, index, back, tol):
    rng = np.random.default_rng(1)
    n, p = X.shape
    assert tuple(design.shape) == (n, p)
    wide, tall = rng.standard_normal((p, 2)), rng.standard_normal((n, 2))
    scale, center = rng.uniform(0, 2, n), rng.standard_normal(p)
    some = np.array([7, 0, p - 1, 2])
    scaled = scale[:, None] * (X - center)
    pairs = [
        (design @ convert(wide), X @ wide),
        (design @ convert(wide[:, 0]), X @ wide[:, 0]),
        (design.transposed_product(convert(tall)), X.T @ tall),
        (design.transposed_product(convert(tall[:, 0])), X.T @ tall[:, 0]),
        (design.columns(index(some)), X[:, some]),
        (design.gram(index(some)), X[:, some].T @ X[:, some]),
        (design.gram(), X.T @ X),
        (design.gram(), X.T @ X),  # the one that is held
        (design.column_norms(), np.linalg.norm(X, axis=0)),
        (design.column_norms(convert(scale)), np.linalg.norm(scale[:, None] * X, axis=0)),
        (design.column_norms(None, convert(center)), np.linalg.norm(X - center, axis=0)),
        (design.column_norms(convert(scale), convert(center)), np.linalg.norm(scaled, axis=0)),
    ]
    for found, expected in pairs:
        assert tuple(found.shape) == expected.shape
        np.testing.assert_allclose(back(found), expected, rtol=tol, atol=tol)


def test_every_library(library, dtype):
    design = BlockDiagonal([Dense(library.array(block, dtype)) for block in matrices()])
    tol = 1e-4 if dtype == "float32" else 1e-11
    library.check(design @ library.array(np.eye(10), dtype), design.gram(), dtype=dtype)
    check_against(
        design, explicit(), lambda x: library.array(x, dtype), library.index, library.numpy, tol
    )


def test_sparse_blocks():
    design = BlockDiagonal([as_design(sp.csr_array(block)) for block in matrices()])
    check_against(design, explicit(), np.asarray, np.asarray, np.asarray, 1e-11)


def test_rows_and_standardization():
    design, X = BlockDiagonal([Dense(block) for block in matrices()]), explicit()
    rows = np.array([1, 3, 4, 8])
    np.testing.assert_allclose(take_rows(design, rows) @ np.eye(10), X[rows])
    scaled = standardize(design).design @ np.eye(10)
    live = X.std(axis=0) > 0
    expected = (X - X.mean(axis=0))[:, live] / X.std(axis=0)[live]
    np.testing.assert_allclose(scaled[:, live], expected, atol=1e-12)


def test_a_repeated_block_is_held_once_and_its_zeros_never():
    block = np.ones((2000, 100))
    tracemalloc.start()
    design = BlockDiagonal([Dense(block)] * 10)
    product = design @ np.ones((1000, 2))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert product.shape == (20_000, 2)
    assert peak < block.nbytes  # all of X would be a hundred times that


@pytest.mark.parametrize("solver", ["pursuit", "gdt"])
def test_the_estimator_does_not_see_the_difference(solver):
    rng = np.random.default_rng(2)
    block = rng.standard_normal((40, 6))
    X = np.kron(np.eye(2), block)
    theta = np.zeros((12, 5))
    theta[[1, 8, 9]] = np.outer([1, 2, 3], rng.standard_normal(5))
    Y = X @ theta + 0.01 * rng.standard_normal((80, 5))
    options = {"standardize": False, "fit_intercept": False, "solver": solver}
    fits = [
        tr.SparseReducedRankRegressor(1, 3, None, **options).fit(x, Y)
        for x in (X, BlockDiagonal([Dense(block)] * 2))
    ]
    assert fits[0].row_support_.tolist() == fits[1].row_support_.tolist() == [1, 8, 9]
    np.testing.assert_allclose(fits[0].coef_, fits[1].coef_, atol=1e-6)


def test_errors():
    with pytest.raises(ValueError, match="blocks must contain at least one design"):
        BlockDiagonal([])
    with pytest.raises(TypeError, match="got ndarray at position 1"):
        BlockDiagonal([Dense(np.ones((2, 2))), np.ones((2, 2))])
    with pytest.raises(ValueError, match="same dtype, got float32, float64"):
        BlockDiagonal([Dense(np.ones((2, 2))), Dense(np.ones((2, 2), np.float32))])
