"""The table of selection frequencies: bounds on wrong selections, and remarks on the bounds."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from thinrank.core.extras import import_optional
from thinrank.core.warnings import SelectionWarning
from thinrank.selection.pair_counts import PairCounts

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["AxisSummary", "error_bound", "remark", "stability_table"]

_KINDS = {"row": "predictors", "column": "responses", "pair": "pairs"}
_COLUMNS = ("axis", "index", "name", "frequency", "stable", "bound", "unimodal_bound")
_PAIR_COLUMNS = ("predictor", "response", "sign", "sign_agreement")


def stability_table(
    rows: np.ndarray,
    columns: np.ndarray | None,
    pairs: PairCounts | None,
    X: Any,
    Y: Any,
    fits: int,
    threshold: float,
) -> pd.DataFrame:
    """Make the data frame that :func:`thinrank.selection.stability` returns.

    Parameters
    ----------
    rows : ndarray of shape (n_features,)
        Number of fits that select each predictor.
    columns : ndarray of shape (n_targets,) or None
        The same for responses; None if the estimator selects none.
    pairs : PairCounts or None
        The same for pairs, if they are counted.
    X, Y : array, data frame or sparse matrix
        The data, for their names.
    fits : int
        Number of fits, two per pair of halves.
    threshold : float
        Frequency from which one is stable.

    Returns
    -------
    DataFrame

    Warns
    -----
    SelectionWarning
        If the bound for predictors or pairs says nothing.
    """
    predictors = _names(X, len(rows))
    parts = [_part("row", rows, len(rows), fits, threshold)]
    parts[0] |= {"index": np.arange(len(rows)), "name": predictors}
    if columns is not None:
        responses = _names(Y, len(columns))
        parts.append(_part("column", columns, len(columns), fits, threshold))
        parts[1] |= {"index": np.arange(len(columns)), "name": responses}
        if pairs is not None:
            parts.append(_pair_part(pairs, predictors, responses, fits, threshold))
    keys = _COLUMNS if pairs is None else _COLUMNS + _PAIR_COLUMNS
    table = import_optional("pandas").DataFrame(
        {key: np.concatenate([_column(part, key) for part in parts]) for key in keys}
    )
    summaries = [AxisSummary.of(part) for part in parts]
    table.attrs["threshold"], table.attrs["n_resamples"] = threshold, fits // 2
    table.attrs["remarks"] = [text for text in map(remark, summaries) if text]
    for summary in summaries:
        # Most questions are about predictors, and many estimators keep all responses: no warning
        # for these.
        if summary.says_nothing and summary.axis != "column":
            warnings.warn(remark(summary), SelectionWarning, stacklevel=3)
    return table


def _part(axis: str, counts: np.ndarray, among: int, fits: int, threshold: float) -> dict[str, Any]:
    """Columns of the table that predictors, responses and pairs have in common."""
    mean = float(counts.sum() / fits)
    frequency = counts / fits
    return {
        "axis": axis,
        "frequency": frequency,
        "stable": frequency >= threshold,
        "bound": error_bound(mean, among, threshold, fits // 2, unimodal=False),
        "unimodal_bound": error_bound(mean, among, threshold, fits // 2, unimodal=True),
        "mean": mean,
        "among": among,
    }


def _pair_part(
    pairs: PairCounts, predictors: list[str], responses: list[str], fits: int, threshold: float
) -> dict[str, Any]:
    among = len(predictors) * len(responses)
    rows = [predictors[i] for i in pairs.predictors]
    columns = [responses[j] for j in pairs.responses]
    return _part("pair", pairs.counts, among, fits, threshold) | {
        "index": pairs.keys,
        "name": [f"{row} → {column}" for row, column in zip(rows, columns, strict=True)],
        "predictor": rows,
        "response": columns,
        "sign": pairs.signs.astype(float),
        "sign_agreement": pairs.sign_agreement,
    }


def _column(part: dict[str, Any], key: str) -> np.ndarray:
    """A column of a part: an array, one value for all rows, or nothing."""
    text = key in ("axis", "name", "predictor", "response")
    values: Any = part.get(key, None if text else np.nan)
    if np.ndim(values) == 0:
        return np.full(len(part["index"]), values, dtype=object if text else None)
    return np.asarray(values, dtype=object if text else None)


@dataclass(frozen=True)
class AxisSummary:
    """One axis of the table: predictors, responses or pairs.

    Attributes
    ----------
    axis : {"row", "column", "pair"}
        The axis.
    stable : int
        Number of stable ones.
    bound, unimodal_bound : float
        Bounds on the expected number of wrong ones among them.
    mean : float
        Mean number that a fit selects.
    among : int
        Number of all.
    """

    axis: str
    stable: int
    bound: float
    unimodal_bound: float
    mean: float
    among: int

    @classmethod
    def of(cls, part: dict[str, Any]) -> AxisSummary:
        """The summary of a part of the table before it is put together."""
        names = ("bound", "unimodal_bound", "mean", "among")
        return cls(part["axis"], int(np.sum(part["stable"])), *(part[name] for name in names))

    @classmethod
    def of_table(cls, table: Any, axis: str) -> AxisSummary | None:
        """The summary of an axis of a table; None if the table does not have the axis."""
        part = table[table["axis"] == axis]
        if not len(part):
            return None
        among = len(part)
        if axis == "pair":  # the table has only pairs that occur
            among = int(np.prod([np.count_nonzero(table["axis"] == a) for a in ("row", "column")]))
        return cls(
            axis=axis,
            stable=int(part["stable"].sum()),
            bound=float(part["bound"].iloc[0]) if "bound" in part else np.nan,
            unimodal_bound=float(part["unimodal_bound"].iloc[0])
            if "unimodal_bound" in part
            else np.nan,
            mean=float(part["frequency"].sum()),
            among=among,
        )

    @property
    def says_nothing(self) -> bool:
        """Whether the bound is not below the number of stable ones."""
        return self.stable > 0 and self.bound >= self.stable


def remark(summary: AxisSummary) -> str:
    """A sentence about one axis of the table; empty if there is nothing to remark."""
    kind = _KINDS[summary.axis]
    if summary.stable == 0:
        return f"No {kind.removesuffix('s')} is stable."
    if not summary.says_nothing:
        return ""
    if summary.mean == summary.among:
        return (
            f"All {summary.among} {kind} were selected in every fit: nothing is known of wrong "
            "ones among them."
        )
    bounds, verb = f"{summary.bound:.3g}", "is" if summary.stable == 1 else "are"
    if summary.unimodal_bound < summary.bound:
        bounds += f", or {summary.unimodal_bound:.3g} under the unimodal assumption"
    return (
        f"The bound on wrong {kind} says nothing: {summary.stable} {verb} stable, and the bound is "
        f"{bounds}. It is small if each fit selects few of many {kind}; here a fit selects "
        f"{summary.mean:.3g} of {summary.among} on average. Smaller sparsities or a higher "
        "threshold make it smaller."
    )


def error_bound(mean: float, among: int, threshold: float, pairs: int, unimodal: bool) -> float:
    """Bound on the expected number of wrong selections (Shah & Samworth, theorems 1 and 2).

    Parameters
    ----------
    mean : float
        Mean number q of selections in a half-sample.
    among : int
        Number p of predictors or responses.
    threshold : float
        Frequency τ from which one is stable.
    pairs : int
        Number B of pairs of halves.
    unimodal : bool
        Whether to assume that the frequencies of those selected by chance have a unimodal
        distribution. The bound then applies if q/p is at most 1/√3.

    Returns
    -------
    float
    """
    share = mean / among
    worst = min(share * mean / (2 * threshold - 1), mean)
    if not unimodal or share > 3**-0.5:
        return worst
    half = 1 / (2 * pairs)
    if threshold > 0.75:
        factor = 4 * (1 - threshold + half) / (1 + 2 * half)
    elif threshold > min(0.5 + share**2, 0.5 + half + 0.75 * share**2) and 2 * threshold > 1 + half:
        factor = 1 / (2 * (2 * threshold - 1 - half))
    else:
        return worst
    return min(factor * share * mean, worst)


def _names(data: Any, size: int) -> list[str]:
    """Names of the columns, or their positions if there are none or not as many."""
    name = getattr(data, "name", None)  # the name of a series
    names = list(data.columns) if hasattr(data, "columns") else [] if name is None else [name]
    return [str(name) for name in names] if len(names) == size else [str(i) for i in range(size)]
