"""Thresholding SVD regression: sparse singular vectors by alternating thresholding."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass

import numpy as np
from scipy.linalg.lapack import dposv

from thinrank.arrays import nonzero_rows
from thinrank.baselines.base import Setting, Solutions, TunedBaseline
from thinrank.baselines.sample import Prepared
from thinrank.core.checks import is_auto
from thinrank.core.factors import Factors
from thinrank.designs import Dense
from thinrank.losses.quadratic import noise_scale

# Smallest candidate for the threshold of the left vectors, relative to the largest.
_SMALLEST = 0.01
# Each intermediate row threshold is this fraction of the one before. Rule of thumb: smaller steps
# take longer, larger ones admit weak entries together with strong ones.
_RATIO = 0.7
# Pivots below this fraction of the trace count as zero: XᵀX is singular.
_SINGULAR = 1e-10
# Entries of a gradient step below this fraction of the largest are rounding errors.
_ROUNDING = 1e-9


@dataclass(eq=False, repr=False)
class ThresholdingSVD(TunedBaseline):
    """Thresholding SVD regression (TSVD): low rank, sparse left and right singular vectors.

    Θ = BVᵀ with orthonormal V of shape (n_targets, rank). Two steps alternate, starting from B = 0
    and the V of reduced-rank regression:

    - left: after a gradient step for ½‖YV − XB‖², entries up to ``row_threshold`` are set to zero,
      and the other entries are fitted by least squares, column by column;
    - right: each column of YᵀXB is divided by the norm of the same column of XB, entries up to
      ``column_threshold`` are set to zero, and V is the orthonormal matrix nearest to the result.

    The row threshold decreases to its final value in steps, so that strong entries enter the model
    before weak ones are considered. Layers that become zero are dropped.

    Where the published description leaves a choice: thresholds apply to single entries and are the
    same for all layers; the step size of the gradient step is one over the largest squared column
    norm of X, which needs no inverse of XᵀX and therefore works for p > n; a column of B has at
    most n/2 non-zero entries; and thresholds are tuned by held-out error.

    Parameters
    ----------
    {rank}
    row_threshold : float or "auto", default="auto"
        Threshold for the entries of B, in the units of the (scaled) coefficients. "auto" chooses
        by ``cv``.
    column_threshold : float or "auto", default="auto"
        Threshold for the entries of the right vectors, in the units of Y: their noise has the
        same standard deviation as the noise in Y. "auto" chooses by ``cv``.
    n_thresholds : int, default=15
        Number of candidates for ``row_threshold="auto"``.
    {splits}
    max_iter : int, default=200
        Largest number of iterations. A ConvergenceWarning is issued if it is reached.
    tol : float, default=1e-3
        Stop when the relative change of B is at most this.

    Attributes
    ----------
    {model}
    n_iter_ : int
        Number of iterations in the final fit.

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
    _path_tol = 3e-3

    rank: int | str = "auto"
    row_threshold: float | str = "auto"
    column_threshold: float | str = "auto"
    _: KW_ONLY
    n_thresholds: int = 15
    max_iter: int = 200
    tol: float = 1e-3

    def _settings(self, data: Prepared) -> list[Setting]:
        rank = self._rank_of(data)
        rows, columns = [self.row_threshold], [self.column_threshold]
        if is_auto(self.row_threshold):
            largest = LeftStep(data).largest_threshold(data.reduced_rank(rank).V)
            rows = [*(largest * np.geomspace(1.0, _SMALLEST, self.n_thresholds))]
        if is_auto(self.column_threshold):
            noise = noise_scale(Dense(data.Y), data.shape[0])
            columns = [level * noise for level in range(5)]
        return [
            {"rank": rank, "row_threshold": float(row), "column_threshold": float(column)}
            for column in columns
            for row in rows
        ]

    def _path(self, data: Prepared, settings: list[Setting], final: bool = False) -> Solutions:
        left = LeftStep(data)
        V = data.reduced_rank(settings[0]["rank"]).V
        start = Factors(np.zeros((data.shape[1], V.shape[1])), V)
        largest = left.largest_threshold(V)
        tol = self._tol(final)
        limit = self.max_iter if final else min(self.max_iter, 30)
        factors, reached, column = start, largest, -1.0
        for setting in settings:
            if setting["column_threshold"] != column:
                factors, reached, column = start, largest, setting["column_threshold"]
            row = setting["row_threshold"]
            for threshold in _descent(reached, row):
                factors, _ = _iterate(left, factors, threshold, column, tol, max_iter=2)
            factors, iterations = _iterate(left, factors, row, column, tol, limit)
            reached = row
            loadings = _loadings(data, factors.U, column)
            alive = np.any(factors.U != 0, axis=0) & np.any(loadings != 0, axis=0)
            yield Factors(factors.U[:, alive], factors.V[:, alive])
        if final:
            self._end(iterations)


class LeftStep:
    """A thresholded gradient step for ½‖YV − XB‖² in B, then least squares on its support."""

    def __init__(self, data: Prepared) -> None:
        self.data = data
        square = float(np.max(np.sum(data.X**2, axis=0), initial=0.0))
        self._step = 1 / square if square > 0 else 0.0
        self._most = max(round(data.shape[0] * data.mean_weight) // 2, 1)

    def __call__(self, B: np.ndarray, V: np.ndarray, threshold: float) -> np.ndarray:
        """One step from B."""
        cross = self.data.cross @ V
        moved = B + self._step * (cross - self.data.X.T @ (self.data.X @ B))
        sizes = np.abs(moved)
        # if the fit is perfect, the gradient is rounding error and must not add entries
        floors = np.maximum(threshold, _ROUNDING * sizes.max(axis=0, initial=0.0))
        large = sizes > floors
        answer = np.zeros_like(B)
        for j in large.any(axis=0).nonzero()[0]:
            kept = large[:, j].nonzero()[0]
            if kept.size > self._most:
                kept = kept[np.argpartition(-sizes[kept, j], self._most)[: self._most]]
            answer[kept, j] = self._least_squares(kept, cross[kept, j])
        return answer

    def _least_squares(self, kept: np.ndarray, cross: np.ndarray) -> np.ndarray:
        few = self.data.X[:, kept]
        gram = few.T @ few
        factor, answer, failed = dposv(gram, cross, lower=1)  # Cholesky
        if failed or factor.diagonal().min() ** 2 < _SINGULAR * gram.trace():
            # singular: the solution of least norm
            answer = np.linalg.lstsq(gram, cross, rcond=_SINGULAR)[0]
        return answer

    def largest_threshold(self, V: np.ndarray) -> float:
        """The smallest threshold for which the first step gives zero."""
        return self._step * float(np.max(np.abs(self.data.cross @ V), initial=0.0))


def _iterate(
    left: LeftStep, factors: Factors, row: float, column: float, tol: float, max_iter: int
) -> tuple[Factors, int]:
    """Alternate left and right steps until B converges; the factors and the number of steps."""
    B, V = factors.U, factors.V
    for iteration in range(1, max_iter + 1):
        before = B
        B = left(before, V, row)
        V = _right_step(_loadings(left.data, B, column), V)
        if np.linalg.norm(B - before) <= tol * np.linalg.norm(B):
            return Factors(B, V), iteration
    return Factors(B, V), max_iter


def _descent(high: float, low: float) -> list[float]:
    """Decreasing thresholds strictly between two values, with a constant ratio."""
    if low >= high or high <= 0:
        return []
    count = int(np.ceil(np.log(high / max(low, high * _SMALLEST)) / -np.log(_RATIO)))
    return [high * _RATIO**i for i in range(1, count)]


def _loadings(data: Prepared, B: np.ndarray, threshold: float) -> np.ndarray:
    """Thresholded YᵀXB over the norms of the columns of XB, with the noise level of Y."""
    fit = data.X @ B
    norms = np.linalg.norm(fit, axis=0)
    loadings = data.cross.T @ B * data.mean_weight**0.5 / np.where(norms > 0, norms, 1.0)
    return np.where(np.abs(loadings) > threshold, loadings, 0.0)


def _right_step(loadings: np.ndarray, V: np.ndarray) -> np.ndarray:
    """V from its loadings; layers without keep their direction, made orthogonal to the others."""
    alive = np.any(loadings != 0, axis=0)
    answer = np.empty_like(V)
    answer[:, alive] = _nearest_orthonormal(loadings[:, alive])
    if not np.all(alive):
        rest = V[:, ~alive] - answer[:, alive] @ (answer[:, alive].T @ V[:, ~alive])
        answer[:, ~alive] = _nearest_orthonormal(rest)
    return answer


def _nearest_orthonormal(matrix: np.ndarray) -> np.ndarray:
    """The polar factor; rows of zeros stay zero."""
    rows = nonzero_rows(matrix)
    left, _, right = np.linalg.svd(matrix[rows], full_matrices=False)
    answer = np.zeros_like(matrix)
    answer[rows] = left @ right
    return answer
