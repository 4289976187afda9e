"""Least squares with rows of its own for every task."""

import numpy as np
import pytest
from family_problems import quotients

import thinrank as tr
from thinrank import Factors
from thinrank.losses import LeastSquares, PerTask

N, P, K, R = 30, 7, 4, 2
TASK = np.arange(N) ** 2 % K  # 0, 1, 0, 1, …: tasks 2 and 3 have no rows
ONE_ROW = np.repeat(np.arange(K), [1, 20, 8, 1])
MIXED = np.random.default_rng(5).permutation(np.repeat(np.arange(K), [12, 9, 3, 6]))


def data():
    rng = np.random.default_rng(0)
    return rng.standard_normal((N, P)), rng.standard_normal(N)


def point():
    rng = np.random.default_rng(1)
    return Factors(rng.standard_normal((P, R)), rng.standard_normal((K, R)))


def literal(theta, task, ridge=0.0):
    X, y = data()
    value = ridge / 2 * np.sum(theta**2)
    for t in range(K):
        own = task == t
        if own.any():
            value += np.sum((y[own] - X[own] @ theta[:, t]) ** 2) / (2 * own.sum())
    return value


@pytest.mark.parametrize("ridge", [0.0, 0.3])
@pytest.mark.parametrize(
    "task", [MIXED, TASK, ONE_ROW], ids=["all tasks", "tasks without rows", "tasks with one row"]
)
def test_value_and_derivatives(task, ridge):
    X, y = data()
    loss, factors = PerTask(X, y, task, K, ridge=ridge), point()
    value, gradient_u, gradient_v = loss.value_and_gradient(factors)
    full_value, full = loss.full_gradient(factors.theta)
    assert value == pytest.approx(literal(factors.theta, task, ridge), rel=1e-8)
    assert full_value == pytest.approx(value, rel=1e-8)
    expected = quotients(lambda theta: literal(theta, task, ridge), factors.theta, h=1e-4)
    np.testing.assert_allclose(full, expected, atol=1e-7)
    np.testing.assert_allclose(gradient_u, full @ factors.V, atol=1e-9)
    np.testing.assert_allclose(gradient_v, full.T @ factors.U, atol=1e-9)


def test_the_same_rows_for_all_tasks_are_least_squares():
    X, _ = data()
    Y = np.random.default_rng(3).standard_normal((N, K))
    own = PerTask(np.tile(X, (K, 1)), Y.T.ravel(), np.repeat(np.arange(K), N), ridge=0.1)
    common = LeastSquares(X, Y, ridge=0.1)
    for found, right in zip(
        own.value_and_gradient(point()), common.value_and_gradient(point()), strict=True
    ):
        np.testing.assert_allclose(found, right, atol=1e-9)
    assert own.smoothness() == pytest.approx(common.smoothness(), rel=1e-3)
    rows = np.array([0, 2, 5])
    np.testing.assert_allclose(own.curvature(rows), common.curvature(rows), rtol=1e-8)
    np.testing.assert_allclose(own.row_scales(), common.row_scales(), rtol=1e-8)
    assert own.samples == common.samples
    settings = {"rank": 2, "row_sparsity": 3, "start": "spectral", "tol": 1e-10}
    answers = [tr.minimize(loss, **settings) for loss in (own, common)]
    assert answers[0].value == pytest.approx(answers[1].value, rel=1e-8)
    np.testing.assert_allclose(*(a.factors.theta for a in answers), atol=1e-5)


def test_gradient_descent_finds_what_tasks_share():
    rng = np.random.default_rng(4)
    truth = np.zeros((20, 6))
    truth[[3, 11, 12]] = rng.standard_normal((3, 1)) @ rng.standard_normal((1, 6))
    task = np.repeat(np.arange(6), [5, 8, 10, 12, 15, 30])
    X = rng.standard_normal((len(task), 20))
    y = np.einsum("ij,ij->i", X, truth.T[task])
    answer = tr.minimize(PerTask(X, y, task), rank=1, row_sparsity=3, tol=1e-10)
    assert answer.factors.row_support.tolist() == [3, 11, 12]
    np.testing.assert_allclose(answer.factors.theta, truth, atol=1e-6)


def test_folds_share_out_the_rows_of_every_task():
    X, y = data()
    loss = PerTask(X, y, MIXED)
    pairs = loss.folds(3, seed=0)
    assert len(pairs) == 3
    np.testing.assert_array_equal(sum(held.counts for _, held in pairs), loss.counts)
    for training, held_out in pairs:
        np.testing.assert_array_equal(training.counts + held_out.counts, loss.counts)
        assert max(held_out.counts - loss.counts / 3) < 1


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"y": np.ones(3)}, r"y must contain 30 numbers.*\(3,\)"),
        ({"y": np.full(N, np.nan)}, "y must be finite"),
        ({"task": MIXED[:3]}, "task must contain 30 non-negative integers"),
        ({"task": MIXED * 1.0}, "task must contain 30 non-negative integers.*float64"),
        ({"task": MIXED - 1}, "task must contain 30 non-negative integers"),
        ({"n_tasks": 2}, "from 0 to n_tasks − 1 = 1, got 3"),
        ({"n_tasks": 0}, "from 0 to n_tasks − 1 = -1, got 3"),
        ({"ridge": -1.0}, "ridge must be a finite non-negative number"),
    ],
)
def test_errors_name_the_argument(change, message):
    X, y = data()
    with pytest.raises(ValueError, match=message):
        PerTask(**({"X": X, "y": y, "task": MIXED} | change))


def test_without_limits_every_task_has_its_own_least_squares():
    """The predictors of the tasks have very different spreads."""
    X, y = data()
    X = X * np.array([1.0, 3.0, 0.5, 2.0])[MIXED, None]
    loss = PerTask(X, y, MIXED, K, ridge=0.1)
    found = tr.minimize(loss, rank=K, solver=tr.solvers.Pursuit(tol=1e-12)).factors.theta
    for t in range(K):
        own = X[t == MIXED]
        gram = own.T @ own / len(own) + 0.1 * np.eye(P)
        exact = np.linalg.solve(gram, own.T @ y[t == MIXED] / len(own))
        np.testing.assert_allclose(found[:, t], exact, atol=1e-4)
