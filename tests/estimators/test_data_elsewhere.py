"""Fits of data on an accelerator, where other ways are taken to the same results."""

import numpy as np
import pytest

import thinrank as tr
from thinrank import arrays


@pytest.fixture(params=[5, 50, arrays.FEW])
def elsewhere(torch, monkeypatch, request):
    """Tensors count as data on an accelerator; of these the host sorts up to some numbers."""
    monkeypatch.setattr(arrays, "on_host", lambda x: type(x) is np.ndarray)
    monkeypatch.setattr(arrays, "FEW", request.param)
    return torch


def data(rng, n, p, k, rank, rows):
    chosen = rng.choice(p, rows, replace=False)
    theta = rng.standard_normal((rows, rank)) @ rng.standard_normal((rank, k))
    X = rng.standard_normal((n, p)) * rng.uniform(0.5, 2, p)
    return X, X[:, chosen] @ theta / rows**0.5 + rng.standard_normal((n, k))


@pytest.mark.parametrize(
    ("shape", "sizes", "params"),
    [
        ((600, 1500, 30, 3, 130), (3, 130, 30), {}),
        ((300, 400, 80, 2, 9), (2, 10, 70), {}),
        ((300, 400, 80, 2, 9), (2, 10, 70), {"standardize": False, "fit_intercept": False}),
        ((200, 60, 12, 2, 5), (2, 6, 12), {"always_keep": [3, 8], "ridge": 0.1}),
    ],
)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_fit_is_that_of_numpy(elsewhere, rng, shape, sizes, params, weighted, dtype):
    X, Y = (a.astype(dtype) for a in data(rng, *shape))
    X[:, -1] = 4.0  # constant
    weight = rng.integers(1, 4, shape[0]).astype(float) if weighted else None
    names = ("rank", "row_sparsity", "column_sparsity")
    fit = tr.SparseReducedRankRegressor(**dict(zip(names, sizes, strict=True)), **params)
    expected = fit.fit(X, Y, sample_weight=weight)
    known = expected.coef_.copy(), expected.row_support_, expected.r2_, expected.factors_.V
    tensors = (elsewhere.asarray(a) for a in (X, Y))
    found = fit.fit(*tensors, sample_weight=weight)
    coef, support, r2, V = known
    tol = 2e-3 if dtype == "float32" else 1e-8
    assert np.asarray(found.row_support_).tolist() == support.tolist()
    np.testing.assert_allclose(np.asarray(found.coef_), coef, atol=tol * np.abs(coef).max())
    np.testing.assert_allclose(np.asarray(found.r2_), r2, atol=tol)
    np.testing.assert_allclose(np.asarray(found.factors_.V), V, atol=tol * np.abs(V).max())
