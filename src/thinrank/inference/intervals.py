"""Confidence intervals for coefficients, predictions and layers of a fit."""

from __future__ import annotations

from itertools import compress
from numbers import Integral
from typing import Any

import numpy as np

from thinrank.inference.coefficient_intervals import (
    chosen_pairs,
    chosen_positions,
    coefficient_estimates,
)
from thinrank.inference.fitted_supports import FittedSupports, fitted_supports
from thinrank.inference.interval_table import CORRECTIONS, Intervals, make_intervals
from thinrank.inference.interval_words import (
    assumptions,
    chosen_by_fit,
    close_layers,
    remarks,
)
from thinrank.inference.layer_intervals import layer_estimates

_KINDS = ("coefficients", "predictions", "layers")
_ADJUSTMENTS = ("supports", "all")


def confidence_intervals(
    est: Any,
    X: Any,
    Y: Any,
    level: float = 0.95,
    *,
    of: str = "coefficients",
    pairs: Any = None,
    predictors: Any = None,
    responses: Any = None,
    at: Any = None,
    observations: bool = False,
    scaled: bool = False,
    adjust: str = "supports",
    rank: int | str | None = "auto",
    correction: str | None = "holm",
) -> Intervals:
    """Confidence intervals and p-values for coefficients, predictions or layers of a fit.

    The coefficients are estimated anew by least squares on the predictors of the fit, projected on
    the tangent space of the matrices of its rank, so that ridge and shrinkage of the fit have no
    influence and the low rank makes the intervals narrower than those of separate regressions. A
    predictor that the fit did not select is added to those that it selected, one at a time.

    **Assumed**: rows are independent; the noise of a row has mean zero, the same covariance in all
    rows and a distribution near the normal; the supports of the fit contain the predictors with
    non-zero coefficients, or those that are missed are nearly uncorrelated with the others
    (``adjust="all"`` does without this); the rank of the coefficients is at most that of the
    model. The covariance of the noise across responses is estimated and may be any matrix.

    Parameters
    ----------
    est : SparseReducedRankRegressor or SparseReducedRankRegressorCV
        A fitted estimator, which is used as it is, or one that is not fitted, of which a clone is
        fitted to X and Y. With squared loss, complete responses and without sample weights.
    X : array, data frame, sparse matrix, LinearOperator or Design, of shape \
(n_samples, n_features)
        The predictors that it was fitted to. They are made dense.
    Y : array or data frame of shape (n_samples, n_targets) or (n_samples,)
        The responses that it was fitted to.
    level : float, default=0.95
        Confidence level of each interval by itself.
    of : {"coefficients", "predictions", "layers"}, default="coefficients"
        Coefficients, in the units of X and Y; means of the responses at given values of the
        predictors; or singular values d and left singular vectors u of the matrix of coefficients.
    pairs : "all", list of (predictor, response) or None, default=None
        Coefficients, by names or positions. None for all pairs of ``predictors`` and ``responses``.
    predictors, responses : "all", list of str or int, or None, default=None
        Names or positions; None for those of the model. For layers, ``predictors`` are the entries
        of u; for predictions, ``responses`` are the columns.
    at : array or data frame of shape (m, n_features) or None, default=None
        Rows for which the responses are predicted; None for X. For predictions only.
    observations : bool, default=False
        Whether the intervals are to contain new observations at these rows instead of their means.
        For predictions only.
    scaled : bool, default=False
        Whether left vectors have length d, as in SOFARI, instead of 1. For layers only.
    adjust : {"supports", "all"}, default="supports"
        Predictors that a coefficient is adjusted for: those of the fit, or all, which needs more
        rows than predictors and has wider intervals, but does not rely on the selection.
    rank : int, "auto" or None, default="auto"
        Rank of the coefficients. "auto" is that of the fit, or more if Bartlett's test rejects it
        at level 0.01; if the weakest layer hardly exceeds the noise, the low rank is not used,
        except for layers. None does not use the low rank: the intervals are those of least squares.
    correction : {"holm", "bh", "by", None}, default="holm"
        Correction of the p-values for their number: Holm's (probability of any false rejection),
        Benjamini-Hochberg's or Benjamini-Yekutieli's (false discovery rate), or none. If the
        predictors are not given, those of the fit are shown, and p-values are corrected for all
        predictors, since the fit chose among them with the same data.

    Returns
    -------
    Intervals
        With ``estimate``, ``lower``, ``upper``, ``p_value``, ``adjusted_p_value``,
        ``to_frame()`` and ``matrix()``.

    Notes
    -----
    Let A be the predictors that are adjusted for, without intercept, B the least squares fit,
    Σ the covariance of its residuals with n − 1 − (columns of A) degrees of freedom, and Θ̂ = URᵀ
    the reduced-rank fit with responses weighted by 1/√Σⱼⱼ. With the projections P on the column
    space of Θ̂ (in the metric G = AᵀA) and N on its row space, the estimate is PB + (I − P)BN and
    the variance of its entries

        hᵢ·Σⱼⱼ + (qᵢ − hᵢ)·(NᵀΣN)ⱼⱼ + τ(qᵢ − hᵢ)·((I − N)ᵀΣ(I − N))ⱼⱼ

    with h and q the diagonals of U(UᵀGU)⁻¹Uᵀ and G⁻¹; τ = tr(cov·(UᵀGU)⁻¹), where cov·qᵢ is the
    covariance of a row of U, is the variance of second order. Quantiles are those of Student's t.
    With full rank, or ``rank=None``, these are the intervals of least squares, exactly.

    An interval for a predictor is the same whether the fit selected that predictor or not; it
    depends on the selection of the others only. Over all predictors the intervals have their
    level; among those of selected predictors only, the intervals of predictors that were barely
    selected miss more often. If a predictor that the fit lacks is clearly
    non-zero (Hotelling's test, Bonferroni, level 0.01), it is added and named in the result.

    Layers are those of the coefficients in the units of X and Y, so that they depend on these
    units. Signs are such that the largest entry of u is positive. The bias of second order is
    estimated by simulation with a fixed seed and subtracted. Layers whose singular values are
    nearly equal cannot be told apart.

    References
    ----------
    Z. Zheng, X. Zhou, Y. Fan and J. Lv, SOFARI: high-dimensional manifold-based inference,
    arXiv:2309.15032.

    Examples
    --------
    >>> import thinrank as tr
    >>> X, Y, truth = tr.datasets.make_two_way_sparse(100, 30, 8, 2, 4, 5, random_state=0)
    >>> est = tr.SparseReducedRankRegressor(2, 4, 5).fit(X, Y)
    >>> found = tr.inference.confidence_intervals(est, X, Y)
    >>> len(found), found.df
    (20, 95)
    >>> one = tr.inference.confidence_intervals(est, X, Y, pairs=[(0, 0)])
    >>> bool(one.lower[0] < one.estimate[0] < one.upper[0])
    True
    """
    _check(level, of, adjust, rank, correction)
    for name, given, kinds in (
        ("pairs", pairs is not None, ("coefficients",)),
        ("predictors", predictors is not None, ("coefficients", "layers")),
        ("responses", responses is not None, ("coefficients", "predictions")),
        ("at", at is not None, ("predictions",)),
        ("observations", bool(observations), ("predictions",)),
        ("scaled", bool(scaled), ("layers",)),
    ):
        if given and of not in kinds:
            allowed = " or ".join(f'of="{kind}"' for kind in kinds)
            raise ValueError(f"{name} is for {allowed}, got of={of!r}")
    found = fitted_supports(est, X, Y, adjust, rank, of == "layers")
    notes: list[str] = []
    tested: np.ndarray | bool = True
    df = np.asarray(found.model.df)
    shape = len(found.predictor_names), len(found.response_names)
    # Predictors that the fit chose are shown, but p-values are corrected for all predictors.
    by_fit = pairs is None and predictors is None and of != "predictions"
    family = "all" if by_fit else predictors
    if of == "coefficients":
        among = "all" if by_fit and responses is None else responses
        labels, index = _pair_labels(found, chosen_pairs(found, pairs, family, among))
        estimate, error, df = coefficient_estimates(found, index)
        shown = np.isin(index[:, 0], found.rows) & (
            (responses is not None) | np.isin(index[:, 1], found.columns)
        )
    elif of == "predictions":
        labels, index, estimate, error = _predictions(
            found, X if at is None else at, responses, observations
        )
        tested = False
        shape = int(index[:, 0].max(initial=-1)) + 1, shape[1]
    else:
        labels, index, estimate, error = _layers(found, family, scaled)
        single = index[:, 1] < 0
        notes = close_layers(estimate[single], error[single])
        tested = ~single
        shape = found.rank, shape[0]
        shown = single | np.isin(index[:, 1], found.rows)
    if not by_fit:
        shown = np.full(len(index), True)
    else:
        notes.append(chosen_by_fit(found))
    values = make_intervals(
        estimate, error, df=df, level=level, correction=correction, tested=tested, shown=shown
    )
    return Intervals(
        of,
        {name: list(compress(words, shown)) for name, words in labels.items()},
        index[shown],
        shape,
        **values,
        level=level,
        correction=correction,
        df=found.model.df,
        noise=found.model.noise,
        rank=found.rank,
        adjusted_for=found.adjusted,
        added=found.added,
        assumptions=assumptions(found, of, observations),
        remarks=[*remarks(found), *notes],
    )


def _pair_labels(
    found: FittedSupports, index: np.ndarray
) -> tuple[dict[str, list[str]], np.ndarray]:
    labels = {
        "predictor": [found.predictor_names[i] for i in index[:, 0]],
        "response": [found.response_names[j] for j in index[:, 1]],
    }
    return labels, index


def _predictions(
    found: FittedSupports, at: Any, responses: Any, observations: bool
) -> tuple[dict[str, list[str]], np.ndarray, np.ndarray, np.ndarray]:
    model = found.model
    columns = chosen_positions(
        "responses", responses, found.response_names, np.arange(len(found.response_names))
    )
    basis, rows = found.new_rows(at)
    estimate = basis @ found.Y_basis + rows @ model.estimate
    inverse = np.linalg.pinv(found.basis.T @ found.basis)
    own = np.einsum("ij,jl,il->i", basis, inverse, basis)[:, None] + int(observations)
    variance = model.variances(rows) + own * np.diag(model.noise)
    index = np.stack(np.meshgrid(np.arange(len(rows)), columns, indexing="ij"), axis=-1)
    index = index.reshape(-1, 2)
    named = hasattr(at, "columns") and hasattr(at, "index")  # a data frame of pandas
    names = [str(name) for name in (at.index if named else range(len(rows)))]
    labels = {
        "row": [names[i] for i in index[:, 0]],
        "response": [found.response_names[j] for j in index[:, 1]],
    }
    place = index[:, 0], index[:, 1]
    return labels, index, estimate[place], np.sqrt(variance[place])


def _layers(
    found: FittedSupports, predictors: Any, scaled: bool
) -> tuple[dict[str, list[str]], np.ndarray, np.ndarray, np.ndarray]:
    if not found.rank:
        raise ValueError("the fit has rank 0 and no layers")
    rows = chosen_positions("predictors", predictors, found.predictor_names, found.rows)
    if isinstance(predictors, str) and predictors == "all":
        rows = np.setdiff1d(rows, np.flatnonzero(found.constant))
    layers = layer_estimates(found)
    vectors = (
        (layers.scaled, layers.scaled_errors) if scaled else (layers.vectors, layers.vector_errors)
    )
    r, size = found.rank, len(rows) + 1
    index = np.stack(
        [np.repeat(np.arange(r), size), np.tile(np.concatenate([[-1], rows]), r)], axis=1
    )
    estimate, error = (
        np.vstack([values[None], parts[rows]]).T.ravel()
        for values, parts in zip((layers.values, layers.value_errors), vectors, strict=True)
    )
    labels = {
        "layer": [str(layer + 1) for layer in index[:, 0]],
        "quantity": ["d" if i < 0 else "d·u" if scaled else "u" for i in index[:, 1]],
        "predictor": ["" if i < 0 else found.predictor_names[i] for i in index[:, 1]],
    }
    return labels, index, estimate, error


def _check(level: float, of: str, adjust: str, rank: Any, correction: str | None) -> None:
    if isinstance(level, bool) or not (isinstance(level, (int, float)) and 0 < level < 1):
        raise ValueError(f"level must be a number between 0 and 1, got {level!r}")
    for name, value, allowed in (
        ("of", of, _KINDS),
        ("adjust", adjust, _ADJUSTMENTS),
        ("correction", correction, CORRECTIONS),
    ):
        if value not in allowed:
            listed = ", ".join(repr(item) for item in allowed)
            raise ValueError(f"{name} must be one of {listed}, got {value!r}")
    whole = isinstance(rank, Integral) and not isinstance(rank, bool) and int(rank) >= 1
    if not (rank is None or rank == "auto" or whole):
        raise ValueError(f'rank must be a positive integer, "auto" or None, got {rank!r}')
