"""The contracts between the packages: Design, Loss, QuadraticForm, Start, StepRule, Solver."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, Self, TypeGuard

from thinrank.arrays import Array
from thinrank.core.factors import Factors

__all__ = [
    "Design",
    "Loss",
    "QuadraticForm",
    "Solver",
    "Start",
    "StepRule",
    "Trial",
    "is_design",
    "require",
]


class Design(Protocol):
    """What X may be: anything that multiplies thin blocks from both sides.

    Solvers and losses never ask which kind they have. ``prototype`` is an empty array that
    carries the library, dtype and device of every product.
    """

    prototype: Array

    @property
    def shape(self) -> tuple[int, int]:
        """(n, p)."""
        ...

    def __matmul__(self, block: Array) -> Array:
        """X @ block, for block of shape (p, q)."""
        ...

    def transposed_product(self, block: Array) -> Array:
        """Xᵀ @ block, for block of shape (n, q)."""
        ...

    def columns(self, index: Array) -> Array:
        """The columns ``index`` as a dense array of n rows, which the caller may change."""
        ...

    def gram(self, index: Array | None = None) -> Array:
        """XᵀX over the columns ``index`` (all of them when None), dense."""
        ...

    def column_norms(self, row_scale: Array | None = None, center: Array | None = None) -> Array:
        """Euclidean norms of the columns of diag(row_scale)(X − 1·centerᵀ)."""
        ...


def is_design(x: Any) -> TypeGuard[Design]:
    """Whether ``x`` is a Design, by its most telling method (a Protocol check is slow)."""
    return hasattr(x, "transposed_product")


class Loss(Protocol):
    """A smooth function f of Θ = UVᵀ, asked for products with its gradient only.

    Beyond :meth:`value_and_gradient` a loss may have capabilities, named in
    ``capabilities`` and checked by :func:`require` before use:

    ``full_gradient``
        ``full_gradient(theta) -> (f, ∇f)`` at a dense Θ; convex starts need it.
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
        the Hessian; a penalty times these does not depend on the units of the predictors.
    ``restrict``
        ``restrict(rows, columns) -> Loss``: f over the Θ that vanish elsewhere; its values equal
        f's, the part of the data left out included.
    ``majorizer``
        ``majorizer(factors, rows=None) -> QuadraticForm``: a quadratic form that equals f at
        Θ = UVᵀ and is nowhere below f (over the Θ that vanish outside ``rows``, if these are
        given, which allows a closer form). A quadratic loss returns itself. Pursuit needs it.
    ``quadratic``
        ``quadratic() -> QuadraticForm``: f itself as a quadratic form.
    ``with_ridge``
        ``with_ridge(ridge) -> Loss``: f with ridge/2·‖Θ‖² in place of the ridge that it has.
    ``target_scale``
        ``with_target_scale(scale) -> Loss``: f of responses divided by a scale each, and
        ``residual_squares(factors) -> array (m2,)``: what a fit leaves of each response.
    ``folds``
        ``folds(count, seed) -> list of (training loss, held-out loss)``.

    Attributes
    ----------
    shape : (m1, m2)
        Shape of Θ.
    prototype : array
        An empty array that carries the library, dtype and device of Θ.
    magnitude : float
        Size of the terms that f is the difference of: values are exact to about eps × this.
    """

    capabilities: frozenset[str]
    prototype: Array
    magnitude: float

    @property
    def shape(self) -> tuple[int, int]:
        """(m1, m2)."""
        ...

    def value_and_gradient(self, factors: Factors) -> tuple[float, Array, Array]:
        """Return f(UVᵀ), ∇f·V of shape (m1, r) and ∇fᵀ·U of shape (m2, r)."""
        ...


class QuadraticForm(Protocol):
    """q(Φ) = constant/2 − ⟨C, Φ⟩ + ½⟨Φ, HΦ⟩, with weights, centring, scaling and ridge inside.

    For regression Φ = Θ, C = XᵀY/n and H = XᵀX/n + ridge·I. Columns and products that were
    computed once are kept where that takes little memory.

    Attributes
    ----------
    constant : float
        Twice the value at zero.
    samples : float
        n, the sum of the weights.
    observations : float
        Number of entries of the data: n·k for regression.
    shape : (m1, m2)
        Shape of Θ.
    prototype : array
        Carries the library, dtype and device.
    exact : bool
        Whether the form is the loss itself; otherwise it is a majorizer, which touches the loss
        at one Θ.
    column_scale : array of shape (m2,), or None
        Φ = Θ·diag(column_scale), which has the rank and the supports of Θ; None is Φ = Θ. With it
        a loss whose curvature differs between responses still has one H.
    """

    exact: bool
    column_scale: Array | None
    constant: float
    samples: float
    observations: float
    shape: tuple[int, int]
    prototype: Array

    def with_ridge(self, ridge: float) -> QuadraticForm:
        """The same form with another ridge; what is held or cached is shared."""
        ...

    def diagonal(self) -> Array:
        """Diagonal of H, of shape (m1,)."""
        ...

    def cross_rows(self, rows: Array) -> Array:
        """Rows of C, of shape (len(rows), m2)."""
        ...

    def cross_columns(self, first: int, last: int) -> Array:
        """Columns of C from ``first`` to before ``last``, of shape (m1, last − first)."""
        ...

    def cross_norms(self) -> tuple[Array, Array]:
        """Squared norms of the rows and of the columns of C."""
        ...

    def gram(self, rows: Array) -> Array:
        """H over ``rows`` on both sides; a fresh array that the caller may overwrite."""
        ...

    def inverse_root(self, rows: Array) -> tuple[Array, bool]:
        """R of shape (q, len(rows)) with Rᵀ R = H_SS⁻¹, and whether H_SS had to be made regular.

        With more rows than samples R may leave out what is orthogonal to all samples.
        """
        ...

    def gram_between(self, rows: Array, others: Array) -> Array:
        """H between ``rows`` and ``others``, which have none in common."""
        ...

    def gradient(self, rows: Array, U: Array, V: Array) -> Array:
        """H[:, rows] @ U − C @ V, of shape (m1, q)."""
        ...


class Start(Protocol):
    """Where Θ⁰ comes from."""

    def __call__(self, loss: Any, rank: int, rows: int, columns: int, seed: int) -> Factors:
        """Factors of rank at most ``rank``, for ``rows`` and ``columns`` to be kept."""
        ...


@dataclass(frozen=True, slots=True)
class Trial:
    """A step that was tried, from Z to Z⁺ = Z + Δ, under the objective F.

    Attributes
    ----------
    step : float
        The step size.
    before, after : float
        F(Z) and F(Z⁺).
    slope_before, slope_after : float
        ⟨∇F(Z), Δ⟩ and ⟨∇F(Z⁺), Δ⟩.
    length_squared : float
        ‖Δ‖².
    rounding : float
        How exact the values of F are.
    """

    step: float
    before: float
    after: float
    slope_before: float
    slope_after: float
    length_squared: float
    rounding: float


class StepRule(Protocol):
    """How long a gradient step is."""

    def first(self, loss: Any, factors: Factors, balance: float) -> float:
        """The step size to try first, from the starting point."""
        ...

    def accepts(self, trial: Trial) -> bool:
        """Whether the trial step may be taken."""
        ...

    def shorter(self, step: float) -> float:
        """The next step to try after a refusal."""
        ...

    def longer(self, step: float) -> float:
        """The first step to try in the next iteration."""
        ...


class Solver(Protocol):
    """Frozen hyper-parameters, and init / step / done over an explicit state.

    The state has ``factors``, ``objective`` and ``change``, and is never changed in place. A
    solver is bound to sizes by :meth:`sized` before a run.

    Attributes
    ----------
    name : str
        For messages.
    needs : frozenset of str
        Capabilities that the loss must have.
    exchanges_rows : bool
        Whether it leaves the rows that it starts from for better ones; the default start depends
        on it.
    adapts_to_units : bool
        Whether it may be given responses in other units without a change of its hyper-parameters.
    max_iter : int
        Largest number of iterations.
    rank, rows, columns : int
        The sizes that it is bound to.
    """

    rank: int
    rows: int
    columns: int
    name: ClassVar[str]
    needs: ClassVar[frozenset[str]]
    exchanges_rows: ClassVar[bool]

    @property
    def adapts_to_units(self) -> bool:
        """See the attributes."""
        ...

    @property
    def max_iter(self) -> int:
        """See the attributes."""
        ...

    def sized(self, rank: int, rows: int, columns: int) -> Self:
        """The same solver for at most ``rows`` rows and ``columns`` columns, of rank ``rank``."""
        ...

    def init(self, loss: Any, start: Factors) -> Any:
        """The state before the first iteration."""
        ...

    def step(self, loss: Any, state: Any) -> Any:
        """The state after one more iteration."""
        ...

    def done(self, state: Any) -> bool:
        """Whether the state is final."""
        ...


def require(loss: Any, capability: str, purpose: str) -> None:
    """Raise a TypeError that says what is missing unless the loss has the capability."""
    if capability in loss.capabilities:
        return
    has = ", ".join(sorted(loss.capabilities)) or "none"
    raise TypeError(
        f"{purpose} needs a loss with the capability {capability!r}, which "
        f"{type(loss).__name__} does not have (it has: {has})"
    )
