"""The check for finite values and the test for "auto"."""

import numpy as np
import pytest

from thinrank.core.checks import check_callback, check_finite, is_auto


@pytest.mark.arrays
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_message_names_the_array(xp, bad):
    with pytest.raises(ValueError, match=r"^Y must be finite, but NaN or infinity was found$"):
        check_finite("Y", xp.asarray([[0.0, bad], [1.0, 2.0]]))


@pytest.mark.arrays
def test_finite_arrays_pass(xp):
    check_finite("Y", xp.asarray([[0.0, 1.0]]))
    check_finite("Y", xp.asarray([1, 2]))
    check_finite("Y", xp.asarray([True]))
    check_finite("Y", xp.zeros((0, 3)))


def test_lists_and_numbers_are_checked_too():
    check_finite("step", 1.0)
    check_finite("values", [1, 2.5])
    with pytest.raises(ValueError, match="values must be finite"):
        check_finite("values", [1.0, np.nan])
    with pytest.raises(ValueError, match="step must be finite"):
        check_finite("step", np.inf)


def test_large_values_are_finite():
    check_finite("X", np.full(10, np.finfo(float).max))


@pytest.mark.parametrize("value", [None, 0, 3.5, "cv", "Auto", np.array(["auto"]), np.zeros(3)])
def test_other_values_are_not_auto(value):
    assert is_auto(value) is False


def test_auto():
    assert is_auto("auto") is True


def test_a_callback_can_be_called():
    check_callback(None)
    check_callback(print)
    with pytest.raises(TypeError, match="callback must be callable or None, got 3"):
        check_callback(3)
