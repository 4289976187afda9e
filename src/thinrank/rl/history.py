"""What fitted Q-iteration records about every iteration."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from thinrank.core.result import RecordList

# A misfit below this fraction of the values counts as rounding error.
_ROUNDING = 1e-6
# A warning is issued if the Bellman residual exceeds its first value by this factor. Rule of thumb.
_GROWTH = 1e6


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
    """The records of a fit, in order: one :class:`~thinrank.rl.QRecord` per iteration."""

    @property
    def bellman_residuals(self) -> list[float]:
        """The Bellman residual of every iteration."""
        return [record.bellman_residual for record in self]


QCallback = Callable[[QRecord], object]
"""Called after every iteration; returning True stops the fit."""


def describe(record: QRecord) -> str:
    """What the progress bar says about an iteration."""
    rows = "" if record.rows is None else f"  rows {record.rows}"
    return f"Bellman residual {record.bellman_residual:.3g}{rows}"


def warn_of_failure(history: QHistory, size: float) -> None:
    """Warn if the result is useless; ``size`` is the largest value of Q at the design pairs."""
    first, last = history[0], history[-1]
    if last.rank == 0 and last.misfit > _ROUNDING * size:
        warnings.warn(
            "no feature is in use: the last regression chose rank 0, although its targets have a "
            f"root mean square of {last.misfit:.3g}. Use more design states, other features, or "
            "fixed values of rank and row_sparsity",
            UserWarning,
            stacklevel=4,
        )
    largest = max(history.bellman_residuals)
    if largest > _GROWTH * first.bellman_residual > 0:
        warnings.warn(
            f"values seem to diverge: the Bellman residual grew from {first.bellman_residual:.3g} "
            f"to {largest:.3g}",
            UserWarning,
            stacklevel=4,
        )
