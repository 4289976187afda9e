"""The errors of every rank and number of columns at once, from one set of rows.

On given rows S reduced-rank regression is Θ_S = Rᵀ L W with R the whitening root, L the left
singular vectors of R C_S and W = Lᵀ R C_S; rank r keeps the first r of them, and s₂ columns those
where W is largest. The squared error ‖B − A Rᵀ L W‖² of any rows (A, B) splits into one term for
each direction and column, so that the errors of all ranks and all numbers of columns are two
cumulative sums.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from thinrank import arrays
from thinrank.arrays import Array

__all__ = ["Directions", "RowFit", "directions", "error_table"]


class RowFit(Protocol):
    """What tables need of a fit on rows S; see :class:`thinrank.solvers.fits.Fit`."""

    @property
    def rows(self) -> Array:
        """S."""
        ...

    @property
    def root(self) -> Array:
        """R with RᵀR = H_SS⁻¹."""
        ...

    @property
    def whitened(self) -> Array:
        """R C_S."""
        ...


@dataclass(frozen=True)
class Directions:
    """What a fit on rows S knows about models of other ranks and columns.

    Attributes
    ----------
    map : array of shape (|S|, q)
        Rᵀ L: coefficients of the directions.
    weights : ndarray of shape (q, k)
        W.
    order : ndarray of int, of shape (q, k)
        For every rank the columns, those that it explains most first.
    """

    map: Array
    weights: np.ndarray
    order: np.ndarray


def directions(fit: RowFit, most: int, columns: Array | None = None) -> Directions:
    """The leading ``most`` directions on the rows of a fit, of all its columns or of some."""
    matrix = fit.whitened if columns is None else arrays.take_columns(fit.whitened, columns)
    left = _left_vectors(matrix, most)
    weights = arrays.to_numpy(left.T @ fit.whitened).astype(np.float64)
    explained = np.cumsum(weights**2, axis=0)
    return Directions(fit.root.T @ left, weights, np.argsort(-arrays.half_the_digits(explained), axis=1, kind="stable"))


def error_table(known: Directions, products: np.ndarray, inner: np.ndarray) -> np.ndarray:
    """By how much each rank and number of columns lowers the squared error from that of zero.

    Parameters
    ----------
    known : Directions
    products : ndarray of shape (q, k)
        (A Rᵀ L)ᵀ B, the directions' images times the responses.
    inner : ndarray of shape (q, q)
        (A Rᵀ L)ᵀ (A Rᵀ L).

    Returns
    -------
    ndarray of shape (q, k)
        Entry (r − 1, s − 1) is the change of the error with rank r and s columns.
    """
    W = known.weights
    before = np.tril(inner, -1) @ W
    terms = W * (np.diag(inner)[:, None] * W + 2 * before - 2 * products)
    by_rank = np.cumsum(terms, axis=0)
    return np.cumsum(np.take_along_axis(by_rank, known.order, axis=1), axis=1)


def _left_vectors(matrix: Array, most: int) -> Array:
    """Leading left singular vectors, through the smaller of the two Gram matrices.

    Directions that carry less than rounding of the squares are left out.
    """
    xp = arrays.namespace(matrix)
    wide = matrix.shape[0] <= matrix.shape[1]
    values, vectors = xp.linalg.eigh(matrix @ matrix.T if wide else matrix.T @ matrix)
    most = min(most, values.shape[0])
    values, vectors = xp.flip(values)[:most], xp.flip(vectors, axis=1)[:, :most]
    floor = max(matrix.shape) * arrays.eps(matrix) * float(values[0]) if values.shape[0] else 0.0
    kept = int(xp.count_nonzero(values > floor))
    if wide:
        return vectors[:, :kept]
    return matrix @ (vectors[:, :kept] / xp.sqrt(values[:kept]))
