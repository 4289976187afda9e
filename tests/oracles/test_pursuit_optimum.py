"""Pursuit against exhaustive search over all supports of small, correlated problems."""

from itertools import combinations

import numpy as np
import pytest
from closed_forms import best_value_over_supports, on_supports

import thinrank as tr
from thinrank.minimize import solve
from thinrank.solvers.pursuit import Pursuit

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


def solved(X, Y, sizes, **options):
    loss = tr.losses.LeastSquares(X, Y)
    start = tr.starts.Auto(exchanges_rows=True)
    return solve(loss, Pursuit(**options).sized(*sizes), start).state


def test_without_a_margin_it_is_the_minimum():
    excesses = []
    for index in range(160):
        X, Y, _, _, sizes = correlated_problem(index, seed=0)
        best = best_value_over_supports(X, Y, *sizes, n=len(X))
        excesses.append(solved(X, Y, sizes, exchange_penalty=0.0, tol=1e-12).objective / best - 1)
    excesses = np.array(excesses)
    print(f"at the minimum: {np.mean(excesses < 1e-6):.1%}, worst excess {excesses.max():.1e}")
    assert excesses.min() > -1e-9
    for i in range(4):
        assert np.mean(excesses[i::4] < 1e-6) >= 0.95
    assert excesses.max() < 0.05


def best_theta(X, Y, rank, rows, columns):
    """Where the minimum over all supports is."""

    def value(supports):
        return np.sum((Y - X @ on_supports(X, Y, rank, *supports)) ** 2)

    rows_choices = [list(S) for S in combinations(range(X.shape[1]), rows)]
    columns_choices = [list(T) for T in combinations(range(Y.shape[1]), columns)]
    supports = min(((S, T) for S in rows_choices for T in columns_choices), key=value)
    return on_supports(X, Y, rank, *supports)


def test_with_the_default_margin_fresh_data_are_predicted_no_worse():
    ours, minimum = 0.0, 0.0
    for index in range(64):
        X, Y, theta, covariance, sizes = correlated_problem(index, seed=1)
        for_ours = solved(X, Y, sizes).factors.theta - theta
        for_minimum = best_theta(X, Y, *sizes) - theta
        ours += np.sum(for_ours * (covariance @ for_ours))
        minimum += np.sum(for_minimum * (covariance @ for_minimum))
    print(f"excess error on fresh data, against that of the minimum: {ours / minimum:.3f}")
    assert ours <= minimum


@pytest.mark.parametrize("rho", CORRELATIONS)
def test_beyond_exhaustive_search_no_single_exchange_helps(rho):
    """4 of 20 rows are 4845 sets; the end is a minimum over the 64 single exchanges."""
    for seed in range(5):
        rng = np.random.default_rng(seed)
        X = np.sqrt(1 - rho) * rng.standard_normal((40, 20)) + np.sqrt(rho) * rng.standard_normal(
            (40, 1)
        )
        theta = np.zeros((20, 6))
        theta[:4] = 0.5 * rng.standard_normal((4, 2)) @ rng.standard_normal((2, 6))
        Y = X @ theta + rng.standard_normal((40, 6))
        fit = solved(X, Y, (2, 4, 6), exchange_penalty=0.0, tol=1e-12)
        for i in range(4):
            for j in set(range(20)) - set(fit.rows.tolist()):
                rows = [*np.delete(fit.rows, i), j]
                residual = Y - X @ on_supports(X, Y, 2, rows, list(range(6)))
                assert np.sum(residual**2) / 80 >= fit.objective * (1 - 1e-9)
