"""Fits of tensors are those of NumPy arrays, also by the ways that an accelerator takes."""

import numpy as np
import pytest

import thinrank as tr
from thinrank import arrays


@pytest.fixture
def elsewhere(torch, monkeypatch):
    """Tensors count as data on an accelerator."""
    monkeypatch.setattr(arrays, "on_host", lambda x: type(x) is np.ndarray)
    return torch


def data(rng, n, p, k, rank, rows):
    chosen = rng.choice(p, rows, replace=False)
    theta = 3 * rng.standard_normal((rows, rank)) @ rng.standard_normal((rank, k))
    X = rng.standard_normal((n, p)) * rng.uniform(0.5, 2, p)
    return X, X[:, chosen] @ theta / rows**0.5 + rng.standard_normal((n, k))


@pytest.mark.parametrize(
    ("shape", "sizes", "params"),
    [
        ((600, 500, 80, 3, 130), (3, 130, 80), {}),
        ((300, 400, 80, 2, 10), (2, 10, 80), {"standardize": False, "fit_intercept": False}),
        ((200, 60, 12, 2, 6), (2, 6, 12), {"always_keep": [3, 8], "ridge": 0.1}),
    ],
)
@pytest.mark.parametrize("weighted", [False, True])
def test_the_fit_is_that_of_numpy(elsewhere, rng, dtype, shape, sizes, params, weighted):
    X, Y = (a.astype(dtype) for a in data(rng, *shape))
    X[:, -1] = 4.0  # constant
    weight = rng.integers(1, 4, shape[0]).astype(float) if weighted else None
    expected = tr.SparseReducedRankRegressor(*sizes, **params).fit(X, Y, weight)
    tensors = (elsewhere.asarray(a) for a in (X, Y))
    found = tr.SparseReducedRankRegressor(*sizes, **params).fit(*tensors, weight)
    tol = 2e-3 if dtype == "float32" else 1e-7
    assert np.asarray(found.row_support_).tolist() == expected.row_support_.tolist()
    for one, other in (
        (found.coef_, expected.coef_),
        (found.r2_, expected.r2_),
        (found.factors_.V, expected.factors_.V),
    ):
        np.testing.assert_allclose(np.asarray(one), other, atol=tol * np.abs(other).max())


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_predictors_that_are_not_finite(elsewhere, rng, bad):
    X, Y = data(rng, 50, 8, 3, 1, 2)
    X[4, 5] = bad
    with pytest.raises(ValueError, match="in column 5"):
        tr.SparseReducedRankRegressor(rank=1, row_sparsity=2).fit(
            elsewhere.asarray(X), elsewhere.asarray(Y)
        )


def test_nothing_is_recorded_for_derivatives(torch, rng):
    X, Y = (torch.asarray(a) for a in data(rng, 60, 20, 6, 2, 4))
    est = tr.SparseReducedRankRegressor(2, 4, 6).fit(X.requires_grad_(True), Y)
    assert not est.coef_.requires_grad
    assert not est.factors_.U.requires_grad
    assert torch.is_grad_enabled()
    failed = tr.SparseReducedRankRegressor(2, 4, 600)
    with pytest.raises(ValueError, match="column_sparsity"):
        failed.fit(X, Y)
    assert torch.is_grad_enabled()
