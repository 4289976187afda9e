"""Inner products of the columns in use."""

import sys
import threading

import numpy as np
import pytest

from thinrank.designs import Dense
from thinrank.forms import active_columns
from thinrank.forms.active_columns import ActiveColumns


@pytest.mark.parametrize("index", [[1, 4, 5], [5, 1], [0, 1, 4, 5], [4, 5, 7]])
def test_inner_products_are_a_new_array_also_if_columns_lie_side_by_side(monkeypatch, rng, index):
    monkeypatch.setattr(active_columns, "_MANY", 2)
    X = rng.standard_normal((9, 8))
    active = ActiveColumns(Dense(X), Dense(rng.standard_normal((9, 2))))
    active.gram(np.array([1, 4, 5, 7]))  # they lie side by side then
    expected = X[:, index].T @ X[:, index]
    for _ in range(2):
        found = active.gram(np.array(index))
        np.testing.assert_allclose(found, expected, atol=1e-13)
        found[...] = 0.0  # callers may overwrite it


def test_two_threads_ask_for_columns_that_are_held(rng):
    """Each gets the inner products of its own columns."""
    X = rng.standard_normal((20, 700))
    active, gram = ActiveColumns(Dense(X), Dense(rng.standard_normal((20, 2)))), X.T @ X
    active.gram(np.arange(700))
    wrong = []

    def ask(first, count):
        for _ in range(300):
            found = active.gram(np.arange(first, first + count))
            if found.shape[0] != count or abs(found[0, 0] - gram[first, first]) > 1e-8:
                wrong.append(found.shape)

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        threads = [threading.Thread(target=ask, args=each) for each in ((0, 256), (400, 263))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert not wrong
