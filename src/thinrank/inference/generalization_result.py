"""The estimate of the error on new data, and its text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from thinrank.core.imports import import_optional
from thinrank.inference.interval_table import listed

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False, repr=False)
class Generalization:
    """The error of a fit on new data, from :func:`generalization`.

    Attributes
    ----------
    metric : str
        "r2", "mse" or the name of the function.
    estimate, lower, upper : float
        Estimate for a fit to all rows, and the interval.
    standard_error : float
        Standard error of the estimate.
    level : float
        Confidence level.
    inflation : float
        Standard error divided by that of ordinary cross-validation, from 1 to √(number of folds).
    cv_estimate, cv_lower, cv_upper : float
        Ordinary cross-validation, with the interval that treats its losses as independent, for
        comparison.
    response_names : list of str
        Names of the responses; empty for a function as metric.
    response_estimate, response_lower, response_upper : ndarray of shape (n_targets,)
        The same for each response by itself.
    n_folds, n_repeats, n_fits, n_groups : int
        Folds, partitions, fits and groups (rows, without groups).
    assumptions : list of str
        What the interval assumes.
    """

    metric: str
    estimate: float
    lower: float
    upper: float
    standard_error: float
    level: float
    inflation: float
    cv_estimate: float
    cv_lower: float
    cv_upper: float
    response_names: list[str]
    response_estimate: np.ndarray
    response_lower: np.ndarray
    response_upper: np.ndarray
    n_folds: int
    n_repeats: int
    n_fits: int
    n_groups: int
    assumptions: list[str]

    def to_frame(self) -> pd.DataFrame:
        """The estimates as a data frame.

        Returns
        -------
        DataFrame
            Columns ``estimate``, ``lower`` and ``upper``; the first row is that of all responses
            together, then one per response, with their names as index.
        """
        frames = import_optional("pandas")
        parts = (
            (self.estimate, self.response_estimate),
            (self.lower, self.response_lower),
            (self.upper, self.response_upper),
        )
        columns = [np.concatenate([[whole], single]) for whole, single in parts]
        return frames.DataFrame(
            dict(zip(("estimate", "lower", "upper"), columns, strict=True)),
            index=frames.Index(["all responses", *self.response_names], name="response"),
        )

    def __str__(self) -> str:
        words = {"r2": "R² on new data", "mse": "Mean squared error on new data"}
        name = words.get(self.metric, f"{self.metric} on new data")
        percent = f"{self.level * 100:g} %"
        lines = [
            f"{name}: {self.estimate:.4g}, {percent} interval {self.lower:.4g} to {self.upper:.4g}",
            f"  ordinary cross-validation: {self.cv_estimate:.4g}, "
            f"{self.cv_lower:.4g} to {self.cv_upper:.4g}",
            f"  standard error: {self.inflation:.2f} times that of ordinary cross-validation",
            f"  nested cross-validation: {self.n_fits} fits, {self.n_folds} folds, "
            f"{self.n_repeats} partition{'' if self.n_repeats == 1 else 's'}",
            "Assumed:",
            *listed(self.assumptions),
        ]
        return "\n".join(lines)

    __repr__ = __str__
