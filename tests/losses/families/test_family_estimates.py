"""Parameters and intercepts that the families estimate."""

import numpy as np
import pytest
from family_points import FAMILIES, Q, responses
from scipy import optimize, stats

from thinrank.losses.families import (
    Bernoulli,
    Gaussian,
    Huber,
    Multinomial,
    NegativeBinomial,
    Poisson,
)


def test_gaussian_scale():
    rng = np.random.default_rng(0)
    y, eta = rng.standard_normal((30, 2)), rng.standard_normal((30, 2))
    weight = rng.integers(0, 3, (30, 2)).astype(float)
    fitted = Gaussian().fitted_to(y, eta, weight, np.array([10.0, 20.0]))
    expected = np.sqrt((weight * (y - eta) ** 2).sum(axis=0) / [10.0, 20.0])
    np.testing.assert_allclose(fitted.scale, expected, rtol=1e-8)
    np.testing.assert_allclose(fitted.scale_of(2), expected, rtol=1e-8)
    equal = Gaussian().fitted_to(y, eta, None, 30.0)
    np.testing.assert_allclose(equal.scale, np.sqrt(((y - eta) ** 2).mean(axis=0)))


def test_scales_of_a_perfect_fit_are_positive():
    y = np.array([[1e6, 0.0], [2e6, 0.0], [4e6, 0.0]])
    scale = Gaussian().fitted_to(y, y, None, 2.0).scale
    assert 0 < scale[0] < 1e-8
    assert scale[1] == 1.0
    np.testing.assert_array_equal(Huber().fitted_to(y, y, None, 2.0).scale, [1.0, 1.0])


@pytest.mark.parametrize("make", [Gaussian, Huber])
def test_missing_entries_do_not_matter(make):
    rng = np.random.default_rng(1)
    y, eta = rng.standard_normal((20, 1)), rng.standard_normal((20, 1))
    weight = np.ones((20, 1))
    weight[15:] = 0.0
    y[15:] = np.nan
    there = make().fitted_to(y, eta, weight, 14.0)
    alone = make().fitted_to(y[:15], eta[:15], None, 14.0)
    np.testing.assert_allclose(there.scale, alone.scale, rtol=1e-8)
    np.testing.assert_allclose(
        make().null_link(y, weight), make().null_link(y[:15]), rtol=1e-8, atol=1e-9
    )


def test_huber_scale_resists_outliers():
    rng = np.random.default_rng(2)
    residual = 2.0 * rng.standard_normal((4000, 1))
    residual[:400] = 1e4
    scale = Huber(2.0).fitted_to(residual + 3.0, np.zeros((4000, 1)), None, 1.0)
    assert scale.scale[0] == pytest.approx(2.0, rel=0.2)
    assert scale.threshold == 2.0


def test_huber_scale_of_mostly_equal_residuals():
    residual = np.zeros((10, 1))
    residual[0] = 5.0
    found = Huber().fitted_to(residual, np.zeros((10, 1)), None, 1.0).scale
    np.testing.assert_allclose(found, np.sqrt(np.pi / 2) * 0.5)


@pytest.mark.parametrize("count", [9, 10])
def test_weighted_medians_repeat_entries(count):
    """The intercepts of the Huber family."""
    rng = np.random.default_rng(count)
    x, repeats = rng.standard_normal((count, 3)), rng.integers(0, 4, (count, 3))
    expected = [np.median(np.repeat(x[:, j], repeats[:, j])) for j in range(3)]
    np.testing.assert_allclose(Huber().null_link(x, 0.1 * repeats), expected)
    np.testing.assert_allclose(Huber().null_link(x, np.ones_like(x)), np.median(x, axis=0))


@pytest.mark.parametrize("size", [1.0, 1e10])
def test_scales_of_residuals_that_are_rounding_errors(size):
    """The deviations are compared with the largest response of the same column."""
    y = size * np.array([[1.0, 3.0], [2.0, 5.0], [3.0, 4.0], [4.0, 1.0]])
    eta = y.copy()
    eta[0, 0] *= 1 + 1e-16
    eta[:, 1] += size * np.array([-0.1, 0.1, 0.2, -0.2])
    family = Huber().fitted_to(y, eta, None, 0)
    assert family.scale[0] == 1.0
    assert family.scale[1] == pytest.approx(1.4826 * 0.15 * size, rel=1e-3)


# ------------------------------------------------------------------------------ dispersion


def negative_binomial_sample(dispersions, n=4000, seed=4):
    rng = np.random.default_rng(seed)
    eta = 1.0 + 0.5 * rng.standard_normal((n, len(dispersions)))
    sizes = 1 / np.asarray(dispersions)
    y = rng.negative_binomial(sizes, sizes / (sizes + np.exp(eta)))
    return y.astype(float), eta


def test_recovered_dispersion():
    truth = [0.1, 0.8, 3.0]
    y, eta = negative_binomial_sample(truth)
    fitted = NegativeBinomial().fitted_to(y, eta, None, 3999.0)
    np.testing.assert_allclose(fitted.dispersion, truth, rtol=0.25)


def test_dispersion_maximises_the_likelihood():
    y, eta = negative_binomial_sample([0.5, 2.0], n=200)
    weight = np.random.default_rng(5).integers(0, 3, y.shape).astype(float)
    found = NegativeBinomial().fitted_to(y, eta, weight, 1.0).dispersion
    for j in range(2):

        def loss(log_dispersion, j=j):
            size = np.exp(-log_dispersion)
            terms = stats.nbinom(size, size / (size + np.exp(eta[:, j]))).logpmf(y[:, j])
            return -(weight[:, j] * terms).sum()

        best = optimize.minimize_scalar(loss, bounds=(-9.0, 6.5), method="bounded").x
        assert np.log(found[j]) == pytest.approx(best, abs=1e-4)


def test_dispersion_at_the_ends():
    even = np.full((50, 1), 4.0)  # less dispersed than Poisson counts
    extreme = np.zeros((50, 1))
    extreme[0] = 1e6
    y = np.hstack([even, extreme])
    eta = np.hstack([np.log(even), np.full((50, 1), np.log(2e4))])
    fitted = NegativeBinomial().fitted_to(y, eta, None, 49.0)
    assert fitted.dispersion[0] == 1e-4
    assert 10 < fitted.dispersion[1] <= 1e3


# ------------------------------------------------------------------------------ intercepts


@pytest.mark.parametrize(
    "name", [name for name in FAMILIES if not name.startswith(("huber", "mixed"))]
)
def test_null_link_minimises_the_loss(name):
    family, y = FAMILIES[name], responses(name, 50)
    weight = np.random.default_rng(7).integers(1, 4, (50, 1)) * np.ones((50, Q))
    eta = np.tile(family.null_link(y, weight), (50, 1))
    slope = (weight * family.derivative(y, eta)).sum(axis=0)
    np.testing.assert_allclose(slope, 0.0, atol=1e-9)
    np.testing.assert_allclose(family.null_link(y, 7 * weight), eta[0], rtol=1e-8)


def test_null_link_at_the_border():
    n = 9
    zeros, ones = np.zeros((n, 1)), np.ones((n, 1))
    half = 0.5 / (n + 1)
    np.testing.assert_allclose(Poisson().null_link(zeros), np.log([half]))
    np.testing.assert_allclose(NegativeBinomial().null_link(zeros), np.log([half]))
    both = Bernoulli().null_link(np.hstack([zeros, ones]))
    np.testing.assert_allclose(both, [np.log(half / (1 - half)), np.log((1 - half) / half)])
    start = Multinomial().null_link(np.hstack([ones, zeros, zeros]))
    shares = Multinomial().mean(start[None, :])
    np.testing.assert_allclose(shares, np.array([[1.0, half, half]]) / (1 + 2 * half))
