"""p-values of rows of coefficients from correlations with the residuals of the responses.

A predictor without effect has a direction that is uniform on a sphere. Then the squared correlation
with some directions of the responses and the partial ones with the rest have independent beta
distributions, and their p-values can be combined with weights, so that directions in which an
effect is expected count more.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import solve_triangular
from scipy.special import betaincc

# Added to squared norms of residuals, which are zero for data without noise or predictors that
# depend on each other; those of responses are the number of rows.
NOISE_FLOOR = 1e-9
# Weights of the evidence in the expected direction, in the shared directions, and outside of both.
# Power changes little in a wide range of values.
_EXPECTED, _SHARED, _OUTSIDE = 1.0, 0.7, 0.45
# Probability of the side that is expected in the test of the expected direction; the other side
# has the rest, for effects that those of neighbors hide.
_EXPECTED_SIDE = 0.9
_TINY = np.finfo(float).tiny


class Scores(NamedTuple):
    """Squared correlations of predictors with the residuals of the responses."""

    shared: np.ndarray  # (n,) with the residuals in the shared directions
    all: np.ndarray  # (n,) with all residuals


class Noise:
    """Residuals of the rows, which tell how much more variable a test is than with equal noise.

    The product of a predictor's residual x with noise of variances σᵢ² has variance Σxᵢ²σᵢ². With
    the squared residuals over one minus their leverages in place of σᵢ² (HC2) this is unbiased if
    the variances are equal; a leverage h shrinks differences between variances by 1 − h, which is
    taken back. Averages over several responses are precise; ratios below 1 are not used.
    """

    def __init__(self, residual: np.ndarray, basis: np.ndarray) -> None:
        """Residuals of the responses (n, k) after a regression on an orthonormal basis (n, s)."""
        n, used = len(residual), 1 + basis.shape[1]
        self._shrunk = 1 - used / n
        leverage = np.minimum(np.sum(basis**2, axis=1) + 1 / n, 1 - NOISE_FLOOR)
        self._residual = residual / np.sqrt(1 - leverage)[:, None]
        root = np.linalg.cholesky(
            self._residual.T @ self._residual + NOISE_FLOOR * np.eye(residual.shape[1])
        )
        white = solve_triangular(root, self._residual.T, lower=True, check_finite=False)
        self._squares = n * np.sum(white**2, axis=0) / residual.shape[1]

    def ratios(self, own: np.ndarray, directions: np.ndarray) -> np.ndarray:
        """Variances over those of equal noise, in directions (k, m) of the responses."""
        squares = (self._residual @ directions) ** 2
        return self._ratio(own**2 @ squares, np.maximum(squares.mean(axis=0), _TINY), own)

    def mean_ratio(self, own: np.ndarray) -> float:
        """The mean over all directions."""
        return float(self._ratio(own**2 @ self._squares, 1.0, own))

    def _ratio(self, weighted: np.ndarray, mean: np.ndarray | float, own: np.ndarray) -> np.ndarray:
        return 1 + (weighted / mean / (own @ own) - 1) / self._shrunk


def scores(cross: np.ndarray, covariance: np.ndarray, directions: np.ndarray) -> Scores:
    """Squared multiple correlations from cross products.

    Shapes: ``cross`` (n, n_targets), ``covariance`` (n_targets, n_targets), ``directions``
    (n_targets, n_directions).
    """
    root = np.linalg.cholesky(covariance + NOISE_FLOOR * np.eye(len(covariance)))
    white = np.linalg.solve(root, cross.T)
    every = np.minimum(np.sum(white**2, axis=0), 1.0)
    if directions.shape[1] == 0:
        return Scores(np.zeros(len(cross)), every)
    basis = _orthonormal(np.linalg.solve(root, directions))
    return Scores(np.minimum(np.sum((basis.T @ white) ** 2, axis=0), every), every)


def directed_test(
    own: np.ndarray,
    cross: np.ndarray,
    covariance: np.ndarray,
    directions: np.ndarray,
    freedom: int,
    n_features: int,
    expected: np.ndarray,
    noise: Noise | None,
) -> tuple[float, float]:
    """p-value of one predictor, and its odds of an effect by its neighbours, NaN if unknown.

    Shapes: ``own`` (n_samples,), ``cross`` (n_targets,), ``covariance`` (n_targets, n_targets),
    ``directions`` (n_targets, n_directions), ``expected`` (n_targets, 1 + n_near), or without
    columns if nothing is expected.
    """
    k, rank = directions.shape
    root = np.linalg.cholesky(covariance + NOISE_FLOOR * np.eye(k))
    white = np.linalg.solve(root, np.column_stack([cross, expected, directions]))
    size = expected.shape[1]
    cross, near = white[:, 0], white[:, 1 : 1 + size] * np.sqrt(freedom)
    basis = _orthonormal(white[:, 1 + size :])
    every = min(float(cross @ cross), 1.0)
    if size == 0:
        shared = min(float(np.sum((basis.T @ cross) ** 2)), every)
        _, inner, outer = _inflation(own, root, basis, k, noise)
        return float(_combined(shared, every, rank, k, freedom, inner, outer)), np.nan
    inside = basis @ (basis.T @ near)
    shrunk = inside + _OUTSIDE * (near - inside)
    line = _unit(shrunk[:, 0])
    # the plane of the shared directions and the line is that of the former and what the latter
    # has outside
    plane = np.column_stack([basis, _unit(near[:, 0] - inside[:, 0])])
    along = float(line @ cross)
    shared = min(max(float(np.sum((plane.T @ cross) ** 2)) - along**2, 0.0), every - along**2)
    # evidence of single effects, of the predictor and of each neighbor, against none: half the
    # squared norm of the estimate, minus its mean without an effect, minus log(n_features)
    fits = np.sum(near * shrunk, axis=0) / 2
    none = np.log(n_features) + (rank + _OUTSIDE * (k - rank)) / 2
    others = np.append(fits[1:], none) - fits[0]
    odds = 1 / (1 + np.exp(np.minimum(others, 300.0)).sum())
    white = np.column_stack([line, plane[:, :k]])
    on_line, inner, outer = _inflation(own, root, white, k, noise, True)
    half = _tail(along**2, 1, freedom - 1, on_line) / 2
    upper, lower = (half, 1 - half) if along > 0 else (1 - half, half)
    # the events of the two sides are disjoint, so that the minimum is uniform
    first = np.minimum(upper / _EXPECTED_SIDE, lower / (1 - _EXPECTED_SIDE))
    left, rank = max(1 - along**2, _TINY), min(rank, k - 1)
    rest = shared / left, (every - along**2) / left, rank, k - 1, freedom - 1
    return float(_combined(*rest, inner, outer, first)), odds


def _combined(
    shared: Any,
    every: Any,
    rank: int,
    k: int,
    freedom: int,
    inside: float = 1.0,
    outside: float = 1.0,
    first: np.ndarray | None = None,
) -> np.ndarray:
    """p-values from squared correlations with the shared directions, and from what they leave.

    ``every`` is the squared correlation with all k directions, ``inside`` and ``outside`` are the
    variances in the shared directions and outside; ``first`` is the p-value of the expected one.
    """
    parts, weights = ([], []) if first is None else ([first], [_EXPECTED])
    if rank:
        parts.append(_tail(shared, rank, freedom - rank, inside))
        weights.append(_SHARED)
    if k - rank:
        rest = (every - shared) / np.maximum(1 - shared, _TINY)
        parts.append(_tail(rest, k - rank, freedom - k, outside))
        weights.append(_OUTSIDE)
    return _weighted_tail(parts, weights)


def _inflation(
    own: np.ndarray,
    root: np.ndarray,
    white: np.ndarray,
    k: int,
    noise: Noise | None,
    directed: bool = False,
) -> tuple[float, float, float]:
    """Variances along a line, in a space without it and outside, over those of equal noise.

    ``white``: the line, if ``directed``, then an orthonormal basis of the space with the line.
    """
    if noise is None:
        return 1.0, 1.0, 1.0
    found = noise.ratios(own, solve_triangular(root, white, lower=True, trans="T"))
    first = float(found[0]) if directed else 0.0
    space, size = float(found[int(directed) :].sum()), len(found) - 2 * int(directed)
    outside = k - size - int(directed)
    every = k * noise.mean_ratio(own)
    return (
        max(first, 1.0),
        max((space - first) / size, 1.0) if size > 0 else 1.0,
        max((every - space) / outside, 1.0) if outside > 0 else 1.0,
    )


def _orthonormal(A: np.ndarray) -> np.ndarray:
    """Orthonormal basis of a few columns that are far from dependent, faster than by QR."""
    scaled = A / np.linalg.norm(A, axis=0)
    return np.linalg.solve(np.linalg.cholesky(scaled.T @ scaled), scaled.T).T


def _unit(x: np.ndarray) -> np.ndarray:
    return x / max(float(np.linalg.norm(x)), NOISE_FLOOR)


def combined_p_values(found: Scores, n_directions: int, n_targets: int, freedom: int) -> np.ndarray:
    """p-values from the shared directions and from what they leave, of shape (n,)."""
    return _combined(found.shared, found.all, n_directions, n_targets, freedom)


def _tail(share: np.ndarray | float, size: int, rest: int, inflation: float = 1.0) -> np.ndarray:
    """p-values of squared correlations with some of the directions, of variance ``inflation``."""
    share = np.clip(share, 0.0, 1.0)
    return np.asarray(betaincc(size / 2, rest / 2, share / (share + inflation * (1 - share))))


def _weighted_tail(p_values: Sequence[np.ndarray], weights: Sequence[float]) -> np.ndarray:
    """Combine independent p-values with weights (Good 1955).

    The weighted sum of −log p has the distribution of a sum of exponential variables with
    different scales.

    Shapes: ``p_values`` (n,), result (n,).
    """
    pairs = list(zip(p_values, weights, strict=True))
    total = -sum(weight * np.log(np.maximum(p, _TINY)) for p, weight in pairs)
    tail = np.zeros_like(total)
    for weight in weights:
        others = [weight / (weight - other) for other in weights if other != weight]
        tail += np.prod(others) * np.exp(-total / weight)
    return np.clip(tail, 0.0, 1.0)


def prior_weights(odds: np.ndarray) -> np.ndarray:
    """Weights of p-values, of mean 1; predictors with unknown odds have weight 1.

    Shapes: ``odds`` (n,), result (n,).
    """
    known = ~np.isnan(odds)
    weights = np.ones(len(odds))
    if known.any():
        # a quarter is the same for all, whatever the evidence from neighbors is
        weights[known] = 0.25 + 0.75 * odds[known] / odds[known].mean()
    return weights
