"""Values and derivatives of the built-in losses."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse.linalg import aslinearoperator

from thinrank import Factors
from thinrank.designs import Transformed, as_design
from thinrank.losses import Denoising, LeastSquares

N, P, K, R = 20, 9, 6, 3
TOL = {"float32": 2e-4, "float64": 1e-9}


def data():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((N, P)) * (rng.uniform(size=(N, P)) < 0.6)
    Y = rng.standard_normal((N, K))
    weight = rng.uniform(0, 2, N)
    weight[4] = 0
    return X, Y, weight


def point(library=None, dtype="float64"):
    rng = np.random.default_rng(1)
    U, V = rng.standard_normal((P, R)), rng.standard_normal((K, R))
    if library is None:
        return Factors(U, V)
    return Factors(library.array(U, dtype), library.array(V, dtype))


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


def difference_quotients(function, at, h=1e-3):
    """Central differences of a function of a matrix, entry by entry."""
    out = np.zeros_like(at)
    for place in np.ndindex(*at.shape):
        up, down = at.copy(), at.copy()
        up[place] += h
        down[place] -= h
        out[place] = (function(up) - function(down)) / (2 * h)
    return out


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
        (gradient_u, difference_quotients(of_u, factors.U)),
        (gradient_v, difference_quotients(of_v, factors.V)),
        (full, difference_quotients(of_theta, theta)),
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


def losses_of(library, dtype):
    X, Y, weight = data()
    X, Y = library.array(X, dtype), library.array(Y, dtype)
    weight = library.array(weight, dtype)
    M = library.array(np.random.default_rng(2).standard_normal((P, K)), dtype)
    return {
        "direct": LeastSquares(X, Y, form="direct", ridge=0.1),
        "gram": LeastSquares(X, Y, form="gram"),
        "weighted": LeastSquares(X, Y, sample_weight=weight, form="direct"),
        "weighted gram": LeastSquares(X, Y, sample_weight=weight, form="gram"),
        "denoising": Denoising(M, ridge=0.1),
    }


@pytest.mark.parametrize("kind", ["direct", "gram", "weighted", "weighted gram", "denoising"])
def test_every_library(library, numpy_library, dtype, kind):
    loss, reference = losses_of(library, dtype)[kind], losses_of(numpy_library, "float64")[kind]
    factors, plain = point(library, dtype), point()
    rows, tol = library.index([0, 2, 5]), TOL[dtype]
    outputs = {
        "gradients": loss.value_and_gradient(factors)[1:],
        "full": (loss.full_gradient(factors.theta)[1],),
        "scales": (loss.row_scales(),),
    }
    expected = {
        "gradients": reference.value_and_gradient(plain)[1:],
        "full": (reference.full_gradient(plain.theta)[1],),
        "scales": (reference.row_scales(),),
    }
    library.check(loss.prototype, dtype=dtype)
    for name, arrays in outputs.items():
        library.check(*arrays, dtype=dtype)
        for out, wanted in zip(arrays, expected[name], strict=True):
            np.testing.assert_allclose(library.numpy(out), wanted, rtol=tol, atol=tol * 10)
    numbers = (
        (loss.value_and_gradient(factors)[0], reference.value_and_gradient(plain)[0]),
        (loss.full_gradient(factors.theta)[0], reference.full_gradient(plain.theta)[0]),
        (loss.smoothness(), reference.smoothness()),
        (loss.noise(), reference.noise()),
        (loss.curvature(rows)[0], reference.curvature(np.array([0, 2, 5]))[0]),
        (loss.curvature(rows)[1], reference.curvature(np.array([0, 2, 5]))[1]),
        (loss.samples, reference.samples),
        (loss.magnitude, reference.magnitude),
    )
    for number, wanted in numbers:
        assert type(number) is float
        assert number == pytest.approx(wanted, rel=10 * tol)


@pytest.mark.parametrize("kind", ["direct", "gram", "weighted", "weighted gram", "denoising"])
def test_restrict_has_equal_values(library, kind):
    dtype = "float64"
    loss = losses_of(library, dtype)[kind]
    rows, columns = library.index([1, 4, 6, 7]), library.index([0, 3, 5])
    inner = loss.restrict(rows, columns)
    assert inner.shape == (4, 3)
    rng = np.random.default_rng(4)
    small_u, small_v = rng.standard_normal((4, 2)), rng.standard_normal((3, 2))
    U, V = np.zeros((P, 2)), np.zeros((K, 2))
    U[[1, 4, 6, 7]], V[[0, 3, 5]] = small_u, small_v
    large = Factors(library.array(U, dtype), library.array(V, dtype))
    small = Factors(library.array(small_u, dtype), library.array(small_v, dtype))
    value, gradient_u, gradient_v = inner.value_and_gradient(small)
    library.check(gradient_u, gradient_v, dtype=dtype)
    expected = loss.value_and_gradient(large)
    assert value == pytest.approx(expected[0], rel=TOL[dtype])
    for out, wanted, kept in (
        (gradient_u, expected[1], [1, 4, 6, 7]),
        (gradient_v, expected[2], [0, 3, 5]),
    ):
        wanted = library.numpy(wanted)[kept]
        np.testing.assert_allclose(library.numpy(out), wanted, atol=10 * TOL[dtype])


def test_values_of_a_perfect_fit_are_not_negative():
    """Rounding makes some of the sums of products negative."""
    rng = np.random.default_rng(3)
    for _ in range(10):
        X, theta = rng.standard_normal((N, P)), 1e3 * rng.standard_normal((P, K))
        value, gradient = LeastSquares(X, X @ theta).full_gradient(theta)
        assert 0 <= value < 1e-6
        np.testing.assert_allclose(gradient, 0, atol=1e-9)
