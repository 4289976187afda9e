"""Losses that are not quadratic, on given supports: Gauss-Newton steps to a stationary point."""

import numpy as np
import pytest

import thinrank as tr
from losses.family_problems import FAMILIES, K, N, P, arguments, least_by_bfgs, responses
from thinrank import Factors
from thinrank.losses import GeneralizedLinear
from thinrank.losses.families import Huber
from thinrank.solvers import Pursuit


def loss_of(name, ridge=0.05):
    """With intercepts, and without some of the entries."""
    given = arguments(name, "entries") | {"ridge": ridge}
    return GeneralizedLinear(family=FAMILIES[name], **given)


def solve(loss, rank, start="auto", **sizes):
    """To full precision; without limits on the rows there is one support."""
    return tr.minimize(loss, rank=rank, start=start, solver=Pursuit(tol=1e-12), **sizes)


@pytest.mark.parametrize(("rank", "ridge"), [(1, 0.0), (2, 0.05), (4, 0.05)])
@pytest.mark.parametrize("name", [name for name in FAMILIES if name != "mixed"])
def test_it_ends_at_a_stationary_point(name, ridge, rank):
    loss = loss_of(name, ridge=ridge)
    answer = solve(loss, rank)
    assert answer.factors.rank == rank
    assert answer.value == pytest.approx(loss.value(answer.factors), rel=1e-9)
    _, U, V = loss.value_and_gradient(answer.factors.balanced())
    assert np.sqrt(np.sum(U**2) + np.sum(V**2)) / loss.magnitude < 1e-4
    again = solve(loss, rank, start=answer.factors)
    assert again.value == pytest.approx(answer.value, rel=1e-7)


@pytest.mark.parametrize("name", ["gaussian", "bernoulli", "poisson"])
def test_against_bfgs(name):
    """Local optima differ, so that the best of a few starts is compared."""
    loss, rank = loss_of(name), 2
    rng = np.random.default_rng(2)
    starts = [
        Factors(0.1 * rng.standard_normal((P, rank)), 0.1 * rng.standard_normal((K, rank)))
        for _ in range(3)
    ]
    found = min(solve(loss, rank, start).value for start in ("auto", *starts))
    assert found == pytest.approx(least_by_bfgs(loss, rank, range(4)), rel=1e-6)


def test_columns_of_a_category_that_is_not_in_use_stay_zero():
    loss = loss_of("multinomial")
    answer = solve(loss, 2, row_sparsity=3, column_sparsity=2)
    factors = answer.factors.balanced()
    rows, columns = np.array(factors.row_support), np.array(factors.column_support)
    assert len(columns) == 2
    _, U, V = loss.value_and_gradient(factors)
    assert np.abs(U[rows]).max() < 1e-4
    assert np.abs(V[columns]).max() < 1e-4


@pytest.mark.parametrize("unit", [1e-6, 1e6])
def test_units_of_the_responses_do_not_matter(unit):
    """In other units of Y and of its scale, the same coefficients in those units."""
    X, Y = np.random.default_rng(0).standard_normal((N, P)), responses("huber")
    thetas = [
        solve(GeneralizedLinear(X, u * Y, Huber(scale=u * np.ones(K)), free=np.ones((N, 1))), 2)
        for u in (1.0, unit)
    ]
    np.testing.assert_allclose(
        thetas[1].factors.theta / unit, thetas[0].factors.theta, rtol=1e-4, atol=1e-5
    )
