"""Losses from functions in PyTorch: derivatives, what comes back, matrix sensing, errors."""

import sys

import numpy as np
import pytest

import thinrank as tr
from thinrank.core import extras
from thinrank.losses import Custom, differentiated

pytestmark = pytest.mark.arrays


@pytest.fixture
def torch(request):
    if not extras.is_installed("torch") and request.config.getoption("--require-torch"):
        pytest.fail("torch is not installed")
    return pytest.importorskip("torch")


def logistic(torch, of, shape=(6, 5), **keywords):
    """Σ log(2·cosh(Θ)) − ⟨B, Θ⟩: smooth, convex, not quadratic; its Hessian at zero is 1."""
    B = torch.asarray(np.random.default_rng(0).uniform(-0.9, 0.9, shape))

    def of_theta(theta):
        return torch.sum(torch.log(2 * torch.cosh(theta))) - torch.sum(B * theta)

    def of_factors(U, V):
        return of_theta(U @ V.T)

    function = of_theta if of == "theta" else of_factors
    return Custom.from_torch(function, shape, of=of, **keywords), B


def point(torch, shape=(6, 5), rank=2):
    rng = np.random.default_rng(1)
    U, V = (torch.asarray(rng.standard_normal((size, rank))) for size in shape)
    return tr.Factors(U, V)


def quotients(function, at, h=1e-6):
    """The gradient by central differences, entry by entry."""
    out = np.zeros(tuple(at.shape))
    for place in np.ndindex(*out.shape):
        ahead, behind = at.clone(), at.clone()
        ahead[place] += h
        behind[place] -= h
        out[place] = (function(ahead) - function(behind)) / (2 * h)
    return out


@pytest.mark.parametrize("of", ["theta", "factors"])
@pytest.mark.parametrize("shape", [(6, 5), (3, 7)])
def test_derivatives_are_difference_quotients(torch, of, shape):
    loss, _ = logistic(torch, of, shape)
    factors = point(torch, shape)
    U, V, theta = factors.U, factors.V, factors.theta
    value, by_u, by_v = loss.value_and_gradient(factors)
    full_value, full = loss.full_gradient(theta)
    assert type(value) is float
    assert value == pytest.approx(full_value, rel=1e-12)

    def at(U, V):
        return loss.value_and_gradient(tr.Factors(U, V))[0]

    np.testing.assert_allclose(by_u, quotients(lambda u: at(u, V), U), atol=1e-7)
    np.testing.assert_allclose(by_v, quotients(lambda v: at(U, v), V), atol=1e-7)
    np.testing.assert_allclose(full, quotients(lambda t: loss.full_gradient(t)[0], theta), atol=1e-7)
    np.testing.assert_allclose(by_u, full @ V, rtol=1e-10)
    np.testing.assert_allclose(by_v, full.T @ U, rtol=1e-10)


@pytest.mark.parametrize("of", ["theta", "factors"])
def test_second_derivatives_are_difference_quotients(torch, of):
    loss, B = logistic(torch, of)
    prototype = differentiated.as_prototype(None)
    function = (
        (lambda theta: loss.full_gradient(theta)[0])
        if of == "theta"
        else (lambda U, V: loss.value_and_gradient(tr.Factors(U, V))[0])
    )
    del function  # the loss above is compared through its gradients only
    theta = point(torch).theta
    direction = torch.asarray(np.random.default_rng(2).standard_normal(tuple(B.shape)))

    def of_theta(theta):
        return torch.sum(torch.log(2 * torch.cosh(theta)))

    inner = differentiated.Differentiated(
        of_theta if of == "theta" else (lambda U, V: of_theta(U @ V.T)), (6, 5), of, prototype
    )
    h = 1e-6
    ahead, behind = (loss.full_gradient(theta + sign * h * direction)[1] for sign in (1, -1))
    product = inner.hessian_product(theta, direction)
    np.testing.assert_allclose(product, (ahead - behind) / (2 * h), atol=1e-7)
