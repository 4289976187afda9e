"""The two convergence figures of the paper."""

import numpy as np
import pytest
from closed_forms import reduced_rank_regression

import thinrank as tr


def errors_of_run(loss, target, floor, update="simultaneous", **sizes):
    """Relative Frobenius error of every iterate, until it is below the floor."""
    size, errors = np.linalg.norm(target), []

    def watch(record):
        errors.append(np.linalg.norm(record.factors.theta - target) / size)
        return errors[-1] < floor

    solver = tr.solvers.GDT(update=update, max_iter=50_000, tol=0)
    tr.minimize(loss, solver=solver, callback=watch, **sizes)
    return np.array(errors)


def straightness(errors):
    """R² of log error against iteration."""
    return np.corrcoef(np.arange(len(errors)), np.log(errors))[0, 1] ** 2


@pytest.mark.parametrize("update", ["simultaneous", "sequential"])
@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(i, marks=pytest.mark.slow) for i in range(1, 5))]
)
def test_no_error_case(seed, update):
    X, Y, truth = tr.datasets.make_two_way_sparse(n_samples=200, noise=0, random_state=100 + seed)
    sizes = {"rank": 8, "row_sparsity": 10, "column_sparsity": 10, "update": update}
    errors = errors_of_run(tr.losses.LeastSquares(X, Y), truth.theta, 1e-11, **sizes)
    assert errors[-1] < 1e-11
    assert straightness(errors) > 0.98


@pytest.mark.parametrize("seed", range(2))
def test_no_sparsity_case(seed):
    X, Y, _ = tr.datasets.make_two_way_sparse(
        n_samples=200,
        n_features=50,
        row_sparsity=None,
        column_sparsity=None,
        random_state=200 + seed,
    )
    best = reduced_rank_regression(X, Y, 8)
    errors = errors_of_run(tr.losses.LeastSquares(X, Y), best, 1e-9, rank=8)
    assert errors[-1] < 1e-9
    assert straightness(errors) > 0.98


def test_denoising_without_sparsity_is_eckart_young():
    rng = np.random.default_rng(0)
    M = rng.standard_normal((30, 20)) @ np.diag(np.linspace(1, 3, 20))
    left, values, right = np.linalg.svd(M)
    best = (left[:, :4] * values[:4]) @ right[:4]
    answer = tr.minimize(tr.losses.Denoising(M), rank=4, tol=1e-12, max_iter=50_000)
    assert answer.value == pytest.approx(0.5 * np.sum(values[4:] ** 2), rel=1e-9)
    assert np.linalg.norm(answer.factors.theta - best) < 1e-6 * np.linalg.norm(best)
