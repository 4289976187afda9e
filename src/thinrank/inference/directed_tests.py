"""Tests of rows in the direction that neighbours suggest, and weights for their p-values."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import betaincc

from thinrank.inference.row_scores import (
    NOISE_FLOOR,
    RowScores,
    combined_p_values,
    orthonormal,
    row_scores,
    weighted_tail,
)

# Weight of the part of an expected effect outside of the shared directions.
_OUTSIDE_EXPECTED = 0.4
# Probability of the side that is expected in the test of the expected direction; the other side
# has the rest, for effects that those of neighbours hide.
_EXPECTED_SIDE = 0.9
# Weights of the evidence in the expected direction, in the shared directions without it, and
# outside of both. Power changes little in a wide range of values.
_WEIGHTS = (1.0, 0.7, 0.45)
# Fraction of the weight that all predictors have alike, whatever the evidence from neighbours is.
_EQUAL = 0.25


class DirectedScores(NamedTuple):
    """How the residuals of the responses explain that of one predictor."""

    along: float  # correlation with the expected direction; NaN if there is none
    shared: float  # squared correlation with the shared directions, without the expected one
    all: float  # squared correlation with all residuals
    rank: int  # number of shared directions
    # probability of an effect according to the neighbours, up to a factor; NaN if unknown
    odds: float


def directed_scores(
    cross: np.ndarray,
    covariance: np.ndarray,
    directions: np.ndarray,
    freedom: int,
    n_features: int,
    expected: np.ndarray | None,
    alternatives: np.ndarray,
) -> DirectedScores:
    """Scores of one predictor.

    Shapes: ``cross`` (n_targets,), ``covariance`` (n_targets, n_targets), ``directions``
    (n_targets, n_directions), ``expected`` (n_targets,), ``alternatives`` (n_near, n_targets).
    """
    k, rank = directions.shape
    if expected is None:
        scores = row_scores(cross[None], covariance, directions)
        return DirectedScores(np.nan, scores.shared[0], scores.all[0], rank, np.nan)
    root = np.linalg.cholesky(covariance + NOISE_FLOOR * np.eye(k))
    sides = np.column_stack([cross, expected, alternatives.T, directions])
    white = np.linalg.solve(root, sides)
    own, near = white[:, 0], white[:, 1 : 2 + len(alternatives)] * np.sqrt(freedom)
    basis = orthonormal(white[:, 2 + len(alternatives) :])
    inside = basis @ (basis.T @ near)
    shrunk = inside + _OUTSIDE_EXPECTED * (near - inside)
    line = _unit(shrunk[:, 0])
    along, every = float(line @ own), min(float(own @ own), 1.0)
    # the plane of the shared directions and the line is that of the former and what the latter
    # has outside
    plane = np.sum((basis.T @ own) ** 2) + (_unit(near[:, 0] - inside[:, 0]) @ own) ** 2
    shared = min(max(float(plane) - along**2, 0.0), every - along**2)
    # evidence of single effects, of the predictor and of each neighbour, against none: half the
    # squared norm of the estimate, minus its mean without an effect, minus log(n_features)
    fits = np.sum(near * shrunk, axis=0) / 2
    none = np.log(n_features) + (rank + _OUTSIDE_EXPECTED * (k - rank)) / 2
    others = np.append(fits[1:], none) - fits[0]
    odds = 1 / (1 + np.exp(np.minimum(others, 300.0)).sum())
    return DirectedScores(along, shared, every, rank, odds)


def _unit(x: np.ndarray) -> np.ndarray:
    return x / max(float(np.linalg.norm(x)), NOISE_FLOOR)


def directed_p_values(
    scores: list[DirectedScores], n_targets: int, freedom: np.ndarray
) -> np.ndarray:
    """p-values from the expected direction, the shared ones and what they leave.

    For a predictor without effect, its direction is uniform on a sphere. Then the correlation with
    the expected direction and the two partial ones with the rest are independent, and their
    p-values are combined with weights.

    Shapes: ``freedom`` (n,), result (n,).
    """
    along, shared, every, ranks, _ = (np.array(part) for part in zip(*scores, strict=True))
    p_values = combined_p_values(RowScores(shared, every), ranks, n_targets, freedom)
    ranks = np.minimum(ranks, n_targets - 1)
    for rank in np.unique(ranks[~np.isnan(along)]):
        here = ~np.isnan(along) & (ranks == rank)
        p_values[here] = _directed(
            along[here], shared[here], every[here], int(rank), n_targets, freedom[here]
        )
    return p_values


def _directed(
    along: np.ndarray, shared: np.ndarray, every: np.ndarray, rank: int, k: int, m: np.ndarray
) -> np.ndarray:
    tiny = np.finfo(float).tiny
    half = betaincc(0.5, (m - 1) / 2, along**2) / 2
    upper, lower = np.where(along > 0, (half, 1 - half), (1 - half, half))
    # the events of the two sides are disjoint, so that the minimum is uniform
    first = np.minimum(upper / _EXPECTED_SIDE, lower / (1 - _EXPECTED_SIDE))
    parts, weights = [first], [_WEIGHTS[0]]
    left = np.maximum(1 - along**2, tiny)
    if rank:
        parts.append(betaincc(rank / 2, (m - 1 - rank) / 2, np.minimum(shared / left, 1.0)))
        weights.append(_WEIGHTS[1])
    outside = k - 1 - rank
    if outside:
        rest = (every - along**2 - shared) / np.maximum(left - shared, tiny)
        parts.append(betaincc(outside / 2, (m - k) / 2, np.clip(rest, 0.0, 1.0)))
        weights.append(_WEIGHTS[2])
    return weighted_tail(parts, weights)


def prior_weights(odds: np.ndarray) -> np.ndarray:
    """Weights of p-values, of mean 1; predictors with unknown odds have weight 1.

    Shapes: ``odds`` (n,), result (n,).
    """
    known = ~np.isnan(odds)
    weights = np.ones(len(odds))
    if known.any():
        weights[known] = _EQUAL + (1 - _EQUAL) * odds[known] / odds[known].mean()
    return weights
