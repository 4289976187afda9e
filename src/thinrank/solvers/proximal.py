"""Accelerated proximal gradient for convex penalties on a dense Θ: lasso and group lasso."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from thinrank import arrays
from thinrank.arrays import Array

Prox = Callable[[Array, Array], Array]
"""prox(theta, amount): the proximal map of the penalty, ``amount`` of shape (m1, 1)."""


def shrink_entries(theta: Array, amount: Array) -> Array:
    """Soft thresholding of every entry: the proximal map of the ℓ₁ norm."""
    xp = arrays.namespace(theta)
    return xp.sign(theta) * xp.clip(xp.abs(theta) - amount, min=0.0)


def shrink_rows(theta: Array, amount: Array) -> Array:
    """Soft thresholding of every row's norm: the proximal map of the ℓ₂,₁ norm."""
    xp = arrays.namespace(theta)
    norms = xp.linalg.vector_norm(theta, axis=1, keepdims=True)
    return theta * arrays.divide_or_zero(xp.clip(norms - amount, min=0.0), norms)


@dataclass(frozen=True)
class Proximal:
    """Minimise f(Θ) + Σⱼ λⱼ·pen(Θⱼ) over dense Θ.

    FISTA (Beck & Teboulle 2009) with the gradient restart of O'Donoghue & Candès (2015). All
    columns of Θ are updated together, with one matrix product per iteration.
    """

    prox: Prox  # proximal map of the penalty: :func:`shrink_entries` or :func:`shrink_rows`
    max_iter: int = 1000  # largest number of iterations
    # stop when no entry of the gradient mapping, L times the last step, exceeds ``tol`` times the
    # largest entry of ∇f(0)
    tol: float = 1e-4

    def solve(self, loss: Any, penalty: Array, start: Array | None = None) -> Array:
        """The minimizer for row penalties λ of shape (m1,), computed from ``start`` or zero."""
        xp = arrays.namespace(loss.prototype)
        smooth = loss.smoothness()
        theta = arrays.zeros(loss.shape, like=loss.prototype) if start is None else start
        if smooth <= 0:
            return theta
        amount = xp.reshape(penalty / smooth, (-1, 1))
        ahead, momentum = theta, 1.0
        threshold: float | None = None
        for _ in range(self.max_iter):
            gradient = loss.full_gradient(ahead)[1]
            if threshold is None:
                scale = gradient if start is None else loss.full_gradient(theta * 0)[1]
                threshold = self.tol * float(xp.max(xp.abs(scale))) / smooth
            new = self.prox(ahead - gradient / smooth, amount)
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
