"""Errors of all ranks and numbers of columns on one set of rows, from one decomposition.

On given rows S reduced-rank regression is Θ_S = Rᵀ L W, where R is the inverse root of H_SS, the
columns of L are the left singular vectors of R C_S, and W = Lᵀ R C_S. A model of rank r uses the
first r directions, and a model with s₂ columns those where W is largest. The squared error
‖B − A Rᵀ L W‖² on any rows (A, B) is a sum of one term per direction and column, so that the errors
of all ranks and numbers of columns are two cumulative sums. All functions accept one fit, or a
stack of fits along leading axes. Sums and sorts are in double precision, and on the device of the
fit: a table of 500 ranks and columns would take the host longer than everything else.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from thinrank import arrays, linalg
from thinrank.arrays import Array
from thinrank.leading_vectors import left_vectors_near

__all__ = [
    "Directions",
    "RowFit",
    "RowFits",
    "best_first",
    "column_changes",
    "directions",
    "error_table",
    "lower_table",
    "to_height",
]


class RowFit(Protocol):
    """The part of a fit on rows S that tables need; see :class:`thinrank.solvers.fits.Fit`."""

    @property
    def rows(self) -> Array:
        """S."""
        ...

    @property
    def columns(self) -> Array:
        """The columns in use."""
        ...

    @property
    def root(self) -> Array:
        """R with RᵀR = H_SS⁻¹."""
        ...

    @property
    def whitened(self) -> Array:
        """R C_S."""
        ...

    @property
    def Q(self) -> Array | None:
        """A basis of the row space, or of one that is close to it; None if none is known."""
        ...


RowFits = Sequence[RowFit | None]
"""One fit per sample; None is the zero matrix."""


@dataclass(frozen=True, eq=False)
class Directions:
    """The directions of a fit on rows S, from which models of all ranks and columns follow.

    Attributes
    ----------
    map : array of shape (..., |S|, q)
        Rᵀ L, the coefficients of the directions.
    weights : array of shape (..., q, k)
        W, in double precision.
    order : array of int, of shape (..., q, k)
        For every rank the columns, in decreasing order of the explained sum of squares.
    """

    map: Array
    weights: Array
    order: Array


def directions(
    root: Array,
    whitened: Array,
    most: int | Callable[[np.ndarray], int],
    columns: Array | None = None,
    near: Array | None = None,
) -> Directions:
    """The leading ``most`` directions on the rows of a fit, of all its columns or of some.

    Parameters
    ----------
    root, whitened : arrays of shapes (..., s, |S|) and (..., s, k)
        R and R C_S.
    most : int or callable
        Largest number of directions; a function gets the squared singular values of R C_S.
    columns : array of shape (..., k), default=None
        1 for the columns whose directions are computed, 0 for the others; None for all columns.
    near : array of shape (k, r), default=None
        A basis close to the row space of rank r of one fit. Only a few more directions than r are
        computed then, and those above r are approximations.

    Returns
    -------
    Directions
    """
    xp = arrays.namespace(whitened)
    matrix = whitened if columns is None else whitened * columns[..., None, :]
    left = None
    if near is not None and not callable(most):
        left = left_vectors_near(matrix, min(near.shape[1], most), near[:, :most])
    left = _left_vectors(matrix, most) if left is None else left[:, :most]
    weights = xp.astype(xp.matrix_transpose(left) @ whitened, xp.float64, copy=False)
    explained = _running_sums(weights**2, axis=-2)
    order = xp.argsort(-arrays.half_the_digits(explained), axis=-1)
    return Directions(xp.matrix_transpose(root) @ left, weights, order)


def error_table(
    known: Directions,
    products: Array,
    inner: Array,
    offsets: np.ndarray | None = None,
) -> np.ndarray:
    """Changes of the squared error relative to zero, for all ranks and numbers of columns.

    Parameters
    ----------
    known : Directions
        The directions.
    products : array of shape (..., q, k)
        (A Rᵀ L)ᵀ B, the products of the predictions of the directions with the responses, in the
        library and precision of the weights.
    inner : array of shape (..., q, q)
        (A Rᵀ L)ᵀ (A Rᵀ L), likewise.
    offsets : ndarray of shape (..., 1, k), default=None
        Further changes of the error of every column that is in use.

    Returns
    -------
    ndarray of shape (..., q, k)
        Entry (r − 1, s − 1) is the change of the error with rank r and s columns.
    """
    by_rank = column_changes(known.weights, products, inner)
    if offsets is not None:
        by_rank = by_rank + arrays.from_numpy(offsets, by_rank)
    return arrays.to_numpy(best_first(known, by_rank))


def best_first(known: Directions, by_rank: Array) -> Array:
    """Sums of the changes of the error of the first 1, 2, … columns, in their order."""
    ordered = arrays.namespace(by_rank).take_along_axis(by_rank, known.order, axis=-1)
    return _running_sums(ordered, axis=-1)


def column_changes(W: Array, products: Array, inner: Array) -> Array:
    """Changes of the squared error of every column, relative to zero, for all ranks.

    Parameters
    ----------
    W : array of shape (..., q, k)
        Weights of the directions.
    products, inner
        As in :func:`error_table`.

    Returns
    -------
    array of shape (..., q, k)
        Entry (r − 1, j) is the change of the error of column j with rank r.
    """
    xp = arrays.namespace(W)
    before = xp.tril(inner, k=-1) @ W
    diagonal = xp.linalg.diagonal(inner)[..., None]
    return _running_sums(W * (diagonal * W + 2 * before - 2 * products), axis=-2)


def _running_sums(a: Array, axis: int) -> Array:
    if type(a) is np.ndarray:
        return np.cumsum(a, axis=axis)
    return arrays.namespace(a).cumulative_sum(a, axis=axis)


def to_height(table: np.ndarray, height: int) -> np.ndarray:
    """A table with ``height`` ranks; further ranks have the errors of the last one."""
    return table[..., np.minimum(np.arange(height), table.shape[-2] - 1), :]


def lower_table(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """The smaller of two tables, entry by entry."""
    height = max(one.shape[-2], other.shape[-2])
    return np.minimum(to_height(one, height), to_height(other, height))


def _left_vectors(matrix: Array, most: int | Callable[[np.ndarray], int]) -> Array:
    """Leading left singular vectors, from the smaller of the two Gram matrices.

    Directions whose squared singular values are rounding errors are left out; in a stack they are
    zero if other fits have directions at the same position.
    """
    xp = arrays.namespace(matrix)
    transposed = xp.matrix_transpose(matrix)
    wide = matrix.shape[-2] <= matrix.shape[-1]
    values, vectors = linalg.eigh(matrix @ transposed if wide else transposed @ matrix)
    values, vectors = xp.flip(values, axis=-1), xp.flip(vectors, axis=-1)
    most = min(most(arrays.to_numpy(values)) if callable(most) else most, values.shape[-1])
    values, vectors = values[..., :most], vectors[..., :most]
    if most == 0:
        return matrix[..., :0]
    clear = values > max(matrix.shape[-2:]) * arrays.eps(matrix) * values[..., :1]
    flags = xp.reshape(clear, (-1, most))
    kept = int(xp.count_nonzero(xp.any(flags, axis=0)))
    clear, values, vectors = clear[..., None, :kept], values[..., :kept], vectors[..., :kept]
    if wide:
        return xp.where(clear, vectors, 0.0)
    scale = arrays.divide_or_zero(1.0, xp.sqrt(xp.clip(values, min=0.0)))
    return xp.where(clear, matrix @ (vectors * scale[..., None, :]), 0.0)
