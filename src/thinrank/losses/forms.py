"""Explicit quadratic forms for solvers that need more of a loss than its gradient."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Self

from thinrank import arrays, linalg
from thinrank.arrays import Array
from thinrank.core.contracts import Design, QuadraticForm
from thinrank.losses.active_columns import ActiveColumns

__all__ = ["AdjustableRidge", "GramForm", "IdentityForm", "ProductForm", "blockwise_cross_norms"]

# Responses that are visited at a time when XᵀY is not held.
_BLOCK_TARGETS = 256
# Columns of X that are visited at a time where more of them are in use than there are samples.
_BLOCK_ROWS = 4096


class AdjustableRidge:
    """What all forms share: a ridge that changes without touching what is held."""

    _ridge: float

    def with_ridge(self, ridge: float) -> Self:
        """The same form with another ridge; what is held or cached is shared."""
        other = copy.copy(self)
        other._ridge = ridge
        return other

    def gram(self, rows: Array) -> Array:
        """H over ``rows``."""
        raise NotImplementedError

    def inverse_root(self, rows: Array) -> tuple[Array, bool]:
        """R with Rᵀ R = H_SS⁻¹ where that matters: on C_S and on H between S and others.

        Returns
        -------
        R of shape (q, len(rows)), and whether a ridge had to be added to make H_SS regular
        """
        return linalg.inverse_cholesky(self.gram(rows))


class _HeldCross(AdjustableRidge):
    """What all forms with a dense C share."""

    def __init__(self, cross: Array, constant: float, samples: float, ridge: float) -> None:
        self._cross = cross
        self._ridge = ridge
        self.constant = constant
        self.samples = samples
        self.observations = samples * cross.shape[1]
        self.shape = (cross.shape[0], cross.shape[1])
        self.prototype = arrays.zeros((0,), like=cross)

    def cross_rows(self, rows: Array) -> Array:
        """Rows of C."""
        return arrays.take_rows(self._cross, rows)

    def cross_columns(self, first: int, last: int) -> Array:
        """Columns of C from ``first`` to before ``last``."""
        return self._cross[:, first:last]

    def cross_norms(self) -> tuple[Array, Array]:
        """Squared norms of the rows and of the columns of C."""
        return arrays.row_norms_squared(self._cross), arrays.column_norms_squared(self._cross)


class IdentityForm(_HeldCross):
    """H = (1 + ridge)·I: denoising."""

    def __init__(self, cross: Array, constant: float, ridge: float) -> None:
        super().__init__(cross, constant, cross.shape[0], ridge)

    def diagonal(self) -> Array:
        """The same everywhere."""
        return arrays.zeros((self.shape[0],), like=self.prototype) + (1 + self._ridge)

    def gram(self, rows: Array) -> Array:
        """A multiple of the identity."""
        return (1 + self._ridge) * arrays.identity(rows.shape[0], like=self.prototype)

    def gram_between(self, rows: Array, others: Array) -> Array:
        """Zero between different rows."""
        return arrays.zeros((rows.shape[0], others.shape[0]), like=self.prototype)

    def gradient(self, rows: Array, U: Array, V: Array) -> Array:
        """(1 + ridge)·U in its place, less C @ V."""
        return arrays.scatter_rows((1 + self._ridge) * U, rows, self.shape[0]) - self._cross @ V


class GramForm(_HeldCross):
    """H held in full: cheap when there are few predictors.

    Parameters
    ----------
    gram : array of shape (p, p)
        XᵀX/n.
    cross : array of shape (p, k)
        XᵀY/n.
    constant : float
        ‖Y‖²/n.
    samples : float
        n, the sum of the weights.
    ridge : float
        Added to the diagonal.
    """

    def __init__(
        self, gram: Array, cross: Array, constant: float, samples: float, ridge: float
    ) -> None:
        super().__init__(cross, constant, samples, ridge)
        self._gram = gram

    def diagonal(self) -> Array:
        """Diagonal of H."""
        diagonal = arrays.namespace(self._gram).linalg.diagonal(self._gram)
        return diagonal + self._ridge if self._ridge else diagonal

    def gram(self, rows: Array) -> Array:
        """H over ``rows``."""
        return _plus_ridge(arrays.submatrix(self._gram, rows, rows), self._ridge)

    def gram_between(self, rows: Array, others: Array) -> Array:
        """H between ``rows`` and ``others``."""
        return arrays.submatrix(self._gram, rows, others)

    def gradient(self, rows: Array, U: Array, V: Array) -> Array:
        """H[:, rows] @ U − C @ V; H is symmetric, and its rows are contiguous."""
        gradient = arrays.take_rows(self._gram, rows).T @ U
        gradient -= self._cross @ V
        return _plus_rows(gradient, rows, U, self._ridge)


class ProductForm(AdjustableRidge):
    """H and C through products with X and Y; what concerns active columns is kept.

    XᵀY is computed once, for the norms of its rows and columns, and not held unless it is
    given: of its rows only those of active columns are needed, and the gradient takes one product
    with Xᵀ, Xᵀ(X_S U − YV)/n.

    Parameters
    ----------
    X : Design of shape (n, p)
        With weights, centring and scaling inside.
    Y : Design of shape (n, k)
        Likewise.
    samples : float
        n, the sum of the weights.
    constant : float
        ‖Y‖²/n.
    ridge : float
        Added to the diagonal of H.
    cross : array of shape (p, k), optional
        XᵀY/n, if it is at hand.
    """

    def __init__(
        self,
        X: Design,
        Y: Design,
        samples: float,
        constant: float,
        ridge: float,
        cross: Array | None = None,
    ) -> None:
        self.constant = constant
        self.samples = samples
        self.observations = samples * Y.shape[1]
        self.shape = (X.shape[1], Y.shape[1])
        self.prototype = X.prototype
        self._X, self._Y = X, Y
        self._ridge = ridge
        self._cross = cross
        self._mean_squares: Array | None = None
        self._norms: tuple[Array, Array] | None = None
        self._active = ActiveColumns(X, Y)
        self._last_spectrum: list[Array] = []  # shared by copies with other ridges

    def diagonal(self) -> Array:
        """Mean squares of the columns of X, plus the ridge."""
        if self._mean_squares is None:
            self._mean_squares = self._X.column_norms() ** 2 / self.samples
        return self._mean_squares + self._ridge if self._ridge else self._mean_squares

    def cross_rows(self, rows: Array) -> Array:
        """Rows of XᵀY/n."""
        if self._many(rows):
            parts = [self._Y.transposed_product(block).T for block in self._blocks(rows)]
            return arrays.namespace(rows).concat(parts) / self.samples
        return self._active.cross(rows) / self.samples

    def inverse_root(self, rows: Array) -> tuple[Array, bool]:
        """R from the n × n matrix of inner products of the samples when there are more rows.

        With X_S = E D Fᵀ, R = (D²/n + ridge)^(−½) Fᵀ: what it leaves out of H_SS⁻¹ is orthogonal
        to all samples.
        """
        if not (self._ridge and self._many(rows)):
            return super().inverse_root(rows)
        values, vectors = self._spectrum(rows)
        xp = arrays.namespace(values)
        scale = xp.sqrt(values * self.samples * (values + self._ridge))
        left = (vectors / scale).T
        return xp.concat([left @ block for block in self._blocks(rows)], axis=1), False

    def _blocks(self, rows: Array) -> Iterator[Array]:
        """Columns of X, some at a time."""
        for first in range(0, rows.shape[0], _BLOCK_ROWS):
            yield self._X.columns(rows[first : first + _BLOCK_ROWS])

    def _spectrum(self, rows: Array) -> tuple[Array, Array]:
        """Eigenvalues D²/n and E of X_S = E D Fᵀ, kept for fits with other ridges."""
        if self._last_spectrum and self._last_spectrum[0] is rows:
            return self._last_spectrum[1], self._last_spectrum[2]
        xp = arrays.namespace(rows)
        products = sum(block @ block.T for block in self._blocks(rows))
        values, vectors = xp.linalg.eigh(products / self.samples)
        floor = 10 * self._X.shape[0] * arrays.eps(values) * float(values[-1])
        kept = arrays.select(values > floor)
        values, vectors = arrays.take_rows(values, kept), arrays.take_columns(vectors, kept)
        self._last_spectrum[:] = [rows, values, vectors]
        return values, vectors

    def _many(self, rows: Array) -> bool:
        """Whether there are more rows than samples: then columns of X are not kept."""
        return rows.shape[0] > self._X.shape[0]

    def cross_columns(self, first: int, last: int) -> Array:
        """Columns of XᵀY/n from ``first`` to before ``last``."""
        if self._cross is not None:
            return self._cross[:, first:last]
        targets = arrays.indices(range(first, last), self.prototype)
        return self._X.transposed_product(self._Y.columns(targets) / self.samples)

    def cross_norms(self) -> tuple[Array, Array]:
        """Squared norms of the rows and columns of XᵀY/n, a few columns at a time."""
        if self._norms is None:
            self._norms = blockwise_cross_norms(self)
        return self._norms

    def gram(self, rows: Array) -> Array:
        """H over ``rows``, from the kept columns."""
        gram = self._active.gram(rows)
        gram /= self.samples
        return _plus_ridge(gram, self._ridge)

    def gram_between(self, rows: Array, others: Array) -> Array:
        """H between ``rows`` and ``others``; the others are not kept."""
        return self._active.products(rows, self._X.columns(others)) / self.samples

    def gradient(self, rows: Array, U: Array, V: Array) -> Array:
        """Xᵀ(X_S U − YV)/n, plus the ridge."""
        residual = (self._active.combine(rows, U) - self._Y @ V) / self.samples
        gradient = self._X.transposed_product(residual)
        return _plus_rows(gradient, rows, U, self._ridge)


def blockwise_cross_norms(form: QuadraticForm) -> tuple[Array, Array]:
    """Squared norms of the rows and columns of C, without holding it."""
    xp = arrays.namespace(form.prototype)
    by_row = arrays.zeros((form.shape[0],), like=form.prototype)
    by_column = []
    for first in range(0, form.shape[1], _BLOCK_TARGETS):
        part = form.cross_columns(first, min(first + _BLOCK_TARGETS, form.shape[1]))
        by_row += arrays.row_norms_squared(part)
        by_column.append(arrays.column_norms_squared(part))
    return by_row, xp.concat(by_column)


def _plus_ridge(gram: Array, ridge: float) -> Array:
    return arrays.add_to_diagonal(gram, ridge) if ridge else gram


def _plus_rows(gradient: Array, rows: Array, U: Array, ridge: float) -> Array:
    """The gradient of ridge/2·‖U‖² on top."""
    if ridge:
        gradient += ridge * arrays.scatter_rows(U, rows, gradient.shape[0])
    return gradient
