"""Simulated regression data, as in the paper."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np

from thinrank.core.checks import check_number
from thinrank.core.factors import Factors


def make_two_way_sparse(
    n_samples: int = 50,
    n_features: int = 100,
    n_targets: int = 50,
    rank: int = 8,
    row_sparsity: int | None = 10,
    column_sparsity: int | None = 10,
    *,
    noise: float = 1.0,
    signal: float = 1.0,
    correlation: float = 0.0,
    random_state: Any = 0,
) -> tuple[np.ndarray, np.ndarray, Factors]:
    """Simulate Y = XΘ* + E with a low-rank, two-way sparse Θ*.

    The rows of X are normal with covariance ρ^|i−j| between columns i and j. The non-zero rows of
    U* and V* are at random positions; their entries are standard normal, Θ* = signal·U*V*ᵀ, and the
    errors E are normal. The defaults are the paper's setting "strong signal, row and column
    sparse". Use ``signal=0.2`` for the weak signal and ``column_sparsity=None`` for the row-sparse
    settings.

    Parameters
    ----------
    n_samples : int, default=50
        Number of rows of X and Y.
    n_features : int, default=100
        Number of predictors.
    n_targets : int, default=50
        Number of responses.
    rank : int, default=8
        Rank of Θ*.
    row_sparsity : int or None, default=10
        Number of non-zero rows of Θ*; None for all.
    column_sparsity : int or None, default=10
        Number of non-zero columns of Θ*; None for all.
    noise : float, default=1.0
        Standard deviation of the errors.
    signal : float, default=1.0
        Factor on Θ*.
    correlation : float, default=0.0
        ρ, between −1 and 1.
    random_state : int, Generator, RandomState or None, default=0
        Seed; None for a random one.

    Returns
    -------
    X : ndarray of shape (n_samples, n_features)
        Predictors.
    Y : ndarray of shape (n_samples, n_targets)
        Responses.
    truth : Factors
        Balanced factors of Θ*.

    Examples
    --------
    >>> import thinrank as tr
    >>> X, Y, truth = tr.datasets.make_two_way_sparse(random_state=0)
    >>> X.shape, Y.shape, truth.rank, len(truth.row_support), len(truth.column_support)
    ((50, 100), (50, 50), 8, 10, 10)
    """
    rows = n_features if row_sparsity is None else row_sparsity
    columns = n_targets if column_sparsity is None else column_sparsity
    for name, value, limit in (
        ("n_samples", n_samples, None),
        ("n_features", n_features, None),
        ("n_targets", n_targets, None),
        ("row_sparsity", rows, n_features),
        ("column_sparsity", columns, n_targets),
        ("rank", rank, min(rows, columns)),
    ):
        if not isinstance(value, Integral) or value < 1 or (limit is not None and value > limit):
            allowed = "at least 1" if limit is None else f"from 1 to {limit}"
            raise ValueError(f"{name} must be an integer {allowed}, got {value!r}")
    if not -1 < correlation < 1:
        raise ValueError(f"correlation must be between -1 and 1, got {correlation!r}")
    check_number("noise", noise)
    if not np.isfinite(signal):
        raise ValueError(f"signal must be finite, got {signal!r}")

    rng = _generator(random_state)
    X = _autoregressive(rng, n_samples, n_features, correlation)
    U = _sparse_rows(rng, n_features, rank, rows)
    V = _sparse_rows(rng, n_targets, rank, columns)
    truth = Factors(U, V).scaled(factor=signal)
    Y = (X @ truth.U) @ truth.V.T + noise * rng.standard_normal((n_samples, n_targets))
    return X, Y, truth


def _generator(random_state: Any) -> np.random.Generator:
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(2**31 - 1))
    return np.random.default_rng(random_state)


def _autoregressive(rng: np.random.Generator, n: int, p: int, rho: float) -> np.ndarray:
    X = rng.standard_normal((n, p))
    if rho:
        for j in range(1, p):
            X[:, j] = rho * X[:, j - 1] + (1 - rho**2) ** 0.5 * X[:, j]
    return X


def _sparse_rows(rng: np.random.Generator, size: int, rank: int, count: int) -> np.ndarray:
    block = np.zeros((size, rank))
    block[rng.choice(size, count, replace=False)] = rng.standard_normal((count, rank))
    return block
