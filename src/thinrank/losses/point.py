"""A loss at one point, with the arrays that its derivatives are computed from."""

from __future__ import annotations

from dataclasses import dataclass

from thinrank.arrays import Array
from thinrank.core.factors import Factors


@dataclass(frozen=True, eq=False)
class Point:
    """The loss at Θ = UVᵀ, with the free coefficients at their best."""

    factors: Factors  # Θ
    free: Array  # (n_free, n_targets) β
    scores: Array  # (n_samples, r) XU
    linear: Array  # (n_samples, n_targets) the linear predictors η
    values: Array  # (n_targets,) the losses of the responses, without ridge
    # (n_samples, n_targets) derivatives of the entries with respect to η, and positive curvatures,
    # times the weights
    derivative: Array
    curvature: Array
