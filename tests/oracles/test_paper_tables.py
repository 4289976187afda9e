"""The GDT row of the paper's tables 1 to 4, at the true rank, with validation-chosen sizes."""

import numpy as np
import pytest
from closed_forms import on_supports

import thinrank as tr

# setting: (column sparsity, signal, printed mean, printed standard deviation)
PRINTED = {
    "row_strong": (None, 1.0, 0.0452, 0.0110),
    "twoway_strong": (10, 1.0, 0.0624, 0.0121),
    "row_weak": (None, 0.2, 0.2328, 0.0474),
    "twoway_weak": (10, 0.2, 0.3173, 0.0949),
}
GRID = (8, 9, 10, 11, 12, 14)
SEEDS = range(1000, 1004)


def spectral_error(theta, truth):
    return np.linalg.norm(theta - truth, 2) / np.linalg.norm(truth, 2)


def validated_fit(X, Y, X_valid, Y_valid, columns_grid):
    """Choose s2, then s1, then s2 again, by the error on the validation set."""

    def fit(rows, columns, tol):
        # the solver and the start of the paper, and its data as they are
        literal = {"solver": "gdt", "start": "lasso", "standardize": False, "fit_intercept": False}
        return tr.SparseReducedRankRegressor(8, rows, columns, tol=tol, **literal).fit(X, Y)

    def error(rows, columns):
        return np.sum((Y_valid - fit(rows, columns, 1e-5).predict(X_valid)) ** 2)

    columns = min(columns_grid, key=lambda s: error(12, s))
    rows = min(GRID, key=lambda s: error(s, columns))
    if len(columns_grid) > 1:
        columns = min(columns_grid, key=lambda s: error(rows, s))
    return fit(rows, columns, 1e-7)


@pytest.mark.slow
@pytest.mark.parametrize("setting", PRINTED)
def test_estimation_error(setting):
    columns, signal, mean, deviation = PRINTED[setting]
    ours, oracle = [], []
    for seed in SEEDS:
        X, Y, truth = tr.datasets.make_two_way_sparse(
            n_samples=100, column_sparsity=columns, signal=signal, random_state=seed
        )
        training, validation = (X[:50], Y[:50]), (X[50:], Y[50:])
        est = validated_fit(*training, *validation, (None,) if columns is None else GRID)
        ours.append(spectral_error(est.factors_.theta, truth.theta))
        best = on_supports(*training, 8, truth.row_support, truth.column_support)
        oracle.append(spectral_error(best, truth.theta))
    print(
        f"{setting}: spectral error {np.mean(ours):.4f}, oracle {np.mean(oracle):.4f}, "
        f"paper {mean:.4f} ± {deviation:.4f}"
    )
    assert np.mean(ours) <= mean + deviation
