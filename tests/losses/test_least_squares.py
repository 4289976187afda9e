"""Weights, folds, spectra, noise and errors of the least squares loss."""

import numpy as np
import pytest

import thinrank as tr
from thinrank import Factors
from thinrank.losses import Denoising, LeastSquares


def data(n=20, p=7, k=5):
    rng = np.random.default_rng(0)
    return rng.standard_normal((n, p)), rng.standard_normal((n, k)), rng


def assert_equal_losses(library, loss, other, rel=1e-8):
    rng = np.random.default_rng(1)
    U, V = (library.array(rng.standard_normal((m, 2))) for m in loss.shape)
    factors = Factors(U, V)
    value, gradient_u, gradient_v = loss.value_and_gradient(factors)
    wanted, wanted_u, wanted_v = other.value_and_gradient(factors)
    assert value == pytest.approx(wanted, rel=rel)
    for out, expected in ((gradient_u, wanted_u), (gradient_v, wanted_v)):
        library.check(out)
        np.testing.assert_allclose(library.numpy(out), library.numpy(expected), atol=1e-9)
    assert loss.samples == other.samples
    assert loss.noise() == pytest.approx(other.noise(), rel=rel)
    assert loss.smoothness() == pytest.approx(other.smoothness(), rel=rel)
    rows = library.index([0, 3])
    assert loss.curvature(rows) == pytest.approx(other.curvature(rows), rel=rel)
    scales = library.numpy(other.row_scales())
    np.testing.assert_allclose(library.numpy(loss.row_scales()), scales, rtol=rel)


# --------------------------------------------------------------------------- weights


@pytest.mark.parametrize(
    ("form", "least", "p"), [("direct", 0, 30), ("gram", 0, 7), ("gram", 1, 7)]
)
def test_integer_weights_equal_repeated_rows(library, form, least, p):
    X, Y, rng = data(p=p)
    weight = rng.integers(least, 4, len(X))
    weight[2] = least  # zero weights equal removed rows
    repeated = np.repeat(np.arange(len(X)), weight)
    loss = LeastSquares(
        library.array(X), library.array(Y), sample_weight=library.array(weight), form=form
    )
    other = LeastSquares(library.array(X[repeated]), library.array(Y[repeated]), form=form)
    assert_equal_losses(library, loss, other)


# --------------------------------------------------------------------------- spectra


@pytest.mark.parametrize("form", ["direct", "gram"])
def test_curvature(form):
    X, Y, rng = data()
    weight = rng.uniform(0, 2, 20)
    loss = LeastSquares(X, Y, sample_weight=weight, ridge=0.5, form=form)
    rows = np.array([1, 2, 6])
    values = np.linalg.eigvalsh((X[:, rows].T * weight) @ X[:, rows] / weight.sum()) + 0.5
    assert loss.curvature(rows) == pytest.approx((values[0], values[-1]), rel=1e-8)


# --------------------------------------------------------------------------- noise


@pytest.mark.parametrize("sigma", [0.1, 30.0])
def test_noise_of_a_low_rank_matrix(sigma):
    rng = np.random.default_rng(0)
    n, k, rank = 100, 60, 5
    X = rng.standard_normal((n, 20))
    signal = X[:, :rank] @ rng.standard_normal((rank, k))
    Y = signal + sigma * rng.standard_normal((n, k))
    assert LeastSquares(X, Y).noise() == pytest.approx(sigma, rel=0.15)
    assert Denoising(Y).noise() == pytest.approx(sigma, rel=0.15)
    assert Denoising(Y.T).noise() == pytest.approx(sigma, rel=0.15)


# --------------------------------------------------------------------------- responses


def weighted_data():
    rng = np.random.default_rng(0)
    return rng.standard_normal((12, 30)), rng.standard_normal((12, 4)), rng.uniform(0.2, 3, 12)


@pytest.mark.parametrize(("form", "weighted"), [("direct", True), ("gram", False)])
def test_a_scale_for_every_response(form, weighted):
    X, Y, weight = weighted_data()
    weight = weight if weighted else None
    scale = np.array([0.1, 2.0, 30.0, 1.0])
    loss = LeastSquares(X, Y, sample_weight=weight, ridge=0.2, form=form)
    loss.quadratic(), loss.cross()  # what is held is scaled too
    rng = np.random.default_rng(2)
    factors = tr.Factors(rng.standard_normal((30, 2)), rng.standard_normal((4, 2)))
    scaled = loss.with_target_scale(scale)
    w = np.ones(12) if weight is None else weight
    residual = Y / scale - X @ factors.theta
    value = 0.5 * np.sum(w[:, None] * residual**2) / w.sum() + 0.1 * np.sum(factors.theta**2)
    gradient = -X.T @ (w[:, None] * residual) / w.sum() + 0.2 * factors.theta
    f, of_U, of_V = scaled.value_and_gradient(factors)
    assert f == pytest.approx(value)
    np.testing.assert_allclose(of_U, gradient @ factors.V, atol=1e-9)
    np.testing.assert_allclose(of_V, gradient.T @ factors.U, atol=1e-9)
    cross = X.T @ (w[:, None] * Y / scale) / w.sum()
    np.testing.assert_allclose(scaled.quadratic().cross_rows(np.arange(5)), cross[:5], atol=1e-9)
    constant = np.sum(w[:, None] * (Y / scale) ** 2) / w.sum()
    assert scaled.quadratic().constant == pytest.approx(constant)
    assert loss.value_and_gradient(factors)[0] != pytest.approx(value)  # it is another one


@pytest.mark.parametrize("weighted", [False, True])
def test_residuals_of_single_responses(weighted):
    X, Y, weight = weighted_data()
    loss = LeastSquares(X, Y, sample_weight=weight if weighted else None)
    rng = np.random.default_rng(2)
    factors = tr.Factors(rng.standard_normal((30, 2)), rng.standard_normal((4, 2)))
    w = weight if weighted else np.ones(12)
    expected = np.sum(w[:, None] * (Y - X @ factors.theta) ** 2, axis=0)
    np.testing.assert_allclose(loss.residual_squares(factors), expected)
    exact = tr.Factors.from_theta(np.linalg.pinv(X) @ Y, 4)
    assert (loss.residual_squares(exact) >= 0).all()
    np.testing.assert_allclose(loss.residual_squares(exact), 0, atol=1e-9)


# --------------------------------------------------------------------------- errors


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"ridge": -1.0}, "ridge must be a finite non-negative number, got -1.0"),
        ({"ridge": float("nan")}, "ridge must be a finite non-negative number"),
        ({"form": "fast"}, 'form must be "auto", "direct" or "gram", got \'fast\''),
        ({"Y": np.zeros(20)}, r"Y must be a matrix with 20 rows.*\(20,\)"),
        ({"Y": np.zeros((19, 5))}, r"Y must be a matrix with 20 rows.*\(19, 5\)"),
        ({"Y": np.zeros((20, 5)) * 1j}, "Complex data not supported"),
        ({"X": np.zeros(20)}, r"X must be a matrix.*\(20,\)"),
        ({"sample_weight": -np.ones(20)}, "sample_weight must contain 20 non-negative numbers"),
        (
            {"sample_weight": np.zeros(20)},
            "20 non-negative numbers.*not all of them 0",
        ),
        (
            {"sample_weight": np.ones(19)},
            r"20 non-negative numbers.*\(19,\)",
        ),
        ({"sample_weight": np.full(20, np.nan)}, "sample_weight"),
        ({"sample_weight": np.ones((20, 1))}, r"sample_weight.*\(20, 1\)"),
    ],
)
def test_errors_name_the_argument(keywords, message):
    X, Y, _ = data()
    with pytest.raises(ValueError, match=message):
        LeastSquares(**({"X": X, "Y": Y} | keywords))


def test_errors_of_denoising():
    with pytest.raises(ValueError, match=r"M must be a matrix, got an array of shape \(3,\)"):
        Denoising(np.zeros(3))
    with pytest.raises(ValueError, match="ridge must be a finite non-negative number"):
        Denoising(np.zeros((3, 3)), ridge=-0.1)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_data_are_finite(bad):
    X, Y, _ = data()
    Y[3, 2] = bad
    with pytest.raises(ValueError, match=r"\bY\b.*finite"):
        LeastSquares(X, Y)
    with pytest.raises(ValueError, match=r"\bM\b.*finite"):
        Denoising(Y)
