"""Pursuit against exhaustive search over all supports of small, correlated problems.

The optimum is computed with NumPy from X and Y (``closed_forms.py``); thinrank is called in
``solved`` only.
"""

import numpy as np
import pytest
from closed_forms import best_over_supports, objective, on_supports

import thinrank as tr

CORRELATIONS = (0.0, 0.5, 0.9, 0.99)


def correlated_problem(index, seed):
    """6 to 10 predictors, at most 3 of them active; every fourth problem has the same ρ."""
    rng = np.random.default_rng([seed, index])
    rho, autoregressive, free, strong = (
        CORRELATIONS[index % 4],
        *(index >> i & 1 for i in (2, 3, 4)),
    )
    n, p, k, rows = (int(rng.integers(*bounds)) for bounds in ((15, 61), (6, 11), (2, 9), (1, 4)))
    columns = k if free else int(rng.integers(1, k + 1))
    rank = int(rng.integers(1, min(rows, columns) + 1))
    distance = np.abs(np.subtract.outer(np.arange(p), np.arange(p)))
    covariance = rho**distance if autoregressive else np.where(distance == 0, 1.0, rho)
    X = rng.standard_normal((n, p)) @ np.linalg.cholesky(covariance).T
    U, V = np.zeros((p, rank)), np.zeros((k, rank))
    U[rng.choice(p, rows, replace=False)] = rng.standard_normal((rows, rank))
    V[rng.choice(k, columns, replace=False)] = rng.standard_normal((columns, rank))
    theta = (1.0 if strong else 0.3) * U @ V.T
    return X, X @ theta + rng.standard_normal((n, k)), theta, covariance, (rank, rows, columns)


def solved(X, Y, sizes, ridge=0.0, **options):
    loss = tr.losses.LeastSquares(X, Y, ridge=ridge)
    rank, rows, columns = sizes
    solver = tr.solvers.Pursuit(**options)
    return tr.minimize(
        loss, rank=rank, row_sparsity=rows, column_sparsity=columns, solver=solver
    ).factors


@pytest.mark.parametrize("ridge", [0.0, 1.0])
def test_without_a_margin_it_is_the_minimum(ridge):
    excesses = []
    for index in range(40):
        X, Y, _, _, sizes = correlated_problem(index, seed=0)
        best, _, _ = best_over_supports(X, Y, *sizes, ridge)
        theta = solved(X, Y, sizes, ridge, exchange_penalty=0.0, tol=1e-12).theta
        excesses.append(objective(X, Y, theta, ridge) / best - 1)
    excesses = np.array(excesses)
    print(f"at the minimum: {np.mean(excesses < 1e-6):.1%}, worst excess {excesses.max():.1e}")
    assert excesses.min() > -1e-9
    for i in range(4):
        assert np.mean(excesses[i::4] < 1e-6) >= 0.7
    assert excesses.max() < 0.05


def test_with_the_default_margin_fresh_data_are_predicted_no_worse():
    ours, minimum = 0.0, 0.0
    for index in range(32):
        X, Y, theta, covariance, sizes = correlated_problem(index, seed=1)
        for_ours = solved(X, Y, sizes).theta - theta
        _, rows, columns = best_over_supports(X, Y, *sizes)
        for_minimum = on_supports(X, Y, sizes[0], rows, columns) - theta
        ours += np.sum(for_ours * (covariance @ for_ours))
        minimum += np.sum(for_minimum * (covariance @ for_minimum))
    print(f"excess error on fresh data, against that of the minimum: {ours / minimum:.3f}")
    assert ours <= minimum


@pytest.mark.parametrize("rho", CORRELATIONS)
def test_beyond_exhaustive_search_no_single_exchange_helps(rho):
    """4 of 20 rows are 4845 sets; the end is a minimum over the 64 single exchanges."""
    for seed in range(3):
        rng = np.random.default_rng(seed)
        X = np.sqrt(1 - rho) * rng.standard_normal((40, 20)) + np.sqrt(rho) * rng.standard_normal(
            (40, 1)
        )
        theta = np.zeros((20, 6))
        theta[:4] = 0.5 * rng.standard_normal((4, 2)) @ rng.standard_normal((2, 6))
        Y = X @ theta + rng.standard_normal((40, 6))
        factors = solved(X, Y, (2, 4, 6), exchange_penalty=0.0, tol=1e-12)
        found = objective(X, Y, factors.theta)
        for i in range(4):
            for j in set(range(20)) - set(factors.row_support.tolist()):
                rows = [*np.delete(factors.row_support, i), j]
                other = on_supports(X, Y, 2, rows, list(range(6)))
                assert objective(X, Y, other) >= found * (1 - 1e-9)
