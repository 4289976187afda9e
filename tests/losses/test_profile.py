"""Coefficients of free predictors against scipy."""

import numpy as np
import pytest
from family_problems import FAMILIES, K, N, arguments, best_free, blocks_of, weights
from scipy.optimize import minimize

from thinrank.losses.families import Bernoulli, Gaussian, Huber, Multinomial, Poisson
from thinrank.losses.profile import _is_stuck, profiled


def centred(beta, name):
    """Coefficients of categories minus their mean, since only differences matter."""
    beta = beta.copy()
    for block in blocks_of(name):
        beta[:, block] -= beta[:, block].mean(axis=1, keepdims=True)
    return beta


@pytest.mark.parametrize("warm", [False, True])
@pytest.mark.parametrize("parts", ["intercept", "entries", "weights", "everything"])
@pytest.mark.parametrize("name", FAMILIES)
def test_against_bfgs(name, parts, warm):
    given, family = arguments(name, parts), FAMILIES[name]
    weight, free = weights(given), given["free"]
    linear = np.random.default_rng(7).standard_normal((N, K))
    expected, total = best_free(family, given["Y"], weight, linear, free)
    start = expected + 0.5 if warm else None
    beta, eta, values, derivative, curvature = profiled(
        family, given["Y"], weight, linear, free, start
    )
    np.testing.assert_allclose(centred(beta, name), centred(expected, name), atol=1e-5)
    np.testing.assert_allclose(eta, linear + free @ beta, atol=1e-12)
    assert values.sum() == pytest.approx(total, rel=1e-10)
    np.testing.assert_allclose(free.T @ derivative, 0, atol=1e-4)
    np.testing.assert_allclose(derivative, weight * family.derivative(given["Y"], eta))
    np.testing.assert_allclose(curvature, weight * family.weight_for_fit(given["Y"], eta))


@pytest.mark.parametrize("name", ["gaussian", "bernoulli", "poisson", "huber"])
def test_every_response_on_its_own(name):
    """Intercepts by a scalar search for each response."""
    given, family = arguments(name, "entries"), FAMILIES[name]
    weight, linear = weights(given), np.zeros((N, K))
    beta = profiled(family, given["Y"], weight, linear, np.ones((N, 1)), None)[0]
    for j in range(K):
        own, y, w = family.take(np.array([j])), given["Y"][:, [j]], weight[:, [j]]

        def value(b, own=own, y=y, w=w):
            return np.sum(w * own.value(y, np.full((N, 1), b[0])))

        found = minimize(
            value, [0.0], method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-14}
        )
        assert beta[0, j] == pytest.approx(found.x[0], abs=1e-5)


def test_known_intercepts():
    Y, ones = arguments("poisson", "bare")["Y"], np.ones((N, 1))
    weight = np.random.default_rng(0).uniform(0.1, 1, (N, K))
    mean = np.sum(weight * Y, axis=0) / weight.sum(axis=0)
    zero = np.zeros((N, K))
    np.testing.assert_allclose(profiled(Poisson(), Y, weight, zero, ones, None)[0][0], np.log(mean))
    exact = profiled(Gaussian(), Y, weight, zero, ones, None)[0][0]
    np.testing.assert_allclose(exact, mean, rtol=1e-12)


def test_without_free_predictors_nothing_changes():
    given = arguments("poisson", "bare")
    linear = np.random.default_rng(0).standard_normal((N, K))
    for free in (None, np.ones((N, 0))):
        beta, eta, values, _, _ = profiled(Poisson(), given["Y"], None, linear, free, None)
        assert beta.shape == (0, K)
        np.testing.assert_array_equal(eta, linear)
        np.testing.assert_allclose(values, Poisson().value(given["Y"], linear).sum(axis=0))


@pytest.mark.parametrize("start", [None, np.zeros((1, 2)), np.full((1, 2), 30.0)])
@pytest.mark.parametrize(
    ("family", "Y"),
    [
        (Poisson(), np.zeros((N, 2))),
        (Bernoulli(), np.zeros((N, 2))),
        (Bernoulli(), np.ones((N, 2))),
        (Multinomial(2), np.column_stack([np.ones(N), np.zeros(N)])),
        (Gaussian(), np.zeros((N, 2))),
        (Huber(), np.ones((N, 2))),
    ],
    ids=["no counts", "all 0", "all 1", "one category", "zero", "constant"],
)
def test_responses_without_a_finite_optimum(family, Y, start):
    rng = np.random.default_rng(0)
    for free in (np.ones((N, 1)), np.column_stack([np.ones(N), rng.standard_normal(N)])):
        begin = None if start is None else np.vstack([start, 0 * start])[: free.shape[1]]
        found = profiled(family, Y, None, np.zeros((N, 2)), free, begin)
        for part in found:
            assert np.all(np.isfinite(part))
        assert found[2].sum() < 1e-6 * N


def test_dependent_free_predictors():
    ones = np.ones((N, 1))
    Y = arguments("poisson", "bare")["Y"]
    _, one, *_ = profiled(Poisson(), Y, None, np.zeros((N, K)), ones, None)
    twice = np.column_stack([ones, 2 * ones])
    _, other, *_ = profiled(Poisson(), Y, None, np.zeros((N, K)), twice, None)
    np.testing.assert_allclose(one, other, atol=1e-6)


def test_far_from_the_optimum():
    """Newton steps from means that are tiny would overflow."""
    Y = np.full((N, 1), 1000.0)
    Y[0] = 2000.0
    beta = profiled(Poisson(), Y, None, np.zeros((N, 1)), np.ones((N, 1)), np.full((1, 1), -30.0))[
        0
    ]
    assert beta[0, 0] == pytest.approx(np.log(Y.mean()), rel=1e-8)
    Y = np.zeros((N, 1))
    Y[:3] = 1
    for start in (-40.0, 40.0):
        begin = np.full((1, 1), start)
        beta = profiled(Bernoulli(), Y, None, np.zeros((N, 1)), np.ones((N, 1)), begin)[0]
        assert beta[0, 0] == pytest.approx(np.log(3 / (N - 3)), rel=1e-6)


@pytest.mark.parametrize("start", [-800.0, 800.0])
@pytest.mark.parametrize("name", ["bernoulli", "multinomial", "mixed"])
def test_a_start_without_curvature_is_given_up(name, start):
    """A trial step of a solver can leave coefficients at which all curvatures are zero."""
    Y, ones, zero = arguments(name, "bare")["Y"], np.ones((N, 1)), np.zeros((N, K))
    begin = np.zeros((1, K))
    begin[0, 0] = start
    expected = profiled(FAMILIES[name], Y, None, zero, ones, None)[2].sum()
    found = profiled(FAMILIES[name], Y, None, zero, ones, begin)[2].sum()
    assert found == pytest.approx(expected, rel=1e-10)


def test_a_second_start_is_taken_if_it_is_better():
    """The given start is better than the intercepts of the family, but has no curvature left in its
    last coefficient. The entries of the last four rows are known for certain."""
    Y = np.array([1.0, 0, 1, 0, 1, 0, 1, 1, 1, 1])[:, None]
    linear = np.array([-3000.0, -3000, 3000, 3000, 0, 0, 1e5, 1e5, 1e5, 1e5])[:, None]
    free = np.vstack([np.kron(np.eye(3), np.ones((2, 1))), np.zeros((4, 3))])
    begin = np.array([[3000.0], [-3000.0], [-1000.0]])
    found = profiled(Bernoulli(), Y, None, linear, free, begin)
    assert found[2].sum() == pytest.approx(6 * np.log(2), rel=1e-6)
    np.testing.assert_allclose(found[0], [[3000], [-3000], [0]], atol=1e-6)


def separated(seed, n=12, categories=3):
    """Free predictors that separate the categories, and their indicators."""
    rng = np.random.default_rng(seed)
    free = np.column_stack([np.ones(n), rng.standard_normal((n, 2))])
    return free, np.eye(categories)[np.argmax(free @ rng.standard_normal((3, categories)), axis=1)]


class Counting(Multinomial):
    """Counts evaluations."""

    count = 0

    def for_fit(self, y, eta, prepared=None):
        type(self).count += 1
        return super().for_fit(y, eta, prepared)


@pytest.mark.parametrize("far", [0.0, 20.0, 1000.0])
@pytest.mark.parametrize("seed", range(3))
def test_few_evaluations_with_separated_categories(seed, far, monkeypatch):
    """The optimum is at infinity; steps of one length for all columns do decrease the loss."""
    free, Y = separated(seed)
    linear = far * np.random.default_rng(seed).standard_normal(Y.shape)
    monkeypatch.setattr(Counting, "count", 0)
    found = profiled(Counting(3), Y, None, linear, free, None)
    assert found[2].sum() < 1e-8 * Y.size
    assert Counting.count < 100  # about 40, depending on rounding errors


def test_one_category_that_never_occurs():
    """Its coefficient goes to minus infinity; those of the others are known."""
    Y = np.eye(4)[np.arange(20) % 3]
    ones, zero = np.ones((20, 1)), np.zeros((20, 4))
    beta, _, values, *_ = profiled(Multinomial(4), Y, None, zero, ones, np.zeros((1, 4)))
    shares = Y.mean(axis=0)[:3]
    np.testing.assert_allclose(beta[0, :3] - beta[0, 0], np.log(shares / shares[0]), atol=1e-6)
    assert values.sum() == pytest.approx(-20 * np.sum(shares * np.log(shares)), rel=1e-9)


def test_units_do_not_change_the_number_of_steps():
    """A limit on the change of linear predictors would have units."""
    rng = np.random.default_rng(0)
    Y, ones = rng.standard_t(2, (N, 2)), np.ones((N, 1))
    found = []
    for unit in (1.0, 1e9):
        family = Huber(scale=np.full(2, unit))
        far = np.full((1, 2), 30.0 * unit)
        found.append(profiled(family, unit * Y, None, np.zeros((N, 2)), ones, far))
    np.testing.assert_allclose(found[1][0], 1e9 * found[0][0], rtol=1e-9)
    assert found[1][2].sum() == pytest.approx(found[0][2].sum(), rel=1e-12)


def test_ends_where_only_rounding_errors_change():
    """A mean of 1e12 is known to four digits only, so that its slope never vanishes."""
    calls = []

    class Counted(Huber):
        def for_fit(self, y, eta, prepared=None):
            calls.append(1)
            return super().for_fit(y, eta, prepared)

    Y = 1e12 + np.random.default_rng(3).standard_normal((9, 4))
    values = profiled(Counted(1.345, None), Y, None, np.zeros((9, 4)), np.ones((9, 1)), None)[2]
    assert len(calls) < 25
    expected = profiled(Huber(1.345, None), Y - 1e12, None, np.zeros((9, 4)), np.ones((9, 1)), None)
    np.testing.assert_allclose(values, expected[2], rtol=1e-6)


def test_newton_is_stuck_only_if_slopes_are_clear():
    """Slopes of one sign count, unless they are as small as those of a perfect fit."""
    free = np.ones((6, 1))
    one_sign, both_signs = np.ones((6, 1)), np.resize([1.0, -1.0], (6, 1))
    assert _is_stuck(free, one_sign, None)
    assert _is_stuck(free, 1e-4 * one_sign, None)
    assert not _is_stuck(free, 1e-9 * one_sign, None)
    assert not _is_stuck(free, both_signs, None)
    assert _is_stuck(free, np.hstack([both_signs, one_sign]), None)  # in one response
    # units of the weights do not matter
    assert _is_stuck(free, 1e-9 * one_sign, np.full((6, 1), 1e-9))
