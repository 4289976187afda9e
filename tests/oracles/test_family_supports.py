"""Pursuit against exhaustive search over supports, for missing entries and for binary responses.

Each support is fitted by scipy from several starts, with derivatives that are computed here.
"""

import itertools

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit

import thinrank as tr
from thinrank.losses import GeneralizedLinear
from thinrank.losses.families import Bernoulli, Gaussian

P, K, ROWS, COLUMNS = 5, 3, 2, 2
RIDGE = 0.01
FEW, MANY = 1, 10


def squared(Y, eta):
    return 0.5 * (Y - eta) ** 2, eta - Y


def logistic(Y, eta):
    return np.logaddexp(0, eta) - Y * eta, expit(eta) - Y


def problem(kind, seed):
    rng = np.random.default_rng(seed)
    n = 50
    X = rng.standard_normal((n, P)) + 0.7 * rng.standard_normal((n, 1))
    X -= X.mean(axis=0)
    u, v = np.zeros(P), np.zeros(K)
    u[rng.choice(P, ROWS, replace=False)] = rng.standard_normal(ROWS)
    v[rng.choice(K, COLUMNS, replace=False)] = rng.standard_normal(COLUMNS)
    eta = X @ np.outer(u, v) + 0.5
    if kind == "missing":
        return X, eta + rng.standard_normal((n, K)), (rng.uniform(size=(n, K)) > 0.3) * 1.0
    Y = (rng.uniform(size=(n, K)) < 1 / (1 + np.exp(-2 * eta))) * 1.0
    return X, Y, np.ones((n, K))


def least(X, Y, W, entry):
    """The least objective over all supports, rank 1, with intercepts."""
    n = len(X)
    best = np.inf
    for rows in itertools.combinations(range(P), ROWS):
        for columns in itertools.combinations(range(K), COLUMNS):
            part = X[:, rows]
            place = list(columns)

            def objective(flat, part=part, place=place):
                u, v, b = np.split(flat, [ROWS, ROWS + COLUMNS])
                full = np.zeros(K)
                full[place] = v
                scores = part @ u
                value, slope = entry(Y, np.outer(scores, full) + b)
                slope = W * slope / n
                shrunk = RIDGE * np.sum(u**2) * np.sum(v**2) / 2
                gradient = np.concatenate(
                    [
                        part.T @ (slope @ full) + RIDGE * u * np.sum(v**2),
                        (slope.T @ scores)[place] + RIDGE * v * np.sum(u**2),
                        slope.sum(axis=0),
                    ]
                )
                return np.sum(W * value) / n + shrunk, gradient

            for sign in (1.0, -1.0):  # the relative sign of the two columns
                begin = np.concatenate([np.full(ROWS, 0.5), [0.5, 0.5 * sign], np.zeros(K)])
                begin[0] += 0.1
                for turn in (1.0, -1.0):  # and of the two rows
                    begin[1] *= turn
                    found = minimize(
                        objective, begin, jac=True, method="BFGS", options={"gtol": 1e-4}
                    )
                    best = min(best, found.fun)
    return best


@pytest.mark.parametrize("problems", [FEW, pytest.param(MANY, marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    ("kind", "family", "entry"),
    [("missing", Gaussian(), squared), ("binary", Bernoulli(), logistic)],
)
def test_pursuit_finds_the_best_supports(kind, family, entry, problems):
    excesses = []
    for seed in range(problems):
        X, Y, W = problem(kind, seed)
        loss = GeneralizedLinear(
            X, Y, family, entry_weight=W, free=np.ones((len(X), 1)), ridge=RIDGE
        )
        solver = tr.solvers.Pursuit(exchange_penalty=0.0, tol=1e-9)
        sizes = {"rank": 1, "row_sparsity": ROWS, "column_sparsity": COLUMNS}
        found = tr.minimize(loss, solver=solver, **sizes)
        assert found.factors.row_support.shape[0] <= ROWS
        assert found.factors.column_support.shape[0] <= COLUMNS
        excesses.append(found.value / least(X, Y, W, entry) - 1)
    print(f"{kind}: excesses {np.sort(excesses)[::-1][:4]}")
    assert min(excesses) > -1e-6
    assert np.mean(np.array(excesses) < 1e-5) >= 0.9
    assert max(excesses) < 0.05
