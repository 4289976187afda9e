"""Stability selection: how often predictors and responses are selected in random half-samples."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from joblib import delayed
from sklearn.base import clone
from sklearn.utils import _safe_indexing

from thinrank import arrays
from thinrank.core.extras import import_optional
from thinrank.core.parallel_calls import parallel_calls
from thinrank.core.progress import with_progress_bar
from thinrank.core.warnings import SelectionWarning
from thinrank.minimize import check_size, seed_from
from thinrank.selection.pair_counts import PairCounts, selected_pairs
from thinrank.selection.stability_table import stability_table

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["StabilityRecord", "stability"]


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


@dataclass(frozen=True, eq=False)
class _Selection:
    """What a fit selected. ``signs`` is None if pairs are not counted."""

    rows: np.ndarray
    columns: np.ndarray | None
    n_targets: int | None
    signs: np.ndarray | None


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

    Parameters
    ----------
    est : estimator
        An estimator with ``row_support_`` and, if responses are selected, ``column_support_`` after
        fit. It is cloned. Sizes that are "auto" are chosen again for each half.
    X : array, data frame or sparse matrix of shape (n_samples, n_features)
        Predictors.
    Y : array or data frame of shape (n_samples, n_targets) or (n_samples,)
        Responses.
    n_resamples : int, default=50
        Number B of pairs of halves.
    threshold : float, default=0.75
        Frequency τ > ½ from which a predictor or response is stable.
    pairs : bool, default=False
        Whether to count pairs of a predictor and a response too. A fit selects a pair if its
        coefficient is not zero. Only pairs that occur are held in memory.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the halves; None is 0.
    n_jobs : int, default=None
        Number of threads.
    verbose : int, default=0
        If positive, a progress bar with the estimated remaining time is shown on standard error.
    callback : callable, default=None
        Called with a :class:`StabilityRecord` after each fit. What it returns is ignored.

    Returns
    -------
    DataFrame
        One row per predictor, then one per response, then, with ``pairs=True``, one per pair that
        was ever selected, with the columns

        ``axis``
            "row" (predictor), "column" (response) or "pair".
        ``index``, ``name``
            Position, and name if X or Y is a data frame. The position of a pair is that in the
            coefficients of shape (n_features, n_targets), row by row; its name is
            "predictor → response".
        ``frequency``
            Fraction of the 2B fits that select it.
        ``stable``
            Whether the frequency reaches the threshold.
        ``bound``
            Bound on the expected number of wrong selections: stable predictors (or responses, or
            pairs) that a random half selects with probability at most q/p, as by chance, where q
            of p are selected on average.
        ``unimodal_bound``
            A smaller bound, valid if the frequencies of these have a unimodal distribution.

        and, with ``pairs=True``,

        ``predictor``, ``response``
            The two names of a pair; None in the other rows.
        ``sign``
            The more frequent sign of its coefficient, 1 or −1; NaN in the other rows.
        ``sign_agreement``
            Fraction of the fits that select the pair in which the coefficient has that sign; NaN
            in the other rows. Near ½, the direction of the effect is not known.

        Its ``attrs`` are ``threshold``, ``n_resamples`` and ``remarks``, a list of sentences about
        what the table cannot say.

    Warns
    -----
    SelectionWarning
        If the bound for predictors or pairs is not below the number of stable ones, so that it
        says nothing, and if some fits select no predictor. Warnings of this class from single fits
        are not shown.

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
    n, n_features = X.shape
    if n < 4:
        raise ValueError(f"X must have at least 4 rows, got {n}")
    halves = list(_halves(n, n_resamples, seed_from(random_state)))
    calls = (delayed(_selection)(est, X, Y, half, pairs) for half in halves)
    tally = _Tally(n_features)
    with (
        with_progress_bar(
            callback,
            lambda record: f"fits, last with {record.n_rows} predictors",
            "stability",
            len(halves),
            show=verbose > 0,
            time_left=True,
        ) as report,
        parallel_calls(calls, n_jobs, in_order=False) as fits,
    ):
        # Up to 2B warnings about single halves say less than the remarks on all of them.
        warnings.simplefilter("ignore", SelectionWarning)
        for done, found in enumerate(fits, start=1):
            tally.add(found)
            if report is not None:
                columns = None if found.columns is None else len(found.columns)
                report(StabilityRecord(done, len(halves), len(found.rows), columns))
    table = stability_table(tally.rows, tally.columns, tally.pairs, X, Y, tally.fits, threshold)
    if tally.empty:
        told = f"{tally.empty} of the {tally.fits} fits to half of the rows selected no predictor."
        table.attrs["remarks"].insert(0, told)
        warnings.warn(told, SelectionWarning, stacklevel=2)
    return table


def _halves(n: int, pairs: int, seed: int) -> Iterator[np.ndarray]:
    rng = np.random.default_rng(seed)
    for _ in range(pairs):
        order = rng.permutation(n)
        yield np.sort(order[: n // 2])
        yield np.sort(order[n // 2 : 2 * (n // 2)])


def _selection(est: Any, X: Any, Y: Any, half: np.ndarray, pairs: bool) -> _Selection:
    fitted = clone(est).fit(_safe_indexing(X, half), _safe_indexing(Y, half))
    rows = np.asarray(arrays.to_numpy(fitted.row_support_))
    if not hasattr(fitted, "column_support_"):
        if pairs:
            raise ValueError(
                "pairs=True needs an estimator with column_support_, "
                f"got {type(est).__name__}, which selects no responses"
            )
        return _Selection(rows, None, None, None)
    columns = np.asarray(arrays.to_numpy(fitted.column_support_))
    # Categories have a column each, so that Y need not have as many columns as the coefficients.
    width = fitted.factors_.shape[1] if hasattr(fitted, "factors_") else _width(Y)
    signs = selected_pairs(fitted, rows, columns) if pairs else None
    return _Selection(rows, columns, width, signs)


class _Tally:
    """Counts over the fits so far."""

    def __init__(self, n_features: int) -> None:
        self.fits = 0
        self.empty = 0  # fits that select no predictor
        self.rows = np.zeros(n_features)
        self.columns: np.ndarray | None = None
        self.pairs: PairCounts | None = None

    def add(self, found: _Selection) -> None:
        self.fits += 1
        self.empty += len(found.rows) == 0
        self.rows[found.rows] += 1
        if found.columns is None or found.n_targets is None:
            return
        if self.columns is None:
            self.columns = np.zeros(found.n_targets)
        if len(self.columns) != found.n_targets:
            raise ValueError(
                f"Y must have all its categories in every half of the rows; a fit has "
                f"{found.n_targets} columns of coefficients, another {len(self.columns)}"
            )
        self.columns[found.columns] += 1
        if found.signs is not None:
            if self.pairs is None:
                self.pairs = PairCounts(found.n_targets)
            self.pairs.add(found.rows, found.columns, found.signs)


def _width(Y: Any) -> int:
    return 1 if np.ndim(Y) == 1 else int(Y.shape[1])
