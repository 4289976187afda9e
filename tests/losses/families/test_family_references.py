"""The losses against scikit-learn and SciPy, and the quadratic models of the families."""

import numpy as np
import pytest
from family_points import responses
from hypothesis import given
from hypothesis import strategies as st
from scipy import special, stats
from sklearn.metrics import log_loss, mean_poisson_deviance

from thinrank.losses.families import (
    Bernoulli,
    Gaussian,
    Huber,
    Multinomial,
    NegativeBinomial,
    Poisson,
)

N = 60


def predictors(columns=1):
    return np.random.default_rng(0).standard_normal((N, columns))


def test_gaussian_is_a_difference_of_log_densities():
    y, eta = responses("gaussian", N)[:, :1], predictors()
    normal = stats.norm(eta, 2.5)
    expected = stats.norm(y, 2.5).logpdf(y) - normal.logpdf(y)
    np.testing.assert_allclose(Gaussian(2.5).value(y, eta), expected, atol=1e-9)


def test_poisson_deviance():
    y, eta = responses("poisson", N)[:, :1], predictors()
    expected = mean_poisson_deviance(y[:, 0], np.exp(eta[:, 0]))
    assert Poisson().deviance(y, eta).mean() == pytest.approx(expected, rel=1e-8)


def test_proportions_are_relative_entropies():
    y, eta = responses("proportions", N), predictors(3)
    mean = special.expit(eta)
    expected = special.rel_entr(y, mean) + special.rel_entr(1 - y, 1 - mean)
    np.testing.assert_allclose(Bernoulli().value(y, eta), expected, atol=1e-9)


def test_multinomial_is_the_log_loss():
    y, eta = responses("multinomial", N), predictors(3)
    expected = log_loss(y.argmax(axis=1), special.softmax(eta, axis=1))
    assert Multinomial().value(y, eta).sum(axis=1).mean() == pytest.approx(expected, rel=1e-8)


def test_multinomial_without_an_observed_category():
    y = np.zeros((2, 3))
    for output in Multinomial().for_fit(y, predictors(3)[:2]):
        np.testing.assert_array_equal(output, 0.0)


@pytest.mark.parametrize("dispersion", [1e-3, 0.4, 30.0])
def test_negative_binomial_is_a_difference_of_log_probabilities(dispersion):
    y, eta = responses("poisson", N), predictors(3)

    def log_probability(mean):
        return stats.nbinom(1 / dispersion, 1 / (1 + dispersion * mean)).logpmf(y)

    expected = log_probability(np.maximum(y, 1e-12)) - log_probability(np.exp(eta))
    found = NegativeBinomial(dispersion).value(y, eta)
    np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-9)


def test_negative_binomial_without_dispersion_is_poisson():
    y, eta = responses("poisson", N), predictors(3)
    for dispersion in (0.0, 1e-12, np.array([0.0, 1e-12, 1e-10])):
        for one, other in zip(
            NegativeBinomial(dispersion).for_fit(y, eta),
            Poisson().for_fit(y, eta),
            strict=True,
        ):
            np.testing.assert_allclose(one, other, rtol=1e-7, atol=1e-8)


def test_huber_against_scipy():
    y, eta = responses("huber", N), predictors(3)
    threshold, scale = np.array([0.5, 1.345, 2.0]), np.array([0.7, 1.0, 4.0])
    found = Huber(threshold, scale).value(y, eta)
    expected = special.huber(threshold, (y - eta) / scale)
    np.testing.assert_allclose(found, expected, atol=1e-9)


@given(
    residual=st.floats(-50, 50),
    other=st.floats(-50, 50),
    threshold=st.floats(0.1, 10),
    scale=st.floats(0.1, 10),
)
def test_huber_quadratic_model_is_not_below_the_loss(residual, other, threshold, scale):
    family = Huber(threshold, scale)
    y, at, there = (np.array([[x]]) for x in (0.0, residual, other))
    value, slope, weight = family.for_fit(y, at)
    step = there - at
    model = value + slope * step + 0.5 * weight * step**2
    assert model >= family.value(y, there) - 1e-9 * (1 + np.abs(model))


@pytest.mark.parametrize("family", [Bernoulli(), Multinomial()])
def test_small_losses_keep_their_digits(family):
    """With η = ±40 the loss of the more probable outcome is log(1 + exp(−|Δη|))."""
    y, eta = np.array([[1.0, 0.0]]), np.array([[40.0, -40.0]])
    expected = {"bernoulli": [np.exp(-40.0)] * 2, "multinomial": [0.0, 0.0]}[family.name]
    np.testing.assert_allclose(family.value(y, eta), [expected], rtol=1e-8, atol=1e-33)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_poisson_beyond_any_mean_is_finite_and_convex(dtype):
    y, eta = np.array([[2.0], [0.0]], dtype), np.array([[39.0, 40.0, 41.0, 100.0, 800.0]], dtype)
    value, derivative, curvature = Poisson().for_fit(y, eta)
    for output in (value, derivative, curvature):
        assert np.all(np.isfinite(output))
        assert np.all(np.diff(output) >= 0)
    np.testing.assert_allclose(value[:, 1], np.exp(40.0), rtol=1e-5)
    steps = np.diff(eta[:, 1:])  # of a parabola: the mean slope times the step
    mean = 0.5 * (derivative[:, 1:-1] + derivative[:, 2:])
    np.testing.assert_allclose(np.diff(value[:, 1:]), mean * steps, rtol=1e-5)
    assert np.all(np.isfinite(Poisson().mean(np.array([[1e3, 1e30]], dtype))))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_links_of_probabilities_near_the_ends(dtype):
    """Those of the nearest numbers inside."""
    below = np.nextafter(dtype(1), dtype(0))
    found = Bernoulli().link(np.array([1.0, below, 0.5, 0.25, 0.0], dtype))
    assert found.dtype == dtype
    expected = special.logit(np.array([below, below, 0.5, 0.25], np.float64))
    np.testing.assert_allclose(found[:4], expected, rtol=1e-6)
    assert np.isfinite(found[4])
    assert found[4] < -80
