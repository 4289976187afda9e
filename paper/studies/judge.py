"""Scores of estimated coefficients; every method is scored by the same code."""

from __future__ import annotations

from typing import Any

import numpy as np

from thinrank.core.factors import Factors


def score_coefficients(theta: np.ndarray, truth: Factors, X: np.ndarray) -> dict[str, Any]:
    """Score estimated coefficients in a simulation with noise of variance 1.

    Shapes: ``theta`` (n_features, n_targets).
    """
    target = truth.theta
    error = theta - target
    n, k = X.shape[0], target.shape[1]
    rows, columns = supports(theta)
    true_rows, true_columns = np.asarray(truth.row_support), np.asarray(truth.column_support)
    return {
        "spectral": float(np.linalg.norm(error, 2) / np.linalg.norm(target, 2)),
        "frobenius": float(np.linalg.norm(error) / np.linalg.norm(target)),
        "prediction": float(np.sqrt(1 + np.sum(error**2) / k)),
        "same_rows": float(np.sqrt(1 + np.sum((X @ error) ** 2) / (n * k))),
        "rows": len(rows),
        "columns": len(columns),
        "rank": int(np.linalg.matrix_rank(theta)) if len(rows) else 0,
        "row_precision": _share(rows, true_rows, len(rows)),
        "row_recall": _share(rows, true_rows, len(true_rows)),
        "column_precision": _share(columns, true_columns, len(columns)),
        "column_recall": _share(columns, true_columns, len(true_columns)),
        "exact": bool(np.array_equal(rows, true_rows) and np.array_equal(columns, true_columns)),
    }


def supports(theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the sorted indices of the non-zero rows and of the non-zero columns."""
    return np.flatnonzero(theta.any(axis=1)), np.flatnonzero(theta.any(axis=0))


def root_mean_square(residual: np.ndarray) -> float:
    """Return the root mean square over rows and responses."""
    return float(np.sqrt(np.mean(residual**2)))


def _share(found: np.ndarray, true: np.ndarray, total: int) -> float | None:
    """Return the fraction of ``total`` that is both found and true; None if ``total`` is 0."""
    return len(np.intersect1d(found, true)) / total if total else None
