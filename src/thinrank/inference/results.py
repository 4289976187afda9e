"""What inference returns: selections, intervals and errors on new data, as text and as tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np

from thinrank.core.checks import check_choice
from thinrank.core.imports import import_optional
from thinrank.estimators.summary import text_table, wrapped

if TYPE_CHECKING:
    import pandas as pd

# Rows of a table that the text shows.
_MOST_SHOWN = 20
_COLUMNS = ("estimate", "standard_error", "lower", "upper", "p_value", "adjusted_p_value")
METHODS = {
    "row_tests": ("row tests with weighted Benjamini–Hochberg", "−log10 weighted p"),
    "fixed_knockoffs": ("fixed-X knockoffs", "W"),
    "model_x_knockoffs": ("model-X Gaussian knockoffs", "W"),
}
CORRECTIONS = {
    "holm": "Holm: probability of any false rejection",
    "bh": "Benjamini-Hochberg: false discovery rate",
    "by": "Benjamini-Yekutieli: false discovery rate under any dependence",
}
# benchmarks/inference.py intervals, 200 fits a setting; docs/guide/how_sure.md.
_SELECTED = (
    "The fit selected these pairs: intervals of level 0.95 for predictors that it selected by "
    "chance, with true coefficients of zero, cover zero only 62 to 83 % of the time "
    '(43 to 72 % with adjust="supports").'
)


class Result:
    """A result that is shown as text, and has its numbers in a data frame."""

    def _lines(self) -> list[str]:
        raise NotImplementedError

    def __repr__(self) -> str:
        return "\n".join(self._lines())

    def _repr_html_(self) -> str:
        return f"<pre>{escape(repr(self))}</pre>"


def check_level(level: Any, name: str = "level") -> None:
    """Raise a ValueError unless a number is between 0 and 1, such as a confidence level."""
    if isinstance(level, bool) or not (isinstance(level, Real) and 0 < float(level) < 1):
        raise ValueError(f"{name} must be a number between 0 and 1, got {level!r}")


def _listed(heading: str, sentences: Sequence[str]) -> list[str]:
    return [f"{heading}:", *wrapped(sentences, "- ")] if sentences else []


@dataclass(frozen=True, eq=False, repr=False)
class Discoveries(Result):
    """Predictors that :func:`thinrank.inference.select_predictors` selected.

    Attributes
    ----------
    selected : ndarray of int
        Sorted positions of the selected predictors.
    names : list of str
        Their names: columns of the data frame, else "x0", "x1", ….
    statistics : ndarray of shape (n_features,)
        One statistic per predictor, the larger the stronger the evidence: −log₁₀ of the weighted
        p-value for row tests, W for knockoffs.
    method : str
        The method that was used, never "auto".
    reason : str
        Why this method, and what it assumes.
    fdr : float
        The nominal false discovery rate.
    threshold : float
        Smallest statistic that is selected; infinite if none is.
    estimated_fdp : float
        Estimated proportion of false discoveries among the selected; 0 if nothing is.
    p_values : ndarray of shape (n_features,) or None
        p-values of row tests, without weights; None for other methods.
    weights : ndarray of shape (n_features,) or None
        Weights of the p-values, of mean 1: large for predictors whose neighbors together are
        related to the responses as if this predictor had an effect.
    adjusted_p_values : ndarray of shape (n_features,) or None
        Weighted p-values after Benjamini–Hochberg: the smallest rate with which a predictor is
        selected.
    feature_names : list of str
        Names of all predictors.
    remarks : list of str
        Sentences about what was done and what was left out.
    """

    selected: np.ndarray
    names: list[str]
    statistics: np.ndarray
    method: str
    reason: str
    fdr: float
    threshold: float
    estimated_fdp: float
    p_values: np.ndarray | None
    weights: np.ndarray | None
    adjusted_p_values: np.ndarray | None
    feature_names: list[str]
    remarks: list[str]

    @property
    def statistic_name(self) -> str:
        """What the statistics are, in a few characters."""
        return METHODS[self.method][1]

    def to_frame(self) -> pd.DataFrame:
        """One row per predictor.

        Returns
        -------
        DataFrame
            With the columns ``name``, ``statistic`` and ``selected`` and, for row tests,
            ``p_value``, ``weight`` and ``adjusted_p_value``.
        """
        chosen = np.zeros(len(self.statistics), dtype=bool)
        chosen[self.selected] = True
        columns = {"name": self.feature_names, "statistic": self.statistics, "selected": chosen}
        if self.p_values is not None:
            columns |= {
                "p_value": self.p_values,
                "weight": self.weights,
                "adjusted_p_value": self.adjusted_p_values,
            }
        return import_optional("pandas").DataFrame(columns)

    def _lines(self) -> list[str]:
        count, among = len(self.selected), len(self.statistics)
        head = (
            f"{count} of {among} predictor{'s' * (among > 1)} selected at a false discovery rate "
            f"of {self.fdr:g}; estimated proportion of false ones {self.estimated_fdp:.2g}."
        )
        if count == 0:
            head = (
                f"No predictor of {among} is selected at a false discovery rate of {self.fdr:g}. "
                "This is no evidence that none has an effect."
            )
        method = f"Method: {METHODS[self.method][0]}. {self.reason}"
        lines = wrapped([head, method, *self.remarks])
        shown = np.argsort(-self.statistics[self.selected], kind="stable")[:_MOST_SHOWN]
        every = {
            self.statistic_name: self.statistics,
            "p-value": self.p_values,
            "weight": self.weights,
            "adjusted": self.adjusted_p_values,
        }
        columns = {name: values for name, values in every.items() if values is not None}
        rows = [
            [self.feature_names[j], *(f"{values[j]:.3g}" for values in columns.values())]
            for j in self.selected[shown]
        ]
        if rows:
            numbers = range(1, 1 + len(columns))
            lines += text_table(["predictor", *columns], rows, tuple(numbers))
        return lines + [f"  … and {count - _MOST_SHOWN} more"] * (count > _MOST_SHOWN)


@dataclass(frozen=True, eq=False, repr=False)
class Intervals(Result):
    """Estimates with confidence intervals, from :func:`confidence_intervals`.

    ``print`` shows the first rows and the assumptions.

    Attributes
    ----------
    of : {"coefficients", "predictions", "layers"}
        What was estimated.
    labels : dict of str to list of str
        Names: "predictor" and "response" of coefficients; "row" and "response" of predictions;
        "layer", "quantity" and "predictor" of layers.
    index : ndarray of shape (m, 2)
        Positions: predictor and response; row and response; layer and predictor (−1 for a
        singular value).
    shape : (int, int)
        Numbers of predictors and responses; of rows and responses; of layers and predictors.
    estimate, standard_error, lower, upper : ndarray of shape (m,)
        Estimates, their standard errors, and the ends of the intervals.
    p_value : ndarray of shape (m,)
        Of the hypothesis that the quantity is zero; NaN for predictions and singular values.
    adjusted_p_value : ndarray of shape (m,)
        P-values corrected for their number; for that of all predictors, if the fit chose those
        of the table.
    level : float
        Confidence level of each interval by itself.
    correction : {"holm", "bh", "by", None}
        How the p-values were adjusted.
    df : int
        Degrees of freedom of the noise.
    noise : ndarray of shape (n_targets, n_targets)
        Estimated covariance of the noise in the responses.
    rank : int
        Rank of the model.
    adjusted_for : ndarray of int
        Predictors that were adjusted for.
    added : ndarray of int
        Those of them that the fit lacks, but the data show clearly.
    assumptions : list of str
        What the intervals assume.
    remarks : list of str
        What deserves attention in this result.
    selected : bool
        Whether the fit chose the predictors of the table with the same data.
    """

    of: str
    labels: dict[str, list[str]]
    index: np.ndarray
    shape: tuple[int, int]
    estimate: np.ndarray
    standard_error: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    p_value: np.ndarray
    adjusted_p_value: np.ndarray
    level: float
    correction: str | None
    df: int
    noise: np.ndarray
    rank: int
    adjusted_for: np.ndarray
    added: np.ndarray
    assumptions: list[str]
    remarks: list[str]
    selected: bool = False

    def __len__(self) -> int:
        return len(self.estimate)

    def to_frame(self) -> pd.DataFrame:
        """The table as a data frame.

        Returns
        -------
        DataFrame
            One row per quantity, with its labels and the columns ``estimate``,
            ``standard_error``, ``lower``, ``upper`` and, except for predictions, ``p_value`` and
            ``adjusted_p_value``. Assumptions and remarks are in ``attrs``.
        """
        columns = _COLUMNS[: 4 if self.of == "predictions" else None]
        values: dict[str, Any] = {name: getattr(self, name) for name in columns}
        frame = import_optional("pandas").DataFrame({**self.labels, **values})
        frame.attrs.update(
            level=self.level, assumptions=list(self.assumptions), remarks=list(self.remarks)
        )
        return frame

    def matrix(self, what: str = "estimate") -> np.ndarray:
        """One column of the table of coefficients or predictions as a matrix.

        Parameters
        ----------
        what : {"estimate", "standard_error", "lower", "upper", "p_value", "adjusted_p_value"}, \
default="estimate"
            Which one.

        Returns
        -------
        ndarray
            Of the attribute ``shape``; NaN where the table has no row.
        """
        check_choice("what", what, _COLUMNS)
        if self.of == "layers":
            raise ValueError("matrix is for coefficients and predictions, not for layers")
        found = np.full(self.shape, np.nan)
        found[self.index[:, 0], self.index[:, 1]] = getattr(self, what)
        return found

    def _lines(self) -> list[str]:
        tested = self.of != "predictions"
        noun = "quantities of layers" if self.of == "layers" else self.of
        head = [f"{self.level * 100:g} % confidence intervals for {len(self)} {noun}"]
        if self.selected and self.of == "coefficients":
            head.append(_SELECTED)
        rows = [
            [
                *(names[i] for names in self.labels.values()),
                *(_number(part[i]) for part in (self.estimate, self.lower, self.upper)),
                *([_probability(self.adjusted_p_value[i])] if tested else []),
            ]
            for i in range(min(len(self), _MOST_SHOWN))
        ]
        headers = [*self.labels, "estimate", "lower", "upper", *["adj. p"] * tested]
        lines = wrapped(head)
        if rows:
            lines += text_table(headers, rows, tuple(range(len(self.labels), len(headers))))
        if len(self) > _MOST_SHOWN:
            lines.append(f"  ... {len(self) - _MOST_SHOWN} more: to_frame()")
        if self.correction is not None and tested:
            lines.append(f"adj. p: {CORRECTIONS[self.correction]}")
        return lines + _listed("Assumed", self.assumptions) + _listed("Note", self.remarks)


@dataclass(frozen=True, eq=False, repr=False)
class Generalization(Result):
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
        columns = {
            name: np.append(getattr(self, name), getattr(self, f"response_{name}"))
            for name in ("estimate", "lower", "upper")
        }
        index = frames.Index(["all responses", *self.response_names], name="response")
        return frames.DataFrame(columns, index=index)

    def _lines(self) -> list[str]:
        words = {"r2": "R² on new data", "mse": "Mean squared error on new data"}
        name = words.get(self.metric, f"{self.metric} on new data")
        percent = f"{self.level * 100:g} %"
        return [
            f"{name}: {self.estimate:.4g}, {percent} interval {self.lower:.4g} to {self.upper:.4g}",
            f"  ordinary cross-validation: {self.cv_estimate:.4g}, "
            f"{self.cv_lower:.4g} to {self.cv_upper:.4g}",
            f"  standard error: {self.inflation:.2f} times that of ordinary cross-validation",
            f"  nested cross-validation: {self.n_fits} fits, {self.n_folds} folds, "
            f"{self.n_repeats} partition{'' if self.n_repeats == 1 else 's'}",
            *_listed("Assumed", self.assumptions),
        ]


def _number(value: float) -> str:
    return "" if np.isnan(value) else f"{value:.4g}"


def _probability(value: float) -> str:
    if np.isnan(value):
        return ""
    return "<0.0001" if value < 1e-4 else f"{value:.4f}"
