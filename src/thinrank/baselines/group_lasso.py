"""The group lasso with one group a row: the convex problem inside most of the rivals."""

from __future__ import annotations

import warnings

import numpy as np
from sklearn import config_context
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import lasso_path

__all__ = ["group_lasso", "largest_penalty", "nonzero_rows"]

# Up to this many predictors the bookkeeping of a working set costs more than it saves.
_SMALL = 150
# How far a row outside the working set may exceed the penalty, in parts of it.
_SLACK = 1e-7
_MAX_SWEEPS = 20_000


def largest_penalty(cross: np.ndarray, n: int) -> float:
    """The smallest penalty with the answer 0: the largest row norm of XᵀY/n."""
    return float(np.max(np.linalg.norm(cross, axis=1), initial=0.0)) / n


def nonzero_rows(theta: np.ndarray) -> np.ndarray:
    """Sorted indices of the rows that are not zero."""
    return np.flatnonzero(np.any(theta != 0, axis=1))


def group_lasso(
    X: np.ndarray,
    Y: np.ndarray,
    penalty: float,
    *,
    start: np.ndarray | None = None,
    tol: float = 1e-6,
) -> np.ndarray:
    """Minimise 1/(2n)·‖Y − XB‖² + penalty·Σⱼ‖Bⱼ‖ over B, one group a row.

    scikit-learn's block coordinate descent on a working set of rows, which grows by the rows that
    violate the optimality conditions ‖Xⱼᵀ(Y − XB)‖/n ≤ penalty most, until none does. Where the
    set is much smaller than n, X and Y are replaced by R and QᵀY of the QR decomposition of its
    columns: the same problem with fewer rows. Without penalty: least squares of least norm.

    Parameters
    ----------
    X : ndarray of shape (n, p), columns contiguous
    Y : ndarray of shape (n, k)
    penalty : float
        At least 0.
    start : ndarray of shape (p, k), optional
        Where to begin.
    tol : float
        Of the duality gap, in parts of ‖Y‖².

    Returns
    -------
    ndarray of shape (p, k)
    """
    n, p = X.shape
    if penalty == 0:
        return np.linalg.lstsq(X, Y, rcond=None)[0]
    B = np.zeros((p, Y.shape[1])) if start is None else start.copy()
    if p <= _SMALL:
        return _descend(X, Y, penalty, B, tol)
    working = nonzero_rows(B)
    if working.size:
        B[working] = _descend(X[:, working], Y, penalty, B[working], tol)
    while True:
        residual = Y - X[:, working] @ B[working]
        strength = np.linalg.norm(X.T @ residual, axis=1) / n
        strength[working] = 0.0
        violated = np.flatnonzero(strength > penalty * (1 + _SLACK))
        if violated.size == 0:
            return B
        # doubling the set at most: few rounds, and few rows that turn out zero
        most = max(working.size, 50)
        worst = violated[np.argsort(-strength[violated], kind="stable")[:most]]
        working = np.union1d(working, worst)  # it only grows, so this ends
        B[working] = _descend(X[:, working], Y, penalty, B[working], tol)


def _descend(
    X: np.ndarray, Y: np.ndarray, penalty: float, start: np.ndarray, tol: float
) -> np.ndarray:
    """Block coordinate descent of scikit-learn, over all rows of B."""
    n, p = X.shape
    if 3 * p < 2 * n:
        basis, X = np.linalg.qr(X)
        Y = basis.T @ Y
    with warnings.catch_warnings(), config_context(skip_parameter_validation=True):
        # on nearly dependent columns the gap may stay above a tight tol; the answer still serves
        warnings.simplefilter("ignore", ConvergenceWarning)
        _, coefficients, _ = lasso_path(
            np.asfortranarray(X),
            np.asfortranarray(Y),
            alphas=[penalty * n / X.shape[0]],
            coef_init=start.T.copy(order="F"),
            tol=tol,
            max_iter=_MAX_SWEEPS,
            check_input=False,
        )
    return np.asarray(coefficients)[:, :, 0].T
