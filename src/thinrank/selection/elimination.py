"""Forecasts for fewer rows: backward elimination from fits, with their row spaces held fixed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from thinrank import arrays, linalg
from thinrank.arrays import Array
from thinrank.core.contracts import QuadraticForm
from thinrank.solvers.exchanges import descending
from thinrank.solvers.pursuit import Fit

__all__ = [
    "MOST_FORECAST",
    "Removal",
    "RemovalInOrder",
    "can_forecast",
    "changes_in_order",
    "forecasts",
    "held_out_changes",
    "removal",
    "removal_in_order",
]

# Up to this number of rows the row to remove next is found anew after each removal. With more, rows
# are removed in the order of their costs in the fit, for which matrix products suffice.
MOST_FORECAST = 100


class Removal(NamedTuple):
    """A fit whose rows are removed one by one, and the held-out rows that score it.

    Attributes
    ----------
    root : ndarray of shape (s, s)
        R with RᵀR = H⁻¹.
    U : ndarray of shape (s, q)
        Coefficients with respect to an orthonormal basis Q of the row space.
    X : ndarray of shape (h, s)
        Held-out predictors.
    target : ndarray of shape (h, q)
        Held-out responses with respect to Q.
    null, entries : float
        Score of the zero matrix, and what squared errors are divided by.
    """

    root: np.ndarray
    U: np.ndarray
    X: np.ndarray
    target: np.ndarray
    null: float
    entries: float


class RemovalInOrder(NamedTuple):
    """A fit with many rows, which are removed from the last to the first.

    Attributes
    ----------
    root, U, X, target, null, entries
        As in :class:`Removal`, but arrays of any library, with the rows of largest cost first; R is
        lower triangular.
    weights : array of shape (s, q)
        R⁻ᵀU.
    """

    root: Array
    U: Array
    X: Array
    target: Array
    null: float
    entries: float
    weights: Array


def can_forecast(fit: Fit) -> bool:
    """Whether rows of a fit can be removed one by one: it has few rows, and a root for them."""
    count = fit.rows.shape[0]
    return count <= MOST_FORECAST and fit.root.shape == (count, count)


def removal(fit: Fit, X: Array, Y: Array, null: float, entries: float) -> Removal:
    """A fit and held-out rows ``X`` of its predictors and ``Y`` of the responses."""
    root, U, Q, X, Y = (
        arrays.to_numpy(x).astype(np.float64, copy=False) for x in (fit.root, fit.U, fit.Q, X, Y)
    )
    return Removal(root, U, X, Y @ Q, null, entries)


def removal_in_order(
    form: QuadraticForm, fit: Fit, X: Array, Y: Array, null: float, entries: float
) -> RemovalInOrder | None:
    """The same for a fit with many rows, which may lack its root, on the device of the data.

    None if there are more rows than samples.
    """
    root, _ = form.inverse_root(fit.rows)
    if root.shape[0] < root.shape[1]:
        return None
    costs = arrays.row_norms_squared(fit.U) / arrays.column_norms_squared(root)
    order = descending(costs)
    xp = arrays.namespace(root)
    target = xp.astype(Y @ fit.Q, xp.float64, copy=False)
    gram = arrays.submatrix(form.gram(fit.rows), order, order)
    U, X = arrays.take_rows(fit.U, order), arrays.take_columns(X, order)
    gram, U, X = (xp.astype(a, xp.float64, copy=False) for a in (gram, U, X))
    slopes = gram @ U
    root, _ = linalg.inverse_cholesky(gram)
    return RemovalInOrder(root, U, X, target, null, entries, root @ slopes)


def forecasts(removals: Sequence[Removal | RemovalInOrder | None], rows: np.ndarray) -> np.ndarray:
    """Scores after removing rows of least cost, Q held fixed.

    Parameters
    ----------
    removals : sequence of (Removal, RemovalInOrder or None)
        The fits; None for one without forecasts.
    rows : ndarray of int
        Numbers of rows, sorted.

    Returns
    -------
    ndarray of shape (n_fits, n_rows)
        Infinite for more rows than the fit has, and without forecasts.
    """
    scores = np.full((len(removals), int(rows[-1]) + 1), np.inf)

    def keep(i: int, each: Removal | RemovalInOrder, changes: np.ndarray) -> None:
        count = min(each.U.shape[0] + 1, scores.shape[1])
        scores[i, :count] = each.null + changes[:count] / each.entries

    few = [(i, each) for i, each in enumerate(removals) if isinstance(each, Removal)]
    if few:
        parts = zip(*(each[:4] for _, each in few), strict=True)
        every = held_out_changes(*(_padded(blocks) for blocks in parts))
        for (i, each), changes in zip(few, every, strict=True):
            keep(i, each, changes)
    for i, many in enumerate(removals):
        if isinstance(many, RemovalInOrder):
            keep(i, many, changes_in_order(*many[:4], many.weights))
    return scores[:, rows]


def _padded(blocks: Sequence[np.ndarray]) -> np.ndarray:
    """Matrices along a new first axis, padded with zeros to the shape of the largest."""
    padded = np.zeros((len(blocks), *np.max([block.shape for block in blocks], axis=0)))
    for place, block in zip(padded, blocks, strict=True):
        place[: block.shape[0], : block.shape[1]] = block
    return padded


def held_out_changes(
    root: np.ndarray, U: np.ndarray, X: np.ndarray, target: np.ndarray
) -> np.ndarray:
    """Changes of the held-out squared error, relative to zero, as rows are removed one by one.

    The row whose removal increases the training error least, by ‖Uᵢ‖²/(H⁻¹)ᵢᵢ, is removed first;
    the other coefficients become U − h·Uᵢ/(H⁻¹)ᵢᵢ, where h is column i of H⁻¹. On small data a
    product of two small matrices takes less time than the function call, hence all fits together.

    Parameters
    ----------
    root, U, X, target : ndarrays of shapes (f, s, s), (f, s, q), (f, h, s) and (f, h, q)
        The arrays of :class:`Removal` for f fits. A fit of fewer rows than s has zeros in place of
        the others, which are removed first.

    Returns
    -------
    ndarray of shape (f, s + 1)
        Entry m is the squared error with m rows minus that with none.
    """
    inverse = np.matrix_transpose(root) @ root
    diagonal = np.einsum("fii->fi", inverse)  # a view
    diagonal[diagonal == 0] = 1.0  # rows that are not there: they cost nothing
    U, image = U.copy(), X @ U
    count, size = U.shape[:2]
    every = np.arange(count)
    alive = np.ones((count, size), dtype=bool)
    changes = np.zeros((count, size + 1))
    for left in range(size, 0, -1):
        changes[:, left] = np.einsum("fij,fij->f", image, image - 2 * target)
        costs = arrays.divide_or_zero(np.einsum("fij,fij->fi", U, U), diagonal)
        allowed = alive & (diagonal > 0)
        out = np.argmin(np.where(allowed, arrays.half_the_digits(costs), np.inf), axis=1)
        row, lost = inverse[every, out], U[every, out][:, None, :]
        column = (row / row[every, out][:, None])[:, :, None]
        image -= (X @ column) * lost
        U -= column * lost
        inverse -= column * row[:, None, :]
        alive[every, out] = False
        U[every, out], inverse[every, out], inverse[every, :, out] = 0.0, 0.0, 0.0
    return changes


def changes_in_order(root: Array, U: Array, X: Array, target: Array, weights: Array) -> np.ndarray:
    """Changes of the held-out squared error as rows are removed from the last to the first.

    With Z = R⁻ᵀU the coefficients without the rows from the m-th on are U − Σ rᵢzᵢᵀ, where the sum
    is over these rows of R and of Z. Squared errors are therefore cumulative sums.

    Parameters
    ----------
    root, U, X, target, weights : arrays of shapes (s, s), (s, q), (h, s), (h, q) and (s, q)
        R, U, the held-out rows and Z of a :class:`RemovalInOrder`.

    Returns
    -------
    ndarray of shape (s + 1,)
        Entry m is the squared error with m rows minus that with none.
    """
    xp = arrays.namespace(root)
    image, parts = X @ U, X @ root.T
    later = xp.triu(parts.T @ parts, k=1) @ weights
    own = arrays.column_norms_squared(parts)[:, None] * weights
    steps = xp.sum(weights * (own + 2 * later - 2 * parts.T @ (image - target)), axis=1)
    lost = np.cumsum(arrays.to_numpy(steps)[::-1])[::-1]
    return arrays.inner(image, image - 2 * target) + np.append(lost, 0.0)
