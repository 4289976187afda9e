"""Select predictors with the false discovery rate under control."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import issparse
from scipy.stats import false_discovery_control
from sklearn.utils import check_array

from thinrank import arrays
from thinrank.core.checks import check_choice
from thinrank.estimators import validation
from thinrank.estimators.fitted_data import complete_responses
from thinrank.estimators.validation import check_finite_predictors
from thinrank.inference.knockoffs import (
    fixed_knockoffs,
    gaussian_knockoffs,
    knockoff_statistics,
    sign_threshold,
)
from thinrank.inference.results import METHODS, Discoveries, check_level
from thinrank.inference.row_tests import RowTests, row_tests_given_all, row_tests_given_selected
from thinrank.inference.structure import few_responses
from thinrank.minimize import seed_from

# What constant predictors have, of all results with one number for each predictor.
_OF_CONSTANT = {"statistics": 0.0, "p_values": 1.0, "weights": 1.0, "adjusted_p_values": 1.0}


class _Sample(NamedTuple):
    """Predictors and responses without constant columns."""

    X: np.ndarray  # (n_samples, n_varying) predictors that vary, centered, each of norm 1
    Y: np.ndarray  # (n_samples, n_varying_targets) responses that vary, centered, each of norm √n
    varying: np.ndarray  # positions of the columns of X among all predictors
    names: list[str]  # of all predictors


def select_predictors(
    X: Any,
    Y: Any,
    fdr: float = 0.1,
    method: str = "auto",
    *,
    adjust_for: str = "auto",
    robust: bool = True,
    random_state: Any = None,
) -> Discoveries:
    """Select predictors that have an effect on any response, with few false ones on average.

    The model is Y = 1·intercepts + XΘ + E with independent rows of E, correlated across responses
    in any way. A false discovery is a selected predictor whose row of Θ is zero. The false
    discovery rate is the expected proportion of these among the selected.

    All methods look for shared structure first: a working set of predictors with effects, and the
    few directions of the responses in which these effects lie. A test in three directions has more
    power than one in twenty. Row tests also use evidence from neighbors, which take over the effect
    of a predictor that is left out. The guide has the details, and measured rates and power.

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
        One of "auto", "row_tests", "fixed_knockoffs" and "model_x_knockoffs".

        "row_tests" has a p-value for each predictor, from the correlation of its residuals with
        those of the responses, given other predictors (``adjust_for``), and the procedure of
        Benjamini and Hochberg with weights and an estimated proportion of predictors without
        effect [1]_. It is the only method that can select one or two predictors,
        and the most powerful for weak effects.

        "fixed_knockoffs" compares predictors with copies that have the same correlations [2]_. It
        needs at least 2p + 1 rows and Gaussian noise of equal variance in all rows; then the rate
        is controlled whatever X and Θ are.

        "model_x_knockoffs" draws the copies from a Gaussian distribution with the (shrunk)
        correlations of X [3]_. It assumes that the predictors are Gaussian and that their
        correlations are well estimated, and nothing of the noise. Both select 1/q predictors or
        more, or none.

        "auto" is "row_tests", since the others find nothing where only a few effects are strong.
    adjust_for : {"auto", "all", "selected"}, default="auto"
        The other predictors given which "row_tests" tests one. "all" is exact for Gaussian noise
        (for given directions an F test) and needs more rows than predictors. "selected" takes
        the neighbors of the predictor, that is, those that help to predict it, and the working
        set. It has more power unless there are many rows, and allows more predictors than rows; it
        assumes that predictors outside of these sets are weak or unrelated, as they are for
        Gaussian predictors with few neighbors. "auto" is "all" with at least 10 rows per
        predictor; else "selected".
    robust : bool, default=True
        Whether row tests allow for noise whose variance depends on the predictors. The variance of
        each statistic is estimated from the squared residuals (a sandwich estimate), and where it
        is larger than with noise of equal variance, the statistic is divided by it. False assumes
        equal variance, and has a little more power if that is true.
    random_state : int, RandomState, Generator or None, default=None
        Seed of knockoffs; None is 0. Row tests are not random.

    Returns
    -------
    Discoveries
        With ``selected``, ``names`` and ``to_frame()``. Constant predictors are never selected.

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
    .. [2] R. Barber and E. Candès, Controlling the false discovery rate via knockoffs, Annals of
       Statistics 43 (2015); R. Dai and R. Barber, The knockoff filter for FDR control in
       group-sparse and multitask regression, ICML (2016).
    .. [3] E. Candès, Y. Fan, L. Janson and J. Lv, Panning for gold, Journal of the Royal
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
    _check_arguments(fdr, method, adjust_for, robust)
    sample = _as_sample(X, Y)
    responses = few_responses(sample.Y)
    method = "row_tests" if method == "auto" else method
    found: dict[str, Any]
    if not sample.X.size or not sample.Y.size:
        what = "responses" if sample.X.size else "predictors"
        reason = f"All {what} are constant."
        found = {"threshold": np.inf, "estimated_fdp": 0.0, "reason": reason}
    elif method == "row_tests":
        found = _row_tests(sample.X, responses, fdr, adjust_for, robust)
    else:
        found = _knockoffs(sample.X, responses, fdr, method, seed_from(random_state))
    remarks = found.pop("remarks", [])
    if responses.shape[1] < sample.Y.shape[1]:
        remarks.append(
            f"The {sample.Y.shape[1]} responses were replaced by {responses.shape[1]} principal "
            f"components, because there are {len(sample.Y)} rows."
        )
    constant = len(sample.names) - len(sample.varying)
    if constant:
        verb = "is" if constant == 1 else "are"
        remarks.append(f"{constant} predictor{'s' * (constant > 1)} {verb} constant.")
    for name, of_constant in _OF_CONSTANT.items():
        every = np.full(len(sample.names), of_constant)
        if name in found:
            every[sample.varying] = found[name]
        found[name] = every if name == "statistics" or method == "row_tests" else None
    selected = np.flatnonzero(found["statistics"] >= found["threshold"])
    return Discoveries(
        selected=selected,
        names=[sample.names[j] for j in selected],
        method=method,
        fdr=float(fdr),
        feature_names=sample.names,
        remarks=remarks,
        **found,
    )


def _as_sample(X: Any, Y: Any) -> _Sample:
    """Check predictors and responses, and center and scale them."""
    from thinrank.tables.encoding import encoded_frame  # loads pandas

    validation.check_kind("X", X)
    responses = complete_responses(Y)
    validation.check_row_names(X, Y)
    X = encoded_frame(X)[0]
    validation.check_columns("X", X)
    names = validation.column_names(X)
    X = X.toarray() if issparse(X) else arrays.to_numpy(X) if arrays.is_array(X) else X
    predictors = check_array(X, dtype=np.float64, ensure_all_finite=False, input_name="X")
    check_finite_predictors(predictors, names)
    n, p = predictors.shape
    if len(responses) != n:
        raise ValueError(
            f"X and Y must have the same number of rows: X has {n}, Y has {len(responses)}"
        )
    if n < 4:
        raise ValueError(f"X must have at least 4 rows, got {n}")
    named = [f"x{j}" for j in range(p)] if names is None else [str(name) for name in names]
    scaled, varying = _unit_columns(predictors)
    return _Sample(scaled, _unit_columns(responses)[0] * np.sqrt(n), varying, named)


def _unit_columns(A: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Centred columns of norm 1 without those that are constant, and positions of the rest."""
    largest = np.abs(A).max(axis=0, initial=0.0)
    A = A / np.where(largest > 0, largest, 1.0)  # squares neither overflow nor underflow
    A -= A.mean(axis=0)
    norms = np.linalg.norm(A, axis=0)
    kept = np.flatnonzero(norms > 1e-12 * np.sqrt(len(A)))  # others are rounding errors
    return A[:, kept] / norms[kept], kept


def _check_arguments(fdr: Any, method: Any, adjust_for: Any, robust: Any) -> None:
    check_level(fdr, "fdr")
    if not isinstance(robust, bool):
        raise ValueError(f"robust must be True or False, got {robust!r}")
    if method == "mirror":
        raise ValueError(
            'method="mirror" was removed: it found fewer effects than method="row_tests", which '
            "has the same assumptions and replaces it"
        )
    check_choice("method", method, ("auto", *METHODS))
    check_choice("adjust_for", adjust_for, ("auto", "all", "selected"))


def _row_tests(
    X: np.ndarray, Y: np.ndarray, fdr: float, adjust_for: str, robust: bool
) -> dict[str, Any]:
    n, p = X.shape
    possible = n > p + Y.shape[1] + 1
    if adjust_for == "all" and not possible:
        raise ValueError(
            'adjust_for="all" needs more rows than predictors and responses together: X has '
            f"{n} rows, {p} predictors that vary and {Y.shape[1]} responses; use "
            'adjust_for="selected"'
        )
    if adjust_for == "all":
        why = "Tests given all other predictors."
    elif adjust_for == "auto" and possible and n >= 10 * p:  # at most a tenth of the rows is lost
        why = (
            f"With {n} rows and {p} predictors, tests given all other predictors are exact "
            "for Gaussian noise and lose little power."
        )
    else:
        tests = row_tests_given_selected(X, Y, robust)
        why = (
            f"With {n} rows and {p} predictors, each predictor is tested given its neighbors "
            f"({tests.n_neighbours:.1f} on average) and a working set of {tests.n_working}."
        )
        return _from_p_values(tests, fdr, why)
    return _from_p_values(row_tests_given_all(X, Y, robust), fdr, why)


def _from_p_values(tests: RowTests, fdr: float, why: str) -> dict[str, Any]:
    """The adaptive procedure of Benjamini and Hochberg with prior weights."""
    p_values, weights = tests.p_values, tests.weights
    # p-values above one half are taken for those of predictors without effect (Storey 2002)
    without = 2 * (weights.max() + weights[p_values > 0.5].sum())
    weighted = np.minimum(p_values / weights * min(without / len(p_values), 1.0), 1.0)
    adjusted = false_discovery_control(weighted)
    chosen = adjusted <= fdr
    statistics = -np.log10(np.maximum(weighted, np.finfo(float).tiny))
    threshold = float(statistics[chosen].min(initial=np.inf))
    proportion = weighted[chosen].max(initial=0.0) * len(weighted) / max(int(chosen.sum()), 1)
    shared = f"Effects share {tests.rank} direction{'s' * (tests.rank != 1)} of the responses."
    remarks = [shared] if tests.rank else ["No shared direction of effects was found."]
    return {
        "statistics": statistics,
        "threshold": threshold,
        "estimated_fdp": float(proportion),
        "reason": why,
        "remarks": remarks,
        "p_values": p_values,
        "weights": weights,
        "adjusted_p_values": adjusted,
    }


def _knockoffs(X: np.ndarray, Y: np.ndarray, fdr: float, method: str, seed: int) -> dict[str, Any]:
    n, p = X.shape
    if method == "fixed_knockoffs" and n < 2 * p + 1:
        raise ValueError(
            f'method="fixed_knockoffs" needs at least 2p + 1 rows: X has {n} rows and {p} '
            f'predictors that vary, that is, {2 * p + 1 - n} too few; use method="row_tests" '
            'or "model_x_knockoffs"'
        )
    copies = (fixed_knockoffs if method == "fixed_knockoffs" else gaussian_knockoffs)(X, seed)
    statistics = knockoff_statistics(X, copies, Y)
    threshold, proportion = sign_threshold(statistics, fdr)
    remarks = []
    if np.isinf(threshold):
        remarks.append(
            f"With the +1 in the threshold, knockoffs select at least {int(np.ceil(1 / fdr))} "
            'predictors or none; method="row_tests" can select fewer.'
        )
    return {
        "statistics": statistics,
        "threshold": threshold,
        "estimated_fdp": proportion,
        "reason": "The method was given.",
        "remarks": remarks,
    }
