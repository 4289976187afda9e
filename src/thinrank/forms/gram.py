"""The base classes of quadratic forms, and forms with all of H and C in memory."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any, Self

from thinrank import arrays, linalg
from thinrank.arrays import Array
from thinrank.core.contracts import Design
from thinrank.designs.dense import slices


class AdjustableRidge:
    """A form of some samples whose ridge can be changed without copying its arrays."""

    column_scale: Array | None = None

    def __init__(
        self, shape: tuple[int, int], prototype: Array, constant: float, samples: float
    ) -> None:
        self.shape, self.prototype = shape, prototype
        self.constant, self.samples = constant, samples
        self.observations = samples * shape[1]
        self.ridge = 0.0

    def with_ridge(self, ridge: float) -> Self:
        """The same form with another ridge; stored and cached arrays are shared."""
        other = copy.copy(self)
        other.ridge = ridge
        return other

    def gram(self, rows: Array) -> Array:
        """H over ``rows``."""
        raise NotImplementedError

    def inverse_root(self, rows: Array) -> tuple[Array, bool]:
        """R with Rᵀ R = H_SS⁻¹ on the columns of C_S and of H between S and other rows.

        Shapes: ``R`` (q, len(rows)).
        """
        return linalg.inverse_cholesky(self.gram(rows))


class HeldCross(AdjustableRidge):
    """A form with a dense C in memory."""

    def __init__(self, cross: Array, constant: float, samples: float, ridge: float = 0.0) -> None:
        shape = cross.shape[0], cross.shape[1]
        super().__init__(shape, arrays.zeros((0,), like=cross), constant, samples)
        self._cross = cross
        self.ridge = ridge

    def cross_rows(self, rows: Array) -> Array:
        """Rows of C."""
        return arrays.take_rows(self._cross, rows)

    def cross_columns(self, first: int, last: int) -> Array:
        """Columns of C from ``first`` to before ``last``."""
        return self._cross[:, first:last]

    def cross_norms(self) -> tuple[Array, Array]:
        """Squared norms of the rows and of the columns of C."""
        return arrays.row_norms_squared(self._cross), arrays.column_norms_squared(self._cross)


def blockwise_cross_norms(form: Any) -> tuple[Array, Array]:
    """Squared norms of the rows and columns of C, a block of columns at a time."""
    xp = arrays.namespace(form.prototype)
    by_row = arrays.zeros((form.shape[0],), like=form.prototype)
    by_column = []
    # at most an eighth of the memory of X, but products with fewer than 16 columns are slower
    for columns in slices(form.shape[1], max(16, min(256, int(form.samples) // 8))):
        part = form.cross_columns(columns.start, columns.stop)
        by_row += arrays.row_norms_squared(part)
        by_column.append(arrays.column_norms_squared(part))
        del part  # before the next is computed
    return by_row, xp.concat(by_column)


def plus_ridge(gram: Array, ridge: float) -> Array:
    """Add the ridge to the diagonal of a matrix that may be overwritten."""
    return arrays.add_to_diagonal(gram, ridge) if ridge else gram


def plus_rows(gradient: Array, rows: Array, U: Array, ridge: float) -> Array:
    """Add the gradient of ridge/2·‖U‖² to a gradient, in place."""
    if ridge:
        gradient += ridge * arrays.scatter_rows(U, rows, gradient.shape[0])
    return gradient


class GramForm(HeldCross):
    """A form with all of H in memory, for problems with few predictors.

    Shapes: ``gram`` (n_features, n_features), ``cross`` (n_features, n_targets).
    """

    def __init__(self, gram: Array, cross: Array, constant: float, samples: float) -> None:
        super().__init__(cross, constant, samples)
        self._gram = gram

    def diagonal(self) -> Array:
        """Diagonal of H."""
        diagonal = arrays.namespace(self._gram).linalg.diagonal(self._gram)
        return diagonal + self.ridge if self.ridge else diagonal

    def gram(self, rows: Array) -> Array:
        """H over ``rows``."""
        return plus_ridge(arrays.submatrix(self._gram, rows, rows), self.ridge)

    def gram_between(self, rows: Array, others: Array) -> Array:
        """H between ``rows`` and ``others``."""
        return arrays.submatrix(self._gram, rows, others)

    def gradient(self, rows: Array, U: Array, V: Array) -> Array:
        """H[:, rows] @ U − C @ V; H is symmetric, and its rows are contiguous."""
        gradient = arrays.take_rows(self._gram, rows).T @ U
        gradient -= self._cross @ V
        return plus_rows(gradient, rows, U, self.ridge)


class IdentityForm(HeldCross):
    """The form of denoising, with H = (1 + ridge)·I.

    Shapes: ``cross`` (n_rows, n_columns).
    """

    def __init__(self, cross: Array, constant: float, ridge: float) -> None:
        super().__init__(cross, constant, cross.shape[0], ridge)

    def diagonal(self) -> Array:
        """Diagonal of H, all entries 1 + ridge."""
        return arrays.zeros((self.shape[0],), like=self.prototype) + (1 + self.ridge)

    def gram(self, rows: Array) -> Array:
        """H over ``rows``, a multiple of the identity."""
        return (1 + self.ridge) * arrays.identity(rows.shape[0], like=self.prototype)

    def gram_between(self, rows: Array, others: Array) -> Array:
        """H between different rows, which is zero."""
        return arrays.zeros((rows.shape[0], others.shape[0]), like=self.prototype)

    def gradient(self, rows: Array, U: Array, V: Array) -> Array:
        """H[:, rows] @ U − C @ V."""
        return arrays.scatter_rows((1 + self.ridge) * U, rows, self.shape[0]) - self._cross @ V


@dataclass(frozen=True, eq=False)
class TrainingRows:
    """The form of the training rows of a split, and their units."""

    # the form of the training rows, without ridge, centered and scaled by their own means and root
    # mean squares if requested
    form: GramForm
    # means of the training rows, in the units of the form of all rows; zero without centering
    center_x: Array
    center_y: Array
    # (n_features,) factors of the columns of X: ones without scaling, and zero for constant columns
    inverse_scale: Array


def without_rows(
    whole: GramForm, X_out: Design, Y_out: Design, roots: Array, *, center: bool, scale: bool
) -> TrainingRows:
    """The form of the rows that remain when some are left out.

    With the moments of all rows, H = XᵀX/n and C = XᵀY/n, and the h rows A of X and B of Y that
    are left out, the remaining n' = n − h rows have XᵀX = nH − AᵀA and XᵀY = nC − AᵀB. With
    centering, a·aᵀ/n' and a·bᵀ/n' are subtracted as well, where a and b are the sums of the rows
    left out: all rows together sum to zero, so the means of the remaining rows are −a/n' and
    −b/n'. XᵀY and the Gram matrix are thus computed once for all splits of the data.

    Shapes: ``roots`` (h,).
    """
    xp = arrays.namespace(whole.prototype)
    samples = whole.samples - float(xp.sum(roots * roots))
    sum_x, sum_y = X_out.transposed_product(roots), Y_out.transposed_product(roots)
    if not center:
        sum_x, sum_y = sum_x * 0, sum_y * 0
    center_x, center_y = -sum_x / samples, -sum_y / samples
    squares_out = arrays.norm(Y_out.column_norms()) ** 2
    left = whole.samples * whole.constant - squares_out - arrays.inner(sum_y, -center_y)
    diagonal_out = X_out.column_norms() ** 2 - sum_x * center_x
    mean_squares = (whole.samples * whole.diagonal() - diagonal_out) / samples
    inverse_scale = _inverse_scale(xp.clip(mean_squares, min=0.0), whole, samples, scale)
    everything = arrays.indices(range(whole.shape[0]), whole.prototype)
    block = X_out.columns(everything)
    gram = whole.samples * whole.gram(everything) - block.T @ block
    gram += sum_x[:, None] * center_x
    gram *= (inverse_scale / samples)[:, None]
    gram *= inverse_scale
    responses = Y_out.columns(arrays.indices(range(whole.shape[1]), whole.prototype))
    cross = whole.samples * whole.cross_columns(0, whole.shape[1])
    cross -= X_out.transposed_product(responses)
    cross += sum_x[:, None] * center_y
    cross *= (inverse_scale / samples)[:, None]
    form = GramForm(gram, cross, max(left, 0.0) / samples, samples)
    return TrainingRows(form, center_x, center_y, inverse_scale)


def _inverse_scale(mean_squares: Array, whole: GramForm, samples: float, scale: bool) -> Array:
    """One over the scales of the columns; zero for columns that are constant up to rounding."""
    xp = arrays.namespace(mean_squares)
    rounding = 1e3 * arrays.eps(mean_squares) * whole.samples / samples
    live = mean_squares > rounding * whole.diagonal()
    mean_squares = xp.where(live, mean_squares, mean_squares * 0)
    units = mean_squares if scale else xp.astype(live, mean_squares.dtype)
    return xp.sqrt(arrays.divide_or_zero(1.0, units))
