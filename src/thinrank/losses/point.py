"""A loss at one point, with the arrays that its derivatives are computed from."""

from __future__ import annotations

from dataclasses import dataclass

from thinrank.arrays import Array
from thinrank.core.factors import Factors


@dataclass(frozen=True, eq=False)
class Point:
    """The loss at Θ = UVᵀ, with the free coefficients at their best.

    Attributes
    ----------
    factors : Factors
        Θ.
    free : array of shape (n_free, n_targets)
        β.
    scores : array of shape (n_samples, r)
        XU.
    linear : array of shape (n_samples, n_targets)
        The linear predictors η.
    values : array of shape (n_targets,)
        The losses of the responses, without ridge.
    derivative, curvature : arrays of shape (n_samples, n_targets)
        Derivatives of the entries with respect to η, and positive curvatures, times the weights.
    """

    factors: Factors
    free: Array
    scores: Array
    linear: Array
    values: Array
    derivative: Array
    curvature: Array
