"""Counts with a variance equal to the mean, or above it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.special import digamma

from thinrank import arrays
from thinrank.arrays import Array
from thinrank.losses.families.base import (
    Family,
    Parameter,
    as_numpy,
    as_parameter,
    entries,
    matched,
    observed_mean,
)

# Beyond this linear predictor, a mean of 2e17, the loss goes on as a parabola, so that nothing
# overflows, nor do squares in single precision.
MOST_LINEAR = 40.0
# Counts of mean 1 whose variance is twice as large would have intervals that are 1.4 times as wide.
_OVERDISPERSED = 2.0
# A count whose mean is smaller says little about the variance.
_LEAST_MEAN = 0.05


class Counts(Family):
    """Families of counts with a logarithmic link."""

    limits = 0.0, math.inf
    expected = "finite numbers that are not negative"

    def mean(self, eta: Array) -> Array:
        """exp(η), at most the largest number."""
        xp = arrays.namespace(eta)
        return xp.exp(arrays.at_most(eta, math.log(float(xp.finfo(eta.dtype).max)) - 1e-5))

    def link(self, mean: Array) -> Array:
        """log(μ); μ = 0 is replaced by the smallest normal number."""
        return arrays.log_or_smallest(mean)

    def intercept(self, null: Array, weight: Array | None, linear: Array) -> Array:
        """As in the base class, for the mean of the exposures exp(linear)."""
        xp = arrays.namespace(linear)
        largest = xp.max(linear, axis=0)
        exposure, _ = observed_mean(xp.exp(linear - largest), weight)
        return null - largest - arrays.log_or_smallest(exposure)


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
        value = eta - (self.prepared(y) if prepared is None else prepared)
        value *= -y
        value += total
        value -= y
        # the difference of large numbers can round below 0
        return arrays.at_least(value, 0.0), mean - y, curvature

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


# Limits of the estimates. At the lower end the variance of counts with mean 100 is 1 % above that
# of Poisson counts; at the upper end nearly all counts with mean 1 are 0.
_LOWEST = 1e-4
_HIGHEST = 1e3
# Halvings of the interval of log(a), whose length is 16: the relative error of the estimate is
# at most 16/2²⁰ = 1.5e-5, which is far below its standard error.
_HALVINGS = 20
# Smaller dispersions, also 0, count as this one. For means up to 1e5 the variance differs from
# that of Poisson counts by a factor of at most 1 + 1e-5.
_LEAST = 1e-10


def fitted_dispersion(y: np.ndarray, eta: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Dispersion a of each column that maximizes the weighted likelihood, of shape (q,)."""
    y, eta = np.where(weight > 0, y, 0.0), np.where(weight > 0, eta, 0.0)
    mean = np.exp(np.minimum(eta, MOST_LINEAR))
    low = np.full(y.shape[1], np.log(_LOWEST))
    high = np.full(y.shape[1], np.log(_HIGHEST))
    flat = _slope(low, y, mean, weight) <= 0
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        rising = _slope(middle, y, mean, weight) > 0
        low, high = np.where(rising, middle, low), np.where(rising, high, middle)
    return np.where(flat, _LOWEST, np.exp(0.5 * (low + high)))


def _slope(
    log_dispersion: np.ndarray, y: np.ndarray, mean: np.ndarray, weight: np.ndarray
) -> np.ndarray:
    """Derivative of the log-likelihood of each column with respect to log(a).

    With the size r = 1/a, the log-likelihood of an entry is logΓ(y + r) − logΓ(r) + r·log(r) +
    y·log(μ) − (y + r)·log(r + μ), without terms that do not depend on r.
    """
    size = np.exp(-log_dispersion)
    by_size = digamma(y + size) - digamma(size) - np.log1p(mean / size) + (mean - y) / (size + mean)
    return -size * (weight * by_size).sum(axis=0)


class NegativeBinomial(Counts):
    """y·log(y/μ) − (y + 1/a)·log((1 + ay)/(1 + aμ)), with mean μ = exp(η).

    The variance is μ + aμ². All formulas use the share s = aμ/(1 + aμ) = 1/(1 + exp(−η − log(a))),
    so that nothing overflows: the derivative is s/a − y(1 − s) and the curvature
    s(1 − s)(y + 1/a).

    Parameters
    ----------
    dispersion : float or array of shape (q,), default=None
        Dispersion a ≥ 0 of each column. None means that it is not known yet: the loss uses 1
        until :meth:`fitted_to` estimates it. 0 is Poisson; dispersions below 1e-10 count as
        1e-10.

    Examples
    --------
    >>> import numpy as np
    >>> family = NegativeBinomial(dispersion=0.5)
    >>> family.value(np.array([[0.0, 1.0]]), np.array([[0.0, 0.0]])).round(4)
    array([[0.8109, 0.    ]])
    """

    name = "negative_binomial"
    parameters = ("dispersion",)

    def __init__(self, dispersion: Any = None) -> None:
        self.dispersion: Parameter = as_parameter("dispersion", dispersion, allow_zero=True)
        self.has_parameters = dispersion is None

    def prepared(self, y: Array) -> Array:
        """y·log(y) − (y + 1/a)·log(1 + ay), the part of the value that does not depend on η."""
        saturated = arrays.namespace(y).log1p(y * matched(self._dispersion, y))
        saturated *= -(y + self._size(y))
        saturated += y * arrays.log_or_smallest(y)
        return saturated

    def for_fit(self, y: Array, eta: Array, prepared: Any = None) -> tuple[Array, Array, Array]:
        """The value, (μ − y)/(1 + aμ) and μ/(1 + aμ)."""
        softplus, share, rest = arrays.logistic(eta + self._log(eta))
        value = softplus * (y + self._size(eta))
        value -= y * eta
        value += self.prepared(y) if prepared is None else prepared
        share *= self._size(eta)
        rest *= y
        return arrays.at_least(value, 0.0), share - rest, share  # rounding errors

    def for_newton(self, y: Array, curvature: Array) -> Array:
        """The second derivative: with w = μ/(1 + aμ), it is w(1 − aw)(1 + ay)."""
        dispersion = matched(self._dispersion, curvature)
        second = 1.0 - dispersion * curvature
        second *= curvature
        second *= 1.0 + dispersion * y
        return second

    def fitted_to(
        self, y: Array, eta: Array, weight: Array | None, freedom: Any
    ) -> NegativeBinomial:
        """The family with the dispersions of maximum likelihood, given the means.

        They are between 1e-4 and 1000; columns that are not overdispersed get 1e-4. ``freedom``
        is not used. Dispersions that were given stay as they are.
        """
        if not self.has_parameters:
            return self
        counts, weights = as_numpy(y, weight)
        predictors = as_numpy(eta, None)[0]
        return self._with(dispersion=fitted_dispersion(counts, predictors, weights))

    def dispersion_of(self, count: int) -> np.ndarray:
        """Dispersion of each of ``count`` columns; 1 where it is not known yet."""
        return entries(self.dispersion, count)

    @property
    def _dispersion(self) -> float | np.ndarray:
        return np.maximum(1.0 if self.dispersion is None else self.dispersion, _LEAST)

    def _log(self, like: Array) -> Array | float:
        return matched(np.log(self._dispersion), like)

    def _size(self, like: Array) -> Array | float:
        """1/a."""
        return matched(1.0 / self._dispersion, like)
