"""Squared errors."""

from __future__ import annotations

from typing import Any

import numpy as np

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
    taken,
)


class Gaussian(Family):
    """(y − η)²/(2σ²), with mean η.

    The curvature is 1/σ², so that ``curvature_bound`` is 1 in units of 1/σ².

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
    curvature_bound = 1.0
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

    def null_link(self, y: Array, weight: Array | None = None) -> Array:
        """Weighted mean of each column, of shape (q,)."""
        return observed_mean(y, weight)[0]

    def take(self, columns: Any) -> Gaussian:
        """The family with the scales of some of the columns."""
        return self._like(Gaussian(taken(self.scale, columns)))

    def with_scale(self, scale: np.ndarray) -> Gaussian:
        """The family with other scales σ."""
        return self._like(Gaussian(scale)) if self.has_parameters else self

    def fitted_to(self, y: Array, eta: Array, weight: Array | None, freedom: Any) -> Gaussian:
        """The family with σ² = Σ w(y − η)² / ``freedom`` in each column.

        A perfect fit would give σ = 0. Therefore σ is at least the rounding error of the
        responses, and 1 in columns of zeros that are fitted by zeros. A scale that was given
        stays as it is.
        """
        if not self.has_parameters:
            return self
        numbers, weights = as_numpy(y, weight)
        residuals, live = numbers - as_numpy(eta, None)[0], weights > 0
        total = np.sum(np.where(live, weights * residuals**2, 0.0), axis=0)
        floor = np.sum(np.where(live, weights * numbers**2, 0.0), axis=0) * arrays.eps(y) ** 2
        if arrays.is_array(freedom):
            freedom = arrays.to_numpy(freedom)
        scale = np.sqrt(np.maximum(total, floor) / np.asarray(freedom, dtype=np.float64))
        return self._like(Gaussian(np.where(scale > 0, scale, 1.0)))

    def scale_of(self, count: int) -> np.ndarray:
        """σ of each of ``count`` columns."""
        return entries(self.scale, count)
