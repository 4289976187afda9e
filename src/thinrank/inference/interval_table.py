"""The table of estimates, intervals and p-values."""

from __future__ import annotations

from dataclasses import dataclass
from textwrap import wrap
from typing import TYPE_CHECKING

import numpy as np
from scipy import stats

from thinrank.core.extras import import_optional
from thinrank.estimators.summary import text_table

if TYPE_CHECKING:
    import pandas as pd

# Rows that the text shows.
_SHOWN = 20

CORRECTIONS = ("holm", "bh", "by", None)
_CORRECTION_WORDS = {
    "holm": "Holm: probability of any false rejection",
    "bh": "Benjamini-Hochberg: false discovery rate",
    "by": "Benjamini-Yekutieli: false discovery rate under any dependence",
}


@dataclass(frozen=True, eq=False, repr=False)
class Intervals:
    """Estimates with confidence intervals, from :func:`confidence_intervals`.

    ``print`` shows the first rows and the assumptions; :meth:`to_frame` returns all rows as a data
    frame.

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
        frames = import_optional("pandas")
        columns = ["estimate", "standard_error", "lower", "upper"]
        if self.of != "predictions":
            columns += ["p_value", "adjusted_p_value"]
        frame = frames.DataFrame({**self.labels, **{name: getattr(self, name) for name in columns}})
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
        if what not in _COLUMNS:
            raise ValueError(f"what must be one of {', '.join(_COLUMNS)}, got {what!r}")
        if self.of == "layers":
            raise ValueError("matrix is for coefficients and predictions, not for layers")
        found = np.full(self.shape, np.nan)
        found[self.index[:, 0], self.index[:, 1]] = getattr(self, what)
        return found

    def __str__(self) -> str:
        shown = range(min(len(self), _SHOWN))
        numbers = ["estimate", "lower", "upper"]
        if self.of != "predictions":
            numbers.append("adjusted_p_value")
        headers = [*self.labels, *(name.replace("adjusted_p_value", "adj. p") for name in numbers)]
        cells = [
            [
                *(names[i] for names in self.labels.values()),
                *(_number(getattr(self, name)[i], name) for name in numbers),
            ]
            for i in shown
        ]
        first = len(self.labels)
        noun = "quantities of layers" if self.of == "layers" else self.of
        lines = [f"{self.level * 100:g} % confidence intervals for {len(self)} {noun}"]
        lines += text_table(headers, cells, tuple(range(first, len(headers))))
        if len(self) > _SHOWN:
            lines.append(f"  ... {len(self) - _SHOWN} more: to_frame()")
        if self.correction is not None and self.of != "predictions":
            lines.append(f"adj. p: {_CORRECTION_WORDS[self.correction]}")
        lines += ["Assumed:", *listed(self.assumptions)]
        if self.remarks:
            lines += ["Note:", *listed(self.remarks)]
        return "\n".join(lines)

    __repr__ = __str__


_COLUMNS = ("estimate", "standard_error", "lower", "upper", "p_value", "adjusted_p_value")


def listed(sentences: list[str]) -> list[str]:
    """Lines of a list of sentences, at most 80 characters wide."""
    return [
        line
        for sentence in sentences
        for line in wrap(sentence, 80, initial_indent="- ", subsequent_indent="  ")
    ]


def make_intervals(
    estimate: np.ndarray,
    standard_error: np.ndarray,
    *,
    df: np.ndarray | int,
    level: float,
    correction: str | None,
    tested: np.ndarray | bool = True,
    shown: np.ndarray | None = None,
) -> dict[str, np.ndarray]:
    """Ends of t intervals and p-values, as the fields of :class:`Intervals`.

    Shapes: ``estimate``, ``standard_error`` (m,), ``df`` (m,), ``tested`` (m,). ``shown``: None
    for all.
    """
    half = stats.t.ppf((1 + level) / 2, df) * standard_error
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.abs(estimate) / standard_error
    p_value = 2 * stats.t.sf(np.where(np.isnan(ratio), 0.0, ratio), df)
    p_value = np.where(tested & ~np.isnan(standard_error), p_value, np.nan)
    columns = {
        "estimate": estimate,
        "standard_error": standard_error,
        "lower": estimate - half,
        "upper": estimate + half,
        "p_value": p_value,
        "adjusted_p_value": adjusted_p_values(p_value, correction),
    }
    return columns if shown is None else {name: part[shown] for name, part in columns.items()}


def adjusted_p_values(p_value: np.ndarray, correction: str | None) -> np.ndarray:
    """P-values corrected for their number; NaN stays NaN and is not counted.

    Shapes: ``p_value`` (m,).
    """
    known = ~np.isnan(p_value)
    adjusted = np.full(len(p_value), np.nan)
    values = p_value[known]
    if correction is None or not len(values):
        adjusted[known] = values
    elif correction == "holm":
        order = np.argsort(values, kind="stable")
        steps = np.maximum.accumulate(values[order] * np.arange(len(values), 0, -1))
        whole = np.empty(len(values))
        whole[order] = np.minimum(steps, 1.0)
        adjusted[known] = whole
    else:
        adjusted[known] = stats.false_discovery_control(values, method=correction)
    return adjusted


def _number(value: float, name: str) -> str:
    if np.isnan(value):
        return ""
    if name.endswith("p_value"):
        return "<0.0001" if value < 1e-4 else f"{value:.4f}"
    return f"{value:.4g}"
