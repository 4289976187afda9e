"""The loss that the user brings."""

import numpy as np
import pytest

import thinrank as tr
from thinrank import Factors
from thinrank.losses import Custom


def logistic(library, dtype="float64", **keywords):
    """Σ log(2·cosh(Θ)) − ⟨B, Θ⟩: smooth, convex, not quadratic; L = 1."""
    rng = np.random.default_rng(0)
    xp, B = library.xp, library.array(rng.uniform(-0.9, 0.9, (6, 5)), dtype)

    def gradient(theta):
        value = xp.sum(xp.log(xp.exp(theta) + xp.exp(-theta))) - xp.sum(B * theta)
        return value, xp.tanh(theta) - B

    def value_and_gradient(factors):
        value, full = gradient(factors.theta)
        return value, full @ factors.V, full.T @ factors.U

    return Custom(value_and_gradient, (6, 5), full_gradient=gradient, like=B, **keywords)


def point(library, dtype="float64"):
    rng = np.random.default_rng(1)
    return Factors(
        library.array(rng.standard_normal((6, 2)), dtype),
        library.array(rng.standard_normal((5, 2)), dtype),
    )


def test_values_and_gradients_pass(library, dtype):
    loss, factors = logistic(library, dtype), point(library, dtype)
    value, gradient_u, gradient_v = loss.value_and_gradient(factors)
    full_value, full = loss.full_gradient(factors.theta)
    assert type(value) is float
    assert type(full_value) is float
    library.check(gradient_u, gradient_v, full, loss.prototype, dtype=dtype)


def test_capabilities_are_what_was_given(numpy_library):
    bare = Custom(lambda factors: (0.0, factors.U, factors.V), (3, 2))
    assert bare.capabilities == frozenset()
    assert logistic(numpy_library, smoothness=1).capabilities == {"full_gradient", "smoothness"}
    with pytest.raises(TypeError, match="'full_gradient', which Custom does not have"):
        tr.minimize(bare, rank=1, start="lasso")


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (lambda U, V: (0.0, U.T, V), r"returned ∇f·V of shape \(1, 4\), expected \(4, 1\)"),
        (lambda U, V: (0.0, U, U), r"returned ∇fᵀ·U of shape \(4, 1\), expected \(3, 1\)"),
    ],
)
def test_wrong_shapes_are_named(answer, message):
    loss = Custom(lambda factors: answer(factors.U, factors.V), (4, 3))
    with pytest.raises(ValueError, match=message):
        loss.value_and_gradient(Factors(np.ones((4, 1)), np.ones((3, 1))))


@pytest.mark.parametrize(
    ("keywords", "error", "message"),
    [
        ({"value_and_gradient": 3.0}, TypeError, "value_and_gradient must be a function.*float"),
        ({"shape": (3,)}, ValueError, r"shape must be two positive integers, got \(3,\)"),
        ({"shape": (3, 0)}, ValueError, "shape must be two positive integers"),
        ({"shape": (3, 1.5)}, ValueError, "shape must be two positive integers"),
        ({"smoothness": 0.0}, ValueError, "smoothness must be a positive number, got 0.0"),
        ({"smoothness": float("inf")}, ValueError, "smoothness must be a positive number"),
    ],
)
def test_errors_name_the_argument(keywords, error, message):
    given = {"value_and_gradient": lambda factors: None, "shape": (3, 2)}
    with pytest.raises(error, match=message):
        Custom(**(given | keywords))
