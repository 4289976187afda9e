"""Counts, classes and presences as real data have them: rare, separated, missing, far from zero."""

from __future__ import annotations

from typing import Any

import numpy as np
from fuzz_trial import Trial, WrongError, no_numpy_warnings

import thinrank as tr

_FAMILIES = (
    "poisson",
    "poisson",
    "negative_binomial",
    "bernoulli",
    "multinomial",
    "mixed",
    "classes",
)


def _predictors(trial: Trial, n: int, p: int) -> np.ndarray:
    X = trial.rng.standard_normal((n, p))
    if trial.chance(0.3):  # categories as dummies, some of them rare
        groups = trial.rng.integers(0, max(p // 2, 1), n)
        X[:, : max(p // 2, 1)] = groups[:, None] == np.arange(max(p // 2, 1))
    if trial.chance(0.2):
        X = np.exp(2 * X)  # skewed, with outliers
    if trial.chance(0.1) and p > 1:
        X[:, 1] = X[:, 0]
    return X


def _counts(trial: Trial, linear: np.ndarray) -> np.ndarray:
    """Counts up to 1e6 with 1 % to 99 % zeros, overdispersed in half of the cases."""
    size = np.exp(np.clip(linear, -3, 3)) * 10.0 ** trial.rng.uniform(-2, 3, linear.shape[1])
    if trial.chance(0.5):
        shape = trial.choice((0.05, 0.3, 2.0))
        size = size * trial.rng.gamma(shape, 1 / shape, size.shape)
    Y = np.minimum(trial.rng.poisson(np.minimum(size, 1e6)), 1e6).astype(float)
    if trial.chance(0.5):
        Y[trial.rng.random(Y.shape) < trial.choice((0.01, 0.3, 0.9, 0.99))] = 0
    return Y


def _labels(trial: Trial, linear: np.ndarray) -> np.ndarray:
    """Zeros and ones: rare, separated by the predictors, or both."""
    noise = trial.choice((0.0, 1.0, 5.0)) * trial.rng.standard_normal(linear.shape)
    level = np.quantile(linear + noise, trial.choice((0.5, 0.9, 0.99, 0.01)), axis=0)
    return (linear + noise > level).astype(float)


def _categories(trial: Trial, n: int, linear: np.ndarray) -> np.ndarray:
    count = trial.choice((2, 3, 5, 12))
    codes = np.digitize(linear[:, 0], np.quantile(linear[:, 0], np.linspace(0, 1, count + 1)[1:-1]))
    return trial.rng.permutation(codes) if trial.chance(0.3) else codes


def _try(trial: Trial) -> None:
    n, p, k = trial.number(6, 60), trial.number(1, 25), trial.number(1, 12)
    kind = trial.choice(_FAMILIES)
    X = _predictors(trial, n, p)
    spread = X / np.maximum(X.std(axis=0), 1e-9)
    linear = trial.choice((0.0, 0.5, 2.0)) * spread[:, :1] @ trial.rng.standard_normal((1, k))
    linear = linear + 1e-3 * trial.rng.standard_normal(linear.shape)
    family: Any = kind
    if kind == "classes":
        Y: Any = _categories(trial, n, linear)
    elif kind == "bernoulli":
        Y = _labels(trial, linear)
    elif kind == "multinomial":
        Y = np.column_stack([_categories(trial, n, linear) for _ in range(min(k, 3))]).astype(float)
    else:
        Y = _counts(trial, linear)
    if kind == "mixed":
        Y = np.column_stack([Y, _labels(trial, linear), linear])
        family = ["poisson"] * k + ["bernoulli"] * k + ["gaussian"] * k
    given: dict[str, Any] = {}
    if kind != "classes" and trial.chance(0.3):
        Y[trial.rng.random(Y.shape) < trial.choice((0.05, 0.5))] = np.nan
    if kind not in ("classes", "multinomial") and trial.chance(0.3):
        wide = (n, Y.shape[1]) if trial.chance(0.3) else (n,)
        given["offset"] = trial.choice((1.0, 20.0)) * trial.rng.uniform(-1, 1, wide)
    if trial.chance(0.2):
        given["sample_weight"] = trial.rng.random(n) * (trial.rng.random(n) > 0.2)
    options: dict[str, Any] = {}
    if trial.chance(0.3):
        options = {"rank": 1, "row_sparsity": trial.number(1, p), "column_sparsity": None}
        options["ridge"] = trial.choice((0.0, 1e-3, "auto"))
    if trial.chance(0.1):
        options["fit_intercept"] = False
    if kind == "classes":
        estimator: Any = tr.SparseReducedRankClassifier(**options)
    else:
        estimator = tr.SparseReducedRankGLM(family, **options)
    trial.note(f"{estimator!r}, family {kind}, X {X.shape}, Y {np.shape(Y)}, {sorted(given)}")
    with no_numpy_warnings():
        estimator.fit(X, Y, **given)
        parts = {"coef_": estimator.coef_, "intercept_": estimator.intercept_}
        offset = {name: each for name, each in given.items() if name == "offset"}
        parts["predictions"] = estimator.predict(X, **offset)
    for name, value in parts.items():
        if not np.all(np.isfinite(np.asarray(value, dtype=float))):
            raise WrongError(f"{name} is not finite")


FAMILIES = {"families": _try}
"""Fits of the families to data that are hard for them."""
