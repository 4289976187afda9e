"""Estimates of the rank of the coefficients, without sparsity."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from scipy.stats import gamma

from thinrank import arrays
from thinrank.core.checks import check_finite
from thinrank.designs import as_design
from thinrank.losses.quadratic import median_noise_eigenvalue


def estimate_rank(
    X: Any,
    Y: Any,
    method: Literal["rsc", "authors", "bcv"] = "rsc",
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
        "rsc", the rank selection criterion [1]_, counts squared singular values of at least
        2S²(k + q). S² is the mean square of the residuals or, if they are few, of Y without the
        directions that are large compared with its median singular value [2]_. It is fast and
        reliable for strong signals, but misses directions weaker than all the noise together.

        "authors" counts singular values above (√(2k) + √(2·min(n, p)))·m/√max(n, k)/1.5, where m is
        the median singular value of Y. This is the rule of the authors' script, which tends to
        overestimate the rank slightly. Use it to reproduce the paper.

        "bcv", bi-cross-validation [3]_, is the rank that predicts quarters of the matrix from the
        rest best. It needs no noise level and finds weaker directions, but is slower and random.
    level : float, default=None
        The threshold of "rsc" bounds the noise on average; if q is close to k, it is exceeded by
        chance. With ``level=0.01`` it is increased, if necessary, to the value that pure noise
        exceeds with probability 0.01 [4]_. None for no correction.
    fit_intercept : bool, default=False
        Whether to subtract the means from X and Y first; otherwise they count as a direction.
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
    .. [4] I. Johnstone, Annals of Statistics 29 (2001); M. Chiani, J. Multivar. Anal. 129 (2014).

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
        got = f"got level={level!r} with method={method!r}"
        raise ValueError(f'level must be a probability in (0, 1), for method="rsc" only; {got}')
    design = as_design(X if hasattr(X, "shape") else np.asarray(X, dtype=np.float64))
    everything = arrays.indices(range(design.shape[1]), design.prototype)
    X = arrays.to_numpy(design.columns(everything)).astype(np.float64)
    Y = np.asarray(arrays.to_numpy(Y) if arrays.is_array(Y) else Y, dtype=np.float64)
    Y = Y[:, None] if Y.ndim == 1 else Y
    if Y.ndim != 2 or len(Y) != len(X):
        raise ValueError(f"Y must be a matrix with {len(X)} rows, like X; got shape {Y.shape}")
    check_finite("X", X)
    check_finite("Y", Y)
    if fit_intercept:
        X, Y = X - X.mean(axis=0), Y - Y.mean(axis=0)
    basis, values, _ = np.linalg.svd(X, full_matrices=False)
    # Smaller values are rounding errors, which subtracting means far above the deviations enlarges.
    projected = basis[:, values > 1e-9 * values.max(initial=0.0)].T @ Y  # P_X Y in this basis
    if method == "bcv":
        return _bi_cross_validation(projected, random_state)
    values = np.linalg.svd(projected, compute_uv=False)
    squares, (q, k), n = values**2, projected.shape, len(Y)
    if not squares.any():
        return 0
    if method == "authors":
        width = (2 * k) ** 0.5 + (2 * min(X.shape)) ** 0.5
        threshold = width * np.median(np.linalg.svd(Y, compute_uv=False)) / max(n, k) ** 0.5 / 1.5
    else:
        residuals = n - fit_intercept - q
        # The mean square of 20 residuals has a standard error of 32 %; a median needs 5 values.
        if residuals * k >= 20 or (residuals > 0 and min(q, k) < 5):
            variance = max(np.sum(Y**2) - np.sum(squares), 0.0) / (residuals * k)
        else:
            variance = _noise_variance(squares, min(q, k), max(q, k))
        threshold = (_noise_edge(q, k, level) * variance) ** 0.5
    # Without noise the threshold, and values slightly above it, are rounding errors.
    return int(np.count_nonzero(values >= max(threshold, 1e-12 * values[0])))


def _noise_edge(q: int, k: int, level: float | None) -> float:
    """The least squared singular value of a signal, for noise of variance 1."""
    edge = 2.0 * (q + k)
    if level is not None:
        # Tracy-Widom of order 1, as a shifted gamma distribution (Chiani's fit)
        quantile = gamma.ppf(1 - level, 46.446, scale=0.186054) - 9.84801
        a, b = max(q - 0.5, 0.5) ** 0.5, max(k - 0.5, 0.5) ** 0.5
        edge = max(edge, (a + b) ** 2 + quantile * (a + b) * (1 / a + 1 / b) ** (1 / 3))
    return edge


def _noise_variance(squares: np.ndarray, short: int, long: int) -> float:
    """Noise from the median of squares, then from their mean without what is clearly signal."""
    variance = float(np.median(squares)) / (long * median_noise_eigenvalue(short / long))
    count, edge = 0, _noise_edge(short, long, 0.01)
    while count < (found := int(np.count_nonzero(squares >= edge * variance))) < short:
        count = found
        variance = float(np.sum(squares[count:])) / ((short - count) * (long - count))
    return variance


def _bi_cross_validation(matrix: np.ndarray, seed: int) -> int:
    """Owen & Perry's Gabriel hold-outs in 5 partitions: [A B; C D], A predicted by B D_r⁺ C."""
    q, k = matrix.shape
    if min(q, k) < 2:  # too small to hold out a block
        return int(np.any(matrix != 0))
    rng = np.random.default_rng(seed)
    errors = np.zeros(min(q, k) // 2 + 1)  # for every rank from 0
    for _ in range(5):
        for rows in np.array_split(rng.permutation(q), 2):
            for columns in np.array_split(rng.permutation(k), 2):
                row_sets = rows, np.setdiff1d(np.arange(q), rows)
                column_sets = columns, np.setdiff1d(np.arange(k), columns)
                A, B, C, D = (matrix[np.ix_(i, j)] for i in row_sets for j in column_sets)
                left, values, right = np.linalg.svd(D, full_matrices=False)
                errors[0] += np.sum(A**2)
                for i in range(len(errors) - 1):
                    if values[i] > values[0] * 1e-12:
                        A = A - np.outer(B @ right[i], left[:, i] @ C) / values[i]
                    errors[i + 1] += np.sum(A**2)
    return int(np.argmin(errors))
