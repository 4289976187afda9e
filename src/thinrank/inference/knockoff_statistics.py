"""Which of a predictor and its knockoff is earlier on the path of the group lasso, and when."""

from __future__ import annotations

import numpy as np

from thinrank.inference.row_scores import NOISE_FLOOR
from thinrank.inference.structure import find_structure
from thinrank.solvers.group_lasso import group_lasso_path, largest_penalty

# Penalties of the path: from the largest in equal ratios, down to this fraction of it.
_PENALTIES, _LAST = 40, 0.02
_TOLERANCE = 1e-4  # of the group lasso


def knockoff_statistics(X: np.ndarray, copies: np.ndarray, Y: np.ndarray) -> np.ndarray:
    """W: the penalty at which a predictor or its knockoff enters, with the sign of the winner.

    The responses are projected on shared directions of effects first. These are found with
    predictors and knockoffs together, and do not change if a predictor and its knockoff are
    exchanged. If both enter at the same penalty, the larger row of coefficients wins.

    Shapes: ``X``, ``copies`` (n_samples, n_features), result (n_features,).
    """
    p = X.shape[1]
    both = np.column_stack([X, copies])
    both -= both.mean(axis=0)
    scores = _projected(both, Y)
    if both.shape[0] > both.shape[1]:  # the same problem with fewer rows
        basis, both = np.linalg.qr(both)
        scores = basis.T @ scores
    first = largest_penalty(both.T @ scores, len(both))
    penalties = first * np.geomspace(0.999, _LAST, _PENALTIES)
    statistics = np.zeros(p)
    most = min(p, len(both)) // 2
    path = group_lasso_path(np.asfortranarray(both), scores, penalties, tol=_TOLERANCE)
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
