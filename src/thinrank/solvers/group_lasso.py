"""The group lasso for multi-response regression, with one group per row of coefficients."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
from sklearn import config_context
from sklearn.linear_model import lasso_path

from thinrank.arrays import nonzero_rows
from thinrank.core.warnings import quiet_coordinate_descent

# A row outside the working set violates its condition if its correlation exceeds the penalty by
# this fraction; well above the rounding errors of the correlations.
_SLACK = 1e-7
# Up to this number of predictors the overhead of a working set exceeds its gain.
_FEW = 150


def largest_penalty(cross: np.ndarray, n_samples: int) -> float:
    """The smallest penalty for which all coefficients are zero, from XᵀY."""
    return float(np.max(np.linalg.norm(cross, axis=1), initial=0.0)) / n_samples


def group_lasso_path(
    X: np.ndarray,
    Y: np.ndarray,
    penalties: Iterable[float],
    *,
    start: np.ndarray | None = None,
    tol: float = 1e-6,
) -> Iterator[np.ndarray]:
    """Solve the group lasso for one penalty after another, each from the solution before.

    The solutions are computed one at a time, so that a caller who stops early does not compute the
    rest of the path. ``start``: coefficients to start from with the first penalty, None for zeros.
    """
    for penalty in penalties:
        start = group_lasso(X, Y, penalty, start=start, tol=tol)
        yield start


def group_lasso(
    X: np.ndarray,
    Y: np.ndarray,
    penalty: float,
    *,
    start: np.ndarray | None = None,
    tol: float = 1e-6,
) -> np.ndarray:
    """Minimise 1/(2n)·‖Y − XB‖² + penalty·Σⱼ‖Bⱼ‖ over B, where Bⱼ are the rows of B.

    This is the objective of scikit-learn's ``MultiTaskLasso`` without intercept. Its block
    coordinate descent runs on a working set of rows. The set grows by the rows that violate the
    optimality condition ‖Xⱼᵀ(Y − XB)‖/n ≤ penalty most, until no row does. If the set is much
    smaller than n, X and Y are replaced by R and QᵀY from the QR decomposition of the columns in
    the set: the same problem with fewer rows. With ``penalty=0`` the result is the least-squares
    solution of least norm. ``start``: coefficients, None for zeros. ``tol``: for the duality gap,
    relative to ‖Y‖².
    """
    n, p = X.shape
    if penalty == 0:
        return np.linalg.lstsq(X, Y, rcond=None)[0]
    B = np.zeros((p, Y.shape[1])) if start is None else start.copy()
    if p <= _FEW:
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
        # the set at most doubles, so that few of its rows turn out to be zero
        most = max(working.size, 50)
        worst = violated[np.argsort(-strength[violated], kind="stable")[:most]]
        working = np.union1d(working, worst)  # the set only grows, so the loop ends
        B[working] = _descend(X[:, working], Y, penalty, B[working], tol)


def _descend(
    X: np.ndarray, Y: np.ndarray, penalty: float, start: np.ndarray, tol: float
) -> np.ndarray:
    """Block coordinate descent of scikit-learn over all rows of B."""
    n, p = X.shape
    if 3 * p < 2 * n:
        basis, X = np.linalg.qr(X)
        Y = basis.T @ Y
    with quiet_coordinate_descent(), config_context(skip_parameter_validation=True):
        _, coefficients, _ = lasso_path(
            np.asfortranarray(X),
            np.asfortranarray(Y),
            alphas=[penalty * n / X.shape[0]],
            coef_init=start.T.copy(order="F"),
            tol=tol,
            max_iter=20_000,  # columns that are nearly dependent need more than 1000
            check_input=False,
        )
    return np.asarray(coefficients)[:, :, 0].T
