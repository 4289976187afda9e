"""Which moments are kept: decisions that change no result, but time and memory."""

from types import SimpleNamespace

import numpy as np
import pytest

from thinrank.core import memory
from thinrank.forms import moments
from thinrank.forms.moments import Moments


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """Limits that tiny shapes reach, and memory for 400 numbers."""
    monkeypatch.setattr(moments, "_CHEAP_GRAM", 1000)
    monkeypatch.setattr(moments, "_CHEAP_FOR_SEARCH", 2000)
    monkeypatch.setattr(moments, "_GRAM_PER_SAMPLE", 2)
    monkeypatch.setattr(moments, "_SMALL_GRAM", 6)
    monkeypatch.setattr(moments, "_PARTS_FOR_SEARCH", 3)
    monkeypatch.setattr(memory, "fits", lambda count, size: count * size <= 400 * 8)


def of(n, p, k):
    held = []
    stub = SimpleNamespace(
        X=SimpleNamespace(shape=(n, p), prototype=np.zeros(0)),
        shape=(p, k),
        _form=None,
        _hold=lambda: held.append(True),
        held=held,
    )
    stub._gram_is_small = lambda: Moments._gram_is_small(stub)
    return stub


@pytest.mark.parametrize(
    ("n", "p", "k", "expected"),
    [
        (12, 12, 5, True),
        (11, 12, 5, False),  # XᵀX would be larger than X
        (12, 5, 12, True),
        (11, 5, 12, False),  # XᵀY would be
        (30, 20, 20, True),
        (30, 21, 20, False),  # 441 numbers
        (30, 19, 22, False),  # 418 numbers
    ],
)
def test_evaluations(n, p, k, expected):
    assert Moments._gram_is_cheaper(of(n, p, k)) is expected


@pytest.mark.parametrize(
    ("n", "p", "k", "expected"),
    [
        (10, 10, 1, True),  # 1000 multiplications
        (11, 10, 1, False),
        (5, 10, 4, True),
        (4, 10, 4, False),  # more than twice as many columns as rows
        (2, 6, 1, True),  # a small XᵀX
        (2, 7, 1, False),
        (5, 10, 10, True),  # 100 entries of XᵀY
        (5, 10, 11, False),
        (20, 12, 6, True),  # not much more than XᵀY
        (20, 13, 6, False),
        (12, 12, 12, True),
        (11, 12, 11, False),
        (13, 12, 14, False),
    ],
)
def test_a_single_fit(n, p, k, expected):
    assert Moments._gram_is_quick(of(n, p, k)) is expected


@pytest.mark.parametrize(
    ("n", "p", "k", "expected"),
    [
        (20, 10, 1, True),  # 2000 multiplications
        (21, 10, 1, False),
        (21, 10, 4, True),  # at most three predictors for one response
        (21, 10, 3, False),
        (50, 11, 11, True),  # three parts of 121 numbers
        (50, 12, 12, False),
        (5, 10, 4, True),
        (4, 10, 4, False),  # XᵀX is much larger than X
    ],
)
def test_a_search(n, p, k, expected):
    stub = of(n, p, k)
    Moments.hold_for_search(stub)
    assert bool(stub.held) is expected
    known = of(n, p, k)
    known._form = "known"
    Moments.hold_for_search(known)
    assert not known.held
