"""What a search knows about a point."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from thinrank.core.sizes import Sizes
from thinrank.solvers.pursuit import Fit

__all__ = ["Evaluation"]


@dataclass(frozen=True)
class Evaluation:
    """A point that was fitted to every sample.

    Attributes
    ----------
    sizes : Sizes
    score : float
        Mean of the samples' scores; less is better.
    parts : tuple of float
        The samples' scores.
    fits : tuple of (Fit or None)
        The samples' fits; empty for rank 0. None is a sample with nothing to fit.
    table : ndarray of shape (q, k)
        What score other ranks and numbers of columns would have on the rows of the fits.
    seconds : float
    row_errors : ndarray of shape (n,), optional
        Mean squared errors of the single rows when they were held out; not a number for rows that
        never were.
    """

    sizes: Sizes
    score: float
    parts: tuple[float, ...]
    fits: tuple[Fit | None, ...] = field(repr=False)
    table: np.ndarray = field(repr=False)
    seconds: float
    row_errors: np.ndarray | None = field(default=None, repr=False)
