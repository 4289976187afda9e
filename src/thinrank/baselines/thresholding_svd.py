"""Thresholding SVD regression: sparse singular vectors by alternate thresholding."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from thinrank.baselines.base import Rival, check_count, check_number, is_auto
from thinrank.baselines.group_lasso import nonzero_rows
from thinrank.baselines.reduced_rank import reduced_rank
from thinrank.baselines.sample import Prepared
from thinrank.baselines.tuning import Setting
from thinrank.core.factors import Factors
from thinrank.designs import Dense
from thinrank.losses.noise import noise_scale

__all__ = ["ThresholdingSVD"]

# Candidate thresholds for entries of the right vectors, in standard deviations of their noise.
_NOISE_LEVELS = (0.0, 1.0, 2.0, 3.0, 4.0)
# Candidate thresholds for entries of the left vectors, in parts of the largest.
_LARGEST, _SMALLEST = 0.5, 0.01


class ThresholdingSVD(Rival):
    """Thresholding SVD regression (TSVD): low rank, sparse left and right singular vectors.

    Keeps Θ = BVᵀ with V (k × rank) orthonormal and alternates two steps, from the V of reduced-rank
    regression and B = ΘV:

    - left: a gradient step of ½‖YV − XB‖² with step 1/‖X‖², then entries of B up to
      ``row_threshold`` become zero;
    - right: entries of YᵀXB, each column divided by the norm of its XB, up to ``column_threshold``
      become zero; V is the orthonormal matrix nearest to the rest.

    Layers that become zero are dropped. Choices where the description leaves them open: hard
    thresholds of single entries, one for all layers; the gradient step, which needs no inverse of
    XᵀX and so serves p > n; and tuning by held-out error.

    Parameters
    ----------
    rank : int or "auto"
        Largest rank of Θ. "auto" is the rank selection criterion of Bunea, She & Wegkamp (2011).
    row_threshold : float or "auto"
        For entries of B, in the units of the (scaled) coefficients.
    column_threshold : float or "auto"
        For entries of the right vectors, in the units of Y: their noise has the standard deviation
        of the noise in Y.
    n_thresholds : int
        Candidates of ``row_threshold="auto"``.
    cv : int, splitter or iterable
        How to hold out rows to choose what is "auto", as in scikit-learn; PredefinedSplit for a
        validation set.
    fit_intercept : bool
        Whether to centre X and Y.
    standardize : bool
        Whether the columns of X enter with unit root mean square.
    max_iter : int
        Largest number of alternations; reaching it raises a ConvergenceWarning.
    tol : float
        Stop when the relative change of B is below.

    Attributes
    ----------
    factors_, coef_, intercept_, rank_, row_support_, column_support_
        As for :class:`thinrank.SparseReducedRankRegressor`.
    n_iter_ : int
        Alternations of the fit.
    best_params_ : dict
        The values of rank, row_threshold and column_threshold that were used;
        ``ThresholdingSVD(**best_params_)`` fits them to other rows.
    cv_results_ : dict, when something was chosen by ``cv``

    References
    ----------
    X. Ma, L. Xiao and W. H. Wong, Learning regulatory programs by threshold SVD regression,
    Proceedings of the National Academy of Sciences 111 (2014).

    Examples
    --------
    >>> import thinrank as tr
    >>> X, Y, truth = tr.datasets.make_two_way_sparse(200, 50, 40, rank=3, random_state=0)
    >>> tr.baselines.ThresholdingSVD().fit(X, Y).rank_
    3
    """

    _patience = None
    n_iter_: int

    def __init__(
        self,
        rank: int | str = "auto",
        row_threshold: float | str = "auto",
        column_threshold: float | str = "auto",
        *,
        n_thresholds: int = 10,
        cv: Any = 5,
        fit_intercept: bool = True,
        standardize: bool = True,
        max_iter: int = 1000,
        tol: float = 1e-4,
    ) -> None:
        self.rank = rank
        self.row_threshold = row_threshold
        self.column_threshold = column_threshold
        self.n_thresholds = n_thresholds
        self.cv = cv
        self.fit_intercept = fit_intercept
        self.standardize = standardize
        self.max_iter = max_iter
        self.tol = tol

    def _check_parameters(self) -> None:
        check_number("row_threshold", self.row_threshold)
        check_number("column_threshold", self.column_threshold)
        check_number("tol", self.tol)
        check_count("n_thresholds", self.n_thresholds)
        check_count("max_iter", self.max_iter)

    def _settings(self, data: Prepared) -> list[Setting]:
        rank = self._rank_of(data)
        rows, columns = [self.row_threshold], [self.column_threshold]
        if is_auto(self.row_threshold):
            largest = float(np.max(np.abs(reduced_rank(data, rank).U), initial=0.0))
            rows = [*(largest * np.geomspace(_LARGEST, _SMALLEST, self.n_thresholds))]
            rows = [2 * largest, *rows]  # with nothing in the model
        if is_auto(self.column_threshold):
            noise = noise_scale(Dense(data.Y), data.shape[0])
            columns = [level * noise for level in _NOISE_LEVELS]
        return [
            {"rank": rank, "row_threshold": float(row), "column_threshold": float(column)}
            for row in rows
            for column in columns
        ]

    def _path(
        self, data: Prepared, settings: Sequence[Setting], final: bool = False
    ) -> Iterator[Factors]:
        start = reduced_rank(data, settings[0]["rank"])
        for setting in settings:
            # always from the same start: a thresholded layer does not come back
            factors, iterations = self._iterate(data, start, setting)
            yield factors
        if final:
            self.n_iter_ = iterations
            if iterations == self.max_iter:
                warnings.warn(
                    f"Thresholding stopped at max_iter={self.max_iter} before tol={self.tol:g}.",
                    ConvergenceWarning,
                    stacklevel=3,
                )

    def _iterate(self, data: Prepared, start: Factors, setting: Setting) -> tuple[Factors, int]:
        zero = Factors.zero(start.shape, like=data.X)
        if start.rank == 0:
            return zero, 0
        step = 1 / data.svd[1][0] ** 2
        B, V = start.U, start.V
        for iteration in range(1, self.max_iter + 1):
            before = B
            B = before + step * (data.cross @ V - data.X.T @ (data.X @ before))
            B = np.where(np.abs(B) > setting["row_threshold"], B, 0.0)
            loadings = _loadings(data, B, setting["column_threshold"])
            alive = np.any(loadings != 0, axis=0)
            if not np.any(alive):
                return zero, iteration
            B, before, V = B[:, alive], before[:, alive], _nearest_orthonormal(loadings[:, alive])
            if np.linalg.norm(B - before) <= self.tol * np.linalg.norm(B):
                return Factors(B, V), iteration
        return Factors(B, V), self.max_iter


def _loadings(data: Prepared, B: np.ndarray, threshold: float) -> np.ndarray:
    """Thresholded YᵀXB, each column over the norm of its XB; noise of Y keeps its scale."""
    fit = data.X @ B
    norms = np.linalg.norm(fit, axis=0)
    loadings = data.cross.T @ B / np.where(norms > 0, norms, 1.0)
    return np.where(np.abs(loadings) > threshold, loadings, 0.0)


def _nearest_orthonormal(matrix: np.ndarray) -> np.ndarray:
    """The polar factor; rows of zeros stay zero."""
    rows = nonzero_rows(matrix)
    left, _, right = np.linalg.svd(matrix[rows], full_matrices=False)
    answer = np.zeros_like(matrix)
    answer[rows] = left @ right
    return answer
