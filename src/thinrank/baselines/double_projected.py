"""Double projected penalization: two group-penalised regressions with a projection between."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from thinrank.baselines.base import Baseline, check_count, check_number
from thinrank.baselines.sample import Prepared
from thinrank.baselines.tuning import Setting, penalty_grid
from thinrank.core.checks import is_auto
from thinrank.core.factors import Factors
from thinrank.designs import Dense
from thinrank.losses.noise import noise_scale
from thinrank.solvers.group_lasso import group_lasso, largest_penalty, nonzero_rows

__all__ = ["DoubleProjectedPenalization"]

# Candidate thresholds for the norms of rows of YᵀU, r entries of noise each: σ·(√r + these).
_ABOVE_NOISE = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0)


class DoubleProjectedPenalization(Baseline):
    """Double projected penalization (DPP): low rank, sparse rows and columns, in four steps.

    1. V⁰: the leading ``rank`` right singular vectors of P_X Y, the projection of Y on X.
    2. Group lasso of YV⁰ on X: min 1/(2n)·‖YV⁰ − XB‖² + penalty·Σⱼ‖Bⱼ‖; U: the left singular
       vectors of XB.
    3. Rows of YᵀU with a norm below ``column_threshold`` become zero; V¹: an orthonormal basis of
       the rest.
    4. Group lasso of YV¹ on X with the same penalty; Θ = BV¹ᵀ.

    Choices where the description leaves them open: the authors set penalties from a known noise
    level, here both regressions share one penalty and it is tuned; V⁰ uses all columns.

    Parameters
    ----------
    rank : int or "auto"
        Largest rank of Θ. "auto" is the rank selection criterion of Bunea, She & Wegkamp (2011).
    penalty : float or "auto"
        Of both group lassos, in the units of Y.
    column_threshold : float or "auto"
        Smallest norm of a row of YᵀU that stays, in the units of Y: noise of standard deviation σ
        makes norms of about σ√rank. "auto" tries 0 and values from σ√rank up.
    n_penalties : int
        Length of the path of ``penalty="auto"``.
    cv : int, splitter or iterable
        How to hold out rows to choose what is "auto", as in scikit-learn; PredefinedSplit for a
        validation set.
    fit_intercept : bool
        Whether to centre X and Y.
    standardize : bool
        Whether the columns of X enter with unit root mean square; the penalty acts on the scaled
        coefficients.
    tol : float
        Of the duality gaps of the fit, in parts of the squared norm of what is fitted.

    Attributes
    ----------
    factors_, coef_, intercept_, rank_, row_support_, column_support_
        As for :class:`thinrank.SparseReducedRankRegressor`.
    best_params_ : dict
        The values of rank, penalty and column_threshold that were used;
        ``DoubleProjectedPenalization(**best_params_)`` fits them to other rows.
    cv_results_ : dict, when something was chosen by ``cv``

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

    def __init__(
        self,
        rank: int | str = "auto",
        penalty: float | str = "auto",
        column_threshold: float | str = "auto",
        *,
        n_penalties: int = 20,
        cv: Any = 5,
        fit_intercept: bool = True,
        standardize: bool = True,
        tol: float = 1e-6,
    ) -> None:
        self.rank = rank
        self.penalty = penalty
        self.column_threshold = column_threshold
        self.n_penalties = n_penalties
        self.cv = cv
        self.fit_intercept = fit_intercept
        self.standardize = standardize
        self.tol = tol

    def _check_parameters(self) -> None:
        check_number("penalty", self.penalty)
        check_number("column_threshold", self.column_threshold)
        check_number("tol", self.tol)
        check_count("n_penalties", self.n_penalties)

    def _settings(self, data: Prepared) -> list[Setting]:
        rank = self._rank_of(data)
        n = data.shape[0]
        penalties, thresholds = [self.penalty], [self.column_threshold]
        if is_auto(self.penalty):
            penalties = [*penalty_grid(largest_penalty(data.cross, n), self.n_penalties)]
        if is_auto(self.column_threshold):
            noise = noise_scale(Dense(data.Y), n)
            thresholds = [0.0, *(noise * (rank**0.5 + x) for x in _ABOVE_NOISE if noise > 0)]
        return [
            {"rank": rank, "penalty": float(penalty), "column_threshold": float(threshold)}
            for penalty in penalties
            for threshold in thresholds
        ]

    def _path(
        self, data: Prepared, settings: Sequence[Setting], final: bool = False
    ) -> Iterator[Factors]:
        tol = self.tol if final else max(self.tol, 1e-4)
        first_target = data.Y @ data.reduced_rank(settings[0]["rank"]).V
        first, penalty = None, -1.0
        found: dict[float, Factors] = {}  # by threshold, where the next penalty starts
        for setting in settings:
            if setting["penalty"] != penalty:
                penalty = setting["penalty"]
                first = group_lasso(data.X, first_target, penalty, start=first, tol=tol)
                # the rows of YᵀU, U a basis of the fit
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
    """Left singular vectors, without those of values that are rounding."""
    left, values, _ = np.linalg.svd(fit, full_matrices=False)
    floor = max(fit.shape) * np.finfo(np.float64).eps * np.max(values, initial=0.0)
    return left[:, : np.count_nonzero(values > floor)]


def _basis_of_large_rows(loadings: np.ndarray, threshold: float) -> np.ndarray:
    """Orthonormal basis of the columns once small rows are zero; those rows stay zero."""
    norms = np.linalg.norm(loadings, axis=1)
    kept = np.where((norms >= threshold)[:, None], loadings, 0.0)
    rows = nonzero_rows(kept)
    if rows.size == 0:
        return np.zeros((loadings.shape[0], 0))
    few = _left_basis(kept[rows])
    basis = np.zeros((loadings.shape[0], few.shape[1]))
    basis[rows] = few
    return basis
