"""Select predictors with the false discovery rate under control."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Real
from typing import Any, NamedTuple

import numpy as np

from thinrank.core.checks import check_callback
from thinrank.inference.checked_data import Sample, as_sample
from thinrank.inference.discoveries import Discoveries
from thinrank.inference.knockoff_copies import fixed_knockoffs, gaussian_knockoffs
from thinrank.inference.knockoff_statistics import knockoff_statistics
from thinrank.inference.mirror import MirrorRecord, inclusion_rates
from thinrank.inference.row_tests import RowTests, row_tests_given_all, row_tests_given_selected
from thinrank.inference.structure import few_responses
from thinrank.inference.thresholds import (
    adjusted_p_values,
    false_discovery_proportion,
    rates_cut,
    sign_threshold,
    weighted_p_values,
)
from thinrank.minimize import check_size, seed_from

_METHODS = ("auto", "row_tests", "mirror", "fixed_knockoffs", "model_x_knockoffs")
_ADJUSTMENTS = ("auto", "all", "selected")
# With this number of rows per predictor, tests given all others lose at most a tenth of the rows,
# and are exact.
_MANY_ROWS = 10
# Neighbourhoods of more predictors than this, and than this fraction of the rows, on average, are
# taken for dense: double selection may miss some neighbours then, and tests given all others are
# safer if they are possible.
_MANY_NEIGHBOURS, _DENSE = 5, 0.04
# Where they are not, knockoffs, which have little power then, are left to neighbourhoods that are
# more than this fraction of the rows, or more than this number: below, rates of row tests are
# right (benchmarks/inference_discoveries.py).
_VERY_DENSE, _TOO_MANY_NEIGHBOURS = 0.08, 20
# Tests given all others are possible, but too weak to be preferred, with fewer rows per predictor.
_ENOUGH_ROWS = 1.5
_GIVEN = "The method was given."  # the reason for it


class _Answer(NamedTuple):
    """Statistics of the predictors that vary, and what follows from them."""

    statistics: np.ndarray
    threshold: float
    estimated_fdp: float
    p_values: np.ndarray | None
    weights: np.ndarray | None
    reason: str
    remarks: list[str]


def select_predictors(
    X: Any,
    Y: Any,
    fdr: float = 0.1,
    method: str = "auto",
    *,
    adjust_for: str = "auto",
    n_splits: int = 50,
    random_state: Any = None,
    n_jobs: int | None = None,
    verbose: int = 0,
    callback: Callable[[MirrorRecord], object] | None = None,
) -> Discoveries:
    """Select predictors that have an effect on any response, with few false ones on average.

    The model is Y = 1·intercepts + XΘ + E with independent rows of E, correlated across responses
    in any way. A false discovery is a selected predictor whose row of Θ is zero. The false
    discovery rate is the expected proportion of these among the selected.

    All methods look for shared structure first: a working set of predictors with effects, and the
    few directions of the responses in which these effects lie. A test in three directions has more
    power than one in twenty. Effects outside of the directions count too, with less weight.

    Row tests also use evidence from neighbours. If a predictor with an effect is left out,
    its neighbours take over this effect, which tells the direction in which the part of the
    predictor that they do not explain is tested, and the weight of its p-value. Both are
    independent of the p-value if there is no effect.

    Parameters
    ----------
    X : array, data frame or sparse matrix of shape (n_samples, n_features)
        Predictors; a sparse matrix is made dense. Units and constants have no effect.
    Y : array or data frame of shape (n_samples, n_targets) or (n_samples,)
        Responses, without missing entries. Units and constants have no effect. If there are more
        than a quarter of the number of rows, that number of principal components is used.
    fdr : float, default=0.1
        The nominal false discovery rate q.
    method : str, default="auto"
        One of "auto", "row_tests", "mirror", "fixed_knockoffs" and "model_x_knockoffs".

        "row_tests" has a p-value for each predictor, from the correlation of its residuals with
        those of the responses, given other predictors (``adjust_for``), and the procedure of
        Benjamini and Hochberg with weights and an estimated proportion of predictors without
        effect [1]_. It is the only method that can select one or two predictors,
        and the most powerful for weak effects.

        "mirror" compares estimates from two random halves of the data, ``n_splits`` times
        [2]_. Its assumptions are those of row tests with ``adjust_for="selected"``.

        "fixed_knockoffs" compares predictors with copies that have the same correlations [3]_. It
        needs at least 2p + 1 rows and Gaussian noise; then the rate is controlled whatever X
        and Θ are.

        "model_x_knockoffs" draws the copies from a Gaussian distribution with the (shrunk)
        correlations of X [4]_. It assumes that the predictors are Gaussian and that their
        correlations are well estimated, and nothing of the noise.

        Thresholds of the last three have the form with +1, so that they select 1/q predictors or
        more, or none.

        "auto" is "row_tests", since the others find nothing where only a few effects are strong.
        The exception: predictors with very many neighbours (more than 8 % of the rows on average,
        or more than 20) and fewer than 1.5 rows per predictor, where "model_x_knockoffs" is used.
        The result says what was used and why.
    adjust_for : {"auto", "all", "selected"}, default="auto"
        The other predictors given which "row_tests" tests one. "all" is exact for Gaussian noise
        (for given directions an F test) and needs more rows than predictors. "selected" takes
        the neighbours of the predictor, that is, those that help to predict it, and the working
        set. It has more power unless there are many rows, and allows more predictors than rows; it
        assumes that predictors outside of these sets are weak or unrelated, as they are for
        Gaussian predictors with few neighbours. "auto" is "all" with at least 10 rows per
        predictor, or if neighbours are many and there are 1.5 rows per predictor; else "selected".
    n_splits : int, default=50
        Number of splits of "mirror".
    random_state : int, RandomState, Generator or None, default=None
        Seed of splits and knockoffs; None is 0. Row tests are not random.
    n_jobs : int, default=None
        Number of threads of "mirror".
    verbose : int, default=0
        If positive, "mirror" shows a progress bar on standard error.
    callback : callable, default=None
        Called with a :class:`MirrorRecord` after each split of "mirror".

    Returns
    -------
    Discoveries
        ``selected``, ``names``, ``statistics``, ``threshold``, ``estimated_fdp``, ``method``,
        ``reason``, p-values where they exist, and ``to_frame()``. Constant predictors are never
        selected.

    References
    ----------
    .. [1] Y. Benjamini and Y. Hochberg, Controlling the false discovery rate, Journal of the Royal
       Statistical Society B 57 (1995). Directions: J. Läuter, E. Glimm and S. Kropf, Multivariate
       tests based on left-spherically distributed linear scores, Annals of Statistics 26 (1998).
       Weights: C. Genovese, K. Roeder and L. Wasserman, False discovery control with p-value
       weighting, Biometrika 93 (2006). Proportion: J. Storey, J. Taylor and D. Siegmund, Journal
       of the Royal Statistical Society B 66 (2004).
       Double selection: A. Belloni, V. Chernozhukov and C. Hansen, Inference on treatment effects
       after selection among high-dimensional controls, Review of Economic Studies 81 (2014).
    .. [2] C. Dai, B. Lin, X. Xing and J. Liu, False discovery rate control via data splitting,
       Journal of the American Statistical Association 118 (2023).
    .. [3] R. Barber and E. Candès, Controlling the false discovery rate via knockoffs, Annals of
       Statistics 43 (2015); R. Dai and R. Barber, The knockoff filter for FDR control in
       group-sparse and multitask regression, ICML (2016).
    .. [4] E. Candès, Y. Fan, L. Janson and J. Lv, Panning for gold, Journal of the Royal
       Statistical Society B 80 (2018); A. Spector and L. Janson, Powerful knockoffs via minimizing
       reconstructability, Annals of Statistics 50 (2022).

    Examples
    --------
    >>> import thinrank as tr
    >>> X, Y, truth = tr.datasets.make_two_way_sparse(200, 50, 10, rank=2, row_sparsity=5,
    ...                                               column_sparsity=None, random_state=0)
    >>> found = tr.inference.select_predictors(X, Y, fdr=0.05)
    >>> set(truth.row_support) <= set(found.selected)
    True
    >>> found.method
    'row_tests'
    """
    _check_arguments(fdr, method, adjust_for)
    check_size("n_splits", n_splits, 10**9, "splits")
    check_callback(callback)
    sample = as_sample(X, Y)
    seed = seed_from(random_state)
    if sample.X.shape[1] == 0 or sample.Y.shape[1] == 0:
        chosen = "row_tests" if method == "auto" else method
        return _result(sample, chosen, float(fdr), _nothing_to_test(sample))
    responses = few_responses(sample.Y)
    if method in ("auto", "row_tests"):
        method, answer = _row_tests(sample.X, responses, fdr, adjust_for, method, seed)
    elif method == "mirror":
        options: dict[str, Any] = {"n_jobs": n_jobs, "verbose": verbose, "callback": callback}
        rates, empty = inclusion_rates(
            sample.X, sample.Y, fdr, n_splits=n_splits, seed=seed, **options
        )
        answer = _from_rates(rates, empty, fdr, n_splits)
    else:
        answer = _knockoffs(sample.X, responses, fdr, method, seed, _GIVEN)
    if method != "mirror" and responses.shape[1] < sample.Y.shape[1]:
        answer.remarks.append(
            f"The {sample.Y.shape[1]} responses were replaced by {responses.shape[1]} principal "
            f"components, because there are {len(sample.Y)} rows."
        )
    return _result(sample, method, float(fdr), answer)


def _check_arguments(fdr: Any, method: Any, adjust_for: Any) -> None:
    number = isinstance(fdr, Real) and not isinstance(fdr, bool)
    if not (number and 0 < float(fdr) < 1):
        raise ValueError(f"fdr must be a number between 0 and 1, got {fdr!r}")
    for name, value, known in (
        ("method", method, _METHODS),
        ("adjust_for", adjust_for, _ADJUSTMENTS),
    ):
        if not (isinstance(value, str) and value in known):
            listed = ", ".join(f'"{word}"' for word in known)
            raise ValueError(f"{name} must be one of {listed}, got {value!r}")


def _row_tests(
    X: np.ndarray, Y: np.ndarray, fdr: float, adjust_for: str, method: str, seed: int
) -> tuple[str, _Answer]:
    n, p = X.shape
    possible = n > p + Y.shape[1] + 1
    if adjust_for == "all" and not possible:
        raise ValueError(
            'adjust_for="all" needs more rows than predictors and responses together: X has '
            f"{n} rows, {p} predictors that vary and {Y.shape[1]} responses; use "
            'adjust_for="selected"'
        )
    if adjust_for == "all" or (adjust_for == "auto" and possible and n >= _MANY_ROWS * p):
        why = (
            "Tests given all other predictors."
            if adjust_for == "all"
            else f"With {n} rows and {p} predictors, tests given all other predictors are exact "
            "for Gaussian noise and lose little power."
        )
        return "row_tests", _from_p_values(row_tests_given_all(X, Y), fdr, why)
    tests = row_tests_given_selected(X, Y)
    near = f"{tests.n_neighbours:.1f} neighbours on average"
    if adjust_for == "auto" and tests.n_neighbours > max(_MANY_NEIGHBOURS, _DENSE * n):
        if possible and n >= _ENOUGH_ROWS * p:
            why = f"Predictors have {near}, too many for double selection: tests given all others."
            return "row_tests", _from_p_values(row_tests_given_all(X, Y), fdr, why)
        if method == "auto" and tests.n_neighbours > min(_VERY_DENSE * n, _TOO_MANY_NEIGHBOURS):
            why = (
                f"Predictors have {near}, too many for double selection, and {n} rows are too few "
                f"for tests given all {p} predictors."
            )
            return "model_x_knockoffs", _knockoffs(X, Y, fdr, "model_x_knockoffs", seed, why)
    why = (
        f"With {n} rows and {p} predictors, each predictor is tested given its neighbours "
        f"({tests.n_neighbours:.1f} on average) and a working set of {tests.n_working}."
    )
    return "row_tests", _from_p_values(tests, fdr, why)


def _from_p_values(tests: RowTests, fdr: float, why: str) -> _Answer:
    weighted = weighted_p_values(tests.p_values, tests.weights)
    chosen = adjusted_p_values(weighted) <= fdr
    statistics = -np.log10(np.maximum(weighted, np.finfo(float).tiny))
    threshold = float(statistics[chosen].min(initial=np.inf))
    largest = float(weighted[chosen].max(initial=0.0))
    proportion = largest * len(weighted) / max(int(chosen.sum()), 1)
    shared = f"Effects share {tests.rank} direction{'s' * (tests.rank != 1)} of the responses."
    remarks = [shared] if tests.rank else ["No shared direction of effects was found."]
    return _Answer(statistics, threshold, proportion, tests.p_values, tests.weights, why, remarks)


def _from_rates(rates: np.ndarray, empty: int, fdr: float, n_splits: int) -> _Answer:
    # splits that select nothing count as such, so that few of them cannot decide
    threshold = rates_cut(rates, fdr)
    proportion = float(rates[rates < threshold].sum()) if np.isfinite(threshold) else 0.0
    remarks = []
    if empty:
        remarks.append(
            f"{empty} of {n_splits} splits selected nothing: with the +1 in the threshold, a split "
            f"selects at least {int(np.ceil(1 / fdr))} predictors or none."
        )
    return _Answer(rates, threshold, proportion, None, None, _GIVEN, remarks)


def _knockoffs(
    X: np.ndarray, Y: np.ndarray, fdr: float, method: str, seed: int, why: str
) -> _Answer:
    n, p = X.shape
    if method == "fixed_knockoffs":
        if n < 2 * p + 1:
            raise ValueError(
                f'method="fixed_knockoffs" needs at least 2p + 1 rows: X has {n} rows and {p} '
                f'predictors that vary, that is, {2 * p + 1 - n} too few; use method="row_tests" '
                'or "model_x_knockoffs"'
            )
        copies = fixed_knockoffs(X, seed)
    else:
        copies = gaussian_knockoffs(X, seed)
    statistics = knockoff_statistics(X, copies, Y)
    threshold = sign_threshold(statistics, fdr)
    found = np.isfinite(threshold)
    proportion = false_discovery_proportion(statistics, threshold) if found else 0.0
    remarks = []
    if not found:
        remarks.append(
            f"With the +1 in the threshold, knockoffs select at least {int(np.ceil(1 / fdr))} "
            'predictors or none; method="row_tests" can select fewer.'
        )
    return _Answer(statistics, threshold, proportion, None, None, why, remarks)


def _nothing_to_test(sample: Sample) -> _Answer:
    what = "predictors" if sample.X.shape[1] == 0 else "responses"
    p_values = np.ones(sample.X.shape[1])
    return _Answer(0 * p_values, np.inf, 0.0, p_values, p_values, f"All {what} are constant.", [])


def _result(sample: Sample, method: str, fdr: float, answer: _Answer) -> Discoveries:
    """Fill in the predictors that are constant."""
    p = len(sample.names)
    statistics = np.zeros(p)
    statistics[sample.varying] = answer.statistics
    selected = np.flatnonzero(statistics >= answer.threshold)
    p_values = weights = adjusted = None
    if answer.p_values is not None and answer.weights is not None and method == "row_tests":
        p_values, weights, adjusted = np.ones(p), np.ones(p), np.ones(p)
        p_values[sample.varying], weights[sample.varying] = answer.p_values, answer.weights
        weighted = weighted_p_values(answer.p_values, answer.weights)
        adjusted[sample.varying] = adjusted_p_values(weighted)
    remarks = list(answer.remarks)
    constant = p - len(sample.varying)
    if constant:
        verb = "is" if constant == 1 else "are"
        remarks.append(f"{constant} predictor{'s' * (constant > 1)} {verb} constant.")
    names = [str(name) for name in sample.names]
    return Discoveries(
        selected=selected,
        names=[names[j] for j in selected],
        statistics=statistics,
        method=method,
        reason=answer.reason,
        fdr=fdr,
        threshold=answer.threshold,
        estimated_fdp=answer.estimated_fdp,
        p_values=p_values,
        weights=weights,
        adjusted_p_values=adjusted,
        feature_names=names,
        remarks=remarks,
    )
