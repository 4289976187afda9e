"""The result of a search for one point, that is, for one set of sizes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from thinrank.core.sizes import Sizes
from thinrank.core.stored_values import storable
from thinrank.solvers.pursuit import Fit

__all__ = ["Evaluation", "HeldOutErrors", "ResponseErrors"]


@storable
class HeldOutErrors(NamedTuple):
    """Squared errors, or deviances, of the held-out rows of a split.

    Attributes
    ----------
    rows : ndarray of shape (h,), or Prediction
        Sums over the responses. For data in row blocks, of which sums over the rows only are
        computed, it is what predicts the rows.
    responses : ndarray of shape (n_targets,)
        Sums over the rows.
    """

    rows: Any
    responses: np.ndarray


class ResponseErrors(NamedTuple):
    """Squared errors, or deviances, of each response, summed over all held-out rows.

    Attributes
    ----------
    errors : ndarray of shape (n_targets,)
        Those of the model.
    totals : ndarray of shape (n_targets,)
        Those of the model without any predictor.
    """

    errors: np.ndarray
    totals: np.ndarray

    @classmethod
    def of(cls, samples: Sequence[Any], errors: Sequence[HeldOutErrors]) -> ResponseErrors:
        """Sums over samples, of which each has its errors."""
        return cls(
            np.sum([each.responses for each in errors], axis=0),
            np.sum([sample.total_errors for sample in samples], axis=0),
        )

    def and_those_of(self, other: ResponseErrors) -> ResponseErrors:
        """Sums over the rows of both."""
        return ResponseErrors(self.errors + other.errors, self.totals + other.totals)


@dataclass(frozen=True, eq=False)
class Evaluation:
    """A point that was fitted to every sample.

    Attributes
    ----------
    sizes : Sizes
        The point.
    score : float
        Mean of the scores of the samples; lower is better.
    parts : tuple of float
        The scores of the samples.
    fits : tuple of (Fit or None)
        The fits to the samples; empty for rank 0. None if there is nothing to fit.
    table : ndarray of shape (q, n_targets)
        Scores of other ranks and numbers of columns on the rows of the fits.
    seconds : float
        Time of the evaluation.
    row_errors : ndarray of shape (n_samples,), BlockRowErrors or None
        Mean squared error of every row when it was held out; nan for rows that never were.
    responses : ResponseErrors or None
        Errors of the responses in held-out rows.
    """

    sizes: Sizes
    score: float
    parts: tuple[float, ...]
    fits: tuple[Fit | None, ...] = field(repr=False)
    table: np.ndarray = field(repr=False)
    seconds: float
    row_errors: Any = field(default=None, repr=False)
    responses: ResponseErrors | None = field(default=None, repr=False)
