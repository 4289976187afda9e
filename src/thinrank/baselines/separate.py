"""One lasso or ridge per response: nothing shared but the penalty."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass

import numpy as np
from sklearn import config_context
from sklearn.linear_model import lasso_path

from thinrank.arrays import Array
from thinrank.baselines.base import (
    PenalizedBaseline,
    Setting,
    Solutions,
    TunedBaseline,
    penalty_grid,
)
from thinrank.baselines.sample import Prepared
from thinrank.core.factors import Factors
from thinrank.core.warnings import quiet_coordinate_descent

# Rule of thumb: up to this many predictors the overhead of a working set exceeds its gain.
_SMALL = 150
# An entry outside the working set violates its condition if it exceeds the penalty by this fraction
# of it; well above the rounding errors of the correlations.
_SLACK = 1e-7


@dataclass(eq=False, repr=False)
class SeparateLassos(PenalizedBaseline):
    """One lasso per response, with the same penalty for all.

    Minimizes ``1/(2n)·‖Y − XΘ‖² + penalty·Σ|Θ_ij|`` by scikit-learn's coordinate descent on
    working sets, one response after another, so that ``coef_`` has entries that are exactly zero.
    The paper starts gradient descent from this.

    Parameters
    ----------
    penalty : float or "auto", default="auto"
        Weight of the absolute entries, in the units of Y. "auto" chooses by ``cv`` from a
        warm-started path.
    {penalties}
    tol : float, default=1e-6
        Tolerance for the duality gaps of the final fit, relative to the squared norm of each
        response.

    Attributes
    ----------
    {model}

    References
    ----------
    R. Tibshirani, Regression shrinkage and selection via the lasso, Journal of the Royal
    Statistical Society B 58 (1996).

    Examples
    --------
    >>> import thinrank as tr
    >>> X, Y, truth = tr.datasets.make_two_way_sparse(200, 50, 40, rank=3, random_state=0)
    >>> est = tr.baselines.SeparateLassos(penalty=0.2).fit(X, Y)
    >>> set(truth.column_support) <= set(est.column_support_)
    True
    """

    penalty: float | str = "auto"

    def _penalties(self, data: Prepared, rank: int = 0) -> np.ndarray:
        largest = float(np.max(np.abs(data.cross), initial=0.0)) / data.shape[0]
        return penalty_grid(largest, self.n_penalties)

    def _path(self, data: Prepared, settings: list[Setting], final: bool = False) -> Solutions:
        _, p, k = data.shape
        theta, ones = np.zeros((p, k)), np.ones(p)
        tol = self._tol(final)
        for setting in settings:
            for j in range(k):
                theta[:, j] = weighted_lasso(
                    data.X, data.Y[:, j], setting["penalty"], ones, theta[:, j], tol
                )
            yield factors_of_columns(theta)
        if final:
            self._zeros = theta == 0

    @property
    def coef_(self) -> Array:
        """Coefficients of shape (n_targets, n_features), or (n_features,) if Y is a vector."""
        theta = super().coef_
        # the product of the factors has rounding errors where the lasso has zeros
        return np.where(self._zeros[:, 0] if theta.ndim == 1 else self._zeros.T, 0.0, theta)


@dataclass(eq=False, repr=False)
class SeparateRidges(TunedBaseline):
    """Ridge regression of each response, with one penalty for all.

    Minimizes 1/(2n)·‖Y − XΘ‖² + penalty/2·‖Θ‖².

    Parameters
    ----------
    penalty : float or "auto", default="auto"
        Weight of the ridge penalty; "auto" chooses it by ``cv``.
    {penalties}

    Examples
    --------
    >>> import thinrank as tr
    >>> X, Y, truth = tr.datasets.make_two_way_sparse(60, 10, 4, 2, 5, 4, random_state=0)
    >>> tr.baselines.SeparateRidges(cv=3).fit(X, Y).coef_.shape
    (4, 10)
    """

    penalty: float | str = "auto"
    _: KW_ONLY
    n_penalties: int = 30

    def _penalties(self, data: Prepared, rank: int = 0) -> np.ndarray:
        values = data.svd[1]  # none if all predictors are constant
        largest = float(values[0]) ** 2 / data.shape[0] if values.size else 1.0
        # from all coefficients close to zero to almost ordinary least squares
        return largest * np.geomspace(10.0, 1e-5, self.n_penalties)

    def _path(self, data: Prepared, settings: list[Setting], final: bool = False) -> Solutions:
        left, values, right = data.svd
        scores = left.T @ data.Y
        for setting in settings:
            shrunk = values / (values**2 + data.shape[0] * setting["penalty"])
            theta = right @ (shrunk[:, None] * scores)
            yield factors_of_columns(theta)


def factors_of_columns(theta: np.ndarray) -> Factors:
    """Factors of all of Θ, in which columns of small units are as precise as those of large ones.

    In a decomposition of Θ itself they would get the rounding errors of the latter.
    """
    units = np.max(np.abs(theta), axis=0, initial=0.0)
    units = np.where(units > 0, units, 1.0)
    factors = Factors.from_theta(theta / units, rank=min(theta.shape))
    return Factors(factors.U, factors.V * units[:, None])


def weighted_lasso(
    X: np.ndarray,
    y: np.ndarray,
    penalty: float,
    scale: np.ndarray,
    start: np.ndarray,
    tol: float = 1e-6,
) -> np.ndarray:
    """Minimise 1/(2n)·‖y − Xb‖² + penalty·Σⱼ|bⱼ|/scaleⱼ over b.

    A working set grows by the entries that violate scaleⱼ·|Xⱼᵀ(y − Xb)|/n ≤ penalty.
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
            max_iter=20_000,  # columns that are nearly dependent need more than 1000
            precompute=False,
            check_input=False,
        )
    return coefficients[:, 0] * scale
