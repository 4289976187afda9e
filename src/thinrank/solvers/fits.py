"""A fit on given rows, and what leaving out or taking in single rows would change."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

from thinrank import arrays
from thinrank.arrays import Array
from thinrank.core.factors import Factors

__all__ = ["Fit", "Prospects"]


@dataclass(frozen=True, eq=False)
class Fit:
    """The best Φ found on rows S: Φ_S = U Qᵀ, Q orthonormal with its rows in T.

    Φ is Θ, or Θ·diag(column_scale) for a form that has one.

    Attributes
    ----------
    rows, columns : arrays of int
        S and T, sorted.
    root : array of shape (q, |S|)
        R with R H_SS Rᵀ = I and q = |S|: the inverse of the lower Cholesky factor. With more rows
        than samples q is the number of samples at most.
    whitened : array of shape (q, m2)
        R C_S, whose squares are what each column explains.
    U : array of shape (|S|, q)
    Q : array of shape (m2, q)
    objective : float
    column_scale : array of shape (m2,), or None
        That of the form.
    change : float
        Relative decrease of the objective in the last iteration.
    final : bool
        Whether no exchange helps.
    """

    rows: Array
    columns: Array
    root: Array
    whitened: Array
    U: Array
    Q: Array
    objective: float
    shape: tuple[int, int]
    column_scale: Array | None = None
    change: float = float("inf")
    final: bool = False

    @cached_property
    def costs(self) -> Array:
        """Twice what leaving out each row would add to the objective, Q held fixed.

        With more rows than samples, where a row is replaced by others at no cost, the squared
        norms of the coefficients.
        """
        if self.has_more_rows_than_samples:
            return arrays.row_norms_squared(self.U)
        return arrays.row_norms_squared(self.U) / arrays.column_norms_squared(self.root)

    def supports_alone(self) -> Fit:
        """The rows and columns without coefficients, to remember many fits of many rows."""
        nothing = self.U[:0, :0]
        return replace(self, root=nothing, whitened=nothing, U=nothing, Q=nothing)

    @property
    def has_more_rows_than_samples(self) -> bool:
        """Whether R has fewer rows than columns."""
        return self.root.shape[0] < self.root.shape[1]

    @cached_property
    def factors(self) -> Factors:
        """Θ as factors."""
        V = self.Q if self.column_scale is None else self.Q / self.column_scale[:, None]
        return Factors(arrays.scatter_rows(self.U, self.rows, self.shape[0]), V)


@dataclass(frozen=True, eq=False)
class Prospects:
    """What the rows of a fit cost and what the others promise, Q held fixed.

    Costs and gains are twice the changes of the objective. Gains are exact for the rows at
    ``exact`` and bounded from below for the others; what follows it is about the exact ones.

    Attributes
    ----------
    costs : array of shape (|S|,)
        What leaving out each row of S costs.
    candidates : array of shape (m1 − |S|,)
        The rows outside S, sorted.
    gains : array of shape (m1 − |S|,)
        What taking in each of them brings.
    exact : array of shape (e,)
        Positions in ``candidates``, sorted.
    slopes : array of shape (e, q)
        Gradient of the objective along Q.
    curvature : array of shape (e,)
        H_jj.
    left_over : array of shape (e,)
        What S does not explain of H_jj.
    whitened : array of shape (|S|, e)
        R H_Sj.
    """

    costs: Array
    candidates: Array
    gains: Array
    exact: Array
    slopes: Array
    curvature: Array
    left_over: Array
    whitened: Array

    def of_pairs(self, fit: Fit) -> Array:
        """Twice the decrease of the objective when row i of S makes place for row j, Q held fixed.

        With B = H_SS⁻¹ and aᵢⱼ = (B H_Sj)ᵢ, leaving out row i changes the gradient of row j to
        gⱼ − aᵢⱼUᵢ/Bᵢᵢ, and raises what S does not explain of it by aᵢⱼ²/Bᵢᵢ. The squared norm of
        the one over the other is the gain of j once i has left. For predictors that resemble one
        another it is far from the gain of j while i is there.

        Returns
        -------
        array of shape (|S|, e)
        """
        xp = arrays.namespace(fit.U)
        inverse = arrays.column_norms_squared(fit.root)[:, None]  # Bᵢᵢ
        a = fit.root.T @ self.whitened
        step = a / inverse
        squares = arrays.row_norms_squared(self.slopes) - 2 * step * (fit.U @ self.slopes.T)
        squares += step**2 * arrays.row_norms_squared(fit.U)[:, None]
        left_over = self.left_over + a * step
        clear = left_over > 1e3 * arrays.eps(left_over) * self.curvature
        gains = arrays.divide_or_zero(squares, xp.where(clear, left_over, 0.0))
        return gains - self.costs[:, None]
