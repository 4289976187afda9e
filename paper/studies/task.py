"""What a method gets in a comparison, and what it returns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from thinrank.core.factors import Factors

Split = tuple[np.ndarray, np.ndarray]


@dataclass(frozen=True)
class RegressionTask:
    """Training rows, and splits by which tuning parameters are chosen."""

    # (n_samples, n_features) predictors of the rows that the final model is fitted to
    X: np.ndarray
    Y: np.ndarray  # (n_samples, n_targets) their responses
    # predictors and responses of the rows that ``splits`` refer to: training and validation rows
    # together, or X and Y themselves
    pooled: tuple[np.ndarray, np.ndarray]
    # index arrays. Tuning parameters minimise the squared error over the test parts
    splits: Sequence[Split]
    ranks: tuple[int, ...]  # candidate ranks, for methods that take a rank
    row_sizes: tuple[int, ...]  # candidate values of s1, for GDT
    column_sizes: tuple[int | None, ...]  # candidate values of s2, for GDT; (None,) for no limit
    intercept: bool = False  # whether to fit an intercept, by centring every training part
    truth: Factors | None = None  # true coefficients; only the oracle uses them

    @property
    def columns_free(self) -> bool:
        """Whether the number of non-zero columns is not limited."""
        return self.column_sizes == (None,)


@dataclass(frozen=True)
class Answer:
    """What a method returns."""

    theta: np.ndarray  # (n_features, n_targets) coefficients
    intercept: np.ndarray  # (n_targets,) intercept of each response
    chosen: dict[str, object]  # chosen tuning parameters
    seconds: float = 0.0  # time for tuning and fitting
