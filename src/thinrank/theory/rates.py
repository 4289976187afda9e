"""Rates of the corollary and of the minimax lower bound, and what to expect of a sample size."""

from __future__ import annotations

import math
from bisect import bisect_left
from dataclasses import dataclass
from typing import Any

from thinrank.core.checks import check_number, positive_integer
from thinrank.minimize import check_sizes


@dataclass(frozen=True)
class Setting:
    """The sizes of a regression problem, checked."""

    n_samples: int  # n, p and k
    n_features: int
    n_targets: int
    rank: int  # r, s₁* and s₂*
    row_sparsity: int
    column_sparsity: int
    noise: float  # σ

    @classmethod
    def of(cls, n: Any, p: Any, k: Any, rank: Any, rows: Any, columns: Any, noise: Any) -> Setting:
        """Check the sizes, and replace None by no limit."""
        sizes = {"n_samples": n, "n_features": p, "n_targets": k}
        n, p, k = (positive_integer(name, value) for name, value in sizes.items())
        rows, columns = check_sizes((p, k), rank, rows, columns)
        check_number("noise", noise)
        return cls(n, p, k, int(rank), rows, columns, float(noise))


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
    columns. Sparsities are None for no limit, ``noise`` is σ. Its square times n is the rate of
    ‖XΘ̂ − XΘ*‖².

    Examples
    --------
    >>> import thinrank as tr
    >>> round(tr.theory.corollary_rate(500, 100, 50, rank=2, row_sparsity=5, column_sparsity=5), 3)
    0.363
    """
    s = Setting.of(n_samples, n_features, n_targets, rank, row_sparsity, column_sparsity, noise)
    if s.column_sparsity == s.n_targets:
        rows = s.row_sparsity * (s.rank + math.log(s.n_features))
        return s.noise * math.sqrt((s.n_targets * s.rank + rows) / s.n_samples)
    wider = max(s.n_features, s.n_targets)
    lines = s.row_sparsity + s.column_sparsity
    return s.noise * math.sqrt(lines * (s.rank + math.log(wider)) / s.n_samples)


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

    σ·√([(s₁* + s₂*)r + s₁*·log(ep/s₁*) + s₂*·log(ek/s₂*)]/n), from Ma, Ma & Sun (2014). Parameters
    as for :func:`corollary_rate`; without a limit on rows or columns the logarithm is left out.
    """
    s = Setting.of(n_samples, n_features, n_targets, rank, row_sparsity, column_sparsity, noise)
    total = float((s.row_sparsity + s.column_sparsity) * s.rank)
    for size, of in ((s.row_sparsity, s.n_features), (s.column_sparsity, s.n_targets)):
        if size < of:
            total += size * math.log(math.e * of / size)
    return s.noise * math.sqrt(total / s.n_samples)


@dataclass(frozen=True)
class Advice:
    """What can be expected of a fit, from :func:`sample_size_advice`.

    ``print`` shows it in words.

    Attributes
    ----------
    setting : Setting
        The sizes.
    expected_error : float
        ‖Θ̂ − Θ*‖ (Frobenius norm) if the right predictors and responses are found.
    error_with_search : float
        The minimax rate with constant 1, which adds the price of finding them.
    corollary : float
        The rate of the corollary with constant 1.
    expected_rmse : float
        Root mean squared error of the predicted means per entry on new rows, with
        ``expected_error``; the noise comes on top.
    smallest_row : float
        Norm of the row of Θ* of a predictor below which it is usually missed:
        σ·√((r + 2·log p)/n). About the largest that one of the p rows reaches by noise alone.
    samples_for_half : int
        Number of samples that halves ``expected_error``.
    """

    setting: Setting
    expected_error: float
    error_with_search: float
    corollary: float
    expected_rmse: float
    smallest_row: float
    samples_for_half: int

    def __str__(self) -> str:
        s = self.setting
        return "\n".join(
            [
                f"With {s.n_samples} samples, {s.n_features} predictors, {s.n_targets} responses "
                f"and noise of standard deviation {s.noise:g},",
                f"a model of rank {s.rank} with {s.row_sparsity} predictors and "
                f"{s.column_sparsity} responses has an error ‖Θ̂ − Θ*‖ of about",
                f"  {self.expected_error:.3g} if the right predictors and responses are found,",
                f"  {self.error_with_search:.3g} by the minimax rate (constant 1), which includes "
                "the search for them.",
                f"Predicted means are then off by about {self.expected_rmse:.3g} per entry "
                f"(root mean square), beside the noise of {s.noise:g}.",
                "A predictor is likely to be missed if its row of Θ* has a norm below about "
                f"{self.smallest_row:.3g}.",
                f"Half of the error needs about {self.samples_for_half} samples.",
            ]
        )


def sample_size_advice(
    n_samples: int,
    n_features: int,
    n_targets: int,
    rank: int,
    row_sparsity: int | None = None,
    column_sparsity: int | None = None,
    *,
    noise: float = 1.0,
) -> Advice:
    """What error to expect of a fit with a number of samples.

    The expectation is that of least squares on the true predictors and responses with the true
    rank, for independent predictors of unit variance:
    ‖Θ̂ − Θ*‖² ≈ σ²·(s₁r/(n − s₁ − 1) + (s₂ − r)r/(n − r − 1)).
    The guide page on the theory compares it with simulations. Sparsities are numbers of predictors
    and responses with non-zero coefficients, None for all; ``noise`` is the standard deviation of
    the errors, √(1 − R²) with standardized responses.

    Examples
    --------
    >>> import thinrank as tr
    >>> advice = tr.theory.sample_size_advice(200, 100, 50, 3, row_sparsity=10, column_sparsity=10)
    >>> round(advice.expected_error, 2), advice.samples_for_half
    (0.52, 776)
    """
    s = Setting.of(n_samples, n_features, n_targets, rank, row_sparsity, column_sparsity, noise)
    if s.n_samples <= s.row_sparsity + 1:
        raise ValueError(
            f"n_samples must be at least row_sparsity + 2 = {s.row_sparsity + 2}, got {n_samples}: "
            "with fewer samples the coefficients are not determined"
        )
    error = _expected_error(s, s.n_samples)
    sizes = s.n_samples, s.n_features, s.n_targets, s.rank, s.row_sparsity, s.column_sparsity
    return Advice(
        s,
        error,
        minimax_rate(*sizes, noise=s.noise),
        corollary_rate(*sizes, noise=s.noise),
        error / math.sqrt(s.n_targets),
        s.noise * math.sqrt((s.rank + 2 * math.log(s.n_features)) / s.n_samples),
        # with four times as many samples the error is at most half
        bisect_left(
            range(4 * s.n_samples + 1),
            -error / 2,
            lo=s.n_samples,
            key=lambda n: -_expected_error(s, n),
        ),
    )


def _expected_error(s: Setting, n: float) -> float:
    rows = s.row_sparsity * s.rank / (n - s.row_sparsity - 1)
    columns = (s.column_sparsity - s.rank) * s.rank / (n - s.rank - 1)
    return s.noise * math.sqrt(rows + columns)
