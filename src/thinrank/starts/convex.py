"""Starts from convex problems, lasso and group lasso: their penalties and their solution."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from numbers import Real
from typing import Any, ClassVar, Literal

from thinrank import arrays
from thinrank.arrays import Array
from thinrank.core import resources
from thinrank.core.checks import is_auto
from thinrank.core.contracts import require
from thinrank.core.factors import Factors

Prox = Callable[[Array, Array], Array]
"""prox(theta, amount): the proximal map of the penalty, ``amount`` of shape (m1, 1)."""
Penalty = float | Literal["auto", "authors"]


def shrink_entries(theta: Array, amount: Array) -> Array:
    """Soft thresholding of every entry: the proximal map of the ℓ₁ norm."""
    xp = arrays.namespace(theta)
    return xp.sign(theta) * xp.clip(xp.abs(theta) - amount, min=0.0)


def shrink_rows(theta: Array, amount: Array) -> Array:
    """Soft thresholding of every row's norm: the proximal map of the ℓ₂,₁ norm."""
    xp = arrays.namespace(theta)
    norms = xp.linalg.vector_norm(theta, axis=1, keepdims=True)
    return theta * arrays.divide_or_zero(xp.clip(norms - amount, min=0.0), norms)


def penalized_fit(
    loss: Any, penalty: Array, prox: Prox, max_iter: int = 1000, tol: float = 1e-4
) -> Array:
    """Minimise f(Θ) + Σⱼ λⱼ·pen(Θⱼ) over dense Θ, from zero; ``penalty`` has shape (m1,)."""
    # FISTA (Beck & Teboulle 2009) with the gradient restart of O'Donoghue & Candès (2015). It stops
    # when no entry of the gradient mapping exceeds ``tol`` times the largest entry of ∇f(0).
    xp = arrays.namespace(loss.prototype)
    smooth = loss.smoothness()
    theta = ahead = arrays.zeros(loss.shape, like=loss.prototype)
    if smooth <= 0:
        return theta
    amount = xp.reshape(penalty / smooth, (-1, 1))
    momentum, threshold = 1.0, None
    for _ in range(max_iter):
        gradient = loss.full_gradient(ahead)[1]
        if threshold is None:
            threshold = tol * float(xp.max(xp.abs(gradient))) / smooth
        new = prox(ahead - gradient / smooth, amount)
        moved = new - theta
        if float(xp.max(xp.abs(new - ahead))) <= threshold:
            return new
        if arrays.inner(ahead - new, moved) > 0:
            momentum, ahead = 1.0, new
        else:
            following = (1 + (1 + 4 * momentum**2) ** 0.5) / 2
            ahead = new + ((momentum - 1) / following) * moved
            momentum = following
        theta = new
    return theta


def row_penalties(loss: Any, penalty: Penalty, prox: Prox) -> Array:
    """λⱼ for every row of Θ, of shape (m1,)."""
    ones = arrays.zeros((loss.shape[0],), like=loss.prototype) + 1
    if isinstance(penalty, Real) and not isinstance(penalty, bool):
        if not 0 <= penalty < math.inf:
            raise ValueError(f"penalty must be non-negative and finite, got {penalty!r}")
        return float(penalty) * ones
    if penalty == "authors":
        require(loss, "samples", 'penalty="authors"')
        return 0.5 * math.sqrt(math.log(loss.shape[0]) / loss.samples) * ones
    if is_auto(penalty):
        for capability in ("samples", "noise", "row_scales"):
            require(loss, capability, 'penalty="auto"')
        most, scales = _largest_penalty(loss, prox)
        # for data without noise the rule would be no penalty at all
        return max(_noise_level(loss, prox), 1e-3 * most) * scales
    raise ValueError(f'penalty must be "auto", "authors" or a number, got {penalty!r}')


def _noise_level(loss: Any, prox: Prox) -> float:
    p, k = loss.shape
    size = math.sqrt(math.log(p))
    if prox is shrink_rows:
        size = math.sqrt(k) + math.sqrt(2) * size
    return 0.5 * loss.noise() * size / math.sqrt(loss.samples)


def _largest_penalty(loss: Any, prox: Prox) -> tuple[float, Array]:
    """The smallest λ for which Θ is zero, relative to the scales, and the scales."""
    xp = arrays.namespace(loss.prototype)
    scales = loss.row_scales()
    gradient = loss.full_gradient(arrays.zeros(loss.shape, like=loss.prototype))[1]
    if prox is shrink_rows:
        sizes = xp.linalg.vector_norm(gradient, axis=1)
    else:
        sizes = xp.max(xp.abs(gradient), axis=1)
    return float(xp.max(arrays.divide_or_zero(sizes, scales))), scales


@dataclass(frozen=True)
class ConvexStart:
    """Θ⁰ = argmin f(Θ) + Σⱼ λⱼ·pen(Θⱼ), solved by accelerated proximal gradient.

    All columns of Θ are computed together. A few dense matrices of the shape of Θ are needed; a
    MemoryError is raised if one of them is over the memory budget.

    Parameters
    ----------
    penalty : {"auto", "authors"} or float, default="auto"
        λ; see :func:`thinrank.starts.convex.row_penalties`.
    max_iter : int, default=1000
        Largest number of iterations of the proximal gradient method.
    tol : float, default=1e-4
        Its tolerance, relative to the largest entry of the gradient at zero.
    """

    penalty: Penalty = "auto"
    max_iter: int = 1000
    tol: float = 1e-4

    name: ClassVar[str]
    prox: ClassVar[Any]  # the proximal map of the penalty

    def __call__(self, loss: Any, rank: int, rows: int, columns: int, seed: int) -> Factors:
        """Balanced factors of the solution's best rank-``rank`` approximation."""
        return Factors.from_theta(self.solution(loss), rank)

    def solution(self, loss: Any) -> Array:
        """The minimizer as a dense matrix, which does not depend on the sizes of the fit."""
        purpose = f'start="{self.name}"'
        require(loss, "full_gradient", purpose)
        require(loss, "smoothness", purpose)
        size = arrays.itemsize(loss.prototype)
        resources.check_fits(loss.shape, size, purpose, 'use start="spectral"')
        penalties = row_penalties(loss, self.penalty, self.prox)
        return penalized_fit(loss, penalties, self.prox, self.max_iter, self.tol)


@dataclass(frozen=True)
class Lasso(ConvexStart):
    """Θ⁰ = argmin f(Θ) + λ‖Θ‖₁, the start of the paper's simulations; see :class:`ConvexStart`."""

    name: ClassVar[str] = "lasso"
    prox: ClassVar[Any] = staticmethod(shrink_entries)


@dataclass(frozen=True)
class GroupLasso(ConvexStart):
    """Θ⁰ = argmin f(Θ) + λ‖Θ‖₂,₁, with whole rows zero or not; see :class:`ConvexStart`."""

    name: ClassVar[str] = "group_lasso"
    prox: ClassVar[Any] = staticmethod(shrink_rows)


@dataclass(frozen=True)
class ProximalSteps(Lasso):
    """The proximal gradient method for the lasso from zero, stopped after ``max_iter`` steps."""

    max_iter: int = 10

    name: ClassVar[str] = "proximal"
