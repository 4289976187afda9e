"""Values and derivatives of the built-in losses."""

import numpy as np
import pytest
import scipy.sparse as sp
from family_problems import quotients
from scipy.sparse.linalg import aslinearoperator

from thinrank import Factors
from thinrank.designs import Transformed, as_design
from thinrank.losses import Denoising, LeastSquares

N, P, K, R = 20, 9, 6, 3


def data():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((N, P)) * (rng.uniform(size=(N, P)) < 0.6)
    Y = rng.standard_normal((N, K))
    weight = rng.uniform(0, 2, N)
    weight[4] = 0
    return X, Y, weight


def point():
    rng = np.random.default_rng(1)
    return Factors(rng.standard_normal((P, R)), rng.standard_normal((K, R)))


def least_squares(kind, **keywords):
    """The same loss in each of its forms."""
    X, Y, weight = data()
    if keywords.pop("weighted", False):
        keywords["sample_weight"] = weight
    wrap, form = {
        "auto": (np.asarray, "auto"),
        "direct": (np.asarray, "direct"),
        "gram": (np.asarray, "gram"),
        "csr": (sp.csr_array, "direct"),
        "csc gram": (sp.csc_array, "gram"),
        "operator": (aslinearoperator, "direct"),
        "operator gram": (aslinearoperator, "gram"),
        "transformed": (lambda X: Transformed(as_design(X)), "direct"),
    }[kind]
    return LeastSquares(wrap(X), Y, form=form, **keywords)


FORMS = ["auto", "direct", "gram", "csr", "csc gram", "operator", "operator gram", "transformed"]
EXTRAS = {"plain": {}, "weighted ridge": {"weighted": True, "ridge": 0.3}}


def literal_value(theta, weighted=False, ridge=0.0):
    X, Y, weight = data()
    weight = weight if weighted else np.ones(N)
    residual = np.sum(weight[:, None] * (Y - X @ theta) ** 2)
    return residual / (2 * weight.sum()) + ridge / 2 * np.sum(theta**2)


def assert_derivatives_agree(loss, factors):
    def of_u(U):
        return loss.value_and_gradient(Factors(U, factors.V))[0]

    def of_v(V):
        return loss.value_and_gradient(Factors(factors.U, V))[0]

    def of_theta(theta):
        return loss.full_gradient(theta)[0]

    value, gradient_u, gradient_v = loss.value_and_gradient(factors)
    theta = factors.theta
    full_value, full = loss.full_gradient(theta)
    assert full_value == pytest.approx(value, rel=1e-8)
    for gradient, expected in (
        (gradient_u, quotients(of_u, factors.U, h=1e-3)),
        (gradient_v, quotients(of_v, factors.V, h=1e-3)),
        (full, quotients(of_theta, theta, h=1e-3)),
        (gradient_u, full @ factors.V),  # the chain rule
        (gradient_v, full.T @ factors.U),
    ):
        scale = np.abs(expected).max()
        np.testing.assert_allclose(gradient, expected, rtol=1e-6, atol=1e-6 * scale)


@pytest.mark.parametrize("extra", EXTRAS)
@pytest.mark.parametrize("form", FORMS)
def test_least_squares(form, extra):
    loss = least_squares(form, **EXTRAS[extra])
    factors = point()
    value = loss.value_and_gradient(factors)[0]
    assert type(value) is float
    assert value == pytest.approx(literal_value(factors.theta, **EXTRAS[extra]), rel=1e-8)
    assert_derivatives_agree(loss, factors)


@pytest.mark.parametrize("ridge", [0.0, 0.4])
def test_denoising(ridge):
    M = np.random.default_rng(2).standard_normal((P, K))
    loss, factors = Denoising(M, ridge=ridge), point()
    expected = 0.5 * np.sum((M - factors.theta) ** 2) + ridge / 2 * np.sum(factors.theta**2)
    assert loss.value_and_gradient(factors)[0] == pytest.approx(expected, rel=1e-8)
    assert_derivatives_agree(loss, factors)


# --------------------------------------------------------------------------- every library


def losses_of(library):
    X, Y, weight = data()
    X, Y, weight = library.array(X), library.array(Y), library.array(weight)
    M = library.array(np.random.default_rng(2).standard_normal((P, K)))
    return {
        "direct": LeastSquares(X, Y, form="direct", ridge=0.1),
        "gram": LeastSquares(X, Y, form="gram"),
        "weighted": LeastSquares(X, Y, sample_weight=weight, form="direct"),
        "weighted gram": LeastSquares(X, Y, sample_weight=weight, form="gram"),
        "denoising": Denoising(M, ridge=0.1),
    }


@pytest.mark.parametrize("kind", ["direct", "gram", "weighted", "weighted gram", "denoising"])
def test_every_library(library, numpy_library, kind):
    at = point()
    loss = losses_of(library)[kind]
    found = loss.value_and_gradient(Factors(library.array(at.U), library.array(at.V)))
    library.check(*found[1:])
    expected = losses_of(numpy_library)[kind].value_and_gradient(at)
    assert found[0] == pytest.approx(expected[0], rel=1e-9)
    for one, other in zip(found[1:], expected[1:], strict=True):
        np.testing.assert_allclose(library.numpy(one), other, atol=1e-8)


def test_values_of_a_perfect_fit_are_not_negative():
    """Rounding makes some of the sums of products negative."""
    rng = np.random.default_rng(3)
    for _ in range(10):
        X, theta = rng.standard_normal((N, P)), 1e3 * rng.standard_normal((P, K))
        value, gradient = LeastSquares(X, X @ theta).full_gradient(theta)
        assert 0 <= value < 1e-6
        np.testing.assert_allclose(gradient, 0, atol=1e-9)
