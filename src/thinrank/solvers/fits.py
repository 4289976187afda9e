"""A fit on given rows, and the effect on the objective of removing or adding single rows."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from thinrank import arrays
from thinrank.arrays import Array
from thinrank.core.contracts import QuadraticForm
from thinrank.core.factors import Factors
from thinrank.core.journal import storable


@storable
@dataclass(frozen=True, eq=False)
class Fit:
    """The best Φ found on rows S: Φ_S = U Qᵀ, with Q orthonormal and zero outside T.

    Φ is Θ, or Θ·diag(column_scale) for a form with a column_scale.
    """

    rows: Array  # S and T, sorted
    columns: Array
    # (q, |S|) R with R H_SS Rᵀ = I and q = |S|: the inverse of the lower Cholesky factor. With more
    # rows than samples q is at most the number of samples
    root: Array
    # (q, m2) R C_S; the squared norm of a column is what S explains of that response
    whitened: Array
    U: Array  # (|S|, r) coefficients of the rows in S
    Q: Array  # (m2, r) orthonormal basis of the row space
    objective: float  # the objective of the fit
    shape: tuple[int, int]  # shape of Θ
    column_scale: Array | None = None  # (m2,) the column_scale of the form
    change: float = float("inf")  # relative decrease of the objective in the last iteration
    final: bool = False  # whether no exchange improves the fit
    # exchanges of up to this number of rows are tried last, since they failed at an earlier fit
    failed: int = 0
    # Θ with coefficients of further columns, if ``whitened`` belongs to the form around it and not
    # to that around Θ
    completed: Factors | None = None

    @cached_property
    def costs(self) -> Array:
        """Twice the increase of the objective if a row is removed, with Q held fixed.

        With more rows than samples other rows can replace a row without an increase; the result
        is then the squared norm of the coefficients of each row.
        """
        if self.has_more_rows_than_samples:
            return self.row_squares
        return self.row_squares / self.inverse_diagonal

    @cached_property
    def row_squares(self) -> Array:
        """Squared norms of the rows of U."""
        return arrays.row_norms_squared(self.U)

    @cached_property
    def inverse_diagonal(self) -> Array:
        """The diagonal of H_SS⁻¹."""
        return arrays.column_norms_squared(self.root)

    def changed(self, **changes: Any) -> Fit:
        """A copy with other numbers and the same arrays, so that what is known of these stays."""
        other = copy.copy(self)
        other.__dict__.update(changes)
        return other

    @property
    def has_more_rows_than_samples(self) -> bool:
        """Whether R has fewer rows than columns."""
        return self.root.shape[0] < self.root.shape[1]

    @cached_property
    def row_support(self) -> Array:
        """Sorted indices of the rows of Θ that are not zero."""
        return arrays.nonzero_among(self.U, self.rows)

    @cached_property
    def column_support(self) -> Array:
        """Sorted indices of the columns of Θ that are not zero."""
        return arrays.nonzero_rows(self.Q)

    @cached_property
    def factors(self) -> Factors:
        """Θ as factors, whose U has a row for every predictor."""
        V = self.Q if self.column_scale is None else self.Q / self.column_scale[:, None]
        return Factors.on_rows(self.U, self.rows, self.shape[0], V)


def fit_of(
    form: QuadraticForm,
    rows: Array,
    columns: Array,
    root: Array,
    whitened: Array,
    U: Array,
    Q: Array,
    objective: float,
) -> Fit:
    """A fit of a form with the column support ``columns``; the arguments are those of Fit."""
    scale = form.column_scale
    # rounding errors may make it negative
    fit = Fit(rows, columns, root, whitened, U, Q, max(objective, 0.0), form.shape, scale)
    fit.__dict__.update(column_support=columns)
    return fit


def as_fit(
    form: QuadraticForm, rows: Array, columns: Array, factors: Factors, objective: float = 0.0
) -> Fit:
    """Factors on given supports as a fit of a form."""
    xp = arrays.namespace(factors.U)
    root, _ = form.inverse_root(rows)
    whitened = root @ form.cross_rows(rows)
    assert form.column_scale is not None
    V = arrays.take_rows(factors.V * form.column_scale[:, None], columns)
    U = arrays.take_rows(factors.U, rows)
    Q, triangle = xp.linalg.qr(V)
    U = U @ triangle.T
    Q = arrays.scatter_rows(Q, columns, form.shape[1])
    return Fit(rows, columns, root, whitened, U, Q, objective, form.shape, form.column_scale)


@dataclass(frozen=True, eq=False)
class Prospects:
    """Costs of removing the rows of a fit and gains of adding other rows, with Q held fixed.

    Costs and gains are twice the changes of the objective. Gains are exact for the candidates at
    the positions ``exact`` and lower bounds for the others.
    """

    costs: Array  # (|S|,) cost of removing each row of S
    candidates: Array  # (m1 − |S|,) the rows outside S, sorted
    gains: Array  # (m1 − |S|,) gain of adding each candidate
    exact: Array  # (e,) positions in ``candidates`` of the rows with exact gains, sorted
    # (e, r) rows of the gradient of the objective along Q, for the rows with exact gains
    slopes: Array
    curvature: Array  # (e,) H_jj for these rows
    left_over: Array  # (e,) the part of H_jj that S does not explain
    whitened: Array  # (|S|, e) R H_Sj for these rows

    def of_pairs(self, fit: Fit) -> Array:
        """Twice the decrease of the objective if row j replaces row i of S, with Q held fixed.

        With B = H_SS⁻¹ and aᵢⱼ = (B H_Sj)ᵢ, removing row i changes the gradient of row j to
        gⱼ − aᵢⱼUᵢ/Bᵢᵢ and increases the part of H_jj that S does not explain by aᵢⱼ²/Bᵢᵢ. The
        squared norm of the former divided by the latter is the gain of j after i was removed. For
        strongly correlated predictors it differs much from the gain of j before.

        Shapes: result (|S|, e).
        """
        a = fit.root.T @ self.whitened
        step = a / fit.inverse_diagonal[:, None]
        squares = step * (step * fit.row_squares[:, None] - 2 * (fit.U @ self.slopes.T))
        squares += arrays.row_norms_squared(self.slopes)
        left_over = self.left_over + a * step
        clear = left_over > 1e3 * arrays.eps(left_over) * self.curvature
        return arrays.divide_or_zero(squares, left_over, clear) - fit.costs[:, None]
