"""What is recorded of every iteration of fitted Q-iteration."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

__all__ = ["QCallback", "QHistory", "QRecord"]


@dataclass(frozen=True, eq=False)
class QRecord:
    """One iteration t, from Q^{t−1} to Q^t; errors are root mean squares over the design pairs.

    Attributes
    ----------
    iteration : int
        Counted from 1.
    bellman_residual : float
        Of y^t − Q^{t−1}: how far Q^{t−1} was from its Bellman update, noise of the samples
        included.
    bellman_residuals : array of shape (k,)
        The same for each task.
    misfit : float
        Of y^t − Q^t: what the regression left.
    change : float
        Of Q^t − Q^{t−1}.
    rows, rank : int or None
        Active features (of A·p_s) and rank of Θ^t; None where Q is not linear.
    row_support : array of int, or None
        Which features are active: sorted indices of the rows of Θ^t that are not zero.
    seconds_targets, seconds_regression : float
        Sampling with the values of next states, and the regression.
    seconds : float
        Since the beginning.
    """

    iteration: int
    bellman_residual: float
    bellman_residuals: np.ndarray
    misfit: float
    change: float
    rows: int | None
    rank: int | None
    row_support: np.ndarray | None
    seconds_targets: float
    seconds_regression: float
    seconds: float


class QHistory(list[QRecord]):
    """The records of a fit, in order."""

    @property
    def bellman_residuals(self) -> list[float]:
        """The Bellman residual of every iteration."""
        return [record.bellman_residual for record in self]

    @property
    def changes(self) -> list[float]:
        """The change of Q in every iteration."""
        return [record.change for record in self]

    @property
    def seconds(self) -> float:
        """Duration of the whole fit."""
        return self[-1].seconds if self else 0.0


QCallback = Callable[[QRecord], object]
"""Called after every iteration; returning True stops the fit."""
