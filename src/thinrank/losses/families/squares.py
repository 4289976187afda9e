"""Squared errors, also such that grow linearly for large residuals."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.special import ndtri

from thinrank import arrays
from thinrank.arrays import Array
from thinrank.losses.families.base import (
    Family,
    Parameter,
    as_numpy,
    as_parameter,
    matched,
)


class Gaussian(Family):
    """(y − η)²/(2σ²), with mean η.

    Parameters
    ----------
    scale : float or array of shape (q,), default=None
        Standard deviation σ of each column; None for 1.

    Examples
    --------
    >>> import numpy as np
    >>> Gaussian(scale=2.0).value(np.array([[3.0]]), np.array([[1.0]]))
    array([[0.5]])
    """

    name = "gaussian"
    units = True
    quadratic = True
    parameters = ("scale",)

    def __init__(self, scale: Any = None) -> None:
        self.scale: Parameter = as_parameter("scale", scale)
        self.has_parameters = scale is None

    def for_fit(self, y: Array, eta: Array, prepared: Any = None) -> tuple[Array, Array, Array]:
        """(y − η)²/(2σ²), (η − y)/σ² and 1/σ²."""
        derivative = eta - y
        value = 0.5 * derivative
        value *= derivative
        curvature = arrays.namespace(eta).ones_like(eta)
        if self.scale is not None:
            precision = matched(self.scale**-2.0, eta)
            for each in (value, derivative, curvature):
                each *= precision
        return value, derivative, curvature

    def fitted_to(self, y: Array, eta: Array, weight: Array | None, freedom: Any) -> Gaussian:
        """The family with σ² = Σ w(y − η)² / ``freedom`` in each column.

        A perfect fit would give σ = 0. Therefore σ is at least the rounding error of the
        responses, and 1 in columns of zeros that are fitted by zeros.
        """
        if not self.has_parameters:
            return self
        numbers, weights = as_numpy(y, weight)
        residuals, live = numbers - as_numpy(eta, None)[0], weights > 0
        total = np.sum(np.where(live, weights * residuals**2, 0.0), axis=0)
        floor = np.sum(np.where(live, weights * numbers**2, 0.0), axis=0) * arrays.eps(y) ** 2
        scale = np.sqrt(np.maximum(total, floor) / freedom)
        return self._with(scale=np.where(scale > 0, scale, 1.0))


# With this threshold the estimate of a mean has 95 % of the efficiency of least squares if the
# errors are Gaussian (Huber 1964; Holland and Welsch 1977).
_THRESHOLD = 1.345
# The standard deviation of a Gaussian distribution over its median and mean absolute deviations.
_PER_MEDIAN_DEVIATION, _PER_MEAN_DEVIATION = 1 / ndtri(0.75), (math.pi / 2) ** 0.5


def weighted_median(x: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Median of each column, where entries count as often as their weights say."""
    tie = 4 * len(x) * np.finfo(float).eps  # rounding errors of the sums of weights
    empty = ~(weight > 0).any(axis=0)  # columns whose median is 0
    x, weight = np.broadcast_arrays(np.where(weight > 0, x, 0.0), weight + empty)
    both = np.quantile(x, [0.5 - tie, 0.5 + tie], 0, weights=weight, method="inverted_cdf")
    return both.mean(axis=0)


class Huber(Family):
    """t²/2 for −d ≤ t ≤ d and d·abs(t) − d²/2 otherwise, where t = (y − η)/σ.

    The mean is η.

    Parameters
    ----------
    threshold : float or array of shape (q,), default=1.345
        The threshold d, in units of σ. With the default, the estimate of a mean of Gaussian
        numbers has 95 % of the efficiency of least squares.
    scale : float or array of shape (q,), default=None
        Scale σ of each column; None for 1.

    Examples
    --------
    >>> import numpy as np
    >>> Huber(threshold=1.0).value(np.array([[1.0, 3.0]]), np.array([[0.0, 0.0]]))
    array([[0.5, 2.5]])
    """

    name = "huber"
    units = True
    parameters = ("threshold", "scale")

    def __init__(self, threshold: Any = _THRESHOLD, scale: Any = None) -> None:
        default = _THRESHOLD if threshold is None else threshold
        self.threshold: Any = as_parameter("threshold", default)
        self.scale: Parameter = as_parameter("scale", scale)
        self.has_parameters = scale is None

    def for_fit(self, y: Array, eta: Array, prepared: Any = None) -> tuple[Array, Array, Array]:
        """ψ(t)·(t − ψ(t)/2), −ψ(t)/σ and ψ(t)/t/σ² = min(1, d/abs(t))/σ².

        ψ(t) is t moved into [−d, d]. The last are the weights of iteratively reweighted least
        squares: with this curvature the quadratic model is nowhere below the loss.
        """
        t, threshold = y - eta, matched(self.threshold, eta)
        if self.scale is not None:
            t *= matched(1.0 / self.scale, eta)
        clipped = arrays.at_most(arrays.at_least(t, -threshold), threshold)
        value = -0.5 * clipped  # t·t/2 if t is its own clipped value, else d·(|t| − d/2)
        value += t
        value *= clipped
        weight = threshold / arrays.at_least(arrays.namespace(t).abs(t), threshold)
        if self.scale is not None:
            weight *= matched(self.scale**-2.0, eta)
        clipped *= -1.0 if self.scale is None else matched(-1.0 / self.scale, eta)
        return value, clipped, weight

    def null_link(self, y: Array, weight: Array | None = None) -> Array:
        """Weighted median of each column, of shape (q,)."""
        numbers, weights = as_numpy(y, weight)
        return arrays.from_numpy(weighted_median(numbers, weights), y)

    def fitted_to(self, y: Array, eta: Array, weight: Array | None, freedom: Any) -> Huber:
        """The family with a scale from the median absolute deviation of the residuals.

        It is 1.4826 times the weighted median of abs(r − median(r)), which is the standard
        deviation if the residuals are Gaussian. If more than half of the residuals are equal, this
        is 0 and 1.2533 times the mean of abs(r − median(r)) is used; if that is 0 too, 1.
        """
        if not self.has_parameters:
            return self
        residuals, weights = as_numpy(y - eta, weight)
        residuals = np.where(weights > 0, residuals, 0.0)
        deviations = np.abs(residuals - weighted_median(residuals, weights))
        scale = _PER_MEDIAN_DEVIATION * weighted_median(deviations, weights)
        total = np.maximum(weights.sum(axis=0), np.finfo(float).tiny)
        means = _PER_MEAN_DEVIATION * (weights * deviations).sum(axis=0) / total
        # deviations this small are rounding errors
        least = arrays.eps(y) * np.abs(np.where(weights > 0, as_numpy(y, None)[0], 0.0)).max(axis=0)
        scale = np.where(scale > least, scale, means)
        return self._with(scale=np.where(scale > least, scale, 1.0))
