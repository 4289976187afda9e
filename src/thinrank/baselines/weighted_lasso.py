"""The lasso with a weight for every entry, on a working set."""

from __future__ import annotations

import warnings

import numpy as np
from sklearn import config_context
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import lasso_path

__all__ = ["weighted_lasso"]

# Up to this many predictors the bookkeeping of a working set costs more than it saves.
_SMALL = 150
# How far an entry outside the working set may exceed the penalty, in parts of it.
_SLACK = 1e-7
_MAX_SWEEPS = 20_000


def weighted_lasso(
    X: np.ndarray,
    y: np.ndarray,
    penalty: float,
    scale: np.ndarray,
    start: np.ndarray,
    tol: float = 1e-6,
) -> np.ndarray:
    """Minimise 1/(2n)·‖y − Xb‖² + penalty·Σⱼ|bⱼ|/scaleⱼ; entries of scale 0 are zero.

    scikit-learn's coordinate descent on a working set, which grows by the entries that violate
    scaleⱼ·|Xⱼᵀ(y − Xb)|/n ≤ penalty until none does.
    """
    n = X.shape[0]
    b = np.where(scale > 0, start, 0.0)
    allowed = np.flatnonzero(scale > 0)
    if penalty == 0:
        b[allowed] = np.linalg.lstsq(X[:, allowed], y, rcond=None)[0]
        return b
    if allowed.size <= _SMALL:
        if allowed.size:
            b[allowed] = _descend(X[:, allowed], y, penalty, scale[allowed], b[allowed], tol)
        return b
    working = np.flatnonzero(b)
    if working.size:
        b[working] = _descend(X[:, working], y, penalty, scale[working], b[working], tol)
    while True:
        strength = scale * np.abs(X.T @ (y - X[:, working] @ b[working])) / n
        strength[working] = 0.0
        violated = np.flatnonzero(strength > penalty * (1 + _SLACK))
        if violated.size == 0:
            return b
        working = np.union1d(working, violated)
        b[working] = _descend(X[:, working], y, penalty, scale[working], b[working], tol)


def _descend(
    X: np.ndarray, y: np.ndarray, penalty: float, scale: np.ndarray, start: np.ndarray, tol: float
) -> np.ndarray:
    with warnings.catch_warnings(), config_context(skip_parameter_validation=True):
        warnings.simplefilter("ignore", ConvergenceWarning)
        _, coefficients, _ = lasso_path(
            np.asfortranarray(X * scale),
            np.ascontiguousarray(y),
            alphas=[penalty],
            coef_init=start / scale,
            tol=tol,
            max_iter=_MAX_SWEEPS,
            precompute=False,
            check_input=False,
        )
    return coefficients[:, 0] * scale
