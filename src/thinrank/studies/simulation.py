"""The paper's simulated settings, with a validation set and other errors than normal ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from thinrank.core.factors import Factors
from thinrank.datasets import make_two_way_sparse

__all__ = ["DISTRIBUTIONS", "SETTINGS", "Sample", "draw", "errors"]

SETTINGS: dict[str, dict[str, Any]] = {
    "row_strong": {"column_sparsity": None},
    "twoway_strong": {},
    "row_weak": {"column_sparsity": None, "signal": 0.2},
    "twoway_weak": {"signal": 0.2},
}
"""What differs from n = p/2 = k = 50, rank 8, 10 rows, 10 columns and signal 1."""

DISTRIBUTIONS = ("normal", "uniform", "rademacher", "t3")
"""Errors, all of unit variance; t3 has three degrees of freedom and no fourth moment."""


@dataclass(frozen=True)
class Sample:
    """Training rows, as many validation rows, and the truth."""

    X: np.ndarray
    Y: np.ndarray
    X_validation: np.ndarray
    Y_validation: np.ndarray
    truth: Factors
    columns_free: bool


def draw(setting: str, seed: int, distribution: str = "normal") -> Sample:
    """One replication of a setting."""
    options = SETTINGS[setting]
    X, signal, truth = make_two_way_sparse(noise=0.0, random_state=seed, **options)
    rng = np.random.default_rng([seed, 1])
    Y = signal + errors(rng, signal.shape, distribution)
    X_validation = rng.standard_normal(X.shape)
    Y_validation = X_validation @ truth.theta + errors(rng, Y.shape, distribution)
    free = "column_sparsity" in options
    return Sample(X, Y, X_validation, Y_validation, truth, free)


def errors(
    rng: np.random.Generator, shape: tuple[int, ...], distribution: str = "normal"
) -> np.ndarray:
    """Independent errors of mean 0 and variance 1."""
    if distribution == "normal":
        return rng.standard_normal(shape)
    if distribution == "uniform":
        return rng.uniform(-(3**0.5), 3**0.5, shape)
    if distribution == "rademacher":
        return rng.choice([-1.0, 1.0], shape)
    if distribution == "t3":
        return rng.standard_t(3, shape) / 3**0.5
    raise ValueError(f"distribution must be one of {DISTRIBUTIONS}, got {distribution!r}")
