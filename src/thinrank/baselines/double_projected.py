"""Double projected penalization: two group lassos with a projection in between."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass

import numpy as np

from thinrank.arrays import nonzero_rows
from thinrank.baselines.base import PenalizedBaseline, Setting, Solutions
from thinrank.baselines.sample import Prepared
from thinrank.core.checks import is_auto
from thinrank.core.factors import Factors
from thinrank.designs import Dense
from thinrank.losses.quadratic import noise_scale
from thinrank.solvers.group_lasso import group_lasso


@dataclass(eq=False, repr=False)
class DoubleProjectedPenalization(PenalizedBaseline):
    """Double projected penalization (DPP): low rank, sparse rows and columns.

    The method has four steps:

    1. V⁰ holds the leading ``rank`` right singular vectors of P_X Y, the projection of Y on the
       columns of X.
    2. The group lasso of YV⁰ on X, min 1/(2n)·‖YV⁰ − XB‖² + penalty·Σⱼ‖Bⱼ‖, is solved. U holds
       the left singular vectors of XB.
    3. Rows of YᵀU with a norm below ``column_threshold`` are set to zero. V¹ is an orthonormal
       basis of the columns of the result.
    4. The group lasso of YV¹ on X is solved with the same penalty, and Θ = BV¹ᵀ.

    Where the published description leaves a choice: the authors derive the penalties from a known
    noise level, while here both regressions share one penalty, which is tuned; and V⁰ uses all
    columns of Y.

    Parameters
    ----------
    {rank}
    penalty : float or "auto", default="auto"
        Penalty of both group lassos, in the units of Y. "auto" chooses by ``cv``.
    column_threshold : float or "auto", default="auto"
        Rows of YᵀU with a smaller norm are set to zero. In the units of Y: noise of standard
        deviation σ gives norms of about σ√rank. "auto" tries 0 and several values from σ√rank
        upwards, and chooses by ``cv``.
    n_penalties : int, default=20
        Number of penalties on the path of ``penalty="auto"``.
    {splits}
    tol : float, default=1e-6
        Tolerance for the duality gaps of the final fit, relative to the squared norm of the
        fitted responses.

    Attributes
    ----------
    {model}

    References
    ----------
    Z. Ma, Z. Ma and T. Sun, Adaptive estimation in two-way sparse reduced-rank regression,
    arXiv:1403.1922 (2014).

    Examples
    --------
    >>> import thinrank as tr
    >>> X, Y, truth = tr.datasets.make_two_way_sparse(200, 50, 40, rank=3, random_state=0)
    >>> est = tr.baselines.DoubleProjectedPenalization().fit(X, Y)
    >>> est.rank_, bool((est.column_support_ == truth.column_support).all())
    (3, True)
    """

    _patience = None

    rank: int | str = "auto"
    penalty: float | str = "auto"
    column_threshold: float | str = "auto"
    _: KW_ONLY
    n_penalties: int = 20

    def _settings(self, data: Prepared) -> list[Setting]:
        settings, thresholds = super()._settings(data), [self.column_threshold]
        if is_auto(self.column_threshold):
            noise = noise_scale(Dense(data.Y), data.shape[0])
            # a row of pure noise has a norm of about σ√r, with a standard deviation of about σ/√2
            above = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0) if noise > 0 else ()
            thresholds = [0.0, *(noise * (settings[0]["rank"] ** 0.5 + x) for x in above)]
        return [
            {**setting, "column_threshold": float(threshold)}
            for setting in settings
            for threshold in thresholds
        ]

    def _path(self, data: Prepared, settings: list[Setting], final: bool = False) -> Solutions:
        tol = self._tol(final)
        first_target = data.Y @ data.reduced_rank(settings[0]["rank"]).V
        first, penalty = None, -1.0
        found: dict[float, Factors] = {}  # for each threshold, where the next penalty starts
        for setting in settings:
            if setting["penalty"] != penalty:
                penalty = setting["penalty"]
                first = group_lasso(data.X, first_target, penalty, start=first, tol=tol)
                # YᵀU for an orthonormal basis U of the fitted values
                loadings = data.Y.T @ _left_basis(data.X @ first) * data.mean_weight**0.5
            threshold = setting["column_threshold"]
            V = _basis_of_large_rows(loadings, threshold)
            last = found.get(threshold)
            start = None if last is None else last.U @ (last.V.T @ V)
            found[threshold] = Factors(
                group_lasso(data.X, data.Y @ V, penalty, start=start, tol=tol), V
            )
            yield found[threshold]


def _left_basis(fit: np.ndarray) -> np.ndarray:
    """Left singular vectors whose singular values are more than rounding."""
    left, values, _ = np.linalg.svd(fit, full_matrices=False)
    floor = max(fit.shape) * np.finfo(np.float64).eps * np.max(values, initial=0.0)
    return left[:, : np.count_nonzero(values > floor)]


def _basis_of_large_rows(loadings: np.ndarray, threshold: float) -> np.ndarray:
    """Orthonormal basis of the columns after small rows are set to zero; they stay zero."""
    norms = np.linalg.norm(loadings, axis=1)
    kept = np.where((norms >= threshold)[:, None], loadings, 0.0)
    rows = nonzero_rows(kept)
    if rows.size == 0:
        return np.zeros((loadings.shape[0], 0))
    few = _left_basis(kept[rows])
    basis = np.zeros((loadings.shape[0], few.shape[1]))
    basis[rows] = few
    return basis
