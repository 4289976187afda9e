"""Step-size rules for gradient descent on the factors."""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Real
from typing import Any

from thinrank import arrays, linalg
from thinrank.core.checks import is_auto
from thinrank.core.contracts import StepRule, Trial, require
from thinrank.core.factors import Factors

# Differences between values of F below this number of rounding errors are not significant.
_ROUNDINGS = 1e3


class _Fixed:
    """A step that is always accepted; if the run diverges, the loop reports it."""

    def accepts(self, trial: Trial) -> bool:
        """True for every step."""
        return True

    def shorter(self, step: float) -> float:
        """The same step; not used, since no step is rejected."""
        return step

    def longer(self, step: float) -> float:
        """The same step."""
        return step


@dataclass(frozen=True)
class Constant(_Fixed):
    """A given step size in every iteration.

    Parameters
    ----------
    size : float
        The step size.
    """

    size: float

    def first(self, loss: Any, factors: Factors, balance: float) -> float:
        """The given step size."""
        return self.size


@dataclass(frozen=True)
class Theory(_Fixed):
    """The paper's η = 1/(16‖Z⁰‖²)·min{1/(2(μ + L)), 1}, constant over the run.

    ‖Z⁰‖ is the spectral norm of the stacked start [U⁰; V⁰]. μ and L are estimated by the extreme
    curvatures of the loss over the row support of the start.
    """

    def first(self, loss: Any, factors: Factors, balance: float) -> float:
        """η, computed at the start."""
        require(loss, "curvature", 'step="theory"')
        mu, smooth = loss.curvature(factors.row_support)
        curvature = 2 * (mu + smooth)
        return 1 / max(curvature, 1.0) / (16 * _spectral_norm_squared(factors))


@dataclass(frozen=True)
class Safeguarded:
    """A step size that adapts to the local curvature and never increases the objective.

    A trial step η to Z⁺ = Z + Δ is accepted if F(Z⁺) ≤ F(Z) + ⟨∇F(Z), Δ⟩ + ‖Δ‖²/(2η). Hard
    thresholding of the gradient step minimises the right-hand side over the sparse factors, which
    include Z. So an accepted step does not increase F, even if the support changes, and any η
    below one over the local curvature is accepted. An accepted trial takes no additional
    evaluation, since its gradient is used in the next iteration.

    If the values of F agree up to rounding errors, the gradients are compared instead:
    ⟨∇F(Z⁺) − ∇F(Z), Δ⟩ ≤ ‖Δ‖²/η.

    Parameters
    ----------
    growth : float, default=1.02
        Factor on the step size after a step was accepted.
    shrinkage : float, default=0.5
        Factor on the step size after a step was rejected.
    """

    growth: float = 1.02
    shrinkage: float = 0.5

    def first(self, loss: Any, factors: Factors, balance: float) -> float:
        """One over the curvature of F at the start, or an estimate if no bound is known."""
        if "curvature" in loss.capabilities:
            smooth = loss.curvature(factors.row_support)[1]
        elif "smoothness" in loss.capabilities:
            smooth = loss.smoothness()
        else:
            smooth = mean_curvature(loss, factors)
        return 1 / ((max(smooth, balance) or 1.0) * _spectral_norm_squared(factors))

    def accepts(self, trial: Trial) -> bool:
        """The inequality of the class docstring."""
        model = trial.before + trial.slope_before + 0.5 * trial.length_squared / trial.step
        excess = trial.after - model
        if not excess <= _ROUNDINGS * trial.rounding:  # NaN too
            return False
        if excess <= -_ROUNDINGS * trial.rounding:
            return True
        return trial.slope_after - trial.slope_before <= trial.length_squared / trial.step

    def shorter(self, step: float) -> float:
        """The step size times ``shrinkage``."""
        return step * self.shrinkage

    def longer(self, step: float) -> float:
        """The step size times ``growth``."""
        return step * self.growth


def mean_curvature(loss: Any, factors: Factors) -> float:
    """The mean curvature of f on the way from zero to Θ, ⟨∇f(Θ) − ∇f(0), Θ⟩/‖Θ‖²."""
    size = factors.norm() ** 2
    if size == 0:
        return 1.0
    at_zero = Factors(0 * factors.U, factors.V)  # its first product is ∇f(0)·V
    here, there = (
        arrays.inner(loss.value_and_gradient(point)[1], factors.U) for point in (factors, at_zero)
    )
    curvature = (here - there) / size
    return curvature if 0 < curvature < math.inf else 1.0


def as_step_rule(step: Any) -> StepRule:
    """Turn the ``step`` parameter of the public interface into a step rule."""
    if is_auto(step):
        return Safeguarded()
    if step == "backtracking":
        return Safeguarded(growth=2.0)
    if step == "theory":
        return Theory()
    if isinstance(step, Real) and not isinstance(step, bool):
        if not 0 < float(step) < float("inf"):
            raise ValueError(f"step must be positive and finite, got {step!r}")
        return Constant(float(step))
    if isinstance(step, str) or not hasattr(step, "accepts"):
        raise ValueError(
            f'step must be "auto", "theory", "backtracking" or a positive number, got {step!r}'
        )
    return step


def _spectral_norm_squared(factors: Factors) -> float:
    """‖[U; V]‖²."""
    return linalg.extreme_eigenvalues(factors.U.T @ factors.U + factors.V.T @ factors.V)[1]
