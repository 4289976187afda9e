"""Mirror statistics: a predictor without effect has independent estimates in two halves."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs

from thinrank.core.progress import with_progress_bar
from thinrank.core.threads import one_use_of_cores
from thinrank.inference.row_scores import NOISE_FLOOR
from thinrank.inference.structure import few_responses, find_structure
from thinrank.inference.thresholds import sign_threshold

__all__ = ["MirrorRecord", "inclusion_rates", "mirror_statistics"]

# Number of predictors without effect that join the working set of a half by chance, about: some
# room, since effects outside of the working set are lost.
_EXPECTED_FALSE = 3.0
_DEPENDENT = 1e-7  # columns of smaller norm in a half are constant there


@dataclass(frozen=True)
class MirrorRecord:
    """What the callback of :func:`select_predictors` gets after each split.

    Parameters
    ----------
    iteration : int
        Number of splits that are done.
    total : int
        Number of all splits.
    n_selected : int
        Number of predictors that this split selected.
    """

    iteration: int
    total: int
    n_selected: int


def mirror_statistics(
    X: np.ndarray, Y: np.ndarray, first: np.ndarray, second: np.ndarray
) -> np.ndarray:
    """Inner products of the rows of coefficients from two parts of the data.

    The first part determines the working set, the shared directions and estimates in them, the
    second has least-squares estimates on the working set. For a predictor without effect, the sign
    of the inner product of the two is that of a fair coin, if the working set has all predictors
    with effects that are related to it.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        Predictors.
    Y : ndarray of shape (n_samples, n_targets)
        Responses.
    first, second : ndarray of int
        Rows of the two parts.

    Returns
    -------
    ndarray of shape (n_features,)
        In units of the product of the standard errors; 0 outside of the working set.
    """
    statistics = np.zeros(X.shape[1])
    Xa, Ya = _part(X, first), few_responses(_centred(Y[first]))
    support, directions, _ = find_structure(Xa, Ya, _EXPECTED_FALSE, prune=False)
    if len(support) == 0:
        return statistics
    # principal components of the first part are combinations of the responses in the second
    Yb = _centred(Y[second])
    if Ya.shape[1] < Y.shape[1]:
        Yb = Yb @ np.linalg.lstsq(_centred(Y[first]), Ya, rcond=None)[0]
    one, spread_one = _least_squares(Xa[:, support], Ya)
    two, spread_two = _least_squares(_part(X, second)[:, support], Yb)
    residual = Ya - Xa[:, support] @ one
    noise = residual.T @ residual / (len(first) - 1 - len(support))
    weights = np.linalg.solve(noise + NOISE_FLOOR * np.eye(len(noise)), directions)
    # estimates in the shared directions, in which the noise of the first part is small
    inner = np.linalg.solve(directions.T @ weights, weights.T @ one.T)
    products = np.sum((weights.T @ two.T) * inner, axis=0)
    statistics[support] = products / np.maximum(spread_one * spread_two, NOISE_FLOOR)
    return statistics


def inclusion_rates(
    X: np.ndarray,
    Y: np.ndarray,
    fdr: float,
    *,
    n_splits: int,
    seed: int,
    n_jobs: int | None = None,
    verbose: int = 0,
    callback: Callable[[MirrorRecord], object] | None = None,
) -> tuple[np.ndarray, int]:
    """Mean over many splits of 1/(number selected) for predictors that a split selects.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        Predictors.
    Y : ndarray of shape (n_samples, n_targets)
        Responses.
    fdr : float
        The nominal rate of each split.
    n_splits : int
        Number of splits.
    seed : int
        Seed of the splits.
    n_jobs : int or None, default=None
        Number of threads.
    verbose : int, default=0
        If positive, a progress bar is shown.
    callback : callable or None, default=None
        Called with a :class:`MirrorRecord` after each split.

    Returns
    -------
    rates : ndarray of shape (n_features,)
        The inclusion rates.
    empty : int
        Number of splits that select nothing.
    """
    rng = np.random.default_rng(seed)
    orders = [rng.permutation(len(X)) for _ in range(n_splits)]
    jobs = effective_n_jobs(n_jobs)
    splits = Parallel(jobs, prefer="threads", return_as="generator")(
        delayed(_chosen)(X, Y, order, fdr) for order in orders
    )
    rates, empty = np.zeros(X.shape[1]), 0
    with (
        with_progress_bar(
            callback,
            lambda record: f"splits, last with {record.n_selected} predictors",
            "mirror statistics",
            n_splits,
            show=verbose > 0,
            time_left=True,
        ) as report,
        one_use_of_cores(jobs),
        warnings.catch_warnings(),
        closing(splits),
    ):
        # A callback that raises ends the run; joblib then warns of the splits that are given up.
        warnings.filterwarnings("ignore", r"\d+ tasks", UserWarning, "joblib")
        for done, chosen in enumerate(splits, start=1):
            rates[chosen] += 1 / max(len(chosen), 1)
            empty += len(chosen) == 0
            if report is not None:
                report(MirrorRecord(done, n_splits, len(chosen)))
    return rates / n_splits, empty


def _chosen(X: np.ndarray, Y: np.ndarray, order: np.ndarray, fdr: float) -> np.ndarray:
    half = len(order) // 2
    statistics = mirror_statistics(X, Y, order[:half], order[half:])
    return np.flatnonzero(statistics >= sign_threshold(statistics, fdr))


def _centred(A: np.ndarray) -> np.ndarray:
    return A - A.mean(axis=0)


def _part(X: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Centred columns of norm 1 in some rows; those that are constant there are zero."""
    part = _centred(X[rows])
    norms = np.linalg.norm(part, axis=0)
    return part / np.where(norms > _DEPENDENT, norms, np.inf)


def _least_squares(X: np.ndarray, Y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Coefficients, and the factors of the noise in their standard errors."""
    inverse = np.linalg.pinv(X)
    return inverse @ Y, np.linalg.norm(inverse, axis=1)
