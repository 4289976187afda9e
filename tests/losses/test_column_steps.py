"""Steps of the responses that a fit leaves out, along its scores."""

import numpy as np
import pytest

from thinrank import Factors
from thinrank.losses import GeneralizedLinear
from thinrank.losses.families import Gaussian, Poisson

N, P, K, R = 40, 6, 5, 2


def loss_of(ridge=0.0, unit=None, free=True, scale=None):
    rng = np.random.default_rng(0)
    X, Y = rng.standard_normal((N, P)), 3 + rng.standard_normal((N, K))
    seen = (rng.random((N, K)) > 0.4).astype(float)
    return GeneralizedLinear(
        X,
        Y,
        Gaussian(scale),
        entry_weight=seen * rng.uniform(0.5, 2, (N, K)),
        free=np.ones((N, 1)) if free else None,
        unit=unit,
        ridge=ridge,
    )


def factors():
    """Responses 1 and 3 are left out."""
    rng = np.random.default_rng(1)
    V = rng.standard_normal((K, R))
    V[[1, 3]] = 0
    return Factors(rng.standard_normal((P, R)), V)


@pytest.mark.parametrize(
    ("ridge", "unit", "free"),
    [(0.0, None, True), (0.3, np.linspace(0.5, 2, K), True), (0.3, None, False)],
)
def test_steps_are_at_the_minimum(ridge, unit, free):
    loss, here = loss_of(ridge, unit, free, scale=np.linspace(1, 3, K)), factors()
    V, gains = loss.column_steps(here)
    np.testing.assert_array_equal(V[[0, 2, 4]], here.V[[0, 2, 4]])
    _, _, slope = loss.value_and_gradient(Factors(here.U, V))
    np.testing.assert_allclose(slope[[1, 3]], 0, atol=1e-9)
    for j in range(K):
        one = np.zeros((K, R))
        one[j] = V[j]
        decrease = loss.magnitude - loss.value(Factors(here.U, one))
        assert gains[j] == pytest.approx(decrease, abs=1e-9)


def test_steps_are_regressions_on_the_observed_entries():
    loss, here = loss_of(), factors()
    V, _ = loss.column_steps(here)
    root = np.sqrt(loss.weights()[:, 3])
    design = np.column_stack([loss.everything() @ here.U, np.ones(N)]) * root[:, None]
    expected = np.linalg.lstsq(design, loss.Y[:, 3] * root, rcond=None)[0]
    np.testing.assert_allclose(V[3], expected[:R], rtol=1e-8)


def test_a_response_with_too_few_entries_has_finite_steps():
    loss = loss_of()
    weight = loss.weights()
    weight[2:, 1] = 0
    few = GeneralizedLinear(loss.X, loss.Y, Gaussian(), entry_weight=weight, free=np.ones((N, 1)))
    V, gains = few.column_steps(factors())
    assert np.isfinite(V).all()
    assert np.isfinite(gains).all()


def test_families_that_are_not_quadratic_have_none():
    X = np.random.default_rng(0).standard_normal((N, P))
    loss = GeneralizedLinear(X, np.ones((N, K)), Poisson())
    assert loss.column_steps(factors()) is None
