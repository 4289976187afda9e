"""Events, and several columns that are the shares of one categorical response."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from thinrank import arrays
from thinrank.arrays import Array
from thinrank.losses.families.base import Family, observed_mean, positions


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
    limits = 0.0, 1.0
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
        # max(η, 0) − yη is exact for y = 0 and y = 1: small losses have small relative errors
        value = arrays.at_least(eta, 0.0)
        value -= y * eta
        value += xp.log1p(decay)
        saturated = self.prepared(y) if prepared is None else prepared
        if not isinstance(saturated, float):
            value = arrays.at_least(value + saturated, 0.0)  # rounding errors
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


class Multinomial(Family):
    """y_c·log(y_c/(m·p_c)) for category c, with p = exp(η)/Σexp(η), over all columns.

    The q columns are the categories of one response. A row of y has a single 1, or proportions,
    or counts; m is its sum. A row of zeros is a missing response, whose loss is 0. The sum over
    the row is half of its deviance; it is not negative, but with counts or proportions single
    entries can be.

    The second derivative of the loss of a row is the matrix m·(diag(p) − ppᵀ), which
    :meth:`hessian_product` applies. It is at most m·diag(p), whose diagonal m·p is returned as
    the curvature.

    Parameters
    ----------
    categories : int, default=None
        Number of columns, if known: then :meth:`take` and :meth:`check` compare with it.

    Examples
    --------
    >>> import numpy as np
    >>> Multinomial().value(np.array([[0.0, 1.0]]), np.array([[0.0, 0.0]])).round(4)
    array([[0.    , 0.6931]])
    """

    name = "multinomial"
    separable = False
    limits = 0.0, math.inf
    expected = "finite numbers that are not negative"
    parameters = ("categories",)

    def __init__(self, categories: int | None = None) -> None:
        self.categories = categories

    def for_fit(self, y: Array, eta: Array, prepared: Any = None) -> tuple[Array, Array, Array]:
        """The value, m·p − y and m·p, from one exponential."""
        xp = arrays.namespace(y, eta)
        total = arrays.row_sums(y)
        logs = eta - arrays.row_maxima(eta)
        shares = xp.exp(logs)
        sums = arrays.row_sums(shares)
        logs -= xp.log(sums)
        shares *= total / sums
        logs *= -y
        if bool(xp.any((y > 0) & (y < total))):  # otherwise every row has one category, y = m
            logs += y * (arrays.log_or_smallest(y) - arrays.log_or_smallest(total))
        return logs, shares - y, shares

    def hessian_product(self, y: Array, eta: Array, direction: Array) -> Array:
        """m·(p∘d − p·pᵀd) in every row, for the direction d."""
        p = self.mean(eta)
        out = direction - arrays.row_sums(p * direction)
        out *= p
        out *= arrays.row_sums(y)
        return out

    def mean(self, eta: Array) -> Array:
        """The probabilities p, of shape (n, q); rows sum to 1."""
        xp = arrays.namespace(eta)
        p = xp.exp(eta - arrays.row_maxima(eta))
        p /= arrays.row_sums(p)
        return p

    def link(self, mean: Array) -> Array:
        """log(p) minus its mean over the categories, since only differences of η matter."""
        logs = arrays.log_or_smallest(mean)
        return logs - arrays.row_sums(logs) / logs.shape[1]

    def with_events(self, y: Array, weight: Array | None, linear: Array) -> Array:
        """As in the base class, for categories that do not occur."""
        xp = arrays.namespace(y)
        empty = observed_mean(y, weight)[0] == 0
        if not bool(xp.any(empty)):
            return y
        shares = self.mean(linear + self.intercept(self.null_link(y, weight), weight, linear))
        shares = xp.where(empty, shares, xp.zeros_like(shares))
        return y * (1.0 - arrays.row_sums(shares)) + arrays.row_sums(y) * shares

    def check(self, y: Array, observed: Array | None, names: Sequence[str]) -> None:
        """Raise a ValueError unless every observed row is valid and complete.

        A row must have at least one positive entry, and be observed in all columns or in none.
        """
        xp = arrays.namespace(y)
        label = " to ".join(dict.fromkeys((names[0], names[-1])))
        expected = 2 if self.categories is None else self.categories
        if y.shape[1] < 2 or (self.categories is not None and y.shape[1] != expected):
            raise ValueError(
                f"Response {label!r} must have {'at least ' if self.categories is None else ''}"
                f"{expected} categories for the family 'multinomial', got {y.shape[1]}"
            )
        super().check(y, observed, names)
        observed = xp.isfinite(y) if observed is None else observed
        some = xp.any(observed, axis=1)
        empty = some & (xp.sum(xp.where(observed, y, 0.0), axis=1) <= 0)
        for bad, rule, found in (
            (
                some & ~xp.all(observed, axis=1),
                "be observed in all of its categories or in none",
                "is observed in some of them",
            ),
            (empty, "have a category in every observed row", "contains only zeros"),
        ):
            if bool(xp.any(bad)):
                row = int(arrays.true_positions(bad)[0])
                raise ValueError(f"Response {label!r} must {rule}, but row {row} {found}")

    def take(self, columns: Any) -> Multinomial:
        """The family of all columns; other choices of columns are refused."""
        index = positions(columns).tolist()
        count = len(index) if self.categories is None else self.categories
        if sorted(index) != list(range(count)):
            raise ValueError(
                "the columns of a multinomial response must be taken together: expected columns "
                f"0 to {count - 1}, got {index}"
            )
        return self
