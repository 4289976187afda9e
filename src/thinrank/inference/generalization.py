"""The error of a tuned fit on new data, with an interval, by nested cross-validation."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from scipy import stats
from sklearn.base import clone
from sklearn.model_selection import check_cv
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import has_fit_parameter

from thinrank.core.extras import import_optional
from thinrank.core.progress import with_progress_bar
from thinrank.core.threads import one_use_of_cores
from thinrank.core.warnings import SelectionWarning
from thinrank.estimators.frames import column_names
from thinrank.inference.nested_errors import NestedErrors, left_out_folds, nested_interval
from thinrank.minimize import check_size, seed_from

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Generalization", "GeneralizationRecord", "generalization"]

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
            f"{self.cv_lower:.4g} to {self.cv_upper:.4g}, too narrow by a factor of "
            f"{self.inflation:.2f}",
            f"  nested cross-validation: {self.n_fits} fits, {self.n_folds} folds, "
            f"{self.n_repeats} partitions",
            "Assumed:",
            *(f"- {line}" for line in self.assumptions),
        ]
        return "\n".join(lines)

    __repr__ = __str__


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

    Parameters
    ----------
    est : estimator
        With ``fit`` and ``predict``, as in scikit-learn. It is cloned.
    X : array, data frame or sparse matrix of shape (n_samples, n_features)
        Predictors.
    Y : array or data frame of shape (n_samples, n_targets) or (n_samples,)
        Responses, complete.
    cv : int or splitter, default=5
        Number K ≥ 3 of folds of random partitions, or a splitter whose test sets are a partition
        of the rows, such as ``GroupKFold``.
    n_repeats : int, default=10
        Number of partitions. A splitter that returns the same partition again is used once.
    metric : {"r2", "mse"} or callable, default="r2"
        "r2" is 1 minus the squared error in units of the variance of the response in Y, averaged
        over the responses; responses that are constant in Y are left out. "mse" is the mean
        squared error over the responses, in the units of Y. A function ``metric(Y_true, Y_pred)``
        returns one loss per row.
    level : float, default=0.95
        Confidence level.
    groups : array of shape (n_samples,), default=None
        Rows of the same group, such as those of a patient, are dependent: they are left out
        together, and new data are new groups. Passed on to ``fit`` if that has this parameter.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the partitions; None is 0.
    n_jobs : int, default=None
        Number of threads.
    verbose : int, default=0
        If positive, a progress bar with the estimated remaining time is shown on standard error.
    callback : callable, default=None
        Called with a :class:`GeneralizationRecord` after each fit. What it returns is ignored.

    Returns
    -------
    Generalization
        With ``estimate``, ``lower``, ``upper``, the same per response, and ``to_frame()``.

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
    members = _members(groups, n)
    partitions = _partitions(cv, n_repeats, X, Y, groups, members, seed_from(random_state))
    tasks = [
        (i, left) for i, fold in enumerate(partitions) for left in left_out_folds(_count(fold))
    ]
    jobs = effective_n_jobs(n_jobs)
    fits = Parallel(jobs, prefer="threads", return_as="generator")(
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
        one_use_of_cores(jobs),
        warnings.catch_warnings(),
        closing(fits),
    ):
        # one warning per fit says nothing about the whole
        warnings.simplefilter("ignore", SelectionWarning)
        # A callback that raises ends the run; joblib then warns of the fits that are given up.
        warnings.filterwarnings("ignore", r"\d+ tasks", UserWarning, "joblib")
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
    whole = [float(part[0]) for part in (*ends, *cv_ends)]
    unit = "groups" if grouped else "rows"
    return Generalization(
        metric if isinstance(metric, str) else getattr(metric, "__name__", "metric"),
        *whole[:3],
        float(error[0]),
        level,
        float(error[0] / naive[0]) if naive[0] > 0 else 1.0,
        *whole[3:],
        names,
        *(part[1:] for part in ends),
        _count(errors[0].fold),
        len(errors),
        fits,
        len(np.unique(members)),
        [
            f"{unit} are independent and from the distribution of the new data",
            f"the mean loss over {len(np.unique(members))} {unit} is near normal",
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


def _members(groups: Any, n: int) -> np.ndarray:
    """Number of the group of each row; every row by itself without groups."""
    if groups is None:
        return np.arange(n)
    given = np.asarray(groups)
    if given.shape != (n,):
        raise ValueError(f"groups must have one entry per row, {n} in all, got {given.shape}")
    return np.unique(given, return_inverse=True)[1].reshape(-1)


def _count(fold: np.ndarray) -> int:
    return int(fold.max()) + 1


def _partitions(
    cv: Any, repeats: int, X: Any, Y: Any, groups: Any, members: np.ndarray, seed: int
) -> list[np.ndarray]:
    """Fold of each row, for each partition."""
    n, units = len(members), int(members.max()) + 1
    if isinstance(cv, Integral) and not isinstance(cv, bool):
        folds = int(cv)
        if not 3 <= folds <= units // 2:
            raise ValueError(
                f"cv must be from 3 to {units // 2} folds, so that each has at least two of the "
                f"{units} {'rows' if groups is None else 'groups'}, got {folds}"
            )
        rng = np.random.default_rng(seed)
        return [rng.permutation(np.arange(units) % folds)[members] for _ in range(repeats)]
    splitter = check_cv(cv)
    found: list[np.ndarray] = []
    for _ in range(repeats):
        fold = np.full(n, -1)
        tests = [test for _, test in splitter.split(X, Y, groups)]
        for f, test in enumerate(tests):
            fold[test] = f
        if len(tests) < 3 or np.any(fold < 0) or sum(len(test) for test in tests) != n:
            raise ValueError(
                "cv must be an integer or a splitter whose test sets are a partition of the rows "
                f"into at least 3 folds, got {cv!r}"
            )
        if any(len(np.unique(members[fold == f])) < 2 for f in range(len(tests))):
            raise ValueError("cv must have at least two rows, or groups, in each fold")
        if not any(np.array_equal(fold, other) for other in found):
            found.append(fold)
    return found
