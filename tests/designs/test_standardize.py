"""Implicit standardisation against explicit computing."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse.linalg import aslinearoperator

from thinrank.designs import as_design, standardize

N, P = 40, 6
TOL = {"float32": 1e-4, "float64": 1e-10}
WRAPS = {
    "dense": np.ascontiguousarray,
    "columns first": np.asfortranarray,
    "sparse": sp.csr_array,
    "operator": aslinearoperator,
}


def matrix():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((N, P)) * [1, 10, 0.1, 2, 1, 1] + [0, 3, -2, 5, 0, 0]
    X[rng.uniform(size=X.shape) < 0.3] = 0
    X[:, 4] = 0.7  # constant
    X[:, 5] = 0.0
    return X


def weights():
    weight = np.random.default_rng(1).integers(0, 4, N).astype(float)
    weight[:3] = [0.5, 2.5, 0]
    return weight


def explicit(X, weight, center, scale):
    """The standardised matrix, its centre and scale; columns without spread become zero."""
    mean = np.average(X, axis=0, weights=weight) if center else np.zeros(X.shape[1])
    spread = np.sqrt(np.average((X - mean) ** 2, axis=0, weights=weight))
    spread[spread < 1e-12] = 0
    if not scale:
        return X - mean, mean, None
    return np.where(spread > 0, (X - mean) / np.where(spread > 0, spread, 1), 0), mean, spread


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("center", [False, True])
@pytest.mark.parametrize("scale", [False, True])
def test_standardize(library, dtype, weighted, center, scale):
    weight = library.array(weights(), dtype) if weighted else None
    design = as_design(library.array(matrix(), dtype))
    out = standardize(design, sample_weight=weight, center=center, scale=scale)
    X, mean, spread = explicit(matrix(), weights() if weighted else None, center, scale)
    eye = library.array(np.eye(P), dtype)
    library.check(out.design @ eye, dtype=dtype)
    tol = TOL[dtype]
    np.testing.assert_allclose(library.numpy(out.design @ eye), X, atol=100 * tol)
    for vector, expected, wanted in ((out.center, mean, center), (out.scale, spread, scale)):
        if not wanted:
            assert vector is None
        else:
            library.check(vector, dtype=dtype)
            np.testing.assert_allclose(library.numpy(vector), expected, rtol=tol, atol=tol)
    if scale:
        inverse = library.numpy(out.inverse_scale)
        np.testing.assert_allclose(inverse[spread > 0], 1 / spread[spread > 0], rtol=tol)
        np.testing.assert_array_equal(inverse[spread == 0], 0)
    else:
        assert out.inverse_scale is None


@pytest.mark.parametrize("wrap", WRAPS)
@pytest.mark.parametrize("weighted", [False, True])
def test_every_kind_of_design(wrap, weighted):
    weight = weights() if weighted else None
    out = standardize(as_design(WRAPS[wrap](matrix())), sample_weight=weight)
    X, mean, spread = explicit(matrix(), weight, True, True)
    np.testing.assert_allclose(out.center, mean, atol=1e-12)
    np.testing.assert_allclose(out.scale, spread, rtol=1e-10)
    np.testing.assert_allclose(out.design @ np.eye(P), X, atol=1e-10)
    np.testing.assert_allclose(out.design.gram(), X.T @ X, atol=1e-9)


@pytest.mark.parametrize("wrap", WRAPS)
def test_constant_columns_become_exactly_zero(wrap, dtype):
    rng = np.random.default_rng(3)
    X = rng.standard_normal((101, 4)).astype(dtype)
    X[:, 1:3] = [1e6 + 0.1, 1 / 3]
    out = standardize(as_design(WRAPS[wrap](X)))
    np.testing.assert_array_equal(out.scale[1:3], 0)
    assert np.all(out.scale[[0, 3]] > 0)
    block = rng.standard_normal((101, 2)).astype(dtype)
    every = np.arange(4)
    for zero in (
        (out.design @ np.eye(4, dtype=dtype))[:, 1:3],
        out.design.columns(every)[:, 1:3],
        out.design.transposed_product(block)[1:3],
        out.design.gram()[:, 1:3],
        out.design.gram(every)[1:3],
        out.design.column_norms()[1:3],
    ):
        np.testing.assert_array_equal(zero, 0)


@pytest.mark.parametrize("wrap", WRAPS)
def test_large_offsets(wrap):
    offset = 1e6  # products lose offset/spread times the rounding of a number
    rng = np.random.default_rng(4)
    X = rng.standard_normal((50, 5)) + offset
    out = standardize(as_design(WRAPS[wrap](X)))
    Z, _, spread = explicit(X, None, True, True)
    tol = 100 * offset * np.finfo(float).eps
    np.testing.assert_allclose(out.scale, spread, rtol=tol)
    np.testing.assert_allclose(out.design @ np.eye(5), Z, atol=tol)
    np.testing.assert_allclose(out.design.columns(np.arange(5)), Z, atol=tol)
    block = rng.standard_normal((50, 2))
    np.testing.assert_allclose(out.design.transposed_product(block), Z.T @ block, atol=50 * tol)
    np.testing.assert_allclose(out.design.gram(np.arange(5)), Z.T @ Z, atol=50 * tol)
    np.testing.assert_allclose(out.design.gram(), Z.T @ Z, atol=50 * tol)


@pytest.mark.arrays
@pytest.mark.parametrize("order", ["C", "F"])
def test_means_of_single_precision_far_from_zero(xp, order):
    X = 1000 + np.random.default_rng(30_201).uniform(-1, 1, (70_000, 3))
    X = np.asarray(X, dtype=np.float32, order=order)
    found = standardize(as_design(xp.asarray(X, dtype=xp.float32)))
    assert found.center.dtype == xp.float32
    wide = X.astype(np.float64)
    np.testing.assert_allclose(np.asarray(found.center), wide.mean(axis=0), rtol=1e-6)
    np.testing.assert_allclose(np.asarray(found.scale), wide.std(axis=0), rtol=1e-3)
