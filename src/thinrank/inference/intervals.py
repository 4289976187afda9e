"""Confidence intervals for coefficients, predictions and layers of a fit."""

from __future__ import annotations

from itertools import compress
from numbers import Integral
from typing import Any

import numpy as np
from scipy import stats
from sklearn.utils.extmath import svd_flip

from thinrank.core.checks import check_choice
from thinrank.estimators.validation import position
from thinrank.inference.fitted_supports import FittedSupports
from thinrank.inference.results import CORRECTIONS, Intervals, check_level
from thinrank.inference.tangent_model import TangentModel


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
    adjust: str = "auto",
    rank: int | str | None = "auto",
    correction: str | None = "holm",
) -> Intervals:
    """Confidence intervals and p-values for coefficients, predictions or layers of a fit.

    The coefficients are estimated anew by least squares on the predictors of the fit, projected on
    the tangent space of the matrices of its rank, so that ridge and shrinkage of the fit have no
    influence and the low rank makes the intervals narrower than those of separate regressions. A
    predictor that the fit did not select is added to those that it selected, one at a time.

    **Assumed**: rows are independent; the noise of a row has mean zero, the same covariance in all
    rows and a distribution near the normal; with ``adjust="supports"``, the supports of the fit
    contain the predictors with non-zero coefficients, or those that are missed are nearly
    uncorrelated with the others; the rank of the coefficients is at most that of the
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
    adjust : {"auto", "supports", "all"}, default="auto"
        Predictors that a coefficient is adjusted for: those of the fit, or all, which needs more
        rows than predictors and has wider intervals, but does not rely on the selection. "auto" is
        "all" for coefficients with at least two rows per predictor, otherwise "supports".
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
        With ``estimate``, ``lower``, ``upper``, ``to_frame()`` and ``matrix()``.

    Notes
    -----
    Let A be the predictors that are adjusted for, without intercept, B the least squares fit,
    Σ the covariance of its residuals with n − 1 − (columns of A) degrees of freedom, and Θ̂ = URᵀ
    the reduced-rank fit with responses weighted by 1/√Σⱼⱼ. With the projections P on the column
    space of Θ̂ (in the metric G = AᵀA) and N on its row space, the estimate is PB + (I − P)BN and
    the variance of its entries

        hᵢ·Σⱼⱼ + (qᵢ − hᵢ)·(NᵀΣN)ⱼⱼ

    with h and q the diagonals of U(UᵀGU)⁻¹Uᵀ and G⁻¹. Quantiles are those of Student's t.
    With full rank, or ``rank=None``, these are the intervals of least squares, exactly.

    Over all predictors the intervals have their level; those of predictors that were barely
    selected miss more often. A predictor that the fit lacks but that is clearly non-zero
    (Hotelling's test, Bonferroni, level 0.01) is added and named in the result.

    Layers depend on the units of X and Y. Signs are such that the largest entry of u is positive.
    Layers whose singular values are nearly equal cannot be told apart.

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
    (20, 69)
    >>> one = tr.inference.confidence_intervals(est, X, Y, pairs=[(0, 0)])
    >>> bool(one.lower[0] < one.estimate[0] < one.upper[0])
    True
    """
    _check(level, of, adjust, rank, correction)
    for name, given, kinds in (
        ("pairs", pairs, 'of="coefficients"'),
        ("predictors", predictors, 'of="coefficients" or of="layers"'),
        ("responses", responses, 'of="coefficients" or of="predictions"'),
        ("at", at, 'of="predictions"'),
        ("observations", observations or None, 'of="predictions"'),
        ("scaled", scaled or None, 'of="layers"'),
    ):
        if given is not None and f'"{of}"' not in kinds:
            raise ValueError(f"{name} is for {kinds}, got of={of!r}")
    found = FittedSupports(est, X, Y, adjust, rank, of)
    notes: list[str] = []
    tested: np.ndarray | bool = of != "predictions"
    df = np.asarray(found.model.df)
    shape = len(found.predictor_names), len(found.response_names)
    # Predictors that the fit chose are shown, but p-values are corrected for all predictors.
    by_fit = pairs is None and predictors is None and of != "predictions"
    family = "all" if by_fit else predictors
    if of == "coefficients":
        among = "all" if by_fit and responses is None else responses
        index = _chosen_pairs(found, pairs, family, among)
        estimate, error, df = _coefficient_estimates(found, index)
        labels = {
            "predictor": [found.predictor_names[i] for i in index[:, 0]],
            "response": [found.response_names[j] for j in index[:, 1]],
        }
    elif of == "predictions":
        at = X if at is None else at
        labels, index, estimate, error = _predictions(found, at, responses, observations)
        shape = int(index[:, 0].max(initial=-1)) + 1, shape[1]
    else:
        labels, index, estimate, error = _layers(found, family, scaled)
        tested = index[:, 1] >= 0
        notes = _close_layers(estimate[~tested], error[~tested])
        shape = found.rank, shape[0]
    values = _intervals(estimate, error, df, level, correction, tested)
    shown = np.full(len(index), True)
    if by_fit:
        notes.append(
            "the fit chose these predictors with the same data: adjusted p-values are corrected "
            f"for all {int((~found.constant).sum())} predictors"
        )
        shown = np.isin(index[:, int(of == "layers")], found.rows) | (index[:, 1] < 0)
        if of == "coefficients" and responses is None:
            shown &= np.isin(index[:, 1], found.columns)
    estimate, error, low, high, p_value, adjusted = (part[shown] for part in values)
    labels = {name: list(compress(words, shown)) for name, words in labels.items()}
    return Intervals(
        *(of, labels, index[shown], shape, estimate, error, low, high, p_value, adjusted),
        level=level,
        correction=correction,
        df=found.model.df,
        noise=found.model.noise,
        rank=found.rank,
        adjusted_for=found.adjusted,
        added=found.added,
        assumptions=_assumptions(found, of, observations),
        remarks=[*_remarks(found), *notes],
        selected=by_fit,
    )


def _predictions(
    found: FittedSupports, at: Any, responses: Any, observations: bool
) -> tuple[dict[str, list[str]], np.ndarray, np.ndarray, np.ndarray]:
    model = found.model
    columns = _chosen_positions(
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
    return labels, index, estimate[place], np.sqrt(np.maximum(variance[place], 0.0))


def _layers(
    found: FittedSupports, predictors: Any, scaled: bool
) -> tuple[dict[str, list[str]], np.ndarray, np.ndarray, np.ndarray]:
    if not found.rank:
        raise ValueError("the fit has rank 0 and no layers")
    rows, (layers, errors) = _chosen_rows(found, predictors), _layer_estimates(found, scaled)
    r, size = found.rank, len(rows) + 1
    index = np.stack(
        [np.repeat(np.arange(r), size), np.tile(np.concatenate([[-1], rows]), r)], axis=1
    )
    chosen = np.concatenate([[0], rows + 1])
    estimate, error = (part[chosen].T.ravel() for part in (layers, errors))
    labels = {
        "layer": [str(layer + 1) for layer in index[:, 0]],
        "quantity": ["d" if i < 0 else "d·u" if scaled else "u" for i in index[:, 1]],
        "predictor": ["" if i < 0 else found.predictor_names[i] for i in index[:, 1]],
    }
    return labels, index, estimate, error


def _layer_estimates(found: FittedSupports, scaled: bool) -> tuple[np.ndarray, np.ndarray]:
    """Singular values d and left vectors u, or d·u if ``scaled``, and their standard errors.

    Both of shape (1 + n_features, rank), d first; the errors, by perturbations of first order, are
    NaN for layers with equal singular values.
    """
    model, p, r = found.model, found.X.shape[1], found.rank
    u, d, vt = np.linalg.svd(model.fit, full_matrices=False)
    u, vt = svd_flip(u[:, :r], vt[:r])  # the largest entry of a left vector is positive
    d, v = d[:r], vt.T
    between = _rotations(d)
    step, change = _steps(model, u, v, between)
    sizes = np.ones(r) if scaled else np.where(d > 0, d, np.nan)
    vectors, errors = np.full((p, r), np.nan), np.full((p, r), np.nan)
    vectors[found.adjusted] = u * d + change if scaled else u + (change - u * step) / sizes
    value_errors = np.zeros(r)
    for layer in range(r):
        variance = model.functional_variance(u[:, [layer]], v[:, [layer]])
        value_errors[layer] = np.sqrt(variance)
        for row, predictor in enumerate(found.adjusted):
            left, right = _weights(u, v, between, layer, row)
            if not scaled:
                left = np.hstack([left, -u[row, layer] * u[:, [layer]]]) / sizes[layer]
                right = np.hstack([right, v[:, [layer]]])
            errors[predictor, layer] = np.sqrt(model.functional_variance(left, right))
    others = np.setdiff1d(np.flatnonzero(~found.constant), found.adjusted)
    outside, variances = found.each_added(others, model.row_projection @ v)
    vectors[others], errors[others] = outside / sizes, np.sqrt(variances) / sizes
    return np.vstack([d + step, vectors]), np.vstack([value_errors, errors])


def _rotations(d: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """d_l·d_m/(d_l² − d_m²) and d_m²/(d_l² − d_m²) for layers l and m; 0 for l = m."""
    share = d / d[0] if d[0] > 0 else d
    gaps = share[:, None] ** 2 - share**2
    gaps[gaps == 0] = np.nan
    np.fill_diagonal(gaps, np.inf)
    return np.outer(share, share) / gaps, share**2 / gaps


def _steps(
    model: TangentModel, u: np.ndarray, v: np.ndarray, between: tuple[np.ndarray, np.ndarray]
) -> tuple[np.ndarray, np.ndarray]:
    """Changes of d and d·u from the fit to the estimate; zero unless more is adjusted for."""
    moved = model.estimate - model.fit
    inner = u.T @ moved @ v
    turns = between[0] * inner + between[1] * inner.T
    return np.diag(inner).copy(), moved @ v + u @ turns.T


def _weights(
    u: np.ndarray, v: np.ndarray, between: tuple[np.ndarray, np.ndarray], layer: int, row: int
) -> tuple[np.ndarray, np.ndarray]:
    """Factors of the derivative of (d·u)[row] of a layer with respect to the coefficients.

    d·u = Θv, so that its derivative is that of Θ times v, plus Θ times the derivative of v.
    """
    unit = np.zeros((len(u), 1))
    unit[row] = 1.0
    own, other = u[:, [layer]], np.delete(np.arange(u.shape[1]), layer)
    first, second = (part[layer, other] * u[row, other] for part in between)
    left = np.hstack([unit, own * first, u[:, other] * second])
    repeated = np.repeat(v[:, [layer]], len(other), axis=1)
    return left, np.hstack([v[:, [layer]], v[:, other], repeated])


def _coefficient_estimates(
    found: FittedSupports, pairs: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Estimates, standard errors and degrees of freedom of coefficients.

    If neither the predictor nor the response is in the model, they are those of least squares,
    since the low rank says nothing about the coefficient to first order.
    """
    model, k = found.model, len(found.response_names)
    needed, place = np.unique(pairs[:, 0], return_inverse=True)
    inside = np.isin(needed, found.adjusted)
    estimate, variance = np.empty((len(needed), k)), np.empty((len(needed), k))
    df = np.where(inside, model.df, model.df - 1)
    position = np.searchsorted(found.adjusted, needed[inside])
    estimate[inside] = model.estimate[position]
    variance[inside] = model.variances(np.eye(len(found.adjusted))[position])
    others = np.setdiff1d(np.arange(k), found.columns)  # responses that are not in the model
    beyond = np.ix_(~np.isin(needed, found.rows) & inside, others)
    plain = np.searchsorted(found.adjusted, needed[beyond[0].ravel()])
    estimate[beyond] = model.least_squares[plain][:, others]
    variance[beyond] = np.outer(np.diag(model.inverse)[plain], np.diag(model.noise)[others])
    # with the low rank for responses in the model
    N = np.where(np.isin(np.arange(k), others), np.eye(k), model.row_projection)
    estimate[~inside], variance[~inside] = found.each_added(needed[~inside], N)
    rows = place.reshape(-1)
    at = rows, pairs[:, 1]
    return estimate[at], np.sqrt(np.maximum(variance[at], 0.0)), df[rows]


def _chosen_pairs(found: FittedSupports, pairs: Any, predictors: Any, responses: Any) -> np.ndarray:
    """Positions of the pairs that were asked for, of shape (m, 2); None for those of the model."""
    names = found.predictor_names, found.response_names
    if pairs is not None and (predictors is not None or responses is not None):
        raise ValueError("pass either pairs, or predictors and responses, not both")
    if isinstance(pairs, str):
        if pairs != "all":
            raise ValueError(f'pairs must be "all" or a list of pairs, got {pairs!r}')
        pairs, predictors, responses = None, "all", "all"
    if pairs is None:
        rows = _chosen_rows(found, predictors)
        columns = _chosen_positions("responses", responses, names[1], found.columns)
        chosen = np.stack(np.meshgrid(rows, columns, indexing="ij"), axis=-1).reshape(-1, 2)
    else:
        listed = [tuple(pair) for pair in pairs] if np.ndim(pairs) == 2 else []
        if not listed or len(listed[0]) != 2:
            raise ValueError(
                f"pairs must be a list of (predictor, response) with at least one, got {pairs!r}"
            )
        places = [
            [position("pairs", p[i], len(names[i]), names[i]) for i in (0, 1)] for p in listed
        ]
        chosen = np.asarray(places, dtype=np.int64)
    wrong = np.intersect1d(chosen[:, 0], np.flatnonzero(found.constant))
    if len(wrong):
        raise ValueError(
            f"predictor {names[0][wrong[0]]!r} is constant or always kept; intervals are for "
            "predictors that are selected"
        )
    return chosen


def _chosen_rows(found: FittedSupports, predictors: Any) -> np.ndarray:
    """Positions of predictors; "all" leaves out those that are constant or always kept."""
    rows = _chosen_positions("predictors", predictors, found.predictor_names, found.rows)
    if isinstance(predictors, str) and predictors == "all":
        rows = np.setdiff1d(rows, np.flatnonzero(found.constant))
    return rows


def _chosen_positions(
    argument: str, given: Any, names: list[str], default: np.ndarray
) -> np.ndarray:
    """Positions of predictors or responses; ``given`` is None for the default."""
    if given is None:
        return default
    if isinstance(given, str) and given == "all":
        return np.arange(len(names))
    if isinstance(given, str) or np.ndim(given) == 0:
        given = [given]
    places = [position(argument, item, len(names), names) for item in given]
    return np.asarray(places, dtype=np.int64)


def _intervals(
    estimate: np.ndarray,
    error: np.ndarray,
    df: np.ndarray,
    level: float,
    correction: str | None,
    tested: np.ndarray | bool,
) -> tuple[np.ndarray, ...]:
    """Estimates, standard errors, ends of t intervals, p-values and corrected ones."""
    half = stats.t.ppf((1 + level) / 2, df) * error
    with np.errstate(divide="ignore", invalid="ignore"):
        p_value = 2 * stats.t.sf(np.abs(estimate) / error, df)
    p_value = np.where(tested, np.where(error == 0, estimate == 0, p_value), np.nan)
    p_value[np.isnan(error)] = np.nan
    known = ~np.isnan(p_value)
    adjusted, values = p_value.copy(), p_value[known]
    if correction == "holm":
        order = np.argsort(values, kind="stable")
        steps = np.maximum.accumulate(values[order] * np.arange(len(values), 0, -1))
        values[order] = np.minimum(steps, 1.0)
        adjusted[known] = values
    elif correction is not None and len(values):
        adjusted[known] = stats.false_discovery_control(values, method=correction)
    return estimate, error, estimate - half, estimate + half, p_value, adjusted


def _assumptions(found: FittedSupports, of: str, observations: bool) -> list[str]:
    """What the intervals assume."""
    model = found.model
    shape = "normal" if observations else "near normal"
    others = f"no others than the {len(found.adjusted)} predictors have an effect"
    if found.adjust == "supports":
        others = f"predictors other than the {len(found.rows)} of the model have no effect, or are "
        others += "nearly uncorrelated with these"
    lines = [
        f"rows are independent, with {shape} noise of the same covariance in every row; this "
        f"covariance between responses is estimated ({model.df} degrees of freedom)",
        others,
    ]
    if model.projected and found.rank < min(len(found.rows), len(found.columns)):
        lines.append(f"the coefficients have rank at most {found.rank}")
    if of == "layers":
        lines.append("the singular values differ clearly from one another")
    return lines


def _remarks(found: FittedSupports) -> list[str]:
    """What deserves attention."""
    lines = []
    if len(found.added):
        names = ", ".join(found.predictor_names[i] for i in found.added)
        lines.append(f"adjusted for predictors that the fit lacks but the data show: {names}")
    if found.asked_rank == "auto" and found.rank > found.fitted_rank:
        lines.append(
            f"rank {found.fitted_rank} of the fit is rejected (Bartlett's test), rank "
            f"{found.rank} is used"
        )
    if found.unclear_layer and found.asked_rank == "auto" and not found.model.projected:
        lines.append(
            "the weakest layer hardly exceeds the noise: least squares without the low rank is "
            f"used; rank={found.rank} has narrower intervals that may miss more often"
        )
    elif found.unclear_layer and found.asked_rank is not None:
        lines.append(
            "the weakest layer hardly exceeds the noise; in simulations with such layers intervals "
            "of level 0.95 covered 0.90 to 0.93"
        )
    return lines


def _close_layers(values: np.ndarray, errors: np.ndarray) -> list[str]:
    """Remarks on layers whose singular values are close to one another."""
    # perturbations of first order divide by the difference: six standard errors are little
    close = values[:-1] - values[1:] < 6 * np.hypot(errors[:-1], errors[1:])
    return [
        f"the singular values of layers {i + 1} and {i + 2} are close: their left vectors may be "
        "mixtures, and the intervals for these too narrow"
        for i in np.flatnonzero(close)
    ]


def _check(level: float, of: str, adjust: str, rank: Any, correction: str | None) -> None:
    check_level(level)
    check_choice("of", of, ("coefficients", "predictions", "layers"))
    check_choice("adjust", adjust, ("auto", "supports", "all"))
    check_choice("correction", correction, (*CORRECTIONS, None))
    whole = isinstance(rank, Integral) and not isinstance(rank, bool) and int(rank) >= 1
    if not (rank is None or rank == "auto" or whole):
        raise ValueError(f'rank must be a positive integer, "auto" or None, got {rank!r}')
