"""Fits of data on an accelerator, where other ways are taken to the same results."""

import numpy as np
import pytest

import thinrank as tr
from thinrank import arrays
from thinrank.designs import Dense
from thinrank.largest import on_the_host, top_quotients
from thinrank.losses.form_loss import FormLoss
from thinrank.starts import auto


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
        ((600, 500, 80, 3, 130), (3, 130, 80), {}),
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


def test_numbers_made_on_the_host_are_known_there(elsewhere, monkeypatch):
    like = elsewhere.zeros(0, dtype=elsewhere.float32)
    positions, scale = np.array([3, 1]), np.array([0.1, 0.2])
    index, moved = arrays.indices(positions, like), arrays.remembered(scale, like)
    assert index.tolist() == [3, 1]
    assert moved.dtype == elsewhere.float32
    positions[0], scale[0] = 5, 7.0  # of the caller, who may change them
    monkeypatch.setattr(elsewhere.Tensor, "cpu", None)  # no transfer
    assert arrays.to_numpy(index).tolist() == [3, 1]
    assert arrays.to_numpy(moved).tolist() == np.array([0.1, 0.2], np.float32).tolist()


@pytest.mark.parametrize("zero", [[], [2]])
def test_rows_that_are_not_zero_among_some(elsewhere, rng, zero):
    block = rng.standard_normal((4, 2))
    block[zero] = 0.0
    rows = arrays.indices([1, 4, 6, 9], elsewhere.zeros(0))
    found = arrays.nonzero_among(elsewhere.asarray(block), rows)
    assert (found is rows) == (not zero)
    assert found.tolist() == [row for i, row in enumerate([1, 4, 6, 9]) if i not in zero]


def test_moments_of_columns(elsewhere, rng):
    X = rng.standard_normal((30, 5)) + np.arange(5.0)
    found, expected = (Dense(a).column_moments for a in (elsewhere.asarray(X), X))
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-10)
    X[:, 1] = 0.0  # or squares that underflow
    assert Dense(elsewhere.asarray(X)).column_moments is None
    X[2, 3] = np.nan
    assert Dense(elsewhere.asarray(X)).column_moments is None


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_predictors_that_are_not_finite(elsewhere, rng, bad):
    X, Y = data(rng, 50, 8, 3, 1, 2)
    X[4, 5] = bad
    with pytest.raises(ValueError, match="in column 5"):
        tr.SparseReducedRankRegressor(rank=1, row_sparsity=2).fit(
            elsewhere.asarray(X), elsewhere.asarray(Y)
        )


def test_a_nan_with_other_bits_stays_nan(elsewhere):
    """All bits of the NaN of some accelerators are set, apart from the sign."""
    squares = np.array([1.0, 2.0, 0.0, 3.0], dtype=np.float32)
    squares.view(np.int32)[2] = 0x7FFFFFFF
    assert np.isnan(arrays.half_the_digits(on_the_host(elsewhere.asarray(squares))))[2]


def test_numbers_kept_in_inference_mode_serve_other_fits(elsewhere):
    arrays._constant.cache_clear()
    x = elsewhere.asarray([2.0, 0.0])
    with elsewhere.inference_mode():
        arrays.divide_or_zero(1.0, x)
    weight = elsewhere.asarray([2.0, 4.0], requires_grad=True)
    arrays.divide_or_zero(1.0, weight).sum().backward()
    assert weight.grad.tolist() == [-0.25, -0.0625]


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


def test_a_start_has_the_scale_of_the_covariances(elsewhere, rng):
    """Losses that are not quadratic are approximated around it."""
    X, Y = data(rng, 200, 60, 12, 2, 5)
    loss, of_numpy = (
        tr.losses.LeastSquares(*map(elsewhere.asarray, (X, Y))),
        tr.losses.LeastSquares(X, Y),
    )
    start = tr.starts.Screening(fit=False)
    found, expected = (start(each, 2, 10, 12, 0).theta for each in (loss, of_numpy))
    np.testing.assert_allclose(np.asarray(found), expected, rtol=1e-6, atol=1e-9)


def test_a_start_without_scale_has_the_same_row_space(elsewhere, rng):
    """Fits of a quadratic loss need no more; a basis of it would take a wait for the device."""
    X, Y = map(elsewhere.asarray, data(rng, 200, 60, 12, 2, 5))
    loss = tr.losses.LeastSquares(X, Y)
    scaled, other = (
        tr.starts.Screening(fit=False, scaled=each)(loss, 2, 10, 12, 0) for each in (True, False)
    )
    assert arrays.to_numpy(scaled.row_support).tolist() == other.row_support.tolist()
    basis, _ = np.linalg.qr(np.asarray(other.V))
    np.testing.assert_allclose(basis @ (basis.T @ np.asarray(scaled.V)), scaled.V, atol=1e-8)
    assert float(other.norm()) > 2 * float(scaled.norm())


def test_the_default_start_has_a_scale_unless_the_loss_is_quadratic(elsewhere, rng, monkeypatch):
    X, Y = map(elsewhere.asarray, data(rng, 200, 60, 12, 2, 5))
    monkeypatch.setattr(auto, "_QUICK_ELIMINATION", 0)
    form = tr.losses.LeastSquares(X, Y).quadratic()
    start = tr.starts.Auto(exchanges_rows=True)
    assert start.suited(FormLoss(form), 10).screening.scaled is False
    monkeypatch.setattr(type(form), "exact", False)
    assert start.suited(FormLoss(form), 10).screening.scaled is True


def test_the_largest_quotients(elsewhere):
    squares, divisors = np.array([4.0, 9.0, 1.0, 5.0, 6.0]), np.array([2.0, 9.0, 0.0, 1.0, 6.0])
    for move in (np.asarray, elsewhere.asarray):
        found = top_quotients(move(squares), move(divisors), 3)
        assert np.asarray(found).tolist() == [0, 1, 3]  # of equal ones the first


@pytest.mark.parametrize("kind", [np.asarray, "elsewhere"])
def test_correlations_of_predictors_in_any_units(elsewhere, rng, kind):
    X = rng.standard_normal((100, 6))
    X[:, 4] = X[:, 1] + 0.3 * rng.standard_normal(100)
    move = kind if callable(kind) else elsewhere.asarray
    for units in (1.0, np.array([1.0, 1e-3, 1.0, 1e3, 1e-4, 1.0])):
        form = tr.losses.LeastSquares(move(X * units), move(X[:, :2]), form="direct").quadratic()
        for rows, expected in (([0, 1, 2, 3, 5], False), ([0, 1, 2, 4], True)):
            assert auto._correlated(form, arrays.indices(rows, form.prototype)) is expected
