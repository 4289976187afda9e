"""What a method gets in a comparison, and what it returns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from thinrank.core.factors import Factors

Split = tuple[np.ndarray, np.ndarray]


@dataclass(frozen=True)
class RegressionTask:
    """Training rows, and splits by which tuning parameters are chosen.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        Predictors of the rows that the final model is fitted to.
    Y : ndarray of shape (n_samples, n_targets)
        Their responses.
    pooled : tuple of ndarray
        Predictors and responses of the rows that ``splits`` refer to: training and validation rows
        together, or X and Y themselves.
    splits : sequence of (train, test)
        Index arrays. Tuning parameters minimise the squared error over the test parts.
    ranks : tuple of int
        Candidate ranks, for methods that take a rank.
    row_sizes : tuple of int
        Candidate values of s1, for GDT.
    column_sizes : tuple of int or None
        Candidate values of s2, for GDT; (None,) for no limit.
    intercept : bool, default=False
        Whether to fit an intercept, by centring every training part.
    truth : Factors, default=None
        True coefficients; only the oracle uses them.
    """

    X: np.ndarray
    Y: np.ndarray
    pooled: tuple[np.ndarray, np.ndarray]
    splits: Sequence[Split]
    ranks: tuple[int, ...]
    row_sizes: tuple[int, ...]
    column_sizes: tuple[int | None, ...]
    intercept: bool = False
    truth: Factors | None = None

    @property
    def columns_free(self) -> bool:
        """Whether the number of non-zero columns is not limited."""
        return self.column_sizes == (None,)


@dataclass(frozen=True)
class Answer:
    """What a method returns.

    Attributes
    ----------
    theta : ndarray of shape (n_features, n_targets)
        Coefficients.
    intercept : ndarray of shape (n_targets,)
        Intercept of each response.
    chosen : dict
        Chosen tuning parameters.
    seconds : float, default=0.0
        Time for tuning and fitting.
    """

    theta: np.ndarray
    intercept: np.ndarray
    chosen: dict[str, object]
    seconds: float = 0.0
