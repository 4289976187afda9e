"""Knockoffs: copies of predictors that compete with them on the path of the group lasso."""

from __future__ import annotations

import numpy as np
from scipy.linalg.blas import dger
from sklearn.covariance import ledoit_wolf

from thinrank.inference.row_p_values import NOISE_FLOOR
from thinrank.inference.structure import find_structure
from thinrank.solvers.group_lasso import group_lasso_path, largest_penalty

# Added to seeds: data that a user draws with the same seed and shape must differ from the draws.
_STREAM = 20_150_043


def knockoff_variances(correlation: np.ndarray) -> np.ndarray:
    """Differences s between variances and covariances of predictors and their knockoffs.

    They minimize tr(S⁻¹) + tr((2Σ − S)⁻¹) (Spector and Janson 2022), by exact steps in one
    coordinate at a time; with more than 1,000 predictors all are the same (equicorrelated).
    """
    p = len(correlation)
    smallest = float(np.linalg.eigvalsh(correlation)[0])
    if p > 1000:  # the time of a sweep grows with its cube
        return np.full(p, min(2 * (1 - 1e-6) * smallest, 1.0))
    s = np.full(p, min(smallest, 1.0))
    # in Fortran order, so that it is changed in place
    inverse = np.asfortranarray(np.linalg.inv(2 * correlation - np.diag(s)))
    for _ in range(30):
        before = s.copy()
        for j in range(p):
            column = inverse[:, j].copy()
            slope = float(np.linalg.norm(column))
            change = (1 - slope * s[j]) / (slope + column[j])
            s[j] += change
            factor = change / (1 - change * column[j])
            inverse = dger(factor, column, column, a=inverse, overwrite_a=True)
        if np.max(np.abs(s - before)) < 1e-4 * np.max(s):
            break
    return s


def fixed_knockoffs(X: np.ndarray, seed: int) -> np.ndarray:
    """Knockoffs with X̃ᵀX̃ = XᵀX and XᵀX̃ = XᵀX − S, for at least 2p + 1 rows."""
    n, p = X.shape
    gram = X.T @ X
    # knockoffs of nearly dependent predictors are nearly copies, which have no power
    if float(np.linalg.eigvalsh(gram)[0]) < 1e-8:
        raise ValueError(
            'X must have linearly independent columns for method="fixed_knockoffs"; leave out '
            'predictors that depend on others, or use method="row_tests"'
        )
    s = knockoff_variances(gram)
    draws = np.random.default_rng([seed, _STREAM]).standard_normal((n, p))
    basis = np.linalg.qr(np.column_stack([np.ones(n), X, draws]))[0][:, p + 1 :]
    solved = np.linalg.solve(gram, np.diag(s))
    return X - X @ solved + basis @ _root(2 * np.diag(s) - s[:, None] * solved).T


def gaussian_knockoffs(X: np.ndarray, seed: int) -> np.ndarray:
    """Knockoffs for Gaussian predictors, whose correlations are shrunk (Ledoit and Wolf)."""
    n, p = X.shape
    scaled = X * np.sqrt(n)
    covariance = ledoit_wolf(scaled, assume_centered=True)[0]
    # at least a little shrinkage, for columns that are equal
    covariance = 0.999 * covariance + 0.001 * np.diag(np.diag(covariance))
    units = np.sqrt(np.diag(covariance))
    correlation = covariance / np.outer(units, units)
    s = knockoff_variances(correlation)
    solved = np.linalg.solve(correlation, np.diag(s))
    draws = np.random.default_rng([seed, _STREAM]).standard_normal((n, p))
    means = scaled / units - (scaled / units) @ solved
    copies = means + draws @ _root(2 * np.diag(s) - s[:, None] * solved).T
    return copies * units / np.sqrt(n)


def _root(A: np.ndarray) -> np.ndarray:
    """B with BBᵀ = A, for A that is positive semidefinite up to rounding errors."""
    values, vectors = np.linalg.eigh((A + A.T) / 2)
    return vectors * np.sqrt(np.maximum(values, 0.0))


def knockoff_statistics(X: np.ndarray, copies: np.ndarray, Y: np.ndarray) -> np.ndarray:
    """W: the penalty at which a predictor or its knockoff enters, with the sign of the winner.

    The responses are projected on shared directions first, which are found with both together and
    do not change if they are exchanged. Of two that enter together the larger row wins.
    """
    p = X.shape[1]
    both = np.column_stack([X, copies])
    both -= both.mean(axis=0)
    scores = _projected(both, Y)
    if both.shape[0] > both.shape[1]:  # the same problem with fewer rows
        basis, both = np.linalg.qr(both)
        scores = basis.T @ scores
    first = largest_penalty(both.T @ scores, len(both))
    penalties = first * np.geomspace(0.999, 0.02, 40)
    statistics = np.zeros(p)
    most = min(p, len(both)) // 2
    path = group_lasso_path(np.asfortranarray(both), scores, penalties, tol=1e-4)
    for penalty, B in zip(penalties, path, strict=True):
        norms = np.linalg.norm(B, axis=1)
        new = (statistics == 0) & (norms[:p] != norms[p:])
        statistics[new] = penalty * np.sign(norms[:p] - norms[p:])[new]
        if np.count_nonzero(statistics) > most:
            break
    return statistics / first if first else statistics


def _projected(both: np.ndarray, Y: np.ndarray) -> np.ndarray:
    """Responses in the shared directions, or in all, with noise of unit covariance."""
    norms = np.linalg.norm(both, axis=0)
    support, directions, *_ = find_structure(both / np.where(norms > 0, norms, 1.0), Y)
    basis = np.linalg.qr(both[:, support])[0]
    residual = Y - basis @ (basis.T @ Y)
    noise = residual.T @ residual / (len(Y) - 1 - len(support))
    root = np.linalg.cholesky(noise + NOISE_FLOOR * np.eye(len(noise)))
    white = np.linalg.solve(root, Y.T).T
    if directions.shape[1] == 0:
        return white
    return white @ np.linalg.qr(np.linalg.solve(root, directions))[0]


def sign_threshold(statistics: np.ndarray, fdr: float) -> tuple[float, float]:
    """The smallest t > 0 with (1 + #{W ≤ −t}) / #{W ≥ t} ≤ fdr, and this ratio; else ∞ and 0."""
    sizes = np.unique(np.abs(statistics[statistics != 0]))
    ordered = np.sort(statistics)
    above = len(ordered) - np.searchsorted(ordered, sizes, side="left")
    below = 1 + np.searchsorted(ordered, -sizes, side="right")
    good = np.flatnonzero(below <= fdr * above)
    if not len(good):
        return np.inf, 0.0
    return float(sizes[good[0]]), float(below[good[0]] / above[good[0]])
