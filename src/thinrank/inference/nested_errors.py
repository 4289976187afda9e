"""Errors of nested cross-validation and the interval that they give."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np


@dataclass(frozen=True, eq=False)
class NestedErrors:
    """Losses of one partition into K folds."""

    fold: np.ndarray  # (n_samples,) fold of each row, from 0 to K − 1
    # (n_samples, m) for each set of one or two folds that were left out, the losses of its rows;
    # NaN in other rows. A loss has m columns that are treated alike
    losses: dict[tuple[int, ...], np.ndarray]


def left_out_folds(folds: int) -> list[tuple[int, ...]]:
    """Single folds and pairs of folds, each of which is left out of one fit."""
    return [*((f,) for f in range(folds)), *combinations(range(folds), 2)]


def nested_interval(
    partitions: list[NestedErrors], groups: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Error on new data and its standard error (Bates, Hastie and Tibshirani).

    Let a be the difference between the mean loss of the inner cross-validation without a fold and
    the mean loss in that fold of the fit without it, and b the variance of the latter. The mean
    of a² − b estimates the mean squared error of a cross-validation with n(K − 1)/K rows. The
    means of the losses for n(K − 2)/K and n(K − 1)/K rows are extrapolated to n rows, as if the
    difference to infinitely many rows were proportional to 1/rows. Since the estimate is corrected
    in this way, the square of the difference between the two means, which is part of a², is not
    counted as error; the paper counts it. The standard error is kept between that of independent
    losses and √K times as much.

    Shapes: ``groups`` (n_samples,), ``estimate``, ``standard_error``, ``cv_estimate``,
    ``naive_error`` (m,).
    """
    squares, inner_means, outer_means, naive = [], [], [], []
    for part in partitions:
        folds = int(part.fold.max()) + 1
        whole = np.full_like(part.losses[(0,)], np.nan)
        for f in range(folds):
            own = part.fold == f
            whole[own] = part.losses[(f,)][own]
            inner = np.full_like(whole, np.nan)
            for g in range(folds):
                if g != f:
                    inner[part.fold == g] = part.losses[(min(f, g), max(f, g))][part.fold == g]
            means = inner[~own].mean(axis=0), whole[own].mean(axis=0)
            squares.append((means[0] - means[1]) ** 2 - mean_variance(whole[own], groups[own]))
            inner_means.append(means[0])
        outer_means.append(whole.mean(axis=0))
        naive.append(mean_variance(whole, groups))
    variance, cv_estimate = np.mean(naive, axis=0), np.mean(outer_means, axis=0)
    nested = np.mean(inner_means, axis=0)
    squared = (folds - 1) / folds * (np.mean(squares, axis=0) - (nested - cv_estimate) ** 2)
    error = np.sqrt(np.clip(squared, variance, folds * variance))
    estimate = nested - 2 * (folds - 1) / folds * (nested - cv_estimate)
    return estimate, error, cv_estimate, np.sqrt(variance)


def mean_variance(losses: np.ndarray, groups: np.ndarray) -> np.ndarray:
    """Variance of the mean loss, for independent groups of rows.

    Shapes: ``losses`` (rows, m), ``groups`` (rows,), result (m,).
    """
    _, place = np.unique(groups, return_inverse=True)
    count = int(place.max()) + 1
    if count < 2:
        return np.full(losses.shape[1], np.nan)
    sums = np.zeros((count, losses.shape[1]))
    np.add.at(sums, place.reshape(-1), losses - losses.mean(axis=0))
    return np.sum(sums**2, axis=0) / len(losses) ** 2 * count / (count - 1)
