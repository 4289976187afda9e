"""The error of a tuned fit on new data, with an interval, by nested cross-validation."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from joblib import delayed
from scipy import stats
from sklearn.base import clone
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import has_fit_parameter

from thinrank.core.parallel_calls import parallel_calls
from thinrank.core.progress import with_progress_bar
from thinrank.core.warnings import SelectionWarning
from thinrank.estimators.input_types import column_names
from thinrank.inference.generalization_result import Generalization
from thinrank.inference.nested_errors import NestedErrors, left_out_folds, nested_interval
from thinrank.inference.nested_partitions import group_numbers, partitions_of_rows
from thinrank.minimize import check_size, seed_from

Metric = str | Callable[[Any, Any], Any]


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

    **Cost**: ``n_repeats`` · (K + K(K − 1)/2) fits: 150 with the defaults, 15 with
    ``n_repeats=1``, 550 with ``cv=10``. The paper uses many more repetitions to make the standard
    error stable.

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
    if isinstance(level, bool) or not (isinstance(level, (int, float)) and 0 < level < 1):
        raise ValueError(f"level must be a number between 0 and 1, got {level!r}")
    target = _checked_responses(Y, metric)
    loss = _loss(metric, target)
    n = len(target)
    if n != np.shape(X)[0]:
        raise ValueError(
            f"X and Y must have the same number of rows: X has {np.shape(X)[0]}, Y has {n}"
        )
    members = group_numbers(groups, n)
    partitions = partitions_of_rows(cv, n_repeats, X, Y, groups, members, seed_from(random_state))
    tasks = [
        (i, left)
        for i, fold in enumerate(partitions)
        for left in left_out_folds(int(fold.max()) + 1)
    ]
    calls = (
        delayed(_losses)(est, X, Y, groups, np.isin(partitions[i], left), loss) for i, left in tasks
    )
    found: list[dict[tuple[int, ...], np.ndarray]] = [{} for _ in partitions]
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
    errors = [NestedErrors(*pair) for pair in zip(partitions, found, strict=True)]
    names = [] if callable(metric) else _response_names(Y, target)
    return _result(metric, level, errors, members, names, len(tasks), groups is not None)


def _result(
    metric: Metric,
    level: float,
    errors: list[NestedErrors],
    members: np.ndarray,
    names: list[str],
    fits: int,
    grouped: bool,
) -> Generalization:
    estimate, error, plain, naive = nested_interval(errors, members)
    wide = stats.norm.ppf((1 + level) / 2)
    ends = [estimate, estimate - wide * error, estimate + wide * error]
    cv_ends = [plain, plain - wide * naive, plain + wide * naive]
    if isinstance(metric, str) and metric == "r2":
        ends = [1 - ends[i] for i in (0, 2, 1)]
        cv_ends = [1 - cv_ends[i] for i in (0, 2, 1)]
    unit, count = "groups" if grouped else "rows", len(np.unique(members))
    return Generalization(
        metric=metric if isinstance(metric, str) else getattr(metric, "__name__", "metric"),
        estimate=float(ends[0][0]),
        lower=float(ends[1][0]),
        upper=float(ends[2][0]),
        standard_error=float(error[0]),
        level=level,
        inflation=float(error[0] / naive[0]) if naive[0] > 0 else 1.0,
        cv_estimate=float(cv_ends[0][0]),
        cv_lower=float(cv_ends[1][0]),
        cv_upper=float(cv_ends[2][0]),
        response_names=names,
        response_estimate=ends[0][1:],
        response_lower=ends[1][1:],
        response_upper=ends[2][1:],
        n_folds=int(errors[0].fold.max()) + 1,
        n_repeats=len(errors),
        n_fits=fits,
        n_groups=count,
        assumptions=[
            f"{unit} are independent and from the distribution of the new data",
            f"the mean loss over {count} {unit} is near normal",
        ],
    )


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
    target = np.asarray(Y, dtype=np.float64)
    if not np.all(np.isfinite(target)):
        raise ValueError("Y must be complete and finite, got missing or infinite entries")
    return target[:, None] if target.ndim == 1 else target


def _response_names(Y: Any, target: np.ndarray) -> list[str]:
    names = column_names(Y)
    if names is not None:
        return [str(name) for name in names]
    count = target.shape[1]
    return ["y"] if count == 1 else [f"y{j}" for j in range(count)]
