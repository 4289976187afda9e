"""The simulated settings of the paper, with a validation set and several error distributions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from paper.methods import RegressionTask, fit_methods, score_coefficients
from paper.study import Record
from thinrank.core.factors import Factors
from thinrank.datasets import make_two_way_sparse
from thinrank.selection import estimate_rank

SETTINGS: dict[str, dict[str, Any]] = {
    "row_strong": {"column_sparsity": None},
    "twoway_strong": {},
    "row_weak": {"column_sparsity": None, "signal": 0.2},
    "twoway_weak": {"signal": 0.2},
}
"""Arguments that differ from n = 50, p = 100, k = 50, rank 8, 10 rows, 10 columns and signal 1."""

DISTRIBUTIONS = ("normal", "uniform", "rademacher", "t3")
"""Error distributions, all of variance 1; t3 has three degrees of freedom, no fourth moment."""

# Candidates for s1 and s2 of GDT in the simulations, around the true value of 10.
_SIZES = (5, 7, 8, 9, 10, 11, 12, 14, 17, 22)


@dataclass(frozen=True)
class SimulatedSample:
    """Training rows, the same number of validation rows, and the true coefficients."""

    X: np.ndarray  # (n_samples, n_features) predictors
    Y: np.ndarray  # (n_samples, n_targets) responses
    X_validation: np.ndarray
    Y_validation: np.ndarray
    truth: Factors  # true coefficients
    columns_free: bool  # whether all columns of the true coefficients are non-zero


def draw(setting: str, seed: int, distribution: str = "normal") -> SimulatedSample:
    options = SETTINGS[setting]
    X, signal, truth = make_two_way_sparse(noise=0.0, random_state=seed, **options)
    rng = np.random.default_rng([seed, 1])
    Y = signal + errors(rng, signal.shape, distribution)
    X_validation = rng.standard_normal(X.shape)
    Y_validation = X_validation @ truth.theta + errors(rng, Y.shape, distribution)
    free = "column_sparsity" in options
    return SimulatedSample(X, Y, X_validation, Y_validation, truth, free)


def errors(
    rng: np.random.Generator, shape: tuple[int, ...], distribution: str = "normal"
) -> np.ndarray:
    """Draw independent errors of mean 0 and variance 1."""
    match distribution:
        case "normal":
            return rng.standard_normal(shape)
        case "uniform":
            return rng.uniform(-(3**0.5), 3**0.5, shape)
        case "rademacher":
            return rng.choice([-1.0, 1.0], shape)
        case "t3":
            return rng.standard_t(3, shape) / 3**0.5
    raise ValueError(f"distribution must be one of {DISTRIBUTIONS}, got {distribution!r}")


def simulated_task(sample: SimulatedSample) -> RegressionTask:
    """Return the task of the paper: the rank is estimated, the rest is tuned on validation rows."""
    n = len(sample.X)
    pooled = (
        np.concatenate([sample.X, sample.X_validation]),
        np.concatenate([sample.Y, sample.Y_validation]),
    )
    rank = max(1, estimate_rank(sample.X, sample.Y, method="authors"))
    return RegressionTask(
        X=sample.X,
        Y=sample.Y,
        pooled=pooled,
        splits=[(np.arange(n), np.arange(n, len(pooled[0])))],
        ranks=(rank,),
        row_sizes=_SIZES,
        column_sizes=(None,) if sample.columns_free else _SIZES,
        truth=sample.truth,
    )


def scored_methods(sample: SimulatedSample, *methods: str) -> list[Record]:
    """Fit methods (all, if none is named) to a draw: scores, tuning parameters and seconds."""
    answers = fit_methods(simulated_task(sample), *([methods] if methods else []))
    return [
        {
            "method": name,
            **score_coefficients(answer.theta, sample.truth, sample.X),
            **{f"chosen_{key}": value for key, value in answer.chosen.items()},
            "seconds": answer.seconds,
        }
        for name, answer in answers.items()
    ]
