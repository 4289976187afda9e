"""The contracts between the packages: Design, Loss, QuadraticForm, Start, StepRule, Solver."""

from __future__ import annotations

import copy
import sys
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, Self, TypeGuard

from thinrank.arrays import Array
from thinrank.core.factors import Factors


class Design(Protocol):
    """A design matrix X of shape (n_samples, n_features), known through its products.

    Losses and solvers use these methods only and do not depend on the kind of the design.
    """

    shape: tuple[int, int]  # (n_samples, n_features)
    prototype: Array  # an empty array with the library, dtype and device of every product

    def __matmul__(self, block: Array) -> Array:
        """X @ block, for block of shape (n_features, q)."""

    def transposed_product(self, block: Array) -> Array:
        """Xᵀ @ block, for block of shape (n_samples, q)."""

    def columns(self, index: Array) -> Array:
        """The columns ``index`` as a new dense array, which the caller may change."""

    def gram(self, index: Array | None = None) -> Array:
        """XᵀX over the columns ``index`` (all columns if None), dense."""

    def column_norms(self, row_scale: Array | None = None, center: Array | None = None) -> Array:
        """Euclidean norms of the columns of diag(row_scale)(X − 1·centerᵀ)."""


def is_design(x: Any) -> TypeGuard[Design]:
    """Whether ``x`` is a Design, judged by one method (a check of the Protocol is slow)."""
    return hasattr(x, "transposed_product")


class Loss(Protocol):
    """A smooth function f of Θ = UVᵀ, known through products with its gradient.

    In addition to :meth:`value_and_gradient` a loss may have capabilities, which are named in
    ``capabilities`` and checked by :func:`require` before use:

    ``full_gradient``
        ``full_gradient(theta) -> (f, ∇f)`` at a dense Θ; needed by the convex starts.
    ``smoothness``
        ``smoothness() -> float``: L with ‖∇f(A) − ∇f(B)‖ ≤ L‖A − B‖.
    ``curvature``
        ``curvature(rows) -> (μ, L)``: the extreme curvatures of f over Θ supported on rows.
    ``samples``
        ``samples: float``: n, the sum of the sample weights.
    ``noise``
        ``noise() -> float``: the standard deviation σ̂ of the noise in the data.
    ``row_scales``
        ``row_scales() -> array (m1,)``: the scale of each row of Θ, the root of the diagonal of
        the Hessian. A penalty multiplied by it does not depend on the units of the predictors.
    ``restrict``
        ``restrict(rows, columns) -> Loss``: f over the Θ that vanish outside ``rows`` and
        ``columns``. Its values equal those of f; responses outside ``columns`` are included.
    ``majorizer``
        ``majorizer(factors) -> QuadraticForm``: the quadratic form that pursuit minimizes. A
        quadratic loss returns itself. Any other returns a form with the value and the gradient of
        f at Θ = UVᵀ. If f is below the form, minima of forms decrease f. If not, the loss needs
        the capability ``restrict``, too, with a result that has the capability ``gauss_newton``,
        and ``column_steps(factors)``: V with the best coefficients of every response for the
        scores XU, and what each gains, or None.
    ``gauss_newton``
        What Gauss-Newton steps need: ``value(factors) -> float``; ``at(factors)``, an object with
        the arrays ``scores`` (XU), ``linear``, ``derivative``, ``curvature`` and ``free`` of one
        point; ``restrict(rows, columns)`` with the attributes ``targets`` (positions of its
        columns) and ``fixed`` (0 for columns that must stay zero, or None);
        ``hessian_product(point, change)``, the change of ``derivative`` for a change of
        ``linear``; ``mean_curvatures(point) -> array (m2,)``; ``everything()``, X as an array;
        ``gram(ridge)``, XᵀX/n + ridge·I; and the attributes ``free`` (the predictors whose
        coefficients the loss computes itself, or None), ``unit`` (units of the columns of Θ),
        ``samples`` and ``ridge``.
    ``quadratic``
        ``quadratic() -> QuadraticForm``: f itself as a quadratic form.
    ``with_ridge``
        ``with_ridge(ridge) -> Loss``: f with ridge/2·‖Θ‖² in place of the ridge that it has.
    ``target_scale``
        ``with_target_scale(scale) -> Loss``: f of responses divided by a scale each, an ndarray,
        ``target_squares() -> ndarray (m2,)``: the sum of squares of each response, and
        ``residual_squares(factors) -> array (m2,)``: what a fit leaves of it.
    ``folds``
        ``folds(count, seed) -> list of (training loss, held-out loss)``.
    ``splits``
        ``splits(pairs) -> list of (training loss, held-out loss)`` of positions of rows; the
        held-out rows are about the means and in the scales of the training rows.
    """

    capabilities: frozenset[str]
    prototype: Array  # an empty array with the library, dtype and device of Θ
    # size of the terms whose difference is f: values have errors of about eps × magnitude
    magnitude: float

    @property
    def shape(self) -> tuple[int, int]:
        """(m1, m2), the shape of Θ."""

    def value_and_gradient(self, factors: Factors) -> tuple[float, Array, Array]:
        """Return f(UVᵀ), ∇f·V of shape (m1, r) and ∇fᵀ·U of shape (m2, r)."""


class QuadraticForm(Protocol):
    """q(Φ) = constant/2 − ⟨C, Φ⟩ + ½⟨Φ, HΦ⟩, including weights, centering, scaling and ridge.

    For regression Φ = Θ, C = XᵀY/n and H = XᵀX/n + ridge·I. Columns and products are computed
    once and kept where that takes little memory.
    """

    # Φ = Θ·diag(column_scale), of shape (m2,), which has the rank and the supports of Θ; None means
    # Φ = Θ. With it one H is enough for a loss whose curvature differs between responses
    column_scale: Array | None
    constant: float  # twice the value at zero
    samples: float  # n, the sum of the weights
    observations: float  # number of entries of the data: n·k for regression
    shape: tuple[int, int]  # (m1, m2), the shape of Θ
    prototype: Array  # an empty array with the library, dtype and device of Θ

    @property
    def ridge(self) -> float:
        """What is added to the diagonal of H."""

    def with_ridge(self, ridge: float) -> QuadraticForm:
        """The same form with another ridge; stored and cached arrays are shared."""

    def diagonal(self) -> Array:
        """Diagonal of H, of shape (m1,)."""

    def cross_rows(self, rows: Array) -> Array:
        """Rows of C, of shape (len(rows), m2)."""

    def cross_columns(self, first: int, last: int) -> Array:
        """Columns of C from ``first`` to before ``last``, of shape (m1, last − first)."""

    def cross_norms(self) -> tuple[Array, Array]:
        """Squared norms of the rows and of the columns of C."""

    def gram(self, rows: Array) -> Array:
        """H over ``rows`` on both sides, as a new array that the caller may overwrite."""

    def inverse_root(self, rows: Array) -> tuple[Array, bool]:
        """R of shape (q, len(rows)) with Rᵀ R = H_SS⁻¹, and whether a ridge was needed.

        With more rows than samples R may leave out directions orthogonal to all samples.
        """

    def gram_between(self, rows: Array, others: Array) -> Array:
        """H between ``rows`` and ``others``, two disjoint sets."""

    def gradient(self, rows: Array, U: Array, V: Array | None = None) -> Array:
        """H[:, rows] @ U − C @ V, of shape (m1, q); None for V = 0."""


class Start(Protocol):
    """A function that computes the starting point Θ⁰."""

    def __call__(self, loss: Any, rank: int, rows: int, columns: int, seed: int) -> Factors:
        """Factors of rank at most ``rank``, for a fit of ``rows`` rows and ``columns`` columns."""


@dataclass(frozen=True, slots=True)
class Trial:
    """A step that was tried, from Z to Z⁺ = Z + Δ, under the objective F."""

    step: float  # the step size
    before: float  # F(Z)
    after: float  # F(Z⁺)
    slope_before: float  # ⟨∇F(Z), Δ⟩
    slope_after: float  # ⟨∇F(Z⁺), Δ⟩
    length_squared: float  # ‖Δ‖²
    rounding: float  # size of the rounding errors of the values of F


class StepRule(Protocol):
    """The choice of the step size of gradient descent."""

    def first(self, loss: Any, factors: Factors, balance: float) -> float:
        """The step size to try first, from the starting point."""

    def accepts(self, trial: Trial) -> bool:
        """Whether the trial step may be taken."""

    def shorter(self, step: float) -> float:
        """The next step to try after a step was rejected."""

    def longer(self, step: float) -> float:
        """The first step to try in the next iteration."""


class Solver(Protocol):
    """Hyper-parameters that do not change, and init / step / done over an explicit state.

    The state has ``factors``, ``objective`` and ``change``, and is never changed in place. The
    sizes of the model are set by :meth:`sized` before a run.
    """

    rank: int  # the sizes that it is bound to
    rows: int
    columns: int
    name: ClassVar[str]  # of the solver in messages
    needs: ClassVar[frozenset[str]]  # capabilities that the loss must have
    # whether it exchanges the rows of the start for better ones; the default start depends on this
    exchanges_rows: ClassVar[bool]

    @property
    def adapts_to_units(self) -> bool:
        """Whether its hyper-parameters remain valid if the units of the responses change."""

    @property
    def max_iter(self) -> int:
        """Largest number of iterations."""

    def sized(self, rank: int, rows: int, columns: int) -> Self:
        """The same solver for at most ``rows`` rows and ``columns`` columns, of rank ``rank``."""

    def init(self, loss: Any, start: Factors) -> Any:
        """The state before the first iteration."""

    def step(self, loss: Any, state: Any) -> Any:
        """The state after one more iteration."""

    def done(self, state: Any) -> bool:
        """Whether the state is final."""


class Sized:
    """Limits on rank, rows and columns, set by :meth:`sized`; without it there are none."""

    rank: int = sys.maxsize
    rows: int = sys.maxsize
    columns: int = sys.maxsize

    def sized(self, rank: int, rows: int, columns: int) -> Self:
        """The same solver for at most ``rows`` rows and ``columns`` columns, of rank ``rank``."""
        other = copy.copy(self)
        for name, limit in (("rank", rank), ("rows", rows), ("columns", columns)):
            object.__setattr__(other, name, limit)  # subclasses are frozen dataclasses
        return other


def require(loss: Any, capability: str, purpose: str) -> None:
    """Raise a TypeError unless the loss has the capability; ``purpose`` says what needs it."""
    if capability in loss.capabilities:
        return
    has = ", ".join(sorted(loss.capabilities)) or "none"
    raise TypeError(
        f"{purpose} needs a loss with the capability {capability!r}, which "
        f"{type(loss).__name__} does not have (it has: {has})"
    )
