"""Reduced-rank regression in closed form, with or without a ridge penalty."""

from __future__ import annotations

import numpy as np

from thinrank.core.factors import Factors

# left (n_samples, q), values (q,) in decreasing order, right (n_features, q)
ThinSVD = tuple[np.ndarray, np.ndarray, np.ndarray]


def thin_svd(X: np.ndarray, smallest: float = 0.0) -> ThinSVD:
    """X = left · diag(values) · rightᵀ, without singular values that are zero up to rounding."""
    left, values, right = np.linalg.svd(X, full_matrices=False)
    # the threshold of numpy.linalg.matrix_rank
    floor = max(max(X.shape) * np.finfo(np.float64).eps, smallest)
    kept = int(np.count_nonzero(values > floor * values[0])) if values.size else 0
    return left[:, :kept], values[:kept], right[:kept].T


def reduced_rank_from_svd(svd: ThinSVD, Y: np.ndarray, rank: int, ridge: float = 0.0) -> Factors:
    """Reduced-rank regression from the decomposition of X, for several ranks or ridges on one X."""
    left, values, right = svd
    n, k = Y.shape
    if values.size == 0:
        return Factors.zero((right.shape[0], k), like=right)
    shrunk = values**2 + n * ridge
    coordinates = left.T @ Y
    fit = (values / np.sqrt(shrunk))[:, None] * coordinates
    V = np.linalg.svd(fit, full_matrices=False)[2][:rank].T
    return Factors(right @ ((values / shrunk)[:, None] * (coordinates @ V)), V)


def reduced_rank_regression(X: np.ndarray, Y: np.ndarray, rank: int, ridge: float = 0.0) -> Factors:
    """Minimise 1/(2n)·‖Y − XΘ‖² + ridge/2·‖Θ‖² over rank(Θ) ≤ rank, in closed form.

    Let B be the ridge regression of Y on X, that is, least squares of the augmented data (Y; 0) on
    (X; √(n·ridge)·I), and let the columns of V be the leading right singular vectors of its fitted
    values. Then Θ = BVVᵀ. Without ridge, and if X does not have full column rank, this is a
    solution of least norm.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        Predictors.
    Y : ndarray of shape (n_samples, n_targets)
        Responses.
    rank : int
        Largest rank of Θ, at least 0.
    ridge : float, default=0.0
        Weight of ½‖Θ‖², at least 0.

    Returns
    -------
    Factors
        Θ = UVᵀ with U = BV of shape (n_features, q) and orthonormal V of shape (n_targets, q),
        where q is ``rank`` or less.

    References
    ----------
    A. Izenman, Reduced-rank regression for the multivariate linear model, Journal of Multivariate
    Analysis 5 (1975). A. Mukherjee and J. Zhu, Reduced rank ridge regression and its kernel
    extensions, Statistical Analysis and Data Mining 4 (2011).
    """
    return reduced_rank_from_svd(thin_svd(X), Y, rank, ridge)
