"""Coefficients of free predictors, which a loss profiles out, against scipy and closed forms."""

from dataclasses import replace

import numpy as np
import pytest
from family_problems import FAMILIES, K, N, arguments, best_free, blocks_of, weights

from thinrank import Factors
from thinrank.losses import GeneralizedLinear
from thinrank.losses.families import Bernoulli, Gaussian, Huber, Multinomial, Poisson

ONES = np.ones((N, 1))


def profiled(family, Y, free, linear=None, weight=None, guess=None):
    """The loss of given linear predictors, with the best coefficients of the free ones."""
    loss = GeneralizedLinear(
        np.zeros((len(Y), 1)), Y, family, free=free, offset=linear, entry_weight=weight
    )
    point = loss.at(Factors.zero(loss.shape, Y, rank=1), guess)
    return replace(point, values=len(Y) * point.values)


def centred(beta, name):
    """Coefficients of categories minus their mean, since only differences matter."""
    beta = beta.copy()
    for block in blocks_of(name):
        beta[:, block] -= beta[:, block].mean(axis=1, keepdims=True)
    return beta


@pytest.mark.parametrize("parts", ["intercept", "entries", "everything"])
@pytest.mark.parametrize("name", FAMILIES)
def test_against_bfgs(name, parts):
    given, family = arguments(name, parts), FAMILIES[name]
    weight, free = weights(given), given["free"]
    linear = np.random.default_rng(7).standard_normal((N, K))
    expected, total = best_free(family, given["Y"], weight, linear, free)
    for guess in (None, expected + 0.5):
        found = profiled(family, given["Y"], free, linear, weight, guess)
        np.testing.assert_allclose(centred(found.free, name), centred(expected, name), atol=1e-5)
        np.testing.assert_allclose(found.linear, linear + free @ found.free, atol=1e-9)
        assert found.values.sum() == pytest.approx(total, rel=1e-8)
        np.testing.assert_allclose(free.T @ found.derivative, 0, atol=1e-4)


def test_known_intercepts():
    Y = arguments("poisson", "bare")["Y"]
    weight = np.random.default_rng(0).uniform(0.1, 1, (N, K))
    mean = np.sum(weight * Y, axis=0) / weight.sum(axis=0)
    np.testing.assert_allclose(profiled(Poisson(), Y, ONES, weight=weight).free[0], np.log(mean))
    np.testing.assert_allclose(profiled(Gaussian(), Y, ONES, weight=weight).free[0], mean)


def test_without_free_predictors_nothing_changes():
    Y = arguments("poisson", "bare")["Y"]
    linear = np.random.default_rng(0).standard_normal((N, K))
    found = profiled(Poisson(), Y, None, linear)
    assert found.free.shape == (0, K)
    np.testing.assert_allclose(found.linear, linear)
    np.testing.assert_allclose(found.values, Poisson().value(Y, linear).sum(axis=0))


@pytest.mark.parametrize("guess", [None, 30.0])
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
def test_responses_without_a_finite_optimum(family, Y, guess):
    for free in (ONES, np.column_stack([ONES, np.random.default_rng(0).standard_normal(N)])):
        begin = None if guess is None else np.full((free.shape[1], 2), guess)
        found = profiled(family, Y, free, guess=begin)
        for part in (found.free, found.linear, found.values, found.derivative, found.curvature):
            assert np.all(np.isfinite(part))
        assert found.values.sum() < 1e-6 * N


def test_dependent_free_predictors():
    Y = arguments("poisson", "bare")["Y"]
    one, other = (
        profiled(Poisson(), Y, free).linear for free in (ONES, np.column_stack([ONES, 2 * ONES]))
    )
    np.testing.assert_allclose(one, other, atol=1e-6)


@pytest.mark.parametrize("start", [-800.0, -30.0, 40.0])
def test_far_from_the_optimum(start):
    """Newton steps from tiny means would overflow, and far away all curvatures are zero."""
    counts = np.full((N, 1), 1000.0)
    counts[0] = 2000.0
    begin = np.full((1, 1), start)
    found = profiled(Poisson(), counts, ONES, guess=np.minimum(begin, 0)).free[0, 0]
    assert found == pytest.approx(np.log(counts.mean()), rel=1e-7)
    labels = np.zeros((N, 1))
    labels[:3] = 1
    found = profiled(Bernoulli(), labels, ONES, guess=begin).free[0, 0]
    assert found == pytest.approx(np.log(3 / (N - 3)), rel=1e-6)


@pytest.mark.parametrize("name", ["multinomial", "mixed"])
def test_a_start_without_curvature_is_given_up(name):
    """A trial step of a solver can leave coefficients at which all curvatures are zero."""
    Y = arguments(name, "bare")["Y"]
    begin = np.zeros((1, K))
    begin[0, 0] = 800.0
    expected = profiled(FAMILIES[name], Y, ONES).values.sum()
    found = profiled(FAMILIES[name], Y, ONES, guess=begin).values.sum()
    assert found == pytest.approx(expected, rel=1e-8)


def test_a_second_start_is_taken_if_it_is_better():
    """The given start is better than the intercepts of the family, but has no curvature left in its
    last coefficient. The entries of the last four rows are known for certain."""
    Y = np.array([1.0, 0, 1, 0, 1, 0, 1, 1, 1, 1])[:, None]
    linear = np.array([-3000.0, -3000, 3000, 3000, 0, 0, 1e5, 1e5, 1e5, 1e5])[:, None]
    free = np.vstack([np.kron(np.eye(3), np.ones((2, 1))), np.zeros((4, 3))])
    begin = np.array([[3000.0], [-3000.0], [-1000.0]])
    found = profiled(Bernoulli(), Y, free, linear, guess=begin)
    assert found.values.sum() == pytest.approx(6 * np.log(2), rel=1e-6)
    np.testing.assert_allclose(found.free, [[3000], [-3000], [0]], atol=1e-5)


@pytest.mark.parametrize("far", [0.0, 1000.0])
@pytest.mark.parametrize("seed", range(2))
def test_separated_categories(seed, far):
    """The optimum is at infinity."""
    rng = np.random.default_rng(seed)
    free = np.column_stack([np.ones(12), rng.standard_normal((12, 2))])
    Y = np.eye(3)[np.argmax(free @ rng.standard_normal((3, 3)), axis=1)]
    linear = far * np.random.default_rng(seed).standard_normal(Y.shape)
    assert profiled(Multinomial(3), Y, free, linear).values.sum() < 1e-8 * Y.size


def test_one_category_that_never_occurs():
    """Its coefficient goes to minus infinity; those of the others are known."""
    Y = np.eye(4)[np.arange(20) % 3]
    found = profiled(Multinomial(4), Y, np.ones((20, 1)), guess=np.zeros((1, 4)))
    shares = Y.mean(axis=0)[:3]
    beta = found.free[0]
    np.testing.assert_allclose(beta[:3] - beta[0], np.log(shares / shares[0]), atol=1e-6)
    assert found.values.sum() == pytest.approx(-20 * np.sum(shares * np.log(shares)), rel=1e-7)


def test_units_do_not_matter():
    """A limit on the change of linear predictors would have units."""
    Y = np.random.default_rng(0).standard_t(2, (N, 2))
    found = [
        profiled(Huber(scale=np.full(2, unit)), unit * Y, ONES, guess=np.full((1, 2), 30.0 * unit))
        for unit in (1.0, 1e9)
    ]
    np.testing.assert_allclose(found[1].free, 1e9 * found[0].free, rtol=1e-6)
    assert found[1].values.sum() == pytest.approx(found[0].values.sum(), rel=1e-8)


def test_ends_where_only_rounding_errors_change():
    """A mean of 1e12 is known to four digits only, so that its slope never vanishes."""
    Y = 1e12 + np.random.default_rng(3).standard_normal((9, 4))
    ones = np.ones((9, 1))
    expected = profiled(Huber(1.345, None), Y - 1e12, ones).values
    np.testing.assert_allclose(profiled(Huber(1.345, None), Y, ones).values, expected, rtol=1e-4)
