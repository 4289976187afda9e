"""The result of a selection with a controlled rate of false discoveries."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

import numpy as np

from thinrank.core.extras import import_optional
from thinrank.estimators.summary import text_table

if TYPE_CHECKING:
    import pandas as pd

# Predictors that the text shows.
_MOST_SHOWN = 20
_TITLES = {
    "row_tests": "row tests with weighted Benjamini–Hochberg",
    "mirror": "mirror statistics over data splits",
    "fixed_knockoffs": "fixed-X knockoffs",
    "model_x_knockoffs": "model-X Gaussian knockoffs",
}
_STATISTICS = {
    "row_tests": "−log10 weighted p",
    "mirror": "inclusion rate",
    "fixed_knockoffs": "W",
    "model_x_knockoffs": "W",
}


@dataclass(frozen=True, eq=False, repr=False)
class Discoveries:
    """Predictors that :func:`thinrank.inference.select_predictors` selected.

    Attributes
    ----------
    selected : ndarray of int
        Sorted positions of the selected predictors.
    names : list of str
        Their names: columns of the data frame, else "x0", "x1", ….
    statistics : ndarray of shape (n_features,)
        One statistic per predictor, the larger the stronger the evidence: −log₁₀ of the weighted
        p-value for row tests, the inclusion rate for mirror statistics, W for knockoffs.
    method : str
        The method that was used, never "auto".
    reason : str
        Why this method, and what it assumes.
    fdr : float
        The nominal false discovery rate.
    threshold : float
        Smallest statistic that is selected; infinite if none is.
    estimated_fdp : float
        Estimated proportion of false discoveries among the selected: the largest weighted p-value
        times the number of predictors over the number selected, the ratio with +1 for knockoffs,
        the sum of the inclusion rates that are left out for mirror statistics. 0 if nothing is
        selected.
    p_values : ndarray of shape (n_features,) or None
        p-values of row tests, without weights; None for other methods.
    weights : ndarray of shape (n_features,) or None
        Weights of the p-values, of mean 1: large for predictors whose neighbours together are
        related to the responses as if this predictor had an effect. The weighted p-value is the
        p-value over its weight, times the estimated part of the weight that predictors without
        effect have.
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
        """What the statistics are, in a few characters.

        Returns
        -------
        str
        """
        return _STATISTICS[self.method]

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

    def __str__(self) -> str:
        lines = [self._headline(), f"Method: {_TITLES[self.method]}. {self.reason}"]
        text = [line for part in lines + self.remarks for line in textwrap.wrap(part, 80)]
        if len(self.selected):
            headers, rows = self._table()
            text += ["", *text_table(headers, rows, range(1, len(headers)))]
            text += self._more()
        return "\n".join(text)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        lines = [self._headline(), f"Method: {_TITLES[self.method]}. {self.reason}", *self.remarks]
        parts = [f"<p>{escape(line)}</p>" for line in lines]
        if len(self.selected):
            headers, rows = self._table()
            head = "".join(f"<th>{escape(text)}</th>" for text in headers)
            body = "".join(
                f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in rows
            )
            parts.append(f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>")
            parts += [f"<p>{escape(line.strip())}</p>" for line in self._more()]
        return f"<div>{''.join(parts)}</div>"

    def _headline(self) -> str:
        count, among = len(self.selected), len(self.statistics)
        if count == 0:
            return (
                f"No predictor of {among} is selected at a false discovery rate of {self.fdr:g}. "
                "This is no evidence that none has an effect."
            )
        return (
            f"{count} of {among} predictor{'s' * (among > 1)} selected at a false discovery rate "
            f"of {self.fdr:g}; estimated proportion of false ones {self.estimated_fdp:.2g}."
        )

    def _strongest(self) -> np.ndarray:
        order = np.argsort(-self.statistics[self.selected], kind="stable")
        return self.selected[order[:_MOST_SHOWN]]

    def _table(self) -> tuple[list[str], list[list[str]]]:
        headers = ["predictor", self.statistic_name]
        rows = [[self.feature_names[j], f"{self.statistics[j]:.3g}"] for j in self._strongest()]
        parts = (self.p_values, self.weights, self.adjusted_p_values)
        for name, values in zip(("p-value", "weight", "adjusted"), parts, strict=True):
            if values is not None:
                headers.append(name)
                for row, j in zip(rows, self._strongest(), strict=True):
                    row.append(f"{values[j]:.2g}")
        return headers, rows

    def _more(self) -> list[str]:
        more = len(self.selected) - _MOST_SHOWN
        return [f"  … and {more} more"] if more > 0 else []
