"""Reduced-rank regression, whose global minimum is known in closed form."""

from __future__ import annotations

import numpy as np

__all__ = ["reduced_rank_regression"]


def reduced_rank_regression(X: np.ndarray, Y: np.ndarray, rank: int) -> np.ndarray:
    """The minimiser of ‖Y − XΘ‖² over rank(Θ) ≤ rank.

    Least squares, then the leading singular directions of the fit. X must have full column rank.
    """
    free = np.linalg.lstsq(X, Y, rcond=None)[0]
    right = np.linalg.svd(X @ free, full_matrices=False)[2][:rank]
    return free @ right.T @ right
