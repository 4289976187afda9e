"""How many multiplications of a fit the host does, which decides the number of its threads."""

import math

import numpy as np
import pytest

from thinrank import arrays
from thinrank.estimators.whole_fit import _multiplications


@pytest.mark.parametrize(
    ("X", "Y", "count"), [((30, 5), (30, 2), 750), ((4, 20), (4, 9), 720), ((30, 5), (30, 7), 1050)]
)
def test_the_larger_product(X, Y, count):
    assert _multiplications(np.ones(X), np.ones(Y)) == count


def test_lists_and_lazy_data():
    assert _multiplications([[1.0]], [[2.0]]) == 0

    class Lazy:
        shape = (None, 3)

    assert _multiplications(Lazy()) == math.inf


def test_the_host_does_not_multiply_for_an_accelerator(monkeypatch):
    monkeypatch.setattr(arrays, "on_host", lambda x: False)
    assert _multiplications(np.ones((3000, 3000)), np.ones((3000, 500))) == 0
