"""The lasso with one weight per coefficient, solved on a working set."""

from __future__ import annotations

import numpy as np
from sklearn import config_context
from sklearn.linear_model import lasso_path

from thinrank.core.warnings import quiet_coordinate_descent

# Rule of thumb: up to this many predictors the overhead of a working set exceeds its gain.
_SMALL = 150
# An entry outside the working set violates its condition if it exceeds the penalty by this fraction
# of it; well above the rounding errors of the correlations.
_SLACK = 1e-7
# Iteration limit of scikit-learn's coordinate descent. Its default is 1000; columns that are nearly
# dependent need more.
_MAX_SWEEPS = 20_000


def weighted_lasso(
    X: np.ndarray,
    y: np.ndarray,
    penalty: float,
    scale: np.ndarray,
    start: np.ndarray,
    tol: float = 1e-6,
) -> np.ndarray:
    """Minimise 1/(2n)·‖y − Xb‖² + penalty·Σⱼ|bⱼ|/scaleⱼ over b.

    scikit-learn's coordinate descent runs on a working set, which grows by the entries that
    violate the optimality condition scaleⱼ·|Xⱼᵀ(y − Xb)|/n ≤ penalty, until no entry does.

    Shapes: ``scale`` (n_features,), ``start`` (n_features,), result (n_features,).
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
    with quiet_coordinate_descent(), config_context(skip_parameter_validation=True):
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
