"""Counts with a variance equal to the mean."""

from __future__ import annotations

from typing import Any

from thinrank import arrays
from thinrank.arrays import Array
from thinrank.losses.families.base import Family, observed_mean


class Counts(Family):
    """Families of counts with a logarithmic link."""

    expected = "finite numbers that are not negative"

    def mean(self, eta: Array) -> Array:
        """exp(η)."""
        with arrays.without_overflow_warnings():
            return arrays.namespace(eta).exp(eta)

    def link(self, mean: Array) -> Array:
        """log(μ); μ = 0 is replaced by the smallest normal number."""
        return arrays.log_or_smallest(mean)

    def null_link(self, y: Array, weight: Array | None = None) -> Array:
        """Logarithm of the weighted mean of each column, of shape (q,).

        The mean 0 is replaced by that of half an event in n + 1 observations.
        """
        mean, count = observed_mean(y, weight)
        return self.link(arrays.namespace(y).where(mean > 0, mean, 0.5 / (count + 1.0)))

    def _valid(self, y: Array) -> Array:
        return arrays.namespace(y).isfinite(y) & (y >= 0)


class Poisson(Counts):
    """μ − yη − (y − y·log(y)), with mean μ = exp(η).

    Where exp(η) overflows, the value and its derivatives are infinite and there is no warning.

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
        mean = self.mean(eta)
        logarithm = self.prepared(y) if prepared is None else prepared
        return _value(y, eta, mean, logarithm), mean - y, mean


def _value(y: Array, eta: Array, mean: Array, logarithm: Array) -> Array:
    """The value, given the mean and log(y); the difference of large numbers can round below 0."""
    value = eta - logarithm
    value *= -y
    value += mean
    value -= y
    return arrays.at_least(value, 0.0)
