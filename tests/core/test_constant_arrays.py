"""Results for arrays that do not change are computed once."""

import numpy as np
import pytest

import thinrank as tr
from thinrank.core.constant_arrays import computed_once, constant_arrays, declared_constant
from thinrank.designs import dense


def test_results_of_constant_arrays_are_kept_up_to_the_end(rng):
    x, other = rng.standard_normal(3), rng.standard_normal(3)
    calls = []

    def result(name, array):
        return computed_once(name, array, lambda: calls.append(name) or (name, float(array[0])))

    assert declared_constant(x) is x  # without a context nothing is kept
    assert [result("a", x), result("a", x)] == [("a", x[0])] * 2
    assert len(calls) == 2
    with constant_arrays():
        assert declared_constant(x) is x
        assert result("a", x) == result("a", x) == ("a", x[0])
        assert result("b", x) == ("b", x[0])
        assert calls[2:] == ["a", "b"]
        declared_constant(x)  # a second declaration forgets nothing
        result("a", x)
        assert calls[2:] == ["a", "b"]
        for _ in range(2):
            assert result("a", other) == ("a", other[0])  # not declared
        assert calls[2:] == ["a", "b", "a", "a"]
        with constant_arrays():
            result("a", x)  # that of another context
        assert len(calls) == 7
        result("a", x)
        assert len(calls) == 7
    x[0] += 1
    assert result("a", x) == ("a", x[0])


def test_arrays_are_not_kept_in_memory(rng):
    with constant_arrays():
        for _ in range(20):  # a new array may get the place of one that is gone
            x = declared_constant(rng.standard_normal(1000))
            assert computed_once("sum", x, lambda x=x: float(x.sum())) == x.sum()


def test_without_weak_references_nothing_is_kept():
    class Plain:
        __slots__ = ()

    with constant_arrays():
        x = declared_constant(Plain())
        assert [computed_once("a", x, lambda n=n: n) for n in range(2)] == [0, 1]


@pytest.mark.parametrize("single", [False, True])
def test_the_moments_of_responses_are_computed_once_per_fit(rng, monkeypatch, single):
    X, Y = rng.standard_normal((40, 6)), rng.standard_normal((40, 5))
    widths = []

    def counted(array):
        widths.append(array.shape[1])
        return moments(array)

    moments = dense.column_moments
    monkeypatch.setattr(dense, "column_moments", counted)
    est = tr.SparseReducedRankRegressor(1, 3, 1 if single else 4)
    if single:
        Y = Y[:, 0]
        expected = est.fit(X, Y[:, None]).coef_[0].copy()
        np.testing.assert_allclose(est.fit(X, Y).coef_, expected)
        return
    est.fit(X, Y)
    assert sorted(widths) == [5, 6]
    before = est.intercept_.copy()
    Y += 3.0  # the next fit sees the new numbers
    np.testing.assert_allclose(est.fit(X, Y).intercept_, before + 3)
