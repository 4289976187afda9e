"""Rates of the corollary and of the minimax lower bound, and what they mean for a sample size."""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any


@dataclass(frozen=True)
class Setting:
    """The sizes of a regression problem, checked."""

    n_samples: int  # n, p and k
    n_features: int
    n_targets: int
    rank: int  # r, s₁* and s₂*
    row_sparsity: int
    column_sparsity: int
    sparse_columns: bool  # whether a limit on the columns was given
    noise: float  # σ

    @classmethod
    def of(cls, n: Any, p: Any, k: Any, rank: Any, rows: Any, columns: Any, noise: Any) -> Setting:
        """Check the sizes, and replace None by no limit."""
        for name, value in (("n_samples", n), ("n_features", p), ("n_targets", k)):
            _check_size(name, value, None)
        rows = p if rows is None else rows
        given = columns is not None and columns != k
        columns = k if columns is None else columns
        _check_size("row_sparsity", rows, p)
        _check_size("column_sparsity", columns, k)
        _check_size("rank", rank, min(rows, columns))
        if not isinstance(noise, Real) or not 0 <= float(noise) < math.inf:
            raise ValueError(f"noise must be a finite non-negative number, got {noise!r}")
        return cls(int(n), int(p), int(k), int(rank), int(rows), int(columns), given, float(noise))


def corollary_rate(
    n_samples: int,
    n_features: int,
    n_targets: int,
    rank: int,
    row_sparsity: int | None = None,
    column_sparsity: int | None = None,
    *,
    noise: float = 1.0,
) -> float:
    """The corollary's rate of ‖Θ̂ − Θ*‖, without its unknown constant.

    σ·√((s₁* + s₂*)(r + log max(p, k))/n), and σ·√((kr + s₁*(r + log p))/n) without a limit on the
    columns.

    Parameters
    ----------
    n_samples, n_features, n_targets : int
        n, p and k.
    rank : int
        r.
    row_sparsity, column_sparsity : int or None, default=None
        s₁* and s₂*; None for no limit.
    noise : float, default=1.0
        σ, the standard deviation of the errors.

    Returns
    -------
    float

    Examples
    --------
    >>> import thinrank as tr
    >>> round(tr.theory.corollary_rate(500, 100, 50, rank=2, row_sparsity=5, column_sparsity=5), 3)
    0.363
    """
    s = Setting.of(n_samples, n_features, n_targets, rank, row_sparsity, column_sparsity, noise)
    return s.noise * math.sqrt(_complexity(s) / s.n_samples)


def prediction_rate(
    n_samples: int,
    n_features: int,
    n_targets: int,
    rank: int,
    row_sparsity: int | None = None,
    column_sparsity: int | None = None,
    *,
    noise: float = 1.0,
) -> float:
    """The rate of ‖XΘ̂ − XΘ*‖² that follows from the corollary, without its constant.

    σ²(kr + s₁*(r + log p)) without a limit on the columns, as in the paper, and
    σ²(s₁* + s₂*)(r + log max(p, k)) with one. It does not depend on n.

    Parameters
    ----------
    n_samples, n_features, n_targets, rank, row_sparsity, column_sparsity, noise
        As for :func:`corollary_rate`.

    Returns
    -------
    float
    """
    s = Setting.of(n_samples, n_features, n_targets, rank, row_sparsity, column_sparsity, noise)
    return s.noise**2 * _complexity(s)


def minimax_rate(
    n_samples: int,
    n_features: int,
    n_targets: int,
    rank: int,
    row_sparsity: int | None = None,
    column_sparsity: int | None = None,
    *,
    noise: float = 1.0,
) -> float:
    """The rate below which no method can be on all problems, without its constant.

    σ·√([(s₁* + s₂*)r + s₁*·log(ep/s₁*) + s₂*·log(ek/s₂*)]/n), from Ma, Ma & Sun (2014).

    Parameters
    ----------
    n_samples, n_features, n_targets, rank, row_sparsity, column_sparsity, noise
        As for :func:`corollary_rate`. Without a limit on rows or columns the logarithm is left out.

    Returns
    -------
    float
    """
    s = Setting.of(n_samples, n_features, n_targets, rank, row_sparsity, column_sparsity, noise)
    return s.noise * math.sqrt(_minimax_complexity(s) / s.n_samples)


def _minimax_complexity(s: Setting) -> float:
    """(s₁* + s₂*)r plus the logarithms of the numbers of supports."""
    total = float((s.row_sparsity + s.column_sparsity) * s.rank)
    for size, of in ((s.row_sparsity, s.n_features), (s.column_sparsity, s.n_targets)):
        if size < of:
            total += size * math.log(math.e * of / size)
    return total


def _complexity(s: Setting) -> float:
    if not s.sparse_columns:
        rows = s.row_sparsity * (s.rank + math.log(s.n_features))
        return s.n_targets * s.rank + rows
    wider = max(s.n_features, s.n_targets)
    return (s.row_sparsity + s.column_sparsity) * (s.rank + math.log(wider))


def _check_size(name: str, value: Any, limit: int | None) -> None:
    integral = isinstance(value, Integral) and not isinstance(value, bool)
    if integral and value >= 1 and (limit is None or value <= limit):
        return
    expected = "a positive integer" if limit is None else f"an integer from 1 to {limit}"
    raise ValueError(f"{name} must be {expected}, got {value!r}")
