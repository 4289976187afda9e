"""Step-size rules for gradient descent on the factors."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import Any

from thinrank import linalg
from thinrank.core.checks import is_auto
from thinrank.core.contracts import StepRule, Trial, require
from thinrank.core.factors import Factors

__all__ = ["Constant", "Safeguarded", "Theory", "as_step_rule"]

# Within this many roundings values of F cannot tell a good step from a bad one.
_INDISTINCT = 1e3


class _Fixed:
    """A step that is never questioned: the run may diverge, and the loop then says so."""

    def accepts(self, trial: Trial) -> bool:
        """Always."""
        return True

    def shorter(self, step: float) -> float:
        """Never called, since nothing is refused."""
        return step

    def longer(self, step: float) -> float:
        """The step stays what it is."""
        return step


@dataclass(frozen=True)
class Constant(_Fixed):
    """A given step size at every iteration."""

    size: float

    def first(self, loss: Any, factors: Factors, balance: float) -> float:
        """The given size."""
        return self.size


@dataclass(frozen=True)
class Theory(_Fixed):
    """The paper's η = 1/(16‖Z⁰‖²)·min{1/(2(μ + L)), 1}, constant over the run.

    ‖Z⁰‖ is the spectral norm of the stacked start [U⁰; V⁰]. μ and L are estimated by the extreme
    curvatures of the loss over the row support of the start.
    """

    def first(self, loss: Any, factors: Factors, balance: float) -> float:
        """η from the start."""
        require(loss, "curvature", 'step="theory"')
        mu, smooth = loss.curvature(factors.row_support)
        curvature = 2 * (mu + smooth)
        return 1 / max(curvature, 1.0) / (16 * _spectral_norm_squared(factors))


@dataclass(frozen=True)
class Safeguarded:
    """A step that adapts to the curvature it meets, and never lets the objective rise.

    A trial step η to Z⁺ = Z + Δ is taken when F(Z⁺) ≤ F(Z) + ⟨∇F(Z), Δ⟩ + ‖Δ‖²/(2η). Hard
    thresholding of the gradient step minimises the right-hand side over the sparse factors, Z
    itself included, so an accepted step never raises F, changes of support included; and any η
    below one over the local curvature is accepted. An accepted trial costs nothing extra: its
    gradient is the next iteration's.

    Where the values of F agree to rounding the same inequality is checked through gradients,
    ⟨∇F(Z⁺) − ∇F(Z), Δ⟩ ≤ ‖Δ‖²/η.

    Parameters
    ----------
    growth : float
        Factor on the step after an accepted one.
    shrinkage : float
        Factor on the step after a refused one.
    """

    growth: float = 1.02
    shrinkage: float = 0.5

    def first(self, loss: Any, factors: Factors, balance: float) -> float:
        """One over a bound of the curvature of F at the start; 1/‖Z⁰‖² if the loss has none."""
        smooth = 1.0
        if "curvature" in loss.capabilities:
            smooth = loss.curvature(factors.row_support)[1]
        elif "smoothness" in loss.capabilities:
            smooth = loss.smoothness()
        return 1 / ((max(smooth, balance) or 1.0) * _spectral_norm_squared(factors))

    def accepts(self, trial: Trial) -> bool:
        """The inequality of the class docstring."""
        model = trial.before + trial.slope_before + 0.5 * trial.length_squared / trial.step
        excess = trial.after - model
        if not excess <= _INDISTINCT * trial.rounding:  # NaN too
            return False
        if excess <= -_INDISTINCT * trial.rounding:
            return True
        return trial.slope_after - trial.slope_before <= trial.length_squared / trial.step

    def shorter(self, step: float) -> float:
        """Shrink."""
        return step * self.shrinkage

    def longer(self, step: float) -> float:
        """Grow."""
        return step * self.growth


def as_step_rule(step: Any) -> StepRule:
    """Turn the ``step`` parameter of the public interface into a rule."""
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
