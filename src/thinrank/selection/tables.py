"""Errors of all ranks and numbers of columns on one set of rows, from one decomposition.

On given rows S reduced-rank regression is Θ_S = Rᵀ L W, where R is the inverse root of H_SS, the
columns of L are the left singular vectors of R C_S, and W = Lᵀ R C_S. A model of rank r uses the
first r directions, and a model with s₂ columns those where W is largest. The squared error
‖B − A Rᵀ L W‖² on any rows (A, B) is a sum of one term per direction and column, so that the errors
of all ranks and numbers of columns are two cumulative sums. Sums and sorts are in double precision,
and on the device of the fit.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from thinrank import arrays, linalg
from thinrank.arrays import Array
from thinrank.core.contracts import QuadraticForm


@dataclass(frozen=True, eq=False)
class Directions:
    """The directions of m fits on rows S, from which models of all ranks and columns follow."""

    rows: Array  # S, of shape (m, s)
    map: Array  # Rᵀ L, the coefficients of the directions, of shape (m, s, q)
    weights: Array  # W in double precision, of shape (m, q, k)
    order: Array  # columns by decreasing explained sum of squares, for every rank; like W

    def each(self) -> Iterator[Directions]:
        """The directions of every fit."""
        fields = self.rows, self.map, self.weights, self.order
        for i in range(self.rows.shape[0]):
            yield Directions(*(field[i : i + 1, ...] for field in fields))


def stage_directions(
    forms: Sequence[QuadraticForm],
    rows: Array,
    coefficients: Array,
    most: int,
    bases: Sequence[Array] | None = None,
) -> Directions:
    """The leading ``most`` directions of a stage of elimination, from B = H_SS⁻¹C_S.

    They are BV/σ, with the eigenvectors V of CᵀB = WᵀW. With bases Q (k, r) CQ takes C's place.
    """
    k = forms[0].shape[1]
    if bases is None and k > 2 * min(rows.shape[1], forms[0].samples):
        return root_directions(forms, rows, most)
    xp = arrays.namespace(coefficients)
    cross = [form.cross_rows(rows[i, :]) for i, form in enumerate(forms)]
    if bases is not None:
        cross = [own @ basis for own, basis in zip(cross, bases, strict=True)]
    values, vectors = _leading(xp.matrix_transpose(xp.stack(cross)) @ coefficients, most, k)
    sigma = xp.sqrt(values)[:, None, :]
    map = coefficients @ (vectors * arrays.divide_or_zero(1.0, sigma))
    if bases is not None:
        vectors = xp.stack(list(bases)) @ vectors
    return _ordered(rows, map, xp.matrix_transpose(vectors * sigma))


def root_directions(forms: Sequence[QuadraticForm], rows: Array, most: int) -> Directions:
    """The leading ``most`` directions of fits on given rows, from inverse roots."""
    return directions(rows, *roots_of(forms, rows), most)


def roots_of(forms: Sequence[QuadraticForm], rows: Array) -> tuple[Array, Array]:
    """Inverse roots R and R C_S of m forms on the rows of each, padded with zeros."""
    roots = [form.inverse_root(rows[i, :])[0] for i, form in enumerate(forms)]
    whitened = [root @ forms[i].cross_rows(rows[i, :]) for i, root in enumerate(roots)]
    return linalg.stacked(roots), linalg.stacked(whitened)


def directions(
    rows: Array, root: Array, whitened: Array, most: int, columns: Array | None = None
) -> Directions:
    """The leading directions of fits with R and R C_S, of all columns or of those of each fit."""
    xp = arrays.namespace(whitened)
    matrix = whitened
    if columns is not None:
        matrix = xp.take_along_axis(whitened, columns[:, None, :], axis=2)
    transposed = xp.matrix_transpose(matrix)
    wide = matrix.shape[1] <= matrix.shape[2]
    symmetric = matrix @ transposed if wide else transposed @ matrix
    values, left = _leading(symmetric, most, max(matrix.shape[1:]))
    if not wide:
        left = matrix @ (left * arrays.divide_or_zero(1.0, xp.sqrt(values))[:, None, :])
    return _ordered(rows, xp.matrix_transpose(root) @ left, xp.matrix_transpose(left) @ whitened)


def _leading(symmetric: Array, most: int, size: int) -> tuple[Array, Array]:
    """The largest eigenvalues with their vectors; those that are rounding errors are zero."""
    xp = arrays.namespace(symmetric)
    values, vectors = linalg.eigh(symmetric)
    most = min(most, values.shape[1])
    values, vectors = xp.flip(values, axis=1)[:, :most], xp.flip(vectors, axis=2)[:, :, :most]
    clear = (values > size * arrays.eps(values) * values[:, :1]) & (values > 0)
    count = int(xp.count_nonzero(xp.any(clear, axis=0)))
    clear, values, vectors = clear[:, :count], values[:, :count], vectors[:, :, :count]
    return xp.where(clear, values, 0.0), xp.where(clear[:, None, :], vectors, 0.0)


def _ordered(rows: Array, map: Array, weights: Array) -> Directions:
    xp = arrays.namespace(weights)
    weights = xp.astype(weights, xp.float64, copy=False)
    explained = xp.cumulative_sum(weights**2, axis=1)
    order = xp.argsort(-arrays.half_the_digits(explained), axis=2)
    return Directions(rows, map, weights, order)


def error_tables(
    known: Directions, products: Array, inner: Array, offsets: np.ndarray | None = None
) -> np.ndarray:
    """Changes of the squared error: entry (i, r − 1, s − 1) is that of rank r and s columns.

    ``products`` are (A Rᵀ L)ᵀ B, of shape (m, q, k), and ``inner`` (A Rᵀ L)ᵀ (A Rᵀ L). ``offsets``,
    of shape (m, 1, k), are further changes of every column in use.
    """
    by_rank = column_changes(known.weights, products, inner)
    if offsets is not None:
        by_rank = by_rank + arrays.from_numpy(offsets, by_rank)
    ordered = arrays.namespace(by_rank).take_along_axis(by_rank, known.order, axis=2)
    return arrays.to_numpy(arrays.namespace(ordered).cumulative_sum(ordered, axis=2))


def column_changes(W: Array, products: Array, inner: Array) -> Array:
    """Changes of the squared error of every column: entry (i, r − 1, j) for column j and rank r."""
    xp = arrays.namespace(W)
    products, inner = (xp.astype(x, xp.float64, copy=False) for x in (products, inner))
    before = xp.tril(inner, k=-1) @ W
    diagonal = xp.linalg.diagonal(inner)[:, :, None]
    return xp.cumulative_sum(W * (diagonal * W + 2 * before - 2 * products), axis=1)


def _aligned(tables: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Tables with as many ranks as the highest; further ranks have the errors of the last one."""
    ranks = np.arange(max(len(table) for table in tables))
    return [table[np.minimum(ranks, len(table) - 1)] for table in tables]


def mean_score(parts: Sequence[float]) -> float:
    """Mean over splits, to half of its digits, so that rounding errors decide nothing."""
    return float(arrays.half_the_digits(np.asarray(np.mean(parts))))


def mean_table(tables: Sequence[np.ndarray]) -> np.ndarray:
    """Mean over splits, to half of its digits; tables may have different numbers of ranks."""
    return arrays.half_the_digits(np.mean(_aligned(tables), axis=0))


def lower_table(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """The smaller of two tables, entry by entry."""
    return np.minimum(*_aligned((one, other)))
