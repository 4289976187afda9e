"""Dual ridge, scaled responses and residuals of single responses, against NumPy."""

import numpy as np
import pytest

import thinrank as tr
from thinrank.designs import Dense
from thinrank.forms import ProductForm
from thinrank.losses import LeastSquares

N, P, K = 12, 30, 4


def data(seed=0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((N, P)), rng.standard_normal((N, K)), rng.uniform(0.2, 3, N)


@pytest.mark.parametrize("count", [N - 2, N, N + 1, P])
def test_more_rows_than_samples_are_ridge_in_its_dual_form(count):
    X, Y, _ = data()
    ridge, rows = 0.4, np.sort(np.random.default_rng(1).permutation(P)[:count])
    form = ProductForm(Dense(X), Dense(Y), N, float(np.sum(Y**2) / N), ridge)
    root, repaired = form.inverse_root(rows)
    assert not repaired
    S = X[:, rows]
    dual = S.T @ np.linalg.solve(S @ S.T + N * ridge * np.eye(N), Y)
    np.testing.assert_allclose(root.T @ (root @ form.cross_rows(rows)), dual, atol=1e-10)
    if count > N:
        assert root.shape == (N, count)


def test_samples_that_are_combinations_of_others():
    X, Y, _ = data()
    X[-3:] = X[:3]
    form = ProductForm(Dense(X), Dense(Y), N, 1.0, 0.1)
    root, _ = form.inverse_root(np.arange(P))
    dual = X.T @ np.linalg.solve(X @ X.T + N * 0.1 * np.eye(N), Y)
    np.testing.assert_allclose(root.T @ (root @ form.cross_rows(np.arange(P))), dual, atol=1e-10)


@pytest.mark.parametrize("form", ["direct", "gram"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("used", [False, True])
def test_a_scale_for_every_response(form, weighted, used):
    X, Y, weight = data()
    weight = weight if weighted else None
    scale = np.array([0.1, 2.0, 30.0, 1.0])
    loss = LeastSquares(X, Y, sample_weight=weight, ridge=0.2, form=form)
    if used:  # what is held is scaled too
        loss.quadratic()
        loss.cross()
    rng = np.random.default_rng(2)
    factors = tr.Factors(rng.standard_normal((P, 2)), rng.standard_normal((K, 2)))
    scaled = loss.with_target_scale(scale)
    w = np.ones(N) if weight is None else weight
    residual = Y / scale - X @ factors.theta
    value = 0.5 * np.sum(w[:, None] * residual**2) / w.sum() + 0.1 * np.sum(factors.theta**2)
    gradient = -X.T @ (w[:, None] * residual) / w.sum() + 0.2 * factors.theta
    f, of_U, of_V = scaled.value_and_gradient(factors)
    assert f == pytest.approx(value)
    np.testing.assert_allclose(of_U, gradient @ factors.V, atol=1e-10)
    np.testing.assert_allclose(of_V, gradient.T @ factors.U, atol=1e-10)
    cross = X.T @ (w[:, None] * Y / scale) / w.sum()
    np.testing.assert_allclose(scaled.quadratic().cross_rows(np.arange(5)), cross[:5], atol=1e-12)
    constant = np.sum(w[:, None] * (Y / scale) ** 2) / w.sum()
    assert scaled.quadratic().constant == pytest.approx(constant)
    assert loss.value_and_gradient(factors)[0] != pytest.approx(value)  # it is another one


@pytest.mark.parametrize("weighted", [False, True])
def test_residuals_of_single_responses(weighted):
    X, Y, weight = data()
    loss = LeastSquares(X, Y, sample_weight=weight if weighted else None)
    rng = np.random.default_rng(2)
    factors = tr.Factors(rng.standard_normal((P, 2)), rng.standard_normal((K, 2)))
    w = weight if weighted else np.ones(N)
    expected = np.sum(w[:, None] * (Y - X @ factors.theta) ** 2, axis=0)
    np.testing.assert_allclose(loss.residual_squares(factors), expected)
    exact = tr.Factors.from_theta(np.linalg.pinv(X) @ Y, K)
    assert (loss.residual_squares(exact) >= 0).all()
    np.testing.assert_allclose(loss.residual_squares(exact), 0, atol=1e-10)
