"""Stability selection: how often predictors and responses are selected in random half-samples."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from joblib import delayed
from sklearn.base import clone
from sklearn.utils import _safe_indexing

from thinrank import arrays
from thinrank.core.imports import import_optional
from thinrank.core.progress import with_progress_bar
from thinrank.core.resources import parallel_calls
from thinrank.core.warnings import SelectionWarning
from thinrank.minimize import check_size, seed_from

if TYPE_CHECKING:
    import pandas as pd

_KINDS = {"row": "predictor", "column": "response", "pair": "pair"}
_NAMED = 12  # names in a sentence
_Shorten = Callable[[str], str]  # what shortens names in sentences


@dataclass(frozen=True)
class StabilityRecord:
    """What the callback of :func:`stability` gets after each fit.

    Parameters
    ----------
    iteration : int
        Number of fits that are done.
    total : int
        Number of all fits.
    n_rows : int
        Number of predictors that this fit selected.
    n_columns : int or None
        Number of responses that it selected; None if the estimator selects none.
    """

    iteration: int
    total: int
    n_rows: int
    n_columns: int | None


def stability(
    est: Any,
    X: Any,
    Y: Any,
    n_resamples: int = 50,
    *,
    threshold: float = 0.75,
    pairs: bool = False,
    random_state: Any = None,
    n_jobs: int | None = None,
    verbose: int = 0,
    callback: Callable[[StabilityRecord], object] | None = None,
) -> pd.DataFrame:
    """Selection frequencies over complementary half-samples.

    The rows of the data are split into two random halves ``n_resamples`` times, and the estimator
    is fitted to each half. Shah & Samworth give bounds on the number of wrong selections among
    those whose frequency reaches a threshold, without assumptions on the data or the estimator.

    ``random_state``: None is 0. None in the other rows.

    References
    ----------
    R. Shah and R. Samworth, Variable selection with error control: another look at stability
    selection, Journal of the Royal Statistical Society B 75 (2013).

    Examples
    --------
    >>> import thinrank as tr
    >>> X, Y, truth = tr.datasets.make_two_way_sparse(200, 30, 20, rank=2, row_sparsity=4,
    ...                                               column_sparsity=5, random_state=0)
    >>> table = tr.selection.stability(tr.SparseReducedRankRegressor(), X, Y, n_resamples=5)
    >>> rows = table[(table.axis == "row") & table.stable]
    >>> bool((rows["index"] == truth.row_support).all())
    True
    """
    import_optional("pandas")  # before the fits, which may take long
    check_size("n_resamples", n_resamples, 10**9, "pairs of halves")
    if not 0.5 < threshold <= 1:
        raise ValueError(f"threshold must be above 0.5 and at most 1, got {threshold!r}")
    if hasattr(X, "iloc"):
        from thinrank.tables.encoding import encoded_frame  # imported for data frames only

        X = encoded_frame(X)[0]  # in the same way in every half
    n = X.shape[0]
    if n < 4:
        raise ValueError(f"X must have at least 4 rows, got {n}")
    rng = np.random.default_rng(seed_from(random_state))
    orders = (rng.permutation(n)[: n // 2 * 2] for _ in range(n_resamples))
    halves = [np.sort(half) for order in orders for half in np.split(order, 2)]
    calls = (delayed(_selection)(est, X, Y, half, pairs) for half in halves)
    total, text = len(halves), "fits, last with {0.n_rows} predictors".format
    bar = with_progress_bar(callback, text, "stability", total, show=verbose > 0, time_left=True)
    found: list[_Selection] = []
    with bar as report, parallel_calls(calls, n_jobs, in_order=False) as fits:
        # Up to 2B warnings about single halves say less than the remarks on all of them.
        warnings.simplefilter("ignore", SelectionWarning)
        for fit in fits:
            found.append(fit)
            if fit.n_targets != found[0].n_targets:
                raise ValueError(
                    f"Y must have all its categories in every half of the rows; a fit has "
                    f"{fit.n_targets} columns of coefficients, another {found[0].n_targets}"
                )
            if report is not None:
                n_columns = len(fit.columns) if fit.n_targets else None
                report(StabilityRecord(len(found), total, len(fit.rows), n_columns))
    table = _table(found, X, Y, threshold, pairs)
    remarks = []
    for summary in (AxisSummary.of_table(table, axis) for axis in _KINDS):
        remarks.append(remark(summary))
        # Most questions are about predictors, and many estimators keep all responses.
        if summary.says_nothing and summary.axis != "column":
            warnings.warn(remarks[-1], SelectionWarning, stacklevel=2)
    empty = sum(len(fit.rows) == 0 for fit in found)
    if empty:
        remarks.insert(0, f"{empty} of the {total} fits to half of the rows selected no predictor.")
        warnings.warn(remarks[0], SelectionWarning, stacklevel=2)
    table.attrs["threshold"], table.attrs["n_resamples"] = threshold, int(n_resamples)
    table.attrs["remarks"] = [sentence for sentence in remarks if sentence]
    return table


class _Selection(NamedTuple):
    """What a fit selected, and the signs of its coefficients of shape (rows, columns)."""

    rows: np.ndarray
    columns: np.ndarray
    n_targets: int  # 0 if the estimator does not select responses
    signs: np.ndarray | None  # None if pairs are not counted


def _selection(est: Any, X: Any, Y: Any, half: np.ndarray, pairs: bool) -> _Selection:
    """Fit a clone to half of the rows."""
    fitted = clone(est).fit(_safe_indexing(X, half), _safe_indexing(Y, half))
    rows = np.asarray(arrays.to_numpy(fitted.row_support_), dtype=np.int64)
    if not hasattr(fitted, "column_support_"):
        if pairs:
            raise ValueError(
                "pairs=True needs an estimator with column_support_, "
                f"got {type(est).__name__}, which selects no responses"
            )
        return _Selection(rows, np.zeros(0, dtype=np.int64), 0, None)
    columns = np.asarray(arrays.to_numpy(fitted.column_support_), dtype=np.int64)
    factors = getattr(fitted, "factors_", None)
    # Categories have a column each, so that Y need not have as many columns as the coefficients.
    n_targets = (*np.shape(Y), 1)[1] if factors is None else factors.shape[1]
    if not pairs:
        return _Selection(rows, columns, n_targets, None)
    if factors is None:
        block = np.atleast_2d(arrays.to_numpy(fitted.coef_))[np.ix_(columns, rows)].T
    else:
        block = arrays.to_numpy(factors.U)[rows] @ arrays.to_numpy(factors.V)[columns].T
    return _Selection(rows, columns, n_targets, np.sign(block).astype(np.int8))


def _table(found: list[_Selection], X: Any, Y: Any, threshold: float, pairs: bool) -> pd.DataFrame:
    """The data frame that :func:`stability` returns, without ``attrs``."""
    pandas = import_optional("pandas")
    p, k, fits = X.shape[1], found[0].n_targets, len(found)
    row_counts, column_counts = np.zeros(p), np.zeros(k)
    # only pairs that occur, by their position in the coefficients
    pair_counts = pandas.DataFrame({"fits": [], "signs": []}, dtype=int)
    for fit in found:
        row_counts[fit.rows] += 1
        column_counts[fit.columns] += 1
        if fit.signs is not None:
            i, j = np.nonzero(fit.signs)
            index = fit.rows[i] * k + fit.columns[j]
            new = pandas.DataFrame({"fits": 1, "signs": fit.signs[i, j]}, index, dtype=int)
            pair_counts = pandas.concat([pair_counts, new]).groupby(level=0).sum()
    index, (selected, signs) = pair_counts.index.to_numpy(), pair_counts.to_numpy().T
    sizes, counts = (p, k, len(index)), (row_counts, column_counts, selected)
    frequency = np.concatenate(counts) / fits
    bounds = [
        _error_bounds(count.sum() / fits, among, threshold, fits // 2)
        for count, among in zip(counts, (p, k, p * k), strict=True)
    ]
    predictors, responses = _names(X, p), _names(Y, k)
    rows, columns = predictors[index // k], responses[index % k]
    table = {
        "axis": np.repeat(list(_KINDS), sizes),
        "index": np.concatenate([np.arange(p), np.arange(k), index]),
        "name": np.concatenate([predictors, responses, rows + " → " + columns]),
        "frequency": frequency,
        "stable": frequency >= threshold,
        "bound": np.repeat([worst for worst, _ in bounds], sizes),
        "unimodal_bound": np.repeat([unimodal for _, unimodal in bounds], sizes),
    }
    if pairs:
        no_name, no_number = np.full(p + k, None), np.full(p + k, np.nan)
        table["predictor"] = np.append(no_name, rows)
        table["response"] = np.append(no_name, columns)
        table["sign"] = np.append(no_number, np.where(signs >= 0, 1, -1))
        table["sign_agreement"] = np.append(no_number, (selected + abs(signs)) / (2 * selected))
    return pandas.DataFrame(table)


def _names(data: Any, size: int) -> np.ndarray:
    """Names of the columns, or their positions if there are none or not as many."""
    name = getattr(data, "name", None)  # the name of a series
    names = list(data.columns) if hasattr(data, "columns") else [] if name is None else [name]
    return np.array([str(name) for name in (names if len(names) == size else range(size))], object)


def _error_bounds(mean: float, among: int, threshold: float, pairs: int) -> tuple[float, float]:
    """Worst-case and unimodal bounds on wrong selections (Shah & Samworth, theorems 1 and 2)."""
    share, half, margin = mean / max(among, 1), 1 / (2 * pairs), 2 * threshold - 1
    factor = smaller = 1 / margin
    if share <= 3**-0.5 and threshold > 0.75:
        smaller = 4 * (1 - threshold + half) / (1 + 2 * half)
    elif share <= 3**-0.5 and margin > max(half, 2 * min(share**2, half + 0.75 * share**2)):
        smaller = 1 / (2 * (margin - half))
    worst, unimodal = factor * share * mean, min(smaller, factor) * share * mean
    return min(worst, mean), min(unimodal, mean)


class AxisSummary(NamedTuple):
    """One axis of the table: predictors ("row"), responses ("column") or pairs."""

    axis: str
    stable: int  # number of stable ones
    bound: float
    unimodal_bound: float
    mean: float  # number that a fit selects on average
    among: int  # number of all

    @classmethod
    def of_table(cls, table: Any, axis: str) -> AxisSummary:
        """The summary of an axis of a table; ``among`` is 0 if the table does not have it."""
        part, sizes = table[table["axis"] == axis], table["axis"].value_counts()
        among = len(part)
        if axis == "pair" and "sign" in table:  # the table has only pairs that occur
            among = int(sizes.get("row", 0) * sizes.get("column", 0))
        bound, unimodal = part.reindex(columns=["bound", "unimodal_bound"]).max()
        stable, mean = int(part["stable"].sum()), float(part["frequency"].sum())
        return cls(axis, stable, float(bound), float(unimodal), mean, among)

    @property
    def says_nothing(self) -> bool:
        """Whether the bound is not below the number of stable ones."""
        return self.stable > 0 and self.bound >= self.stable

    def bounds(self, digits: int) -> str:
        """The bound, and the unimodal one if it is smaller."""
        text = f"{self.bound:.{digits}g}"
        if self.unimodal_bound < self.bound:
            text += f", or {self.unimodal_bound:.{digits}g} under the unimodal assumption"
        return text


def remark(summary: AxisSummary) -> str:
    """A sentence about one axis of the table; empty if there is nothing to remark."""
    kind, verb = _KINDS[summary.axis], "is" if summary.stable == 1 else "are"
    if summary.among and not summary.stable:
        return f"No {kind} is stable."
    if not summary.says_nothing:
        return ""
    if summary.mean == summary.among:
        every = f"All {summary.among} {kind}s were selected in every fit"
        return f"{every}: nothing is known of wrong ones among them."
    return (
        f"The bound on wrong {kind}s says nothing: {summary.stable} {verb} stable, and the bound "
        f"is {summary.bounds(3)}. It is small if each fit selects few of many {kind}s; here a fit "
        f"selects {summary.mean:.3g} of {summary.among} on average. Smaller sparsities or a higher "
        "threshold make it smaller."
    )


def stable_sentences(table: Any, shown: _Shorten = str) -> list[str]:
    """Which predictors and pairs are stable, how many a fit selects, and the bounds."""
    meaning, sentences = "selected in the fits to random halves of the data", []
    if "threshold" in table.attrs:  # operations on tables may lose it
        threshold, resamples = table.attrs["threshold"], table.attrs["n_resamples"]
        pairs = "1 pair" if resamples == 1 else f"{resamples:,} pairs"
        fits = f"the {2 * resamples:,} fits to {pairs} of random halves of the data"
        meaning = f"selected in at least {100 * threshold:g} % of {fits}"
    for axis in ("row", "pair"):
        summary, kind = AxisSummary.of_table(table, axis), _KINDS[axis]
        part = table[table["axis"] == axis]
        if not len(part):
            continue
        if summary.stable:
            title = f"Stable {kind}{'' if summary.stable == 1 else 's'}"
            about = meaning if axis == "row" else "with the frequency"
            part = part[part["stable"]].sort_values("frequency", ascending=False, kind="stable")
            sentences.append(f"{title} ({about}): {_listed(part, shown)}.")
        else:
            sentences.append(f"No {kind} is stable ({meaning}).")
        if axis == "row":
            average = f"{summary.mean:.3g} of {summary.among:,}"
            sentences.append(f"A fit selected {average} predictors on average.")
        if summary.says_nothing:
            sentences.append(remark(summary))
        elif summary.stable and not np.isnan(summary.bound):
            wrong = f"Expected number of wrong {kind}s among the {summary.stable:,} stable"
            sentences.append(f"{wrong}: at most {summary.bounds(2)}.")
    return sentences


def unstable_sentences(table: Any, selected: np.ndarray, shown: _Shorten = str) -> list[str]:
    """Which of the predictors of a model, given by position, are not stable; empty if all are."""
    part = table[table["axis"] == "row"]
    doubtful = part.iloc[selected]
    doubtful = doubtful[~doubtful["stable"].astype(bool)]
    if not len(doubtful):
        return []
    mean = part["frequency"].sum()
    if mean < 0.8 * len(selected):  # far fewer than the model has
        return [
            f"The fits to random halves selected {mean:.3g} of {len(part):,} predictors "
            f"on average, and the model has {len(selected):,}: those that are not stable had few "
            "places to be selected for, so this does not say that they are wrong."
        ]
    listed = _listed(doubtful.sort_values("frequency", kind="stable"), shown)
    verb = "is" if len(doubtful) == 1 else "are"
    return [
        f"{len(doubtful):,} of the {len(selected):,} predictors of the model {verb} not stable: "
        f"random halves of the data often do not select them (with the frequency): {listed}."
    ]


def _listed(part: Any, shown: _Shorten) -> str:
    """The first names of a part of the table with their frequencies, and how many there are."""
    first, more = part.head(_NAMED), len(part) - _NAMED
    names = [
        f"{shown(str(name))} ({frequency:.2f})"
        for name, frequency in zip(first["name"], first["frequency"], strict=True)
    ]
    return ", ".join(names) + (f" and {more:,} more" if more > 0 else "")
