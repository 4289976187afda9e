"""Inference on odd data: few rows, dependent and constant columns, extreme units, any rank."""

from __future__ import annotations

from typing import Any

import numpy as np
from fuzz_trial import Trial, WrongError, no_numpy_warnings

import thinrank as tr


def _data(trial: Trial) -> tuple[np.ndarray, np.ndarray]:
    n, p, k = trial.number(2, 80), trial.number(1, 30), trial.number(1, 12)
    X = trial.rng.standard_normal((n, p))
    theta = trial.rng.standard_normal((p, k)) * (trial.rng.random((p, 1)) < trial.choice((0, 0.3)))
    if trial.chance(0.2):
        X = trial.rng.integers(0, 2, (n, p)).astype(float)
    if trial.chance(0.2) and p > 1:
        X[:, 1] = trial.choice((X[:, 0], np.full(n, 3.0), -X[:, 0] + 1e-9 * X[:, 1]))
    Y = X @ theta + trial.choice((0.0, 1e-8, 1.0, 1.0, 1.0)) * trial.rng.standard_normal((n, k))
    if trial.chance(0.2):
        Y[:, 0] = trial.choice((0.0, Y[:, -1], 5.0 + 1e-9 * Y[:, 0]))
    if trial.chance(0.2):
        X, Y = X * trial.choice((1e-150, 1e-8, 1e8, 1e150)), Y * trial.choice((1e-100, 1e100))
    if trial.chance(0.1):
        (X if trial.chance(0.5) else Y)[0, 0] = trial.choice((np.nan, np.inf, -np.inf))
    return X, Y


def _call(trial: Trial, X: np.ndarray, Y: np.ndarray) -> Any:
    """One random call of a function of tr.inference."""
    p, k = X.shape[1], Y.shape[1]
    sizes = {"rank": trial.number(0, min(p, k)), "row_sparsity": trial.number(1, p)}
    est = tr.SparseReducedRankRegressor(**sizes, column_sparsity=None, ridge=0.0)
    kind = trial.choice(("select", "select", "intervals", "intervals", "generalization"))
    if kind == "select":
        given: dict[str, Any] = {
            "fdr": trial.choice((0.01, 0.1, 0.5)),
            "method": trial.choice(("auto", "row_tests", "fixed_knockoffs", "model_x_knockoffs")),
            "adjust_for": trial.choice(("auto", "all", "selected")),
            "robust": trial.chance(0.5),
        }
        trial.note(f"select_predictors, X {X.shape}, Y {Y.shape}, {given}")
        return tr.inference.select_predictors(X, Y, **given)
    if kind == "generalization":
        given = {"n_repeats": 1, "cv": trial.choice((3, 4)), "metric": trial.choice(("r2", "mse"))}
        trial.note(f"generalization, {est!r}, X {X.shape}, Y {Y.shape}, {given}")
        return tr.inference.generalization(est, X, Y, **given)
    given = {
        "of": trial.choice(("coefficients", "predictions", "layers")),
        "adjust": trial.choice(("auto", "supports", "all")),
        "rank": trial.choice(("auto", "auto", None, 1)),
        "correction": trial.choice(("holm", "bh", "by", None)),
    }
    if given["of"] == "coefficients" and trial.chance(0.5):
        given["pairs"] = "all"
    trial.note(f"confidence_intervals, {est!r}, X {X.shape}, Y {Y.shape}, {given}")
    return tr.inference.confidence_intervals(est, X, Y, **given)


def _try(trial: Trial) -> None:
    X, Y = _data(trial)
    with no_numpy_warnings():
        found = _call(trial, X, Y)
        text = str(found)
        found.to_frame()
    if not text:
        raise WrongError("no text")
    p_values = getattr(found, "p_values", getattr(found, "p_value", None))
    if p_values is not None:
        known = p_values[~np.isnan(p_values)]
        if np.any(known < 0) or np.any(known > 1):
            raise WrongError("a p-value is not between 0 and 1")


INFERENCE = {"inference": _try}
"""Calls of select_predictors, confidence_intervals and generalization."""
