"""Pursuit: exact steps, decreasing objective, robust on awkward data."""

from itertools import pairwise

import numpy as np
import pytest

import thinrank as tr
from thinrank.core.result import Outcome
from thinrank.losses import Denoising, LeastSquares
from thinrank.solvers import Pursuit


def problem(seed=0, **change):
    sizes = {"n_samples": 60, "n_features": 40, "n_targets": 15, "rank": 2}
    return tr.datasets.make_two_way_sparse(
        **(sizes | {"row_sparsity": 5, "column_sparsity": 6, "random_state": seed} | change)
    )


SIZES = {"rank": 2, "row_sparsity": 6, "column_sparsity": 7}


def solve(loss, **options):
    return tr.minimize(loss, **({"solver": "pursuit"} | SIZES | options))


@pytest.mark.parametrize("correlation", [0.0, 0.9])
@pytest.mark.parametrize("start", ["auto", "lasso", "spectral"])
def test_objective_never_rises_and_is_the_loss(correlation, start):
    X, Y, _ = problem(correlation=correlation)
    loss = LeastSquares(X, Y, ridge=0.05)
    answer = solve(loss, start=start)
    objectives = answer.history.objectives
    assert all(b <= a for a, b in pairwise(objectives))
    theta = answer.factors.theta
    value = np.sum((Y - X @ theta) ** 2) / 120 + 0.025 * np.sum(theta**2)
    assert answer.value == pytest.approx(value, rel=1e-8)
    assert answer.status.outcome is Outcome.CONVERGED
    assert answer.factors.rank == 2
    assert len(answer.factors.row_support) <= 6
    assert len(answer.factors.column_support) <= 7


def test_without_sparsity_it_is_reduced_rank_regression():
    X, Y, _ = problem(n_features=10)
    q, r = np.linalg.qr(X)
    left, values, right = np.linalg.svd(q.T @ Y, full_matrices=False)
    closed = np.linalg.solve(r, (left[:, :2] * values[:2]) @ right[:2])
    answer = solve(LeastSquares(X, Y), row_sparsity=None, column_sparsity=None)
    np.testing.assert_allclose(answer.factors.theta, closed, atol=1e-9)


def test_stationary_on_its_supports():
    """The gradient vanishes along U and V on the supports that were found."""
    X, Y, _ = problem()
    loss = LeastSquares(X, Y, ridge=0.1)
    answer = solve(loss)
    _, gradient_u, gradient_v = loss.value_and_gradient(answer.factors)
    assert np.abs(gradient_u[answer.factors.row_support]).max() < 1e-9
    assert np.abs(gradient_v[answer.factors.column_support]).max() < 1e-9


def test_dependent_columns():
    X, Y, _ = problem()
    doubled = np.hstack([X, X, X[:, :1] + X[:, 1:2]])
    answer = solve(LeastSquares(doubled, Y))
    single = solve(LeastSquares(X, Y))
    assert np.isfinite(answer.factors.theta).all()
    assert answer.value <= single.value * (1 + 1e-6)


def test_a_rank_that_the_data_do_not_carry():
    X, _, _ = problem()
    Y = np.outer(X[:, 3], np.arange(1.0, 16.0))
    answer = solve(LeastSquares(X, Y), rank=4, row_sparsity=6, column_sparsity=15)
    assert answer.factors.rank == 1
    assert "rank 1, lower than the requested rank 4" in str(answer.status)
    assert answer.value < 1e-12 * np.sum(Y**2)


def test_a_start_on_rows_that_explain_nothing():
    M = np.zeros((6, 5))
    M[:3, :3] = np.random.default_rng(0).standard_normal((3, 3))
    start = np.zeros((6, 5))
    start[4, 1] = 1.0
    answer = solve(Denoising(M), start=start, rank=1, row_sparsity=1, column_sparsity=2)
    assert answer.factors.rank == 1
    assert answer.value < 0.5 * np.sum(M**2)


def test_free_places_are_filled():
    X, Y, truth = problem(signal=3.0)
    start = np.zeros((40, 15))
    start[truth.row_support[:2]] = 1.0
    answer = solve(LeastSquares(X, Y), start=start)
    assert set(truth.row_support) <= set(answer.factors.row_support)


@pytest.mark.parametrize("case", ["duplicates", "more rows than samples"])
def test_singular_problems_report_the_loss_and_the_rank(case):
    X, Y, _ = problem(n_samples=60 if case == "duplicates" else 12)
    if case == "duplicates":
        X = np.hstack([X[:, :10], X[:, :10]])
        Y = X[:, :2] @ np.random.default_rng(0).standard_normal((2, 15))
    X, Y = X - X.mean(axis=0), Y - Y.mean(axis=0)
    loss = LeastSquares(X, Y)
    answer = solve(loss, rank=12, row_sparsity=None, column_sparsity=None)
    direct = np.sum((Y - X @ answer.factors.theta) ** 2) / (2 * len(X))
    assert answer.value == pytest.approx(direct, rel=1e-9, abs=1e-9 * np.sum(Y**2))
    assert answer.factors.rank == (2 if case == "duplicates" else 11)
    assert "lower than the requested rank" in str(answer.status)


def weakly_wrong(strength):
    """A fit on two strong rows and one of noise, beside a row of some strength."""
    rng = np.random.default_rng(30_300)
    X = np.sqrt(80) * np.linalg.qr(rng.standard_normal((80, 12)))[0]
    theta = np.zeros((12, 6))
    theta[[0, 1, 2]] = np.outer([3.0, -3.0, strength], np.ones(6))
    loss = LeastSquares(X, X @ theta + rng.standard_normal((80, 6)))
    start = theta.copy()
    start[2], start[7] = 0.0, 0.1
    return tr.minimize(
        loss, rank=1, row_sparsity=3, solver=Pursuit(exchange_penalty=1e6), start=start
    )


def test_a_row_that_is_clearly_not_noise_needs_no_penalty():
    """It takes the place of the row that costs least; the others stay."""
    assert weakly_wrong(strength=1.0).factors.row_support.tolist() == [0, 1, 2]
    assert weakly_wrong(strength=0.0).factors.row_support.tolist() == [0, 1, 7]


def test_duplicated_predictors_are_not_both_used():
    X, Y, _ = problem(n_features=5, signal=3.0)
    start = np.zeros((10, 15))
    start[[0, 5, 6]] = 1.0  # 0 and 5 are the same
    answer = solve(LeastSquares(np.hstack([X, X]), Y), row_sparsity=3, start=start)
    assert len(set((answer.factors.row_support % 5).tolist())) == 3
