"""Counts with a variance equal to the mean."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from thinrank import arrays
from thinrank.arrays import Array
from thinrank.losses.families.base import Family, observed_mean

# Beyond this linear predictor, a mean of 2e17, the loss goes on as a parabola, so that nothing
# overflows, nor do squares in single precision.
MOST_LINEAR = 40.0
# Counts of mean 1 whose variance is twice as large would have intervals that are 1.4 times as wide.
_OVERDISPERSED = 2.0
# A count whose mean is smaller says little about the variance.
_LEAST_MEAN = 0.05


class Counts(Family):
    """Families of counts with a logarithmic link."""

    expected = "finite numbers that are not negative"

    def mean(self, eta: Array) -> Array:
        """exp(η), at most the largest number."""
        xp = arrays.namespace(eta)
        return xp.exp(arrays.at_most(eta, math.log(float(xp.finfo(eta.dtype).max)) - 1e-5))

    def link(self, mean: Array) -> Array:
        """log(μ); μ = 0 is replaced by the smallest normal number."""
        return arrays.log_or_smallest(mean)

    def null_link(self, y: Array, weight: Array | None = None) -> Array:
        """Logarithm of the weighted mean of each column, of shape (q,).

        The mean 0 is replaced by that of half an event in n + 1 observations.
        """
        mean, count = observed_mean(y, weight)
        return self.link(arrays.namespace(y).where(mean > 0, mean, 0.5 / (count + 1.0)))

    def intercept(self, y: Array, weight: Array | None, linear: Array) -> Array:
        """As in the base class, for the mean of the exposures exp(linear)."""
        xp = arrays.namespace(y)
        largest = xp.max(linear, axis=0)
        exposure, _ = observed_mean(xp.exp(linear - largest), weight)
        return self.null_link(y, weight) - largest - arrays.log_or_smallest(exposure)

    def _without_events(self, mean: Array) -> Array:
        return mean == 0

    def _valid(self, y: Array) -> Array:
        return arrays.namespace(y).isfinite(y) & (y >= 0)


class Poisson(Counts):
    """μ − yη − (y − y·log(y)), with mean μ = exp(η).

    For η > 40 exp(η) is continued by its expansion to the second order, so that nothing overflows.

    Examples
    --------
    >>> import numpy as np
    >>> Poisson().value(np.array([[0.0, 1.0]]), np.array([[0.0, 0.0]]))
    array([[1., 0.]])
    """

    name = "poisson"

    def prepared(self, y: Array) -> Array:
        """log(y), of the smallest normal number for y = 0."""
        return arrays.log_or_smallest(y)

    def for_fit(self, y: Array, eta: Array, prepared: Any = None) -> tuple[Array, Array, Array]:
        """The value, μ − y and μ, from one exponential."""
        inside = arrays.at_most(eta, MOST_LINEAR)
        beyond = eta - inside
        curvature = arrays.namespace(eta).exp(inside)
        mean = curvature + curvature * beyond
        total = mean + 0.5 * curvature * beyond**2
        logarithm = self.prepared(y) if prepared is None else prepared
        return _value(y, eta, total, logarithm), mean - y, curvature

    def overdispersion(self, y: Array, eta: Array, weight: Array, freedom: np.ndarray) -> float:
        """Pearson's estimate, of all responses."""
        counts, predictors, weights = (arrays.to_numpy(x).astype(float) for x in (y, eta, weight))
        mean = np.exp(np.clip(predictors, -MOST_LINEAR, MOST_LINEAR))
        squares = float(np.sum(weights * (counts - mean) ** 2 / np.maximum(mean, _LEAST_MEAN)))
        left = float(np.sum(freedom))
        # each of the squares has the variance 2 + 1/mean in Poisson counts
        error = float(np.sum(weights * (2 + 1 / np.maximum(mean, _LEAST_MEAN)))) ** 0.5 / left
        found = squares / left
        return found if found > _OVERDISPERSED + 3 * error else 1.0


def _value(y: Array, eta: Array, mean: Array, logarithm: Array) -> Array:
    """The value, given the mean and log(y); the difference of large numbers can round below 0."""
    value = eta - logarithm
    value *= -y
    value += mean
    value -= y
    return arrays.at_least(value, 0.0)
