"""The simulated settings of the paper, with a validation set and several error distributions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from paper.methods import METHODS, RegressionTask, fit_methods, score_coefficients
from paper.study import Record
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


def draw(setting: str, seed: int, distribution: str = "normal") -> RegressionTask:
    """Draw training rows, the same number of validation rows, and the true coefficients.

    As in the paper the rank is estimated, and the rest is tuned on the validation rows.
    """
    options = SETTINGS[setting]
    X, signal, truth = make_two_way_sparse(noise=0.0, random_state=seed, **options)
    rng, n = np.random.default_rng([seed, 1]), len(X)
    Y = signal + errors(rng, signal.shape, distribution)
    X_validation = rng.standard_normal(X.shape)
    Y_validation = X_validation @ truth.theta + errors(rng, Y.shape, distribution)
    return RegressionTask(
        X=X,
        Y=Y,
        pooled=(np.concatenate([X, X_validation]), np.concatenate([Y, Y_validation])),
        splits=[(np.arange(n), np.arange(n, 2 * n))],
        ranks=(max(1, estimate_rank(X, Y, method="authors")),),
        row_sizes=_SIZES,
        column_sizes=(None,) if "column_sparsity" in options else _SIZES,
        truth=truth,
    )


def errors(rng: np.random.Generator, shape: tuple[int, ...], distribution: str) -> np.ndarray:
    """Draw independent errors of mean 0 and variance 1."""
    draws = {
        "normal": lambda: rng.standard_normal(shape),
        "uniform": lambda: rng.uniform(-(3**0.5), 3**0.5, shape),
        "rademacher": lambda: rng.choice([-1.0, 1.0], shape),
        "t3": lambda: rng.standard_t(3, shape) / 3**0.5,
    }
    return draws[distribution]()


def scored_methods(task: RegressionTask, methods: Sequence[str] = tuple(METHODS)) -> list[Record]:
    """Fit methods to a simulated task: scores, tuning parameters and seconds."""
    return [
        {
            "method": name,
            **score_coefficients(answer.theta, task),
            **{f"chosen_{key}": value for key, value in answer.chosen.items()},
            "seconds": answer.seconds,
        }
        for name, answer in fit_methods(task, methods).items()
    ]
