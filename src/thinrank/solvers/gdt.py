"""Gradient descent with hard thresholding: Algorithm 1 of the paper, line by line."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Literal

from thinrank import arrays
from thinrank.arrays import Array
from thinrank.core.contracts import StepRule, Trial
from thinrank.core.factors import Factors
from thinrank.core.threshold import hard
from thinrank.solvers.steps import Safeguarded

__all__ = ["GDT"]

Update = Literal["simultaneous", "sequential"]

# A refused step is halved; after this many refusals in one iteration nothing is left of it.
_MOST_REFUSALS = 60


@dataclass(frozen=True)
class State:
    """An iterate and everything known at it.

    ``penalized`` is F = f + g, ``gradient_u`` and ``gradient_v`` are those of F, ``step`` is the
    size that the next iteration tries first.
    """

    factors: Factors
    objective: float
    penalized: float
    gradient_u: Array
    gradient_v: Array
    step: float
    change: float = float("inf")


@dataclass(frozen=True)
class GDT:
    """Minimise f(UVᵀ) + g(U, V) over U with s₁ non-zero rows and V with s₂.

    g(U, V) = balance/4·‖UᵀU − VᵀV‖² picks the balanced one among the factorisations of Θ.

    Parameters
    ----------
    row_sparsity, column_sparsity : int
        s₁ and s₂.
    step_rule : StepRule
        Step-size rule η.
    update : {"simultaneous", "sequential"}
        "simultaneous" moves V and U from the same iterate, as the paper prints it. "sequential"
        moves U first, then V with the new U, as the authors' own script does.
    balance : float
        Weight of the penalty g; 1 in the paper.
    max_iter : int
        T.
    tol : float
        Stop when ‖ΔZ‖ < tol·‖Z‖.
    """

    row_sparsity: int
    column_sparsity: int
    step_rule: StepRule = field(default_factory=Safeguarded)
    update: Update = "simultaneous"
    balance: float = 1.0
    max_iter: int = 10_000
    tol: float = 1e-7

    def init(self, loss: Any, start: Factors) -> State:
        """Lines 3 and 4: balanced factors of Θ⁰, thresholded."""
        balanced = start.balanced()
        factors = self._threshold(balanced.U, balanced.V)
        step = self.step_rule.first(loss, factors, self.balance)
        return self._evaluate(loss, factors, step)

    def step(self, loss: Any, state: State) -> State:
        """Lines 6 to 9."""
        if self.update == "simultaneous":
            new, moved = self._move(loss, state, moves_u=True, moves_v=True)
        else:
            half, moved_u = self._move(loss, state, moves_u=True, moves_v=False)
            new, moved_v = self._move(loss, half, moves_u=False, moves_v=True)
            moved = moved_u + moved_v
        size = _size_squared(state.factors)
        return replace(
            new,
            step=self.step_rule.longer(new.step),
            change=(moved / size) ** 0.5 if size > 0 else 0.0,
        )

    def done(self, state: State) -> bool:
        """Whether the last step was short."""
        return state.change < self.tol

    def _move(
        self, loss: Any, state: State, *, moves_u: bool, moves_v: bool
    ) -> tuple[State, float]:
        """One gradient step and threshold on U, V or both; the new state and ‖ΔZ‖²."""
        U, V, eta = state.factors.U, state.factors.V, state.step
        for _ in range(_MOST_REFUSALS):
            half_v = V - eta * state.gradient_v if moves_v else V  # line 6
            half_u = U - eta * state.gradient_u if moves_u else U  # line 8
            candidate = self._evaluate(loss, self._threshold(half_u, half_v), eta)  # 7 and 9
            trial = _trial(loss, state, candidate)
            if self.step_rule.accepts(trial):
                return candidate, trial.length_squared
            eta = self.step_rule.shorter(eta)
        return state, 0.0

    def _threshold(self, U: Array, V: Array) -> Factors:
        return Factors(hard(U, self.row_sparsity), hard(V, self.column_sparsity))

    def _evaluate(self, loss: Any, factors: Factors, step: float) -> State:
        """f, g and the gradient of f + g."""
        U, V = factors.U, factors.V
        value, gradient_u, gradient_v = loss.value_and_gradient(factors)
        imbalance = U.T @ U - V.T @ V
        penalty = 0.25 * self.balance * arrays.inner(imbalance, imbalance)
        return State(
            factors,
            value,
            value + penalty,
            gradient_u + self.balance * (U @ imbalance),
            gradient_v - self.balance * (V @ imbalance),
            step,
        )


def _trial(loss: Any, before: State, after: State) -> Trial:
    delta = Factors(after.factors.U - before.factors.U, after.factors.V - before.factors.V)

    def along(state: State) -> float:
        return arrays.inner(state.gradient_u, delta.U) + arrays.inner(state.gradient_v, delta.V)

    magnitude = max(loss.magnitude, abs(before.penalized))
    return Trial(
        step=after.step,
        before=before.penalized,
        after=after.penalized,
        slope_before=along(before),
        slope_after=along(after),
        length_squared=_size_squared(delta),
        rounding=arrays.eps(before.factors.U) * magnitude,
    )


def _size_squared(factors: Factors) -> float:
    """‖Z‖², Z = [U; V]."""
    return arrays.inner(factors.U, factors.U) + arrays.inner(factors.V, factors.V)
