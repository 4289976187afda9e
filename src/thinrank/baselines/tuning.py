"""Choosing tuning parameters by held-out squared error, over warm-started paths."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from thinrank.baselines.sample import Prepared, TrainingSample
from thinrank.core.factors import Factors
from thinrank.core.journal import recalled
from thinrank.selection.splits import given_splits

Setting = dict[str, Any]
"""Values of the tuning parameters of a baseline, by name."""

Path = Callable[[Prepared, Sequence[Setting]], Iterator[Factors]]
"""Yields one solution per setting, each started from the solution before."""


def penalty_grid(largest: float, count: int) -> list[float]:
    """Decreasing penalties, evenly spaced on a logarithmic scale."""
    if largest <= 0:
        return [0.0]
    # down to 0.003; scikit-learn's lasso paths end at 0.001
    return [float(x) for x in largest * np.geomspace(1.0, 10**-2.5, count)]


def cross_validate(
    path: Path,
    sample: TrainingSample,
    settings: Sequence[Setting],
    cv: Any,
    *,
    fit_intercept: bool,
    standardize: bool,
    patience: int | None,
) -> dict[str, Any]:
    """Held-out mean squared error of every setting.

    ``patience``: None tries all settings.
    """
    splits = _usable_splits(sample, cv)
    scores = np.empty((len(splits), len(settings)))
    for fold, (train, test) in enumerate(splits):

        def of_split(train: np.ndarray = train, test: np.ndarray = test) -> np.ndarray:
            data = sample.rows(train).prepared(fit_intercept, standardize)
            return _scores(path(data, settings), data, sample.rows(test), len(settings), patience)

        scores[fold] = recalled(f"split {fold}", of_split)
    mean = scores.mean(axis=0)
    spread = np.where(np.isfinite(mean), np.std(np.where(np.isfinite(mean), scores, 0), axis=0), 0)
    results: dict[str, Any] = {"params": list(settings)}
    results |= {f"split{i}_test_score": row for i, row in enumerate(scores)}
    results |= {"mean_test_score": mean, "std_test_score": spread}
    order = np.argsort(-mean, kind="stable")
    results["rank_test_score"] = np.empty(len(settings), dtype=np.int64)
    results["rank_test_score"][order] = np.arange(1, len(settings) + 1)
    return results


def _scores(
    solutions: Iterator[Factors],
    data: Prepared,
    held_out: TrainingSample,
    count: int,
    patience: int | None,
) -> np.ndarray:
    """Negative held-out errors of the solutions of a path, −∞ for those that are skipped."""
    scores = np.full(count, -np.inf)
    since_best, best = 0, -np.inf
    for i, factors in enumerate(solutions):
        scores[i] = -_mean_squared_error(data, factors, held_out)
        since_best = 0 if scores[i] > best else since_best + 1
        best = max(best, scores[i])
        if patience is not None and since_best >= patience:
            break
    return scores


def _usable_splits(sample: TrainingSample, cv: Any) -> list[tuple[np.ndarray, np.ndarray]]:
    """The splits with rows of positive weight on both sides."""
    weights = sample.weights
    splits = given_splits(cv, sample.X, sample.Y)
    usable = [(a, b) for a, b in splits if weights[a].any() and weights[b].any()]
    if not usable:
        raise ValueError(
            "cv must have a split with rows of positive weight in both parts, but it has none"
        )
    return usable


def _mean_squared_error(data: Prepared, factors: Factors, held_out: TrainingSample) -> float:
    """Mean squared error over rows, weighted, and responses."""
    user, intercept, *_ = data.to_user(factors)
    residual = held_out.Y - (held_out.X @ user.U) @ user.V.T - intercept
    return float(np.average(np.mean(residual**2, axis=1), weights=held_out.weight))
