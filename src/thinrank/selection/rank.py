"""Estimates of the rank of the coefficients, without sparsity."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy.stats import gamma

from thinrank import arrays
from thinrank.core.checks import check_finite
from thinrank.designs import as_design
from thinrank.losses.noise import median_noise_eigenvalue

__all__ = ["estimate_rank"]

Method = Literal["rsc", "authors", "bcv"]

# Directions of X with singular values below this fraction of the largest are rounding errors, which
# subtracting means that are much larger than the deviations makes as large.
_ROUNDING = 1e-9
# Least number of residual degrees of freedom for an estimate of the noise from their mean square,
# with a relative standard error of √(2/20) = 32 %.
_MIN_RESIDUALS = 20
# Least number of singular values for an estimate of the noise from their median. Rule of thumb.
_MIN_VALUES = 5
# Probability with which noise counts as signal while the noise level is estimated.
_SIGNAL_LEVEL = 0.01
# Number of random partitions into halves in bi-cross-validation.
_REPEATS = 5


def estimate_rank(
    X: Any,
    Y: Any,
    method: Method = "rsc",
    *,
    level: float | None = None,
    fit_intercept: bool = False,
    random_state: int = 0,
) -> int:
    r"""Estimate the rank of Θ in Y = XΘ + E, without sparsity.

    Every method uses the singular values of P_X Y, the projection of Y on the columns of X. Noise
    of standard deviation σ leads to singular values up to about σ(√k + √q), where k is the number
    of responses and q the rank of X.

    Parameters
    ----------
    X : array, scipy sparse matrix, LinearOperator or Design of shape (n_samples, n_features)
        Predictors.
    Y : array of shape (n_samples, n_targets) or (n_samples,)
        Responses.
    method : {"rsc", "authors", "bcv"}, default="rsc"
        "rsc" counts squared singular values of at least 2S²(k + q), the rank selection criterion
        of Bunea, She & Wegkamp (2011) [1]_. S² is the mean square of the residuals if there are
        enough of them (n > q); otherwise the mean square of Y without the directions that are
        large compared with its median singular value [2]_. It is fast and reliable for strong
        signals, but misses directions that are weaker than all the noise together.

        "authors" counts singular values above (√(2k) + √(2·min(n, p)))·m/√max(n, k)/1.5, where m is
        the median singular value of Y. This is the rule of the authors' script, which tends to
        overestimate the rank slightly. Use it to reproduce the paper.

        "bcv" is bi-cross-validation [3]_: the rank whose truncated decomposition of three quarters
        of the matrix predicts the remaining quarter best. It needs no noise level and finds weaker
        directions; it is slower and depends on random partitions.
    level : float, default=None
        A finite-sample correction of "rsc". The threshold of the criterion bounds the noise on
        average; if q is close to k, it is exceeded by chance. With ``level=0.01`` the threshold is
        increased, if necessary, to the value that pure noise exceeds with probability 0.01 [4]_.
        None for no correction.
    fit_intercept : bool, default=False
        Whether to subtract the means from X and Y first. Use it for data that are not centred,
        since means count as a direction.
    random_state : int, default=0
        Seed of the partitions of "bcv".

    Returns
    -------
    int
        The estimated rank, possibly 0.

    References
    ----------
    .. [1] F. Bunea, Y. She and M. Wegkamp, Optimal selection of reduced rank estimators of
       high-dimensional matrices, Annals of Statistics 39 (2011).
    .. [2] M. Gavish and D. Donoho, The optimal hard threshold for singular values is 4/√3, IEEE
       Transactions on Information Theory 60 (2014).
    .. [3] A. Owen and P. Perry, Bi-cross-validation of the SVD and the nonnegative matrix
       factorization, Annals of Applied Statistics 3 (2009).
    .. [4] I. Johnstone, On the distribution of the largest eigenvalue in principal components
       analysis, Annals of Statistics 29 (2001); M. Chiani, Distribution of the largest
       eigenvalue for real Wishart and Gaussian random matrices and a simple approximation for
       the Tracy-Widom distribution, Journal of Multivariate Analysis 129 (2014).

    Examples
    --------
    >>> import thinrank as tr
    >>> X, Y, truth = tr.datasets.make_two_way_sparse(200, 50, 40, rank=3, random_state=0)
    >>> tr.selection.estimate_rank(X, Y)
    3
    """
    if method not in ("rsc", "authors", "bcv"):
        raise ValueError(f'method must be "rsc", "authors" or "bcv", got {method!r}')
    if level is not None and (method != "rsc" or not 0 < level < 1):
        raise ValueError(
            f'level must be a probability between 0 and 1, for method="rsc" only; '
            f"got level={level!r} with method={method!r}"
        )
    projected = _project(*_as_matrices(X, Y), fit_intercept)
    if method == "rsc":
        return _rank_selection_criterion(projected, level)
    if method == "authors":
        return _authors_rule(projected)
    return _bi_cross_validation(projected.coordinates, random_state)


@dataclass(frozen=True, eq=False)
class _Projected:
    """Y in an orthonormal basis of the columns of X.

    Attributes
    ----------
    coordinates : ndarray of shape (q, k)
        Coordinates of P_X Y, which have its singular values.
    Y : ndarray of shape (n, k)
        The responses.
    samples : int
        n, or n − 1 if the means were subtracted.
    features : int
        p.
    """

    coordinates: np.ndarray
    Y: np.ndarray
    samples: int
    features: int

    @property
    def singular_values(self) -> np.ndarray:
        return np.linalg.svd(self.coordinates, compute_uv=False)


def _as_matrices(X: Any, Y: Any) -> tuple[np.ndarray, np.ndarray]:
    """X and Y as float64 matrices; the decompositions need all of X."""
    design = as_design(X if hasattr(X, "shape") else np.asarray(X, dtype=np.float64))
    everything = arrays.indices(range(design.shape[1]), design.prototype)
    dense = arrays.to_numpy(design.columns(everything)).astype(np.float64)
    target = np.asarray(arrays.to_numpy(Y) if arrays.is_array(Y) else Y, dtype=np.float64)
    if target.ndim == 1:
        target = target[:, None]
    if target.ndim != 2 or target.shape[0] != dense.shape[0]:
        raise ValueError(
            f"Y must be a matrix with {dense.shape[0]} rows, like X; got shape {target.shape}"
        )
    check_finite("X", dense)
    check_finite("Y", target)
    return dense, target


def _project(X: np.ndarray, Y: np.ndarray, fit_intercept: bool) -> _Projected:
    n, p = X.shape
    if fit_intercept:
        X, Y, n = X - X.mean(axis=0), Y - Y.mean(axis=0), n - 1
    basis, values, _ = np.linalg.svd(X, full_matrices=False)
    floor = max(max(X.shape) * np.finfo(np.float64).eps, _ROUNDING)
    q = int(np.count_nonzero(values > floor * values[0])) if values.size else 0
    return _Projected(basis[:, :q].T @ Y, Y, n, p)


def _rank_selection_criterion(projected: _Projected, level: float | None) -> int:
    q, k = projected.coordinates.shape
    squares = projected.singular_values**2
    if squares.size == 0 or squares[0] == 0:
        return 0
    residuals = projected.samples - q
    if residuals * k >= _MIN_RESIDUALS or (residuals > 0 and min(q, k) < _MIN_VALUES):
        left_over = max(float(np.sum(projected.Y**2) - np.sum(squares)), 0.0)
        variance = left_over / (residuals * k)
    else:
        variance = _noise_variance(squares, (q, k))
    # without noise the threshold, and values slightly above it, are rounding errors
    floor = squares[0] * (max(q, k) * np.finfo(np.float64).eps) ** 2
    return int(np.count_nonzero(squares >= max(_noise_edge(q, k, level) * variance, floor)))


def _noise_edge(q: int, k: int, level: float | None) -> float:
    """The least squared singular value of a signal, for noise of variance 1."""
    printed = 2.0 * (q + k)
    if level is None:
        return printed
    a, b = (max(q - 0.5, 0.5) ** 0.5, max(k - 0.5, 0.5) ** 0.5)
    center, spread = (a + b) ** 2, (a + b) * (1 / a + 1 / b) ** (1 / 3)
    # Tracy-Widom of order 1, as a shifted gamma distribution (Chiani's fit)
    quantile = gamma.ppf(1 - level, 46.446, scale=0.186054) - 9.84801
    return max(printed, center + quantile * spread)


def _noise_variance(squares: np.ndarray, shape: tuple[int, int]) -> float:
    """Variance of the noise in a matrix of full row rank, from its squared singular values.

    The first estimate comes from their median, which a signal of low rank changes little. It is
    then replaced by the mean square without the directions that are clearly signal.
    """
    count, short, long = 0, min(shape), max(shape)
    clear = _noise_edge(*shape, _SIGNAL_LEVEL)
    typical = float(np.median(squares[:short]))
    variance = typical / (long * median_noise_eigenvalue(short / long))
    for _ in range(short):
        found = int(np.count_nonzero(squares >= clear * variance))
        if found <= count or found >= short:
            break
        count = found
        variance = float(np.sum(squares[count:])) / ((short - count) * (long - count))
    return variance


def _authors_rule(projected: _Projected) -> int:
    (n, k), p = projected.Y.shape, projected.features
    median = float(np.median(np.linalg.svd(projected.Y, compute_uv=False)))
    width = (2 * k) ** 0.5 + (2 * min(n, p)) ** 0.5
    threshold = width * median / max(n, k) ** 0.5 / 1.5
    values = projected.singular_values
    # without noise the threshold, and values slightly above it, are rounding errors
    floor = values[0] * max(values.size, 1) * np.finfo(np.float64).eps if values.size else 0.0
    return int(np.count_nonzero(values > max(threshold, floor)))


def _bi_cross_validation(matrix: np.ndarray, seed: int) -> int:
    """Owen & Perry's Gabriel hold-outs: [A B; C D], A predicted by B D_r⁺ C."""
    q, k = matrix.shape
    if min(q, k) < 2:
        # too small to hold out a block
        return int(np.any(matrix != 0))
    rng = np.random.default_rng(seed)
    errors = sum(
        _hold_out_errors(matrix, rows, columns)
        for _ in range(_REPEATS)
        for rows in np.array_split(rng.permutation(q), 2)
        for columns in np.array_split(rng.permutation(k), 2)
    )
    return int(np.argmin(errors))


def _hold_out_errors(matrix: np.ndarray, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """Squared error on the block (rows, columns) for every rank from 0."""
    q, k = matrix.shape
    other_rows, other_columns = np.delete(np.arange(q), rows), np.delete(np.arange(k), columns)
    held = matrix[np.ix_(rows, columns)]
    left, values, right = np.linalg.svd(matrix[np.ix_(other_rows, other_columns)])
    most = min(q // 2, k // 2)
    errors = [float(np.sum(held**2))]
    for i in range(most):
        if i < values.size and values[i] > values[0] * 1e-12:
            beside = matrix[np.ix_(rows, other_columns)] @ right[i]
            below = left[:, i] @ matrix[np.ix_(other_rows, columns)]
            held = held - np.outer(beside, below) / values[i]
        errors.append(float(np.sum(held**2)))
    return np.asarray(errors)
