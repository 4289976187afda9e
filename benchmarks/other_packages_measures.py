"""Settings and measures of other_packages.py; no estimator is known here."""

from __future__ import annotations

import numpy as np

import thinrank as tr

SETTINGS = {"strong": 1.0, "weak": 0.2}
SIZES = {
    "n_samples": 50,
    "n_features": 100,
    "n_targets": 50,
    "rank": 8,
    "row_sparsity": 10,
    "column_sparsity": 10,
}
NOISE = 1.0
FRESH_ROWS = 1000
METRICS = {
    "error": "relative error",
    "rmse": "RMSE, fresh rows",
    "rows": "rows",
    "columns": "columns",
    "rank": "rank",
    "seconds": "seconds",
}


def problem(setting: str, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """X, Y and the true Θ of one of the paper's row- and column-sparse settings."""
    X, Y, truth = tr.datasets.make_two_way_sparse(
        **SIZES, noise=NOISE, signal=SETTINGS[setting], random_state=seed
    )
    return X, Y, truth.theta


def measure(theta: np.ndarray, truth: np.ndarray, seed: int) -> dict[str, float | int]:
    """Errors against the truth and on fresh noisy rows, and the shape of the answer."""
    if theta.shape != truth.shape or not np.isfinite(theta).all():
        raise ValueError(f"want {truth.shape} finite coefficients, got {theta.shape}")
    rng = np.random.default_rng([seed, FRESH_ROWS])
    X = rng.standard_normal((FRESH_ROWS, truth.shape[0]))
    Y = X @ truth + NOISE * rng.standard_normal((FRESH_ROWS, truth.shape[1]))
    return {
        "error": float(np.linalg.norm(theta - truth) / np.linalg.norm(truth)),
        "rmse": float(np.sqrt(np.mean((Y - X @ theta) ** 2))),
        "rows": int(np.count_nonzero(theta.any(axis=1))),
        "columns": int(np.count_nonzero(theta.any(axis=0))),
        "rank": int(np.linalg.matrix_rank(theta)),
    }
