"""The loss that the user brings."""

import numpy as np
import pytest

import thinrank as tr
from thinrank import Factors
from thinrank.losses import Custom


def test_capabilities_are_what_was_given():
    def zero(factors):
        return 0.0, factors.U, factors.V

    bare = Custom(zero, (3, 2))
    assert bare.capabilities == frozenset()
    smooth = Custom(zero, (3, 2), full_gradient=zero, smoothness=1)
    assert smooth.capabilities == {"full_gradient", "smoothness"}
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
