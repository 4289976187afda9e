"""Coefficients of free predictors, which a loss profiles out, against scipy and closed forms."""

from dataclasses import replace

import numpy as np
import pytest
from family_problems import N, arguments
from scipy.special import expit

from thinrank import Factors
from thinrank.losses import GeneralizedLinear
from thinrank.losses.families import Bernoulli, Gaussian, Huber, Multinomial, Poisson

ONES = np.ones((N, 1))


def profiled(family, Y, free, linear=None, weight=None):
    """The loss of given linear predictors, with the best coefficients of the free ones."""
    loss = GeneralizedLinear(
        np.zeros((len(Y), 1)), Y, family, free=free, offset=linear, entry_weight=weight
    )
    point = loss.at(Factors.zero(loss.shape, Y, rank=1))
    return replace(point, values=len(Y) * point.values)


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
def test_responses_without_a_finite_optimum(family, Y):
    for free in (ONES, np.column_stack([ONES, np.random.default_rng(0).standard_normal(N)])):
        found = profiled(family, Y, free)
        for part in (found.free, found.linear, found.values, found.derivative, found.curvature):
            assert np.all(np.isfinite(part))
        assert found.values.sum() < 1e-6 * N


def test_dependent_free_predictors():
    Y = arguments("poisson", "bare")["Y"]
    one, other = (
        profiled(Poisson(), Y, free).linear for free in (ONES, np.column_stack([ONES, 2 * ONES]))
    )
    np.testing.assert_allclose(one, other, atol=1e-6)


@pytest.mark.parametrize("spread", [20.0, 300.0])
def test_far_from_the_optimum(spread):
    """Means would overflow, and most curvatures are zero."""
    rng = np.random.default_rng(0)
    linear = spread * rng.uniform(-1, 1, (N, 1))
    counts = rng.integers(0, 1000, (N, 1)).astype(float)
    found = profiled(Poisson(), counts, ONES, linear)
    largest = linear.max()
    exposure = np.exp(linear - largest).sum()
    if spread < 100:
        known = np.log(counts.sum() / exposure) - largest
        assert found.free[0, 0] == pytest.approx(known, rel=1e-7)
    assert np.all(np.isfinite(found.values))
    assert np.all(np.isfinite(found.curvature))
    labels = (np.arange(N) % 3 == 0).astype(float)[:, None]
    found = profiled(Bernoulli(), labels, ONES, linear)
    assert expit(found.linear).sum() == pytest.approx(labels.sum(), rel=1e-5)


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
    """It counts as half an event in n + 1 observations; the others are known."""
    Y = np.eye(4)[np.arange(20) % 3]
    found = profiled(Multinomial(4), Y, np.ones((20, 1)))
    shares = Y.mean(axis=0)[:3]
    beta = found.free[0]
    np.testing.assert_allclose(beta[:3] - beta[0], np.log(shares / shares[0]), atol=1e-6)
    probability = np.exp(beta) / np.exp(beta).sum()
    assert probability[3] == pytest.approx(0.5 / 21, rel=0.05)


def test_units_do_not_matter():
    """A limit on the change of linear predictors would have units."""
    Y = np.random.default_rng(0).standard_t(2, (N, 2))
    found = [
        profiled(Huber(scale=np.full(2, unit)), unit * Y, ONES, 30.0 * unit * (Y > 0))
        for unit in (1.0, 1e9)
    ]
    np.testing.assert_allclose(found[1].free, 1e9 * found[0].free, rtol=1e-6)
    assert found[1].values.sum() == pytest.approx(found[0].values.sum(), rel=1e-8)


def test_ends_where_only_rounding_errors_change():
    """Numbers about 1e12 are 1.2e-4 apart, so that the slope never vanishes."""
    Y = 1e12 + np.random.default_rng(3).standard_normal((9, 4))
    ones = np.ones((9, 1))
    expected = profiled(Huber(1.345, None), Y - 1e12, ones).values
    np.testing.assert_allclose(profiled(Huber(1.345, None), Y, ones).values, expected, rtol=3e-4)
