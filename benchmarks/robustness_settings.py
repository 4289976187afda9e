"""Settings drawn at random that behave like real data, for robustness.py."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

FRESH = 2000
FACTORS = 3

Record = dict[str, Any]
Rng = np.random.Generator
Sampler = Callable[[int], np.ndarray]
"""Draws the given number of rows."""


# Columns of predictors or of noise. Each has variance 1 but for "factors" and "rare binary".


def independent(rng: Rng, width: int) -> Sampler:
    return lambda n: rng.standard_normal((n, width))


def heavy_tailed(rng: Rng, width: int) -> Sampler:
    return lambda n: rng.standard_t(3, (n, width)) / np.sqrt(3)


def equicorrelated(rng: Rng, width: int, rho: float) -> Sampler:
    def sample(n: int) -> np.ndarray:
        common = rng.standard_normal((n, 1))
        return np.sqrt(rho) * common + np.sqrt(1 - rho) * rng.standard_normal((n, width))

    return sample


def autoregressive(rng: Rng, width: int, rho: float, axis: int = 1) -> Sampler:
    """Along the columns (axis 1) or the rows (axis 0)."""

    def sample(n: int) -> np.ndarray:
        values = np.moveaxis(rng.standard_normal((n, width)), axis, 0)
        for i in range(1, len(values)):
            values[i] = rho * values[i - 1] + np.sqrt(1 - rho**2) * values[i]
        return np.moveaxis(values, 0, axis)

    return sample


def factors(rng: Rng, width: int) -> Sampler:
    """Three factors with standard normal loadings, and independent noise."""
    loadings = rng.standard_normal((FACTORS, width))
    return lambda n: rng.standard_normal((n, FACTORS)) @ loadings + rng.standard_normal((n, width))


def rare_binary(rng: Rng, width: int) -> Sampler:
    """Zeros and ones; every column has at least one of the ones."""

    def sample(n: int) -> np.ndarray:
        values = (rng.random((n, width)) < 0.05).astype(float)
        empty = np.flatnonzero(~values.any(axis=0))
        values[rng.integers(n, size=empty.size), empty] = 1.0
        return values

    return sample


PREDICTORS: dict[str, Callable[[Rng, int], Sampler]] = {
    "independent": independent,
    "equicorrelated .5": lambda rng, p: equicorrelated(rng, p, 0.5),
    "equicorrelated .9": lambda rng, p: equicorrelated(rng, p, 0.9),
    "AR(.95)": lambda rng, p: autoregressive(rng, p, 0.95),
    "three factors": factors,
    "heavy-tailed": heavy_tailed,
    "rare binary": rare_binary,
}
NOISE: dict[str, Callable[[Rng, int], Sampler]] = {
    "independent": independent,
    "equicorrelated .8": lambda rng, k: equicorrelated(rng, k, 0.8),
    "AR(.9) over responses": lambda rng, k: autoregressive(rng, k, 0.9),
    "AR(.8) over samples": lambda rng, k: autoregressive(rng, k, 0.8, axis=0),
    "three factors": factors,
    "heavy-tailed": heavy_tailed,
}
SIGNALS = ("zero", "sparse rows", "dense", "dense, low rank")


@dataclass(frozen=True)
class Setting:
    """Data of one draw, and what was drawn."""

    X: np.ndarray
    Y: np.ndarray
    X_new: np.ndarray
    Y_new: np.ndarray
    facts: Record


def coefficients(rng: Rng, kind: str, p: int, k: int) -> np.ndarray:
    if kind == "zero":
        return np.zeros((p, k))
    if kind == "dense":
        return rng.standard_normal((p, k))
    if kind == "dense, low rank":
        rank = int(rng.integers(1, 4))
        return rng.standard_normal((p, rank)) @ rng.standard_normal((rank, k))
    theta = np.zeros((p, k))
    rows = rng.choice(p, int(rng.integers(1, min(10, p // 2) + 1)), replace=False)
    theta[rows] = rng.standard_normal((len(rows), k))
    return theta


def draw(seed: int) -> Setting:
    """A setting drawn at random, with fresh rows from the same distribution.

    Parameters
    ----------
    seed : int
        Of everything.

    Returns
    -------
    Setting
        n from 20 to 100, p from 10 to 200, k from 5 to 40; kinds of predictors, signal and noise;
        the part of the variance of all responses together that the signal explains from .05 to .8.
    """
    rng = np.random.default_rng(seed)
    n, p, k = (int(rng.integers(low, high + 1)) for low, high in ((20, 100), (10, 200), (5, 40)))
    kinds = {
        "predictors": str(rng.choice(list(PREDICTORS))),
        "signal": str(rng.choice(SIGNALS)),
        "noise": str(rng.choice(list(NOISE))),
    }
    r2 = float(rng.uniform(0.05, 0.8)) if kinds["signal"] != "zero" else 0.0
    predictors = PREDICTORS[kinds["predictors"]](rng, p)
    noise = NOISE[kinds["noise"]](rng, k)
    theta = coefficients(rng, kinds["signal"], p, k)
    X, X_new, E, E_new = predictors(n), predictors(FRESH), noise(n), noise(FRESH)
    if theta.any():
        explained = (X_new @ theta).var(axis=0).sum()
        theta *= np.sqrt(r2 / (1 - r2) * E_new.var(axis=0).sum() / explained)
    facts = {"seed": seed, "n": n, "p": p, "k": k, **kinds, "r2": r2}
    return Setting(X, X @ theta + E, X_new, X_new @ theta + E_new, facts)
