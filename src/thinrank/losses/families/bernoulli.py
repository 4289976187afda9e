"""The logistic loss."""

from __future__ import annotations

from typing import Any

from thinrank import arrays
from thinrank.arrays import Array
from thinrank.losses.families.base import Family, observed_mean


class Bernoulli(Family):
    """log(1 + exp(η)) − yη, minus its value in the saturated model, with mean 1/(1 + exp(−η)).

    The responses are 0 or 1, or proportions between them. The saturated model has the loss
    −y·log(y) − (1 − y)·log(1 − y), which is 0 unless y is a proportion.

    Examples
    --------
    >>> import numpy as np
    >>> Bernoulli().value(np.array([[1.0, 0.5]]), np.array([[0.0, 0.0]])).round(4)
    array([[0.6931, 0.    ]])
    """

    name = "bernoulli"
    curvature_bound = 0.25
    expected = "numbers from 0 to 1"

    def prepared(self, y: Array) -> Array | float:
        """y·log(y) + (1 − y)·log(1 − y), or 0 if no response is a proportion."""
        if not bool(arrays.namespace(y).any((y > 0) & (y < 1))):
            return 0.0
        rest = 1.0 - y
        return y * arrays.log_or_smallest(y) + rest * arrays.log_or_smallest(rest)

    def for_fit(self, y: Array, eta: Array, prepared: Any = None) -> tuple[Array, Array, Array]:
        """The value, π − y and π(1 − π), where π is the mean."""
        xp = arrays.namespace(y, eta)
        decay = xp.exp(-xp.abs(eta))
        value = _value(y, eta, decay, self.prepared(y) if prepared is None else prepared)
        larger = 1.0 / (1.0 + decay)  # the larger one of π and 1 − π
        decay *= larger  # the smaller one
        derivative = xp.where(eta > 0, larger, decay)
        derivative -= y
        decay *= larger
        return value, derivative, decay

    def mean(self, eta: Array) -> Array:
        """1/(1 + exp(−η))."""
        return arrays.expit(eta)

    def link(self, mean: Array) -> Array:
        """log(π/(1 − π)); π = 0 and π = 1 are moved to the nearest numbers with a finite link."""
        largest = 1.0 - 0.5 * arrays.eps(mean)
        inside = arrays.at_most(mean, largest)
        return arrays.log_or_smallest(inside) - arrays.namespace(mean).log1p(-inside)

    def null_link(self, y: Array, weight: Array | None = None) -> Array:
        """Link of the weighted mean of each column, of shape (q,).

        The means 0 and 1 are replaced by those of half an event in n + 1 observations.
        """
        xp = arrays.namespace(y)
        mean, count = observed_mean(y, weight)
        least = 0.5 / (count + 1.0)
        mean = xp.where(mean > 0, mean, least)
        return self.link(xp.where(mean < 1, mean, 1.0 - least))

    def _without_events(self, mean: Array) -> Array:
        return (mean <= 0) | (mean >= 1 - arrays.eps(mean))

    def _valid(self, y: Array) -> Array:
        return (y >= 0) & (y <= 1)


def _value(y: Array, eta: Array, decay: Array, saturated: Array | float) -> Array:
    """The value, given ``decay`` = exp(−|η|) and what ``Bernoulli.prepared`` returns.

    max(η, 0) − yη is exact for y = 0 and y = 1, so that small losses have small relative errors.
    """
    xp = arrays.namespace(y, eta)
    value = arrays.at_least(eta, 0.0)
    value -= y * eta
    value += xp.log1p(decay)
    if isinstance(saturated, float):
        return value
    value += saturated
    return arrays.at_least(value, 0.0)  # rounding errors
