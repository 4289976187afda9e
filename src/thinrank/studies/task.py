"""What a method is given: training rows, and splits of rows to choose tuning parameters by."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from thinrank.core.factors import Factors
from thinrank.selection import estimate_rank
from thinrank.studies.simulation import Sample

__all__ = ["Answer", "Task", "simulated_task"]

Split = tuple[np.ndarray, np.ndarray]

# Sizes that GDT chooses s1 and s2 from in the simulations; the truth is 10.
_SIZES = (5, 7, 8, 9, 10, 11, 12, 14, 17, 22)


@dataclass(frozen=True)
class Task:
    """Data and the choices that are open.

    Parameters
    ----------
    X, Y : ndarray
        Rows to fit to in the end.
    pooled : tuple of ndarray
        Rows that ``splits`` index: training and validation rows, or X and Y themselves.
    splits : sequence of (train, test)
        Tuning parameters minimise the squared error over the test parts.
    ranks : tuple of int
        Ranks to choose from, for the methods that take one.
    row_sizes : tuple of int
        s1 to choose from, for GDT.
    column_sizes : tuple of int or None
        s2 likewise; (None,) for no limit.
    intercept : bool
        Whether every training part is centred by its means.
    truth : Factors, optional
        For the oracle alone.
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
        """Whether all responses are taken to be predictable."""
        return self.column_sizes == (None,)


@dataclass(frozen=True)
class Answer:
    """What a method returns.

    Attributes
    ----------
    theta : ndarray of shape (p, k)
        Coefficients.
    intercept : ndarray of shape (k,)
    chosen : dict
        Tuning parameters in use.
    seconds : float
        Choosing them and fitting.
    """

    theta: np.ndarray
    intercept: np.ndarray
    chosen: dict[str, object]
    seconds: float = 0.0


def simulated_task(sample: Sample) -> Task:
    """The paper's task: an estimated rank, and a validation set for the rest."""
    n = len(sample.X)
    pooled = (
        np.concatenate([sample.X, sample.X_validation]),
        np.concatenate([sample.Y, sample.Y_validation]),
    )
    rank = max(1, estimate_rank(sample.X, sample.Y, method="gdt"))
    return Task(
        X=sample.X,
        Y=sample.Y,
        pooled=pooled,
        splits=[(np.arange(n), np.arange(n, len(pooled[0])))],
        ranks=(rank,),
        row_sizes=_SIZES,
        column_sizes=(None,) if sample.columns_free else _SIZES,
        truth=sample.truth,
    )
