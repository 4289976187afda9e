"""Forecasts for fewer rows: backward elimination from fits, with their row spaces held fixed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from thinrank import arrays
from thinrank.arrays import Array
from thinrank.solvers.pursuit import Fit

__all__ = [
    "MOST_FORECAST",
    "Removal",
    "can_forecast",
    "forecasts",
    "held_out_changes",
    "removal",
]

# Largest number of rows of a fit from which forecasts are made: the time increases with the third
# power of the number of rows, and takes some milliseconds for this one.
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


def can_forecast(fit: Fit) -> bool:
    """Whether the rows of a fit are few enough for forecasts."""
    return fit.rows.shape[0] <= MOST_FORECAST and not fit.has_more_rows_than_samples


def removal(fit: Fit, X: Array, Y: Array, null: float, entries: float) -> Removal:
    """A fit and held-out rows ``X`` of its predictors and ``Y`` of the responses."""
    root, U, Q, X, Y = (
        arrays.to_numpy(x).astype(np.float64, copy=False) for x in (fit.root, fit.U, fit.Q, X, Y)
    )
    return Removal(root, U, X, Y @ Q, null, entries)


def forecasts(removals: Sequence[Removal | None], rows: np.ndarray) -> np.ndarray:
    """Scores after removing rows of least cost one by one, Q held fixed.

    Parameters
    ----------
    removals : sequence of (Removal or None)
        The fits; None for one without forecasts.
    rows : ndarray of int
        Numbers of rows, sorted.

    Returns
    -------
    ndarray of shape (n_fits, n_rows)
        Infinite for more rows than the fit has, and without forecasts.
    """
    scores = np.full((len(removals), int(rows[-1]) + 1), np.inf)
    known = [(i, each) for i, each in enumerate(removals) if each is not None]
    if known:
        parts = zip(*(each[:4] for _, each in known), strict=True)
        every = held_out_changes(*(_padded(blocks) for blocks in parts))
        for (i, each), changes in zip(known, every, strict=True):
            count = min(len(each.U) + 1, scores.shape[1])
            scores[i, :count] = each.null + changes[:count] / each.entries
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
