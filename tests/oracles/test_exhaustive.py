"""GDT against exhaustive search over all supports of tiny problems."""

from functools import partial

import numpy as np
import pytest
from closed_forms import best_over_supports

import thinrank as tr

STARTS = ("lasso", "group_lasso", "proximal", "screening", "spectral")
FEW, MANY = 20, 200


def tiny_sizes(rng):
    p, k = rng.integers(2, 7, size=2)
    rows, columns = rng.integers(1, p + 1), rng.integers(1, k + 1)
    return p, k, rows, columns, rng.integers(1, min(rows, columns) + 1)


def sparse_product(rng, scale, p, k, rows, columns, rank):
    U, V = np.zeros((p, rank)), np.zeros((k, rank))
    U[rng.choice(p, rows, replace=False)] = scale * rng.standard_normal((rows, rank))
    V[rng.choice(k, columns, replace=False)] = scale * rng.standard_normal((columns, rank))
    return U @ V.T


def minimum(*problem, **options):
    return best_over_supports(*problem, **options)[0]


def regression(rng, ridge=0.0):
    p, k, rows, columns, rank = tiny_sizes(rng)
    X = rng.standard_normal((50, p))
    theta = sparse_product(rng, 2.0, p, k, rows, columns, rank)
    Y = X @ theta + rng.standard_normal((50, k))
    best = minimum(X, Y, rank, rows, columns, ridge=ridge)
    return tr.losses.LeastSquares(X, Y, ridge=ridge), best, rank, rows, columns


def denoising(rng):
    p, k, rows, columns, rank = tiny_sizes(rng)
    M = sparse_product(rng, 1.0, p, k, rows, columns, rank) + 0.5 * rng.standard_normal((p, k))
    best = minimum(np.eye(p), M, rank, rows, columns, n=1)
    return tr.losses.Denoising(M), best, rank, rows, columns


def reaches_the_best(loss, best, rank, rows, columns):
    slack = 1e-4 * best + 1e-12 * loss.magnitude
    for start in STARTS:
        answer = tr.minimize(
            loss,
            rank=int(rank),
            row_sparsity=int(rows),
            column_sparsity=int(columns),
            start=start,
            max_iter=3000,
        )
        assert answer.value >= best - 1e-9 * loss.magnitude  # nothing is better than the best
        if answer.value <= best + slack:
            return True
    return False


@pytest.mark.parametrize("problems", [FEW, pytest.param(MANY, marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    ("problem", "share"),
    [(regression, 0.95), (partial(regression, ridge=0.3), 0.95), (denoising, 0.85)],
    ids=["regression", "ridge", "denoising"],
)
def test_best_of_the_starts_is_the_global_optimum(problem, share, problems):
    rng = np.random.default_rng(12345)
    found = sum(reaches_the_best(*problem(rng)) for _ in range(problems))
    print(f"global optimum in {found} of {problems}")
    assert found >= share * problems
