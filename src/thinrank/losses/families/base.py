"""What every loss family provides for one entry of the responses, and checks of parameters."""

from __future__ import annotations

import copy
import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from thinrank import arrays
from thinrank.arrays import Array

Parameter = float | np.ndarray | None
"""One number, an array of shape (q,), or None for the default."""


def as_parameter(name: str, value: Any, *, allow_zero: bool = False) -> Parameter:
    """Check a parameter: None, a positive number or a vector of positive numbers."""
    if value is None:
        return None
    is_other = arrays.is_array(value) and not isinstance(value, np.generic)
    numbers = arrays.to_numpy(value) if is_other else np.asarray(value)
    numbers = numbers.astype(np.float64)
    low = "not negative" if allow_zero else "positive"
    valid = np.isfinite(numbers) & ((numbers >= 0) if allow_zero else (numbers > 0))
    if numbers.ndim > 1 or not valid.all():
        raise ValueError(
            f"{name} must be a finite number that is {low}, or a vector of them with one entry "
            f"per response, got {value!r}"
        )
    return float(numbers) if numbers.ndim == 0 else numbers


def matched(parameter: float | np.ndarray, like: Array) -> Array | float:
    """The parameter in a form that broadcasts with ``like``: a number, or an array of its kind."""
    return arrays.from_numpy(parameter, like) if np.ndim(parameter) else float(parameter)


def entries(parameter: Parameter, count: int) -> np.ndarray:
    """The parameter of each of ``count`` columns, 1 for None."""
    return np.broadcast_to(1.0 if parameter is None else parameter, (count,)).astype(float)


def taken(parameter: Parameter, columns: Any) -> Parameter:
    """The parameter of some of the columns."""
    if not isinstance(parameter, np.ndarray):
        return parameter
    return parameter[positions(columns)]


class Family(ABC):
    """The loss of one entry y of the responses as a function of its linear predictor η.

    The arrays ``y`` and ``eta`` have shape (n, q): n samples and q responses, the columns. They
    must be finite, also where an entry is missing: callers fill missing entries with a number
    that is valid for the family, such as 0, and give the entry no weight.

    The loss is half of the unit deviance: the negative log-likelihood minus that of the saturated
    model, which has one parameter per entry. It is not negative and is 0 for a perfect fit.

    Attributes
    ----------
    name : str
        Name of the family in messages, and for :func:`as_family`.
    units : bool
        Whether the responses have units. If so, the loss has a scale for each column.
    has_parameters : bool
        Whether :meth:`fitted_to` estimates parameters, such as a noise level.
    quadratic : bool
        Whether the loss is a quadratic function of η.
    separable : bool
        Whether the loss of an entry depends on its own η only. If not, all columns belong to one
        block.
    """

    name: str = ""
    units: bool = False
    has_parameters: bool = False
    quadratic: bool = False
    separable: bool = True
    # The smallest and the largest response, whose links are infinite, and the words of a message.
    limits: tuple[float, float] = (-math.inf, math.inf)
    expected: str = "finite numbers"
    # Names of the parameters, for repr.
    parameters: tuple[str, ...] = ()

    # ----------------------------------------------------------------- the loss and derivatives

    @abstractmethod
    def for_fit(self, y: Array, eta: Array, prepared: Any = None) -> tuple[Array, Array, Array]:
        """The value, its derivative and its curvature, new arrays of shape (n, q).

        The curvature is that of a quadratic model of the loss around ``eta``: the second derivative
        unless a family has a better one. It is not negative, but can be 0 by rounding where the fit
        is saturated. ``prepared`` is what :meth:`prepared` returns.
        """

    def value(self, y: Array, eta: Array) -> Array:
        """Half of the unit deviance of every entry, of shape (n, q)."""
        return self.for_fit(y, eta)[0]

    def derivative(self, y: Array, eta: Array) -> Array:
        """First derivative of the value with respect to η, of shape (n, q)."""
        return self.for_fit(y, eta)[1]

    def hessian_product(self, y: Array, eta: Array, direction: Array) -> Array:
        """The second derivative, applied to a direction of shape (n, q)."""
        return self.for_fit(y, eta)[2] * direction

    def prepared(self, y: Array) -> Any:
        """What :meth:`for_fit` needs of the responses alone, for many calls with the same ones."""
        return None

    def for_newton(self, y: Array, curvature: Array) -> Array:
        """The curvature for Newton's method in a few coefficients, given that of :meth:`for_fit`.

        It is the same unless the second derivative takes fewer steps and is positive.
        """
        return curvature

    def deviance(self, y: Array, eta: Array) -> Array:
        """Unit deviance of every entry: twice the value."""
        return 2.0 * self.value(y, eta)

    # ----------------------------------------------------------------- means

    def mean(self, eta: Array) -> Array:
        """Mean of the response, the inverse of the link, of shape (n, q); η itself by default."""
        return eta

    def link(self, mean: Array) -> Array:
        """The linear predictor of a mean; means outside of the valid range are moved into it."""
        return mean

    def null_link(self, y: Array, weight: Array | None = None) -> Array:
        """Intercepts to start from: the link of the weighted mean of each column, of shape (q,).

        Means on the border of the valid range, whose link is infinite, are replaced by that of
        half an event in n + 1 observations.
        """
        xp = arrays.namespace(y)
        (low, high), (mean, count) = self.limits, observed_mean(y, weight)
        half = 0.5 / (count + 1.0)
        mean = xp.where(mean > low, mean, low + half)
        return self.link(xp.where(mean < high, mean, high - half)[None, :])[0, :]

    def intercept(self, null: Array, weight: Array | None, linear: Array) -> Array:
        """Intercepts to start from beside other linear predictors, given :meth:`null_link`."""
        return null - arrays.namespace(linear).mean(linear, axis=0)

    def with_events(self, y: Array, weight: Array | None, linear: Array) -> Array:
        """The responses, those on the border of the valid range as at the start of intercepts.

        A response without events, or with nothing else, has no finite intercept. With half an event
        in n + 1 observations, spread as ``linear`` says, it has, and nothing else to be explained.
        """
        xp = arrays.namespace(y)
        (low, high), mean = self.limits, observed_mean(y, weight)[0]
        without = (mean <= low) | (mean >= high - arrays.eps(mean))
        if not bool(xp.any(without)):
            return y
        intercept = self.intercept(self.null_link(y, weight), weight, linear)
        return xp.where(without, self.mean(linear + intercept), y)

    # ----------------------------------------------------------------- checks and parameters

    def check(self, y: Array, observed: Array | None, names: Sequence[str]) -> None:
        """Raise a ValueError if an observed entry (None: any) is not valid for the family."""
        xp = arrays.namespace(y)
        low, high = self.limits
        bad = ~(xp.isfinite(y) & (y >= low) & (y <= high))
        if observed is not None:
            bad = bad & observed
        if not bool(xp.any(bad)):
            return
        column = int(arrays.true_positions(xp.any(bad, axis=0))[0])
        row = int(arrays.true_positions(bad[:, column])[0])
        raise ValueError(
            f"Response {names[column]!r} must contain {self.expected} for the family "
            f"{self.name!r}, but {float(y[row, column]):g} was found in row {row}"
        )

    def take(self, columns: Any) -> Family:
        """The family of some of the columns, in the given order."""
        return self._with(**{name: taken(getattr(self, name), columns) for name in self.parameters})

    def _with(self, **parameters: Any) -> Self:
        """The family with other parameters."""
        other = copy.copy(self)
        vars(other).update(parameters)
        return other

    def whole(self, columns: Any, count: int) -> list[int]:
        """Some of ``count`` columns, sorted, with all columns that belong to the same block."""
        found = set(positions(columns).tolist())
        for block in self.blocks(count):
            if found.intersection(block):
                found.update(block)
        return sorted(found)

    def blocks(self, count: int) -> list[list[int]]:
        """The columns of each categorical response."""
        return [] if self.separable else [list(range(count))]

    def with_scale(self, scale: np.ndarray) -> Family:
        """The family with other scales of the columns that have units, unless they were given."""
        return self._with(scale=scale) if self.units and self.has_parameters else self

    def fitted_to(self, y: Array, eta: Array, weight: Array | None, freedom: Any) -> Family:
        """The family with its parameters, unless they were given, estimated from a fit.

        ``weight`` (n, q) is 0 for missing entries; ``freedom`` are the positive residual degrees of
        freedom of the columns, a number or an array of NumPy of shape (q,).
        """
        return self

    def overdispersion(self, y: Array, eta: Array, weight: Array, freedom: np.ndarray) -> float:
        """The variance of the responses over that of the family, 1 if it is not clearly larger."""
        return 1.0

    def scale_of(self, count: int) -> np.ndarray:
        """Scale of each of ``count`` columns; 1 for families without a scale."""
        return entries(getattr(self, "scale", None), count)

    def units_of(self, count: int) -> np.ndarray:
        """Whether each of ``count`` columns has units."""
        return np.full(count, self.units)

    def __repr__(self) -> str:
        given = ", ".join(f"{name}={getattr(self, name)!r}" for name in self.parameters)
        return f"{type(self).__name__}({given})"


def observed_mean(y: Array, weight: Array | None) -> tuple[Array, Array]:
    """Weighted mean of each column, 0 without entries, and the number of entries with weight."""
    xp = arrays.namespace(y)
    weight = xp.ones_like(y) if weight is None else weight + xp.zeros_like(y)
    live = weight > 0
    total = xp.sum(weight, axis=0)
    sums = xp.sum(xp.where(live, weight * y, 0.0), axis=0)
    return arrays.divide_or_zero(sums, total), xp.sum(xp.astype(live, y.dtype), axis=0)


def as_numpy(x: Array, weight: Array | None) -> tuple[np.ndarray, np.ndarray]:
    """An array and its weights as float64 arrays of NumPy; None for weights of one."""
    numbers = arrays.to_numpy(x).astype(np.float64)
    if weight is None:
        return numbers, np.ones_like(numbers)
    return numbers, arrays.to_numpy(weight).astype(np.float64)


def positions(columns: Any) -> np.ndarray:
    """Positions of columns, given as a list or an array of any library."""
    index = arrays.to_numpy(columns) if arrays.is_array(columns) else np.asarray(columns)
    return np.asarray(index, dtype=int)
