"""What holds for all families: derivatives, limits, and the same numbers on every library."""

import numpy as np
import pytest
from family_points import FAMILIES, Q, responses
from hypothesis import given, settings
from hypothesis import strategies as st

from thinrank.losses.families import Family, Multinomial

N = 40
each_family = pytest.mark.parametrize("name", FAMILIES)


def quotient(function, eta, h):
    """Central difference quotients of a sum over each row, one column at a time."""
    out = np.empty_like(eta)
    for column in range(eta.shape[1]):
        bump = np.zeros(eta.shape[1])
        bump[column] = h
        change = function(eta + bump) - function(eta - bump)
        out[:, column] = change.sum(axis=1) / (2 * h)
    return out


@each_family
def test_derivative_is_the_slope_of_the_value(name):
    family, y = FAMILIES[name], responses(name, N)
    eta = 3 * np.random.default_rng(1).standard_normal((N, Q))
    expected = quotient(lambda at: family.value(y, at), eta, 1e-5)
    np.testing.assert_allclose(family.derivative(y, eta), expected, rtol=1e-5, atol=1e-5)


def second_derivative(family, y, eta):
    return family.for_newton(y, family.for_fit(y, eta)[2])


# that of Huber is replaced by the weight of iteratively reweighted least squares
@pytest.mark.parametrize("name", [name for name in FAMILIES if name[:5] not in ("huber", "mixed")])
def test_hessian_product_is_the_slope_of_the_derivative(name):
    family, y = FAMILIES[name], responses(name, N)
    rng = np.random.default_rng(2)
    eta, direction, h = 3 * rng.standard_normal((N, Q)), rng.standard_normal((N, Q)), 1e-6
    ahead = family.derivative(y, eta + h * direction)
    expected = (ahead - family.derivative(y, eta - h * direction)) / (2 * h)
    if family.separable:
        found = second_derivative(family, y, eta) * direction
    else:
        found = family.hessian_product(y, eta, direction)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


@each_family
@pytest.mark.parametrize("center", [-30.0, 30.0])
def test_derivatives_far_from_the_data(name, center):
    """The terms of the value have the size of exp(30), so that differences are relative to it."""
    family, y = FAMILIES[name], responses(name, N)
    eta = center + np.random.default_rng(3).standard_normal((N, Q))
    value, derivative, _ = family.for_fit(y, eta)
    expected = quotient(lambda at: family.value(y, at), eta, 1e-4)
    tol = 1e-7 * max(1.0, float(np.abs(value).max()))
    np.testing.assert_allclose(derivative, expected, rtol=1e-6, atol=tol)
    if family.separable and not name.startswith(("huber", "mixed")):
        expected = quotient(lambda at: family.derivative(y, at), eta, 1e-4)
        np.testing.assert_allclose(second_derivative(family, y, eta), expected, rtol=1e-6, atol=tol)


@each_family
def test_zero_at_a_perfect_fit_and_positive_elsewhere(name):
    family, y = FAMILIES[name], responses(name, N)
    mean = y / y.sum(axis=1, keepdims=True) if isinstance(family, Multinomial) else y
    eta = family.link(mean)
    sums = family.value(y, eta).sum(axis=1)
    np.testing.assert_allclose(sums, 0.0, atol=1e-9)
    np.testing.assert_allclose(family.derivative(y, eta), 0.0, atol=1e-9)
    elsewhere = np.random.default_rng(9).uniform(-2.0, 2.0, (N, Q))
    assert np.median(family.value(y, elsewhere).sum(axis=1)) > 1e-2
    if family.separable:
        assert (family.value(y, eta) >= 0).all()


@each_family
def test_finite_for_large_predictors(name):
    family = FAMILIES[name]
    y = responses(name, 8)
    signs = np.array([[i >> c & 1 for c in range(Q)] for i in range(8)])
    eta = np.where(signs == 1, 700.0, -700.0)
    outputs = [
        *family.for_fit(y, eta),
        second_derivative(family, y, eta),
        family.mean(eta),
        family.link(family.mean(eta)),
        family.hessian_product(y, eta, np.ones_like(eta)),
    ]
    for output in outputs:
        assert np.isfinite(output).all()
    assert (outputs[0].sum(axis=1) >= 0).all()
    assert (outputs[2] >= 0).all()


@each_family
def test_link_inverts_mean(name):
    family = FAMILIES[name]
    eta = np.random.default_rng(6).uniform(-5, 5, (N, Q))
    back = family.link(family.mean(eta))
    if isinstance(family, Multinomial):
        eta = eta - eta.mean(axis=1, keepdims=True)
        np.testing.assert_allclose(family.mean(eta).sum(axis=1), 1.0, rtol=1e-9)
    np.testing.assert_allclose(back, eta, rtol=1e-9, atol=1e-9)


@each_family
def test_every_library(name, library, dtype):
    family = FAMILIES[name]
    y, eta = responses(name, N), 3 * np.random.default_rng(7).standard_normal((N, Q))
    y, eta = y.astype(dtype), eta.astype(dtype)
    weight = np.random.default_rng(8).integers(0, 3, (N, 1)) * np.ones((N, Q))
    tol = {"rtol": 2e-4, "atol": 2e-5} if dtype == "float32" else {"rtol": 1e-9, "atol": 1e-9}
    reference = _outputs(family, *(x.astype("float64") for x in (y, eta, weight)))
    own = [library.array(x, dtype) for x in (y, eta, weight)]
    found = _outputs(family, *own)
    library.check(*found, dtype=dtype)
    for one, other in zip(found, reference, strict=True):
        np.testing.assert_allclose(library.numpy(one), other, **tol)
    family.check(own[0], own[2] > 0, ["a", "b", "c"])
    freedom = np.array([20.0, 25.0, 30.0])
    fitted, expected = (family.fitted_to(*each, freedom) for each in (own, (y, eta, weight)))
    found = fitted.for_fit(own[0], own[1])
    library.check(*found, dtype=dtype)
    for one, other in zip(found, expected.for_fit(y, eta), strict=True):
        np.testing.assert_allclose(library.numpy(one), other, **tol)


def _outputs(family: Family, y, eta, weight):
    return [
        *family.for_fit(y, eta),
        second_derivative(family, y, eta),
        family.hessian_product(y, eta, y),
        family.deviance(y, eta),
        family.mean(eta),
        family.link(family.mean(eta)),
        family.null_link(y, weight),
    ]


@each_family
@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10_000), spread=st.floats(0.0, 300.0), shift=st.floats(-300.0, 300.0))
def test_the_value_is_convex_in_every_direction(name, seed, spread, shift):
    """The value is above its tangent, except for rounding errors."""
    family, y = FAMILIES[name], responses(name, 5, seed)
    rng = np.random.default_rng(seed)
    eta, other = (shift + spread * rng.standard_normal((5, Q)) for _ in range(2))
    eta, other = np.clip(eta, -700, 700), np.clip(other, -700, 700)
    value, derivative, curvature = family.for_fit(y, eta)
    assert (curvature >= 0).all()
    tangent = value + derivative * (other - eta)
    above = (family.value(y, other) - tangent).sum(axis=1)
    scale = (np.abs(value) + np.abs(derivative * (other - eta))).sum(axis=1)
    assert (above >= -1e-9 * (1 + scale)).all()
