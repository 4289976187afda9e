"""What fitted Q-iteration records about every iteration."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from thinrank.core.records import RecordList

__all__ = ["QCallback", "QHistory", "QRecord"]


@dataclass(frozen=True, eq=False)
class QRecord:
    """One iteration t of fitted Q-iteration, from Q^{t−1} to Q^t.

    All errors are root mean squares over the design pairs.

    Attributes
    ----------
    iteration : int
        Number of the iteration, counted from 1.
    bellman_residual : float
        Root mean square of y^t − Q^{t−1}: the distance of Q^{t−1} from its Bellman update,
        including the noise of the samples.
    bellman_residuals : ndarray of shape (n_tasks,)
        The same for each task.
    misfit : float
        Root mean square of y^t − Q^t, the residuals of the regression.
    change : float
        Root mean square of Q^t − Q^{t−1}.
    rows, rank : int or None
        Number of active features (out of A·p_s) and rank of Θ^t; None if Q is not linear.
    row_support : ndarray of int, or None
        The active features: sorted indices of the non-zero rows of Θ^t.
    seconds_targets : float
        Time for the targets: sampling, and the values of the next states.
    seconds_regression : float
        Time for the regression.
    seconds : float
        Time since the fit began.
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


class QHistory(RecordList[QRecord]):
    """The records of a fit, in order: one :class:`QRecord` per iteration."""

    @property
    def bellman_residuals(self) -> list[float]:
        """The Bellman residual of every iteration."""
        return [record.bellman_residual for record in self]


QCallback = Callable[[QRecord], object]
"""Called after every iteration; returning True stops the fit."""
