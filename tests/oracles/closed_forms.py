"""Answers known without thinrank."""

from itertools import combinations

import numpy as np


def reduced_rank_regression(X, Y, rank):
    """The global minimum of ‖Y − XΘ‖² over rank(Θ) ≤ rank: least squares, then SVD of the fit."""
    q, r = np.linalg.qr(X)
    left, values, right = np.linalg.svd(q.T @ Y, full_matrices=False)
    return np.linalg.solve(r, (left[:, :rank] * values[:rank]) @ right[:rank])


def on_supports(X, Y, rank, rows, columns):
    """Reduced-rank regression on given supports: the oracle of the simulations."""
    theta = np.zeros((X.shape[1], Y.shape[1]))
    theta[np.ix_(rows, columns)] = reduced_rank_regression(X[:, rows], Y[:, columns], rank)
    return theta


def best_value_over_supports(X, Y, rank, row_sparsity, column_sparsity, n):
    """The minimum of 1/(2n)·‖Y − XΘ‖², by trying all supports."""
    explained = 0.0
    for rows in combinations(range(X.shape[1]), row_sparsity):
        projected = np.linalg.qr(X[:, rows])[0].T @ Y
        for columns in combinations(range(Y.shape[1]), column_sparsity):
            values = np.linalg.svd(projected[:, columns], compute_uv=False)
            explained = max(explained, np.sum(values[:rank] ** 2))
    return (np.sum(Y**2) - explained) / (2 * n)
