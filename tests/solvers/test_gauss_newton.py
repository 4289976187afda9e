"""Gauss-Newton steps on given supports."""

import numpy as np
import pytest
from scipy.optimize import minimize

from thinrank import Factors
from thinrank.losses import GeneralizedLinear
from thinrank.losses.families import (
    Bernoulli,
    Gaussian,
    Huber,
    Multinomial,
    NegativeBinomial,
    Poisson,
)
from thinrank.solvers.fits import as_fit
from thinrank.solvers.gauss_newton import refined
from thinrank.solvers.loss_fits import _next_columns

N, P, K = 60, 4, 5


def data(name, seed):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((N, P))
    eta = 0.7 * X @ rng.standard_normal((P, 2)) @ rng.standard_normal((2, K)) + 0.3
    if name in ("gaussian", "huber"):
        return X, eta + rng.standard_normal((N, K))
    if name == "bernoulli":
        return X, (rng.uniform(size=(N, K)) < 1 / (1 + np.exp(-eta))).astype(float)
    if name == "multinomial":
        shares = np.exp(eta) / np.exp(eta).sum(axis=1, keepdims=True)
        return X, np.array([rng.multinomial(1, p) for p in shares]).astype(float)
    return X, rng.poisson(np.exp(eta.clip(-3, 3))).astype(float)


FAMILIES = {
    "gaussian": Gaussian(),
    "bernoulli": Bernoulli(),
    "poisson": Poisson(),
    "negative binomial": NegativeBinomial(0.5),
    "multinomial": Multinomial(K),
    "huber": Huber(),
}


def loss_of(name, seed=0, ridge=0.05, missing=0.3):
    X, Y = data(name, seed)
    rng = np.random.default_rng([seed, 1])
    seen = rng.uniform(size=(N, K)) > missing
    if name == "multinomial":
        seen[:] = seen[:, :1]
    return GeneralizedLinear(
        X - X.mean(axis=0),
        np.where(seen, Y, 0.0),
        FAMILIES[name],
        entry_weight=seen.astype(float),
        free=np.ones((N, 1)),
        ridge=ridge,
        unit=rng.uniform(0.5, 2, K),
    )


def start(rank, seed=0):
    rng = np.random.default_rng([seed, 2])
    return Factors(0.1 * rng.standard_normal((P, rank)), 0.1 * rng.standard_normal((K, rank)))


def form_fit(loss, rank):
    """The minimum of the quadratic form around zero, cut off to a rank."""
    form = loss.majorizer(loss.null.factors)
    rows = np.arange(loss.shape[0])
    phi = np.linalg.solve(form.gram(rows), form.cross_rows(rows))
    return Factors.from_theta(phi / form.column_scale, rank)


def repeated(loss, factors, tol, times=5):
    """Several series of steps, as pursuit does them."""
    for _ in range(times):
        factors, value = refined(loss, factors, tol)
    return factors, value


def slopes(loss, factors):
    """The gradient along directions of rank-r matrices, relative to the loss."""
    factors = factors.balanced()
    _, U, V = loss.value_and_gradient(factors)
    return np.sqrt(np.sum(U**2) + np.sum(V**2)) / loss.magnitude


@pytest.mark.no_cover
@pytest.mark.parametrize("rank", [1, 2, 4])
@pytest.mark.parametrize("ridge", [0.0, 0.05])
@pytest.mark.parametrize("name", FAMILIES)
def test_it_ends_at_a_stationary_point(name, ridge, rank):
    loss = loss_of(name, ridge=ridge)
    begin = form_fit(loss, rank)
    before = loss.value(begin)
    rough, first = refined(loss, begin, 1e-2)
    factors, value = repeated(loss, begin, 1e-14)
    assert value <= first < before
    assert rough.rank == factors.rank == rank
    assert value == pytest.approx(loss.value(factors), rel=1e-12)
    assert slopes(loss, factors) < 1e-5


def by_bfgs(loss, rank, seeds):
    """The least value over the factors, by scipy from several starts."""

    def value_and_gradient(flat):
        factors = Factors(flat[: P * rank].reshape(P, rank), flat[P * rank :].reshape(K, rank))
        value, U, V = loss.value_and_gradient(factors)
        return value, np.concatenate([U.ravel(), V.ravel()])

    return min(
        minimize(
            value_and_gradient,
            np.random.default_rng(seed).standard_normal((P + K) * rank),
            jac=True,
            method="BFGS",
            options={"gtol": 1e-7},
        ).fun
        for seed in seeds
    )


@pytest.mark.no_cover
@pytest.mark.parametrize("name", ["gaussian", "bernoulli", "poisson"])
@pytest.mark.parametrize("rank", [1, 2])
def test_against_bfgs(name, rank):
    """Local optima differ, so that the best of a few starts is compared."""
    for seed in range(2):
        loss = loss_of(name, seed)
        found = min(repeated(loss, start(rank, s), 1e-12, 3)[1] for s in range(3))
        assert found == pytest.approx(by_bfgs(loss, rank, range(4)), rel=1e-7)


def test_without_a_limit_on_the_rank_it_is_the_least_squares_fit():
    """Masked least squares, response by response."""
    X, Y = data("gaussian", 0)
    seen = np.random.default_rng(5).uniform(size=(N, K)) > 0.3
    loss = GeneralizedLinear(
        X,
        np.where(seen, Y, 0),
        Gaussian(),
        entry_weight=seen.astype(float),
        free=np.ones((N, 1)),
    )
    factors, _ = refined(loss, start(4), 1e-15)
    for j in range(K):
        own = np.column_stack([np.ones(N), X])[seen[:, j]]
        expected = np.linalg.lstsq(own, Y[seen[:, j], j], rcond=None)[0]
        np.testing.assert_allclose(factors.theta[:, j], expected[1:], atol=1e-6)
        assert loss.at(factors).free[0, j] == pytest.approx(expected[0], abs=1e-6)


def test_columns_of_a_category_that_is_not_in_use_stay_zero():
    loss = loss_of("multinomial")
    inner = loss.restrict(np.array([0, 2, 3]), np.array([1, 4]))
    V = np.zeros((K, 2))
    V[[1, 4]] = np.random.default_rng(0).standard_normal((2, 2))
    begin = Factors(np.random.default_rng(1).standard_normal((3, 2)), V)
    factors, value = refined(inner, begin, 1e-12)
    assert value < inner.value(begin)
    assert np.array(factors.column_support).tolist() == [1, 4]
    _, U, gradient = inner.value_and_gradient(factors.balanced())
    assert np.abs(U).max() < 1e-5
    assert np.abs(gradient[[1, 4]]).max() < 1e-5


def test_at_the_minimum_nothing_changes():
    loss = loss_of("poisson")
    factors, value = refined(loss, start(2), 1e-14)
    again, same = refined(loss, factors, 1e-7)
    assert same == pytest.approx(value, rel=1e-12)
    np.testing.assert_allclose(again.theta, factors.theta, atol=1e-5)


def test_every_library(library, dtype):
    numbers = loss_of("poisson")
    loss = GeneralizedLinear(
        library.array(numbers.X.array, dtype),
        library.array(numbers.Y, dtype),
        Poisson(),
        entry_weight=library.array(numbers.entry_weight, dtype),
        free=library.array(numbers.free, dtype),
        unit=library.array(numbers.unit, dtype),
        ridge=numbers.ridge,
    )
    begin = start(2)
    factors = Factors(*(library.array(x, dtype) for x in (begin.U, begin.V)))
    found, value = refined(loss, factors, 1e-10)
    library.check(found.U, found.V, dtype=dtype)
    expected = refined(numbers, begin, 1e-10)[1]
    assert value == pytest.approx(expected, rel=1e-4 if dtype == "float32" else 1e-8)


@pytest.mark.parametrize("count", [2, 3, K])
def test_columns_that_are_tried_next_are_those_of_largest_gain(count):
    """With all columns in use there is nothing to choose: the form is fitted again."""
    X, Y = data("gaussian", 0)
    seen = 1.0 * (np.random.default_rng(1).uniform(size=Y.shape) > 0.2)
    loss = GeneralizedLinear(X, Y, Gaussian(), entry_weight=seen, ridge=0.05)
    rng = np.random.default_rng(0)
    point = Factors(0.1 * rng.standard_normal((P, 2)), 0.1 * rng.standard_normal((K, 2)))
    form = loss.majorizer(point)
    fit = as_fit(form, np.arange(P), np.arange(count), point)
    asked = []
    found = _next_columns(loss, form, fit, lambda *arguments: asked.append(arguments) or fit)
    assert bool(asked) == (count == K)
    if count < K:
        _, gains = loss.column_steps(point)
        assert found.columns.tolist() == sorted(np.argsort(-gains)[:count].tolist())
        assert np.all(found.Q[np.argsort(-gains)[count:]] == 0)
