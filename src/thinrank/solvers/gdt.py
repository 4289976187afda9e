"""Gradient descent with hard thresholding, Algorithm 1 of the paper, and its step sizes."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace
from numbers import Real
from typing import Any, ClassVar, Literal, get_args

from thinrank import arrays, linalg
from thinrank.arrays import Array, hard_threshold
from thinrank.core.checks import check_number, is_auto, positive_integer
from thinrank.core.contracts import Sized, StepRule, Trial, require
from thinrank.core.factors import Factors
from thinrank.core.journal import storable

# Differences between values of F below this number of rounding errors are not significant.
_ROUNDINGS = 1e3
Update = Literal["simultaneous", "sequential"]
_UPDATES = get_args(Update)


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
    thresholding of the gradient step minimizes the right-hand side over the sparse factors, which
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


@storable
@dataclass(frozen=True, eq=False)
class State:
    """An iterate, with the objective and its gradient."""

    factors: Factors
    objective: float  # f
    penalized: float  # F = f + g
    gradient_u: Array  # gradients of F
    gradient_v: Array
    step: float  # the step size that the next iteration tries first
    balance: float  # the weight of g
    change: float = float("inf")


@dataclass(frozen=True, init=False, repr=False)
class GDT(Sized):
    """Minimise f(UVᵀ) + g(U, V) over U with s₁ and V with s₂ non-zero rows.

    g(U, V) = balance/4·‖UᵀU − VᵀV‖² selects the balanced factorization of Θ.

    Parameters
    ----------
    step : {"auto", "theory", "backtracking"}, float or StepRule, default="auto"
        Step size η. "auto" adapts to the local curvature and never increases the objective.
        "backtracking" does the same but tries twice the last step first, which takes about two
        evaluations per iteration. "theory" is the constant step of the paper's theorem, which is
        safe and slow. A number is used in every iteration, and the run may diverge.
    update : {"simultaneous", "sequential"}, default="simultaneous"
        "simultaneous" updates V and U from the same iterate, as in the paper. "sequential" updates
        U first, then V with the new U, as the authors' script does.
    balance : float or "auto", default="auto"
        Weight of the penalty g. "auto" is 1, as in the paper, for a loss that knows its curvature,
        as those for regression do. For any other it is half of the mean curvature of the loss
        between zero and the start: at the solution g is then as curved as the loss, and
        multiplying the loss by a number does not change the iterations.
    max_iter : int, default=10_000
        Largest number of iterations, T in the paper.
    tol : float, default=1e-7
        Stop when ‖ΔZ‖ < tol·‖Z‖ in an iteration, Z = [U; V].

    Examples
    --------
    >>> import thinrank as tr
    >>> X, Y, truth = tr.datasets.make_two_way_sparse(100, rank=3, random_state=0)
    >>> answer = tr.minimize(
    ...     tr.losses.LeastSquares(X, Y), rank=3, row_sparsity=10, column_sparsity=10,
    ...     solver=tr.solvers.GDT(update="sequential", tol=1e-5))
    >>> bool((answer.factors.row_support == truth.row_support).all())
    True
    """

    name: ClassVar[str] = "gdt"
    needs: ClassVar[frozenset[str]] = frozenset()
    exchanges_rows: ClassVar[bool] = False

    step_rule: StepRule
    update: Update
    balance: float | Literal["auto"]
    max_iter: int
    tol: float

    def __init__(
        self,
        step: Any = "auto",
        update: Update = "simultaneous",
        *,
        balance: float | Literal["auto"] = "auto",
        max_iter: int = 10_000,
        tol: float = 1e-7,
    ) -> None:
        if update not in _UPDATES:
            raise ValueError(f"update must be one of {_UPDATES}, got {update!r}")
        if not is_auto(balance):
            check_number("balance", balance)
            balance = float(balance)
        check_number("tol", tol)
        iterations = positive_integer("max_iter", max_iter)
        own = (as_step_rule(step), update, balance, iterations, float(tol))
        for field, value in zip(fields(self), own, strict=True):
            object.__setattr__(self, field.name, value)  # frozen, and ``step`` is a method

    def __repr__(self) -> str:
        return (
            f"GDT(step={self.step_rule!r}, update={self.update!r}, balance={self.balance!r}, "
            f"max_iter={self.max_iter}, tol={self.tol})"
        )

    @property
    def adapts_to_units(self) -> bool:
        """Whether the step size is found during the run."""
        return isinstance(self.step_rule, Safeguarded)

    def init(self, loss: Any, start: Factors) -> State:
        """Lines 3 and 4 of the algorithm: balanced factors of Θ⁰, thresholded."""
        balanced = start.balanced()
        factors = self._threshold(balanced.U, balanced.V)
        balance = self._weight(loss, factors)
        step = self.step_rule.first(loss, factors, balance)
        return self._evaluate(loss, factors, step, balance)

    def step(self, loss: Any, state: State) -> State:
        """Lines 6 to 9 of the algorithm: one iteration."""
        if self.update == "simultaneous":
            new, moved = self._move(loss, state, moves_u=True, moves_v=True)
        else:
            half, moved_u = self._move(loss, state, moves_u=True, moves_v=False)
            new, moved_v = self._move(loss, half, moves_u=False, moves_v=True)
            moved = moved_u + moved_v
        U, V = state.factors.U, state.factors.V
        size = sum(arrays.inners((U, U), (V, V)))
        return replace(
            new,
            step=self.step_rule.longer(new.step),
            change=(moved / size) ** 0.5 if size > 0 else 0.0,
        )

    def done(self, state: State) -> bool:
        """Whether the relative change in the last iteration was below ``tol``."""
        return state.change < self.tol

    def _move(
        self, loss: Any, state: State, *, moves_u: bool, moves_v: bool
    ) -> tuple[State, float]:
        """One gradient step and threshold on U, V or both; the new state and ‖ΔZ‖²."""
        U, V, eta = state.factors.U, state.factors.V, state.step
        for _ in range(60):  # a rejected step is halved, so that the last is below rounding
            half_v = V - eta * state.gradient_v if moves_v else V  # line 6
            half_u = U - eta * state.gradient_u if moves_u else U  # line 8
            factors = self._threshold(half_u, half_v)  # lines 7, 9
            candidate = self._evaluate(loss, factors, eta, state.balance)
            trial = _trial(loss, state, candidate)
            if self.step_rule.accepts(trial):
                return candidate, trial.length_squared
            eta = self.step_rule.shorter(eta)
        return state, 0.0

    def _threshold(self, U: Array, V: Array) -> Factors:
        return Factors(hard_threshold(U, self.rows), hard_threshold(V, self.columns))

    def _weight(self, loss: Any, factors: Factors) -> float:
        """The weight of g."""
        if self.balance != "auto":
            return self.balance
        return 1.0 if "curvature" in loss.capabilities else 0.5 * mean_curvature(loss, factors)

    def _evaluate(self, loss: Any, factors: Factors, step: float, balance: float) -> State:
        """f, g and the gradient of f + g."""
        U, V = factors.U, factors.V
        value, gradient_u, gradient_v = loss.value_and_gradient(factors)
        imbalance = U.T @ U - V.T @ V
        penalty = 0.25 * balance * arrays.inner(imbalance, imbalance)
        return State(
            factors,
            value,
            value + penalty,
            gradient_u + balance * (U @ imbalance),
            gradient_v - balance * (V @ imbalance),
            step,
            balance,
        )


def _trial(loss: Any, before: State, after: State) -> Trial:
    delta = Factors(after.factors.U - before.factors.U, after.factors.V - before.factors.V)
    u_before, v_before, u_after, v_after, u_moved, v_moved = arrays.inners(
        (before.gradient_u, delta.U),
        (before.gradient_v, delta.V),
        (after.gradient_u, delta.U),
        (after.gradient_v, delta.V),
        (delta.U, delta.U),
        (delta.V, delta.V),
    )
    magnitude = max(loss.magnitude, abs(before.penalized))
    return Trial(
        step=after.step,
        before=before.penalized,
        after=after.penalized,
        slope_before=u_before + v_before,
        slope_after=u_after + v_after,
        length_squared=u_moved + v_moved,
        rounding=arrays.eps(before.factors.U) * magnitude,
    )
