"""The best fit of a quadratic form on given rows: reduced-rank regression in closed form."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from thinrank import arrays, linalg
from thinrank.arrays import Array, top_rows
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
    ending: str = "nothing left to improve"  # why it is final, in words
    # Θ with coefficients of further columns, if ``whitened`` belongs to the form around it and not
    # to that around Θ
    completed: Factors | None = None

    @cached_property
    def costs(self) -> Array:
        """Twice the increase of the objective if a row is removed, with Q held fixed.

        With more rows than samples there is none: the squared norms of the coefficients then.
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

    @property
    def has_more_rows_than_samples(self) -> bool:
        """Whether R has fewer rows than columns."""
        return self.root.shape[0] < self.root.shape[1]

    @cached_property
    def row_support(self) -> Array:
        """Sorted indices of the rows of Θ that are not zero."""
        return arrays.take_rows(self.rows, arrays.nonzero_rows(self.U))

    @cached_property
    def column_support(self) -> Array:
        """Sorted indices of the columns of Θ that are not zero."""
        return arrays.nonzero_rows(self.Q)

    @cached_property
    def factors(self) -> Factors:
        """Θ as factors, whose U has a row for every predictor."""
        V = self.Q if self.column_scale is None else self.Q / self.column_scale[:, None]
        return Factors.on_rows(self.U, self.rows, self.shape[0], V)


def fit_rows(
    form: QuadraticForm, rows: Array, columns: Array, guess: Array, rank: int, most_columns: int
) -> Fit:
    """Reduced-rank regression on S, alternating with the best columns for its row space."""
    root, ridged = form.inverse_root(rows)
    cross = form.cross_rows(rows)
    whitened = root @ cross  # (|S|, m2)
    # size of the rounding errors in the whitened matrix
    floor = rows.shape[0] * arrays.eps(root) * arrays.max_abs(root) * arrays.max_abs(cross)
    every = form.shape[1]
    for _ in range(20):
        part = whitened
        if columns.shape[0] < every:
            part, guess = arrays.take_columns(part, columns), arrays.take_rows(guess, columns)
        left = linalg.leading_left_vectors(part, rank, guess, floor)
        V = whitened.T @ left
        best = top_rows(V, most_columns)
        settled = best.shape == columns.shape and (
            best.shape[0] == every or bool(arrays.namespace(V).all(best == columns))
        )
        columns, guess = best, V
        if settled or columns.shape[0] == 0:
            break
    some = columns.shape[0] < every
    V = arrays.take_rows(V, columns) if some else V
    Q, triangle = arrays.namespace(V).linalg.qr(V)
    objective = 0.5 * (form.constant - arrays.inner(V, V))
    U = root.T @ (left @ triangle.T)
    Q = arrays.scatter_rows(Q, columns, every) if some else Q
    if ridged:  # then ‖V‖² belongs to another H
        quadratic = arrays.inner(U, form.gram(rows) @ U)
        objective = 0.5 * (form.constant + quadratic) - arrays.inner(U, cross @ Q)
    if form.column_scale is None:  # rounding errors; others approximate a loss, and may be negative
        objective = max(objective, 0.0)
    return Fit(rows, columns, root, whitened, U, Q, objective, form.shape, form.column_scale)


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
