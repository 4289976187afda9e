"""The error of a tuned fit on new data, with an interval, by nested cross-validation."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from joblib import delayed
from scipy import stats
from sklearn.base import clone
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import has_fit_parameter

from thinrank.core.progress import with_progress_bar
from thinrank.core.resources import parallel_calls
from thinrank.core.warnings import SelectionWarning
from thinrank.estimators.fitted_data import complete_responses
from thinrank.estimators.summary import names_of_responses
from thinrank.estimators.validation import check_row_names, column_names
from thinrank.inference.results import Generalization, check_level
from thinrank.minimize import check_size, seed_from

Metric = str | Callable[[Any, Any], Any]
# For each set of one or two folds that were left out, the losses (n_samples, m) of its rows, NaN in
# other rows; the m columns of a loss are treated alike.
Losses = dict[tuple[int, ...], np.ndarray]
# Fourth powers of errors of this size are below the largest number.
_LARGEST = 1e70


@dataclass(frozen=True)
class GeneralizationRecord:
    """What the callback of :func:`generalization` gets after each fit.

    Parameters
    ----------
    iteration : int
        Number of fits that are done.
    total : int
        Number of all fits.
    """

    iteration: int
    total: int


def generalization(
    est: Any,
    X: Any,
    Y: Any,
    *,
    cv: Any = 5,
    n_repeats: int = 10,
    metric: Metric = "r2",
    level: float = 0.95,
    groups: Any = None,
    random_state: Any = None,
    n_jobs: int | None = None,
    verbose: int = 0,
    callback: Callable[[GeneralizationRecord], object] | None = None,
) -> Generalization:
    """The error of a fit on new data, with an interval, by nested cross-validation.

    The estimator is fitted with each fold and with each pair of folds left out; what it tunes (the
    sizes of a :class:`SparseReducedRankRegressor`, a grid search, a pipeline) is tuned again in
    each of these fits, so that the choice is part of what is judged. From the losses of the pairs
    the method of Bates, Hastie and Tibshirani estimates how far cross-validation is from the error
    of the fit to these data, which the spread of the losses underestimates: rows serve for both
    fitting and testing. The estimate is corrected for the smaller number of rows in the fits.

    **Cost**: ``n_repeats`` · (K + K(K − 1)/2) fits with K = ``cv`` folds: 150 with the defaults, 15
    with ``n_repeats=1``, 550 with ``cv=10``. The paper uses many more repetitions to make the
    standard error stable.

    **Assumed**: rows (or groups) are independent and from the distribution of the new data; the
    number of folds and rows is large enough for the mean loss to be near normal.

    Shapes: ``groups`` (n_samples,). ``random_state``: None is 0.

    Notes
    -----
    The interval is for the error of the model fitted to all rows of X and Y. The variance of Y is
    treated as known in "r2". Warnings about the choice of sizes in single fits are not shown.

    References
    ----------
    S. Bates, T. Hastie and R. Tibshirani, Cross-validation: what does it estimate and how well
    does it do it?, Journal of the American Statistical Association 119 (2024).

    Examples
    --------
    >>> import thinrank as tr
    >>> X, Y, truth = tr.datasets.make_two_way_sparse(60, 10, 5, 1, 3, 3, random_state=0)
    >>> est = tr.SparseReducedRankRegressor(1, 3, 3)
    >>> found = tr.inference.generalization(est, X, Y, n_repeats=1)
    >>> found.n_fits, bool(found.lower < found.estimate < found.upper < 1)
    (15, True)
    """
    check_size("n_repeats", n_repeats, 10**6, "partitions")
    check_level(level)
    check_row_names(X, Y)
    target = _checked_responses(Y, metric)
    n = len(target)
    if n != np.shape(X)[0]:
        raise ValueError(
            f"X and Y must have the same number of rows: X has {np.shape(X)[0]}, Y has {n}"
        )
    members = _group_numbers(groups, n)
    units, unit = int(members.max()) + 1, "rows" if groups is None else "groups"
    if units < 6:
        raise ValueError(f"there must be at least 6 {unit}, two in each of 3 folds, got {units}")
    words = f"folds, each with at least two of the {units} {unit}; groups= keeps rows together"
    check_size("cv", cv, units // 2, words, least=3)
    loss = _loss(metric, target)
    rng, each = np.random.default_rng(seed_from(random_state)), np.arange(units) % cv
    partitions = [rng.permutation(each)[members] for _ in range(n_repeats)]
    # single folds and pairs of folds, each of which is left out of one fit
    left_out = [*((f,) for f in range(cv)), *combinations(range(cv), 2)]
    tasks = [(i, left) for i in range(n_repeats) for left in left_out]
    calls = (
        delayed(_losses)(est, X, Y, groups, np.isin(partitions[i], left), loss) for i, left in tasks
    )
    found: list[Losses] = [{} for _ in partitions]
    with (
        with_progress_bar(
            callback,
            lambda record: "fits",
            "nested cross-validation",
            len(tasks),
            show=verbose > 0,
            time_left=True,
        ) as report,
        parallel_calls(calls, n_jobs) as fits,
    ):
        # one warning per fit says nothing about the whole
        warnings.simplefilter("ignore", SelectionWarning)
        for done, ((i, left), losses) in enumerate(zip(tasks, fits, strict=True), start=1):
            found[i][left] = losses
            if report is not None:
                report(GeneralizationRecord(done, len(tasks)))
    estimate, error, plain, naive = _nested_interval(partitions, found, members)
    if metric == "r2":
        estimate, plain = 1 - estimate, 1 - plain
    names = [] if callable(metric) else names_of_responses(column_names(Y), target.shape[1])
    quantile = stats.norm.ppf((1 + level) / 2)
    low, high = estimate - quantile * error, estimate + quantile * error
    return Generalization(
        metric=metric if isinstance(metric, str) else getattr(metric, "__name__", "metric"),
        estimate=float(estimate[0]),
        lower=float(low[0]),
        upper=float(high[0]),
        standard_error=float(error[0]),
        level=level,
        inflation=float(error[0] / naive[0]) if naive[0] > 0 else 1.0,
        cv_estimate=float(plain[0]),
        cv_lower=float(plain[0] - quantile * naive[0]),
        cv_upper=float(plain[0] + quantile * naive[0]),
        response_names=names,
        response_estimate=estimate[1:],
        response_lower=low[1:],
        response_upper=high[1:],
        n_folds=int(cv),
        n_repeats=n_repeats,
        n_fits=len(tasks),
        n_groups=units,
        assumptions=[
            f"{unit} are independent and from the distribution of the new data",
            f"the mean loss over {units} {unit} is near normal",
        ],
    )


def _group_numbers(groups: Any, n: int) -> np.ndarray:
    """Number of the group of each row; every row by itself without groups."""
    if groups is None:
        return np.arange(n)
    given = np.asarray(groups)
    if given.shape != (n,):
        raise ValueError(f"groups must have one entry per row, {n} in all, got {given.shape}")
    if given.dtype.kind in "fO" and not all(x is not None and x == x for x in given.tolist()):
        raise ValueError("groups must not have missing entries")
    return np.unique(given, return_inverse=True)[1].reshape(-1)


def _nested_interval(
    partitions: list[np.ndarray], found: list[Losses], groups: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Error on new data and its standard error (Bates, Hastie and Tibshirani).

    Let a be the difference between the mean loss of the inner cross-validation without a fold and
    the mean loss in that fold of the fit without it, and b the variance of the latter. The mean
    of a² − b estimates the mean squared error of a cross-validation with n(K − 1)/K rows. The
    means of the losses for n(K − 2)/K and n(K − 1)/K rows are extrapolated to n rows, as if the
    difference to infinitely many rows were proportional to 1/rows. So the square of the difference
    between the two means, which is part of a², is no error; the paper counts it. The standard error
    is kept between that of independent losses and √K times as much. All results have shape (m,).
    """
    squares, inner_means, outer_means, naive = [], [], [], []
    for fold, losses in zip(partitions, found, strict=True):
        folds = int(fold.max()) + 1
        whole = np.full_like(losses[(0,)], np.nan)
        for f in range(folds):
            own = fold == f
            whole[own] = losses[(f,)][own]
            inner = np.full_like(whole, np.nan)
            for g in range(folds):
                if g != f:
                    inner[fold == g] = losses[(min(f, g), max(f, g))][fold == g]
            means = inner[~own].mean(axis=0), whole[own].mean(axis=0)
            squares.append((means[0] - means[1]) ** 2 - _mean_variance(whole[own], groups[own]))
            inner_means.append(means[0])
        outer_means.append(whole.mean(axis=0))
        naive.append(_mean_variance(whole, groups))
    variance, cv_estimate = np.mean(naive, axis=0), np.mean(outer_means, axis=0)
    nested = np.mean(inner_means, axis=0)
    squared = (folds - 1) / folds * (np.mean(squares, axis=0) - (nested - cv_estimate) ** 2)
    error = np.sqrt(np.clip(squared, variance, folds * variance))
    estimate = nested - 2 * (folds - 1) / folds * (nested - cv_estimate)
    return estimate, error, cv_estimate, np.sqrt(variance)


def _mean_variance(losses: np.ndarray, groups: np.ndarray) -> np.ndarray:
    """Variance of the mean loss, for independent groups of rows."""
    _, place = np.unique(groups, return_inverse=True)
    count = int(place.max()) + 1
    if count < 2:
        return np.full(losses.shape[1], np.nan)
    sums = np.zeros((count, losses.shape[1]))
    np.add.at(sums, place.reshape(-1), losses - losses.mean(axis=0))
    return np.sum(sums**2, axis=0) / len(losses) ** 2 * count / (count - 1)


def _losses(
    est: Any,
    X: Any,
    Y: Any,
    groups: Any,
    out: np.ndarray,
    loss: Callable[[np.ndarray, Any, Any], np.ndarray],
) -> np.ndarray:
    """Losses of the rows that are left out, NaN in the others."""
    train, test = np.flatnonzero(~out), np.flatnonzero(out)
    passed = {}
    if groups is not None and has_fit_parameter(est, "groups"):
        passed["groups"] = np.asarray(groups)[train]
    fitted = clone(est).fit(_safe_indexing(X, train), _safe_indexing(Y, train), **passed)
    own = loss(test, _safe_indexing(Y, test), fitted.predict(_safe_indexing(X, test)))
    losses = np.full((len(out), own.shape[1]), np.nan)
    losses[test] = own
    return losses


def _loss(metric: Metric, target: np.ndarray) -> Callable[[np.ndarray, Any, Any], np.ndarray]:
    """Function (rows, Y_true, Y_pred) → losses, the mean over the responses first."""
    if callable(metric):

        def own(rows: np.ndarray, true: Any, predicted: Any) -> np.ndarray:
            losses = np.asarray(metric(true, predicted), dtype=np.float64)
            if losses.shape != (len(rows),):
                raise ValueError(
                    f"metric must return one loss per row, of shape {(len(rows),)}, got shape "
                    f"{losses.shape}"
                )
            return losses[:, None]

        return own
    spread = target.var(axis=0, ddof=1)
    constant = target.max(axis=0) == target.min(axis=0)
    scale = np.where(constant, np.nan, spread) if metric == "r2" else np.ones(len(spread))
    if np.all(constant) and metric == "r2":
        raise ValueError("Y must have a response that is not constant")

    def squared(rows: np.ndarray, true: Any, predicted: Any) -> np.ndarray:
        values = np.asarray(predicted, dtype=np.float64).reshape(len(rows), -1)
        single = (target[rows] - values) ** 2 / scale
        return np.column_stack([np.nanmean(single, axis=1), single])

    return squared


def _checked_responses(Y: Any, metric: Metric) -> np.ndarray:
    if callable(metric):
        return np.asarray(Y)
    if metric not in ("r2", "mse"):
        raise ValueError(f'metric must be "r2", "mse" or a function, got {metric!r}')
    target = complete_responses(Y)
    if np.abs(target).max(initial=0.0) > _LARGEST:
        raise ValueError(
            f"Y must be at most {_LARGEST:g}, so that powers of its errors do not overflow: "
            "divide it by a constant"
        )
    return target
