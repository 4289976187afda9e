"""Pursuit against exhaustive search over supports, for losses that it approximates.

Missing entries, binary responses, and tasks with rows of their own. Each support is fitted by
scipy from several starts.
"""

import itertools

import numpy as np
import pytest

import thinrank as tr
from losses.family_problems import least_by_bfgs
from thinrank.losses import GeneralizedLinear, PerTask
from thinrank.losses.families import Bernoulli, Gaussian

FEW, MANY = 1, 10


def of_entries(kind, rng):
    """Rank 1, with intercepts; every entry, or 70 % of them, is observed."""
    n, p, k, rows, columns = 50, 5, 3, 2, 2
    X = rng.standard_normal((n, p)) + 0.7 * rng.standard_normal((n, 1))
    X -= X.mean(axis=0)
    u, v = np.zeros(p), np.zeros(k)
    u[rng.choice(p, rows, replace=False)] = rng.standard_normal(rows)
    v[rng.choice(k, columns, replace=False)] = rng.standard_normal(columns)
    eta = X @ np.outer(u, v) + 0.5
    given = {"free": np.ones((n, 1)), "ridge": 0.01}
    if kind == "missing":
        Y, family = eta + rng.standard_normal((n, k)), Gaussian()
        given["entry_weight"] = (rng.uniform(size=(n, k)) > 0.3) * 1.0
    else:
        Y, family = (rng.uniform(size=(n, k)) < 1 / (1 + np.exp(-2 * eta))) * 1.0, Bernoulli()
    return GeneralizedLinear(X, Y, family, **given), (1, rows, columns)


def of_tasks(rng):
    p, tasks, rows = int(rng.integers(5, 8)), int(rng.integers(3, 6)), int(rng.integers(1, 4))
    rank = int(rng.integers(1, min(rows, 2) + 1))
    task = np.arange(12 * tasks) % tasks
    X = rng.standard_normal((len(task), p))
    U = np.zeros((p, rank))
    U[:rows] = rng.standard_normal((rows, rank))
    theta = U @ rng.standard_normal((rank, tasks))
    y = np.sum(X * theta.T[task], axis=1) + rng.standard_normal(len(task))
    return PerTask(X, y, task), (rank, rows, tasks)


def least(loss, rank, rows, columns):
    """The least objective over all supports, each fitted on its own."""
    p, k = loss.shape
    return min(
        least_by_bfgs(loss.restrict(np.array(own), np.array(chosen)), rank, range(2), gtol=1e-4)
        for own in itertools.combinations(range(p), rows)
        for chosen in itertools.combinations(range(k), columns)
    )


@pytest.mark.parametrize("problems", [FEW, pytest.param(MANY, marks=pytest.mark.slow)])
@pytest.mark.parametrize("kind", ["missing", "binary", "tasks"])
def test_pursuit_finds_the_best_supports(kind, problems):
    """Through approximations it need not find them, but nearly always does."""
    excesses = []
    for seed in range(problems):
        rng = np.random.default_rng(seed)
        loss, sizes = of_tasks(rng) if kind == "tasks" else of_entries(kind, rng)
        rank, rows, columns = sizes
        solver = tr.solvers.Pursuit(exchange_penalty=0.0, tol=1e-9)
        found = tr.minimize(
            loss, rank=rank, row_sparsity=rows, column_sparsity=columns, solver=solver
        )
        assert found.factors.row_support.shape[0] <= rows
        assert found.factors.column_support.shape[0] <= columns
        excesses.append(found.value / least(loss, *sizes) - 1)
    print(f"{kind}: excesses {np.sort(excesses)[::-1][:4]}")
    assert min(excesses) > -1e-6
    share = 0.8 if kind == "tasks" else 0.9
    assert np.mean(np.array(excesses) < (1e-4 if kind == "tasks" else 1e-5)) >= share
    assert max(excesses) < 0.05
