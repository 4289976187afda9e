"""Mirror statistics: a predictor without effect has independent estimates in two halves."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from joblib import delayed

from thinrank.core.progress import with_progress_bar
from thinrank.core.resources import parallel_calls
from thinrank.inference.neighbours import find_neighbours
from thinrank.inference.row_scores import NOISE_FLOOR
from thinrank.inference.structure import few_responses, find_structure
from thinrank.inference.thresholds import sign_threshold

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
    X: np.ndarray,
    Y: np.ndarray,
    first: np.ndarray,
    second: np.ndarray,
    neighbours: list[np.ndarray],
) -> np.ndarray:
    """Inner products of the rows of coefficients from two parts of the data.

    The first part determines the working set, the shared directions and estimates in them, the
    second has least-squares estimates on the working set and the neighbours of each predictor.
    Without the latter, a predictor without effect would stand in for a neighbour that the working
    set lacks. For a predictor without effect, the sign of the inner product of the two estimates is
    that of a fair coin.

    Shapes: result (n_features,).
    """
    statistics = np.zeros(X.shape[1])
    Xa, Ya = _part(X, first), few_responses(_centred(Y[first]))
    support, directions, *_ = find_structure(Xa, Ya, _EXPECTED_FALSE, prune=False)
    if len(support) == 0:
        return statistics
    # principal components of the first part are combinations of the responses in the second
    Yb = _centred(Y[second])
    if Ya.shape[1] < Y.shape[1]:
        Yb = Yb @ np.linalg.lstsq(_centred(Y[first]), Ya, rcond=None)[0]
    one, spread_one = _least_squares(Xa[:, support], Ya)
    two, spread_two = _adjusted(_part(X, second), Yb, support, neighbours)
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

    Shapes: ``rates`` (n_features,).
    """
    rng = np.random.default_rng(seed)
    neighbours = find_neighbours(X, np.arange(X.shape[1]))
    orders = [rng.permutation(len(X)) for _ in range(n_splits)]
    calls = (delayed(_chosen)(X, Y, order, fdr, neighbours) for order in orders)
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
        parallel_calls(calls, n_jobs) as splits,
    ):
        for done, chosen in enumerate(splits, start=1):
            rates[chosen] += 1 / max(len(chosen), 1)
            empty += len(chosen) == 0
            if report is not None:
                report(MirrorRecord(done, n_splits, len(chosen)))
    return rates / n_splits, empty


def _chosen(
    X: np.ndarray, Y: np.ndarray, order: np.ndarray, fdr: float, neighbours: list[np.ndarray]
) -> np.ndarray:
    half = len(order) // 2
    statistics = mirror_statistics(X, Y, order[:half], order[half:], neighbours)
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


def _adjusted(
    X: np.ndarray, Y: np.ndarray, support: np.ndarray, neighbours: list[np.ndarray]
) -> tuple[np.ndarray, np.ndarray]:
    """The same for each predictor in the support, given the others in it and its neighbours."""
    coefficients, spreads = np.zeros((len(support), Y.shape[1])), np.ones(len(support))
    for i, j in enumerate(support):
        others = np.union1d(np.delete(support, i), neighbours[j])
        basis = np.linalg.qr(X[:, others])[0]
        own = X[:, j] - basis @ (basis.T @ X[:, j])
        norm = float(np.linalg.norm(own))
        if norm > _DEPENDENT:
            coefficients[i], spreads[i] = own @ Y / norm**2, 1 / norm
    return coefficients, spreads
