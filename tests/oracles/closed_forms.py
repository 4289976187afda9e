"""Answers computed with NumPy alone, from X and Y. Nothing here may import thinrank.

The objective is 1/(2n)·‖Y − XΘ‖² + ridge/2·‖Θ‖² throughout.
"""

from itertools import combinations

import numpy as np


def _with_ridge(X, Y, ridge, n):
    """Rows below X and Y that turn the ridge into squares of residuals."""
    if not ridge:
        return X, Y
    p, k = X.shape[1], Y.shape[1]
    return np.vstack([X, np.sqrt(n * ridge) * np.eye(p)]), np.vstack([Y, np.zeros((p, k))])


def _basis(X):
    """The SVD of X without singular values that are zero to rounding."""
    left, values, right = np.linalg.svd(X, full_matrices=False)
    clear = values > 1e-10 * values[0]
    return left[:, clear], values[clear], right[clear]


def reduced_rank_regression(X, Y, rank, ridge=0.0):
    """The global minimum over rank(Θ) ≤ rank: least squares, then the SVD of the fit."""
    X, Y = _with_ridge(X, Y, ridge, n=len(X))
    left, values, right = _basis(X)
    outer, explained, inner = np.linalg.svd(left.T @ Y, full_matrices=False)
    return (right.T / values) @ (outer[:, :rank] * explained[:rank]) @ inner[:rank]


def on_supports(X, Y, rank, rows, columns, ridge=0.0):
    """Reduced-rank regression on given supports: the oracle of the simulations."""
    theta = np.zeros((X.shape[1], Y.shape[1]))
    theta[np.ix_(rows, columns)] = reduced_rank_regression(X[:, rows], Y[:, columns], rank, ridge)
    return theta


def objective(X, Y, theta, ridge=0.0):
    """1/(2n)·‖Y − XΘ‖² + ridge/2·‖Θ‖²."""
    return np.sum((Y - X @ theta) ** 2) / (2 * len(X)) + ridge / 2 * np.sum(theta**2)


def best_over_supports(X, Y, rank, row_sparsity, column_sparsity, ridge=0.0, n=None):
    """The minimum over all supports, and the rows and columns where it is attained.

    On given rows and columns the part of ‖Y‖² that a fit of rank r explains is the sum of the r
    largest squared singular values of the projection of Y.

    Returns
    -------
    value : float
    rows, columns : list of int
    """
    n = len(X) if n is None else n
    choices = np.array(list(combinations(range(Y.shape[1]), column_sparsity)))
    most, best = -1.0, None
    for rows in combinations(range(X.shape[1]), row_sparsity):
        longer, responses = _with_ridge(X[:, rows], Y, ridge, n)
        projected = _basis(longer)[0].T @ responses
        stacked = np.moveaxis(projected[:, choices], 1, 0)  # (choices, directions, columns)
        values = np.linalg.svd(stacked, compute_uv=False)[:, :rank]
        explained = np.sum(values**2, axis=1)
        if explained.max() > most:
            most, best = explained.max(), (list(rows), choices[np.argmax(explained)].tolist())
    return (np.sum(Y**2) - most) / (2 * n), *best


def group_violation(X, Y, B, penalty):
    """How far B is from the conditions ∇ = −penalty·Bⱼ/‖Bⱼ‖ or ‖∇ⱼ‖ ≤ penalty."""
    gradient = X.T @ (X @ B - Y) / len(X)
    norms = np.linalg.norm(B, axis=1)
    active = norms > 0
    inside = gradient[active] + penalty * B[active] / norms[active, None]
    outside = np.linalg.norm(gradient[~active], axis=1) - penalty
    return max(np.max(np.abs(inside), initial=0), np.max(outside, initial=0))
