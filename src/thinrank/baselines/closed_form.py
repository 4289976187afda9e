"""Reduced-rank regression of plain arrays in closed form."""

from __future__ import annotations

import numpy as np

__all__ = ["reduced_rank_regression"]


def reduced_rank_regression(X: np.ndarray, Y: np.ndarray, rank: int) -> np.ndarray:
    """Minimise ‖Y − XΘ‖² over rank(Θ) ≤ rank.

    The solution is ordinary least squares projected onto the leading right singular vectors of its
    fitted values.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        Predictors, of full column rank.
    Y : ndarray of shape (n_samples, n_targets)
        Responses.
    rank : int
        Largest rank of Θ.

    Returns
    -------
    theta : ndarray of shape (n_features, n_targets)
        The global minimum.
    """
    free = np.linalg.lstsq(X, Y, rcond=None)[0]
    right = np.linalg.svd(X @ free, full_matrices=False)[2][:rank]
    return free @ right.T @ right
