"""Forward selection against a greedy search by refits in NumPy, and where screening is misled."""

import tracemalloc

import numpy as np
import pytest

from thinrank.losses import Custom, LeastSquares
from thinrank.minimize import as_start
from thinrank.starts import Forward, Screening


def correlated(seed, n=60, p=30, k=6, rho=0.9, active=5):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    for j in range(1, p):
        X[:, j] = rho * X[:, j - 1] + np.sqrt(1 - rho**2) * X[:, j]
    theta = np.zeros((p, k))
    theta[rng.choice(p, active, replace=False)] = rng.standard_normal((active, k))
    return X, X @ theta + 0.5 * rng.standard_normal((n, k)), theta


@pytest.mark.parametrize("seed", range(2))
def test_rows_are_those_of_a_greedy_search_by_refits(seed):
    """Without a limit on the rank: least squares with every further row in turn."""
    X, Y, _ = correlated(seed)
    taken = []
    for _ in range(5):

        def residual(j, taken=taken):
            chosen = X[:, [*taken, j]]
            return np.sum((Y - chosen @ np.linalg.lstsq(chosen, Y)[0]) ** 2)

        taken.append(min(set(range(30)) - set(taken), key=residual))
    start = Forward(exchanges=0)(LeastSquares(X, Y), 5, 5, 6, 0)
    assert start.row_support.tolist() == sorted(taken)


@pytest.mark.parametrize("rank", [1, 2])
def test_the_factors_are_a_fit_on_these_rows(rank):
    X, Y, _ = correlated(0)
    start = Forward()(LeastSquares(X, Y), rank, 4, 6, 0)
    rows = start.row_support
    q, r = np.linalg.qr(X[:, rows])
    left, values, right = np.linalg.svd(q.T @ Y, full_matrices=False)
    closed = np.linalg.solve(r, (left[:, :rank] * values[:rank]) @ right[:rank])
    np.testing.assert_allclose(start.theta[rows], closed, atol=1e-8)
    np.testing.assert_allclose(start.U.T @ start.U, start.V.T @ start.V, atol=1e-8)


def test_near_copies_do_not_enter_together():
    """20 predictors, each with a near copy that by itself looks nearly as good."""
    rng = np.random.default_rng(0)
    A = rng.standard_normal((200, 20))
    theta = rng.standard_normal((20, 10)) + 2
    Y = A @ theta + 0.1 * rng.standard_normal((200, 10))
    X = np.hstack([A, A + 1e-3 * rng.standard_normal(A.shape), rng.standard_normal((200, 20))])
    start = Forward(exchanges=0)(LeastSquares(X, Y), 10, 20, 10, 0)
    assert sorted(start.row_support % 20) == list(range(20))
    assert start.row_support.max() < 40
    screened = Screening()(LeastSquares(X, Y), 10, 20, 10, 0)
    assert len(set(screened.row_support % 20)) < 20


def test_where_screening_is_misled():
    """Neighbours of predictors that act resemble them, and one another."""
    found = {"forward": 0, "screening": 0}
    for seed in range(6):
        X, Y, theta = correlated(seed, n=100, rho=0.95)
        for start in found:
            rows = as_start(start)(LeastSquares(X, Y), 5, 5, 6, 0).row_support
            found[start] += rows.tolist() == np.flatnonzero(theta[:, 0]).tolist()
    assert found["forward"] >= 5
    assert found["screening"] <= 2


def test_it_ends_when_no_row_brings_anything():
    X, _, _ = correlated(0)
    X[:, 10:] = np.tile(X[:, :10], 2)
    start = Forward()(LeastSquares(X, X[:, :3] @ np.ones((3, 6))), 2, 20, 6, 0)
    assert start.rank == 1
    assert set((start.row_support % 10).tolist()) >= {0, 1, 2}
    assert len(start.row_support) <= 10
    assert Forward()(LeastSquares(X, np.zeros((60, 6))), 2, 5, 6, 0).rank == 0


def test_no_matrix_of_all_predictors_is_held():
    n, p, k = 50, 4000, 300
    rng = np.random.default_rng(0)
    loss = LeastSquares(rng.standard_normal((n, p)), rng.standard_normal((n, k)))
    loss.quadratic().cross_norms()
    tracemalloc.start()
    Forward()(loss, 2, 8, k, 0)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8 * p * k / 2


def test_only_quadratic_losses():
    with pytest.raises(TypeError, match=r'start="forward" needs .*quadratic'):
        Forward()(Custom(lambda f: (0.0, f.U, f.V), shape=(8, 8)), 2, 3, 3, 0)
