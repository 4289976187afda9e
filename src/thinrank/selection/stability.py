"""Stability selection: how often predictors and responses are selected in random half-samples."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import clone
from sklearn.utils import _safe_indexing

from thinrank import arrays
from thinrank.core.extras import import_optional
from thinrank.minimize import check_size, seed_from

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["error_bound", "stability"]


def stability(
    est: Any,
    X: Any,
    Y: Any,
    n_resamples: int = 50,
    *,
    threshold: float = 0.75,
    random_state: Any = None,
    n_jobs: int | None = None,
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
    random_state : int, RandomState, Generator or None, default=None
        Seed of the halves; None is 0.
    n_jobs : int, default=None
        Number of threads.

    Returns
    -------
    DataFrame
        One row per predictor, then one per response, with the columns

        ``axis``
            "row" (predictor) or "column" (response).
        ``index``, ``name``
            Position, and name if X or Y is a data frame.
        ``frequency``
            Fraction of the 2B fits that select it.
        ``stable``
            Whether the frequency reaches the threshold.
        ``bound``
            Bound on the expected number of wrong selections: stable predictors (or responses) that
            a random half selects with probability at most q/p, as by chance, where q of p are
            selected on average.
        ``unimodal_bound``
            A smaller bound, valid if the frequencies of these have a unimodal distribution.

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
    frames = import_optional("pandas")
    check_size("n_resamples", n_resamples, 10**9, "pairs of halves")
    if not 0.5 < threshold <= 1:
        raise ValueError(f"threshold must be above 0.5 and at most 1, got {threshold!r}")
    n = X.shape[0]
    if n < 4:
        raise ValueError(f"X must have at least 4 rows, got {n}")
    halves = list(_halves(n, n_resamples, seed_from(random_state)))
    supports = Parallel(n_jobs, prefer="threads")(
        delayed(_supports)(est, X, Y, half) for half in halves
    )
    rows = [row_support for row_support, _ in supports]
    parts = [_table(frames, "row", X.shape[1], rows, threshold, _names(X))]
    columns = [column_support for _, column_support in supports if column_support is not None]
    if columns:
        targets = 1 if np.ndim(Y) == 1 else Y.shape[1]
        parts.append(_table(frames, "column", targets, columns, threshold, _names(Y)))
    return frames.concat(parts, ignore_index=True)


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
    if not unimodal or share > 3**-0.5:
        return min(share * mean / (2 * threshold - 1), mean)
    half = 1 / (2 * pairs)
    if threshold > 0.75:
        factor = 4 * (1 - threshold + half) / (1 + 2 * half)
    elif threshold > min(0.5 + share**2, 0.5 + half + 0.75 * share**2):
        factor = 1 / (2 * (2 * threshold - 1 - half))
    else:
        return error_bound(mean, among, threshold, pairs, unimodal=False)
    return min(factor * share * mean, mean)


def _halves(n: int, pairs: int, seed: int) -> Iterator[np.ndarray]:
    rng = np.random.default_rng(seed)
    for _ in range(pairs):
        order = rng.permutation(n)
        yield np.sort(order[: n // 2])
        yield np.sort(order[n // 2 : 2 * (n // 2)])


def _supports(est: Any, X: Any, Y: Any, rows: np.ndarray) -> tuple[Any, Any]:
    fitted = clone(est).fit(_safe_indexing(X, rows), _safe_indexing(Y, rows))
    return fitted.row_support_, getattr(fitted, "column_support_", None)


def _table(
    frames: Any, axis: str, size: int, supports: list[Any], threshold: float, names: Any
) -> pd.DataFrame:
    counts = np.zeros(size)
    for support in supports:
        counts[arrays.to_numpy(support)] += 1
    frequency = counts / len(supports)
    mean, pairs = float(counts.sum() / len(supports)), len(supports) // 2
    return frames.DataFrame(
        {
            "axis": axis,
            "index": np.arange(size),
            "name": [str(i) for i in range(size)]
            if names is None
            else [str(name) for name in names],
            "frequency": frequency,
            "stable": frequency >= threshold,
            "bound": error_bound(mean, size, threshold, pairs, unimodal=False),
            "unimodal_bound": error_bound(mean, size, threshold, pairs, unimodal=True),
        }
    )


def _names(data: Any) -> Any:
    if hasattr(data, "columns"):
        return data.columns
    name = getattr(data, "name", None)  # the name of a series
    return None if name is None else [name]
