"""Backward elimination of rows from a fit, with its row space held fixed."""

from __future__ import annotations

import numpy as np

from thinrank import arrays

__all__ = ["held_out_changes"]


def held_out_changes(
    root: np.ndarray, U: np.ndarray, X: np.ndarray, target: np.ndarray
) -> np.ndarray:
    """Change of the held-out squared error, relative to zero, as rows are removed one by one.

    The row whose removal increases the training error least, by ‖Uᵢ‖²/(H⁻¹)ᵢᵢ, is removed first;
    the other coefficients become U − h·Uᵢ/(H⁻¹)ᵢᵢ, where h is column i of H⁻¹.

    Parameters
    ----------
    root : ndarray of shape (s, s)
        R with RᵀR = H⁻¹.
    U : ndarray of shape (s, q)
        Coefficients with respect to an orthonormal basis Q of the row space.
    X : ndarray of shape (h, s)
        Held-out predictors.
    target : ndarray of shape (h, q)
        Held-out responses with respect to Q.

    Returns
    -------
    ndarray of shape (s + 1,)
        Entry m is the squared error with m rows minus that with none.
    """
    inverse = root.T @ root
    U, image = U.copy(), X @ U
    alive = np.ones(len(U), dtype=bool)
    changes = np.zeros(len(U) + 1)
    for left in range(len(U), 0, -1):
        changes[left] = np.vdot(image, image - 2 * target)
        diagonal = inverse.diagonal()
        costs = arrays.half_the_digits(arrays.divide_or_zero(np.einsum("ij,ij->i", U, U), diagonal))
        out = int(np.argmin(np.where(alive & (diagonal > 0), costs, np.inf)))
        column = inverse[out] / inverse[out, out]
        image -= np.outer(X @ column, U[out])
        U -= np.outer(column, U[out])
        inverse -= np.outer(column, inverse[out])
        alive[out] = False
        U[out], inverse[out], inverse[:, out] = 0.0, 0.0, 0.0
    return changes
