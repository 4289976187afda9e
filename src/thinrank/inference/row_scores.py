"""How much of a predictor the residuals of the responses explain, in all and in few directions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import betaincc

NOISE_FLOOR = 1e-9
"""Added to squared norms of residuals, which are zero for data without noise; those of responses
are the number of rows."""
# Weight of the evidence outside of the shared directions, relative to that in them.
_OUTSIDE = 0.5


class RowScores(NamedTuple):
    """Squared correlations of predictors with the residuals of the responses."""

    shared: np.ndarray  # (n,) with the residuals in the shared directions
    all: np.ndarray  # (n,) with all residuals


def row_scores(cross: np.ndarray, covariance: np.ndarray, directions: np.ndarray) -> RowScores:
    """Squared multiple correlations from cross products.

    Shapes: ``cross`` (n, n_targets), ``covariance`` (n_targets, n_targets), ``directions``
    (n_targets, n_directions).
    """
    root = np.linalg.cholesky(covariance + NOISE_FLOOR * np.eye(len(covariance)))
    white = np.linalg.solve(root, cross.T)
    every = np.minimum(np.sum(white**2, axis=0), 1.0)
    if directions.shape[1] == 0:
        return RowScores(np.zeros(len(cross)), every)
    basis = orthonormal(np.linalg.solve(root, directions))
    shared = np.minimum(np.sum((basis.T @ white) ** 2, axis=0), every)
    return RowScores(shared, every)


def orthonormal(A: np.ndarray) -> np.ndarray:
    """Orthonormal basis of a few columns that are far from dependent, faster than by QR.

    Shapes: ``A`` (m, r), result (m, r).
    """
    scaled = A / np.linalg.norm(A, axis=0)
    return np.linalg.solve(np.linalg.cholesky(scaled.T @ scaled), scaled.T).T


def combined_p_values(
    scores: RowScores, n_directions: np.ndarray | int, n_targets: int, freedom: np.ndarray | int
) -> np.ndarray:
    """p-values from the shared directions and from what they leave.

    For a predictor without effect, its direction is uniform on a sphere of dimension
    ``freedom``. Then the squared correlation with the shared directions and the partial one with
    the rest have independent beta distributions. Their p-values a and b are combined as
    −log a − ½·log b, a weighted sum of two exponential variables (Good 1955), the distribution of
    which is known too.

    Shapes: ``n_directions`` (n,), ``freedom`` (n,), result (n,).
    """
    r = np.broadcast_to(np.asarray(n_directions), scores.all.shape)
    m = np.broadcast_to(np.asarray(freedom), scores.all.shape)
    p_values = betaincc(n_targets / 2, (m - n_targets) / 2, scores.all)
    split = (r > 0) & (r < n_targets)
    if split.any():
        shared, every, r, m = scores.shared[split], scores.all[split], r[split], m[split]
        first = betaincc(r / 2, (m - r) / 2, shared)
        rest = (every - shared) / np.maximum(1 - shared, np.finfo(float).tiny)
        second = betaincc((n_targets - r) / 2, (m - n_targets) / 2, rest)
        p_values[split] = weighted_tail((first, second), (1.0, _OUTSIDE))
    return p_values


def weighted_tail(p_values: Sequence[np.ndarray], weights: Sequence[float]) -> np.ndarray:
    """Combine independent p-values with weights (Good 1955).

    The weighted sum of −log p has the distribution of a sum of exponential variables with
    different scales.

    Shapes: ``p_values`` (n,), result (n,).
    """
    tiny = np.finfo(float).tiny
    pairs = list(zip(p_values, weights, strict=True))
    total = -sum(weight * np.log(np.maximum(p, tiny)) for p, weight in pairs)
    tail = np.zeros_like(total)
    for weight in weights:
        others = [weight / (weight - other) for other in weights if other != weight]
        tail += np.prod(others) * np.exp(-total / weight)
    return np.clip(tail, 0.0, 1.0)
