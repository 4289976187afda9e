"""What is kept of a fit beside its coefficients: canonical factors, scales, shares explained."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from thinrank import arrays, linalg
from thinrank.arrays import Array
from thinrank.core.contracts import Design
from thinrank.core.factors import Factors
from thinrank.designs import Dense, Sparse
from thinrank.designs.transformed import column_means
from thinrank.estimators.explained import TrainingData, errors, explained, gains, scales
from thinrank.estimators.extreme_units import Units
from thinrank.estimators.validation import rows_of_data

if TYPE_CHECKING:
    from thinrank.forms.block_moments import BlockForm


class Description(NamedTuple):
    """What is kept of a fit; the fields are attributes of estimators with an underscore added."""

    factors: Factors  # see :func:`canonical`
    factor_means: Array  # (rank,) means of the factors over the training rows
    factor_scale: np.ndarray  # (rank,) standard deviations of the factors over the training rows
    explained_variance_ratio: np.ndarray  # (rank,) share of each factor
    r2: np.ndarray  # (n_targets,) share explained of each response
    n_samples: int  # number of rows of positive weight
    feature_scale: np.ndarray  # standard deviations
    target_scale: np.ndarray


def described(
    data: TrainingData,
    factors: Factors,
    intercept: Array,
    kept: np.ndarray,
    kept_coef: Array,
    *,
    fit_intercept: bool,
    standardize: bool,
    feature_scale: Array | None = None,
) -> Description:
    """Canonical factors, scales and shares explained of a fit.

    Shapes: ``kept_coef`` (n_targets, n_kept), ``feature_scale`` (n_features,).
    """
    design, weight = data.design, data.sample_weight
    known = scales(data, center=fit_intercept, standardize=standardize)
    scale = arrays.from_numpy(known.canonical, factors.V)
    values = products = None
    if data.moments is None:
        turned = canonical(factors, design, weight, scale, center=fit_intercept, known=data.scores)
    else:
        turned, products = canonical_by_moments(factors, data.moments, scale)
        feature_scale = data.moments.part.deviation_x
    if len(kept):
        values = design.columns(arrays.indices(kept.tolist(), design.prototype))
    if data.family is None and values is None:
        left = known.totals - gains(data, turned, products)
    else:
        linear = turned.scores @ turned.factors.V.T + turned.factors.V @ turned.means + intercept
        left = errors(data, linear if values is None else linear + values @ kept_coef.T)
    found = explained(data, left, known, values, center=fit_intercept)
    total = turned.variances.sum()
    share = turned.variances / total if total > 0 else turned.variances
    if feature_scale is None:
        used = np.union1d(arrays.to_numpy(factors.row_support), kept).astype(np.int64)
        own = _deviations(design, weight, used, center=fit_intercept)
    else:
        own = arrays.to_numpy(feature_scale).astype(np.float64)
    return Description(
        turned.factors,
        turned.means,
        np.sqrt(turned.variances),
        found.by_factors * share,
        found.r2,
        rows_of_data(design, weight),
        own,
        known.deviations,
    )


def in_units(found: Description, units: Units) -> Description:
    """A description of data that were divided by powers of two, in the units of the data."""
    with np.errstate(over="ignore", under="ignore"):
        return found._replace(
            factors=units.factors(found.factors),
            feature_scale=np.ldexp(found.feature_scale, units.rows),
            target_scale=np.ldexp(found.target_scale, units.columns),
        )


def _deviations(
    design: Design, weight: Array | None, used: np.ndarray, *, center: bool
) -> np.ndarray:
    """Standard deviations of the predictors.

    For operators and other designs, whose columns may be expensive, only of those in use; nan for
    the others.
    """
    xp = arrays.namespace(design.prototype)
    n = design.shape[0]
    if isinstance(design, (Dense, Sparse)):
        ones = arrays.zeros((n,), design.prototype) + 1 if weight is None else weight
        mean = column_means(design, weight) if center else None
        norms = design.column_norms(xp.sqrt(ones), mean)
        return _without_rounding(norms / xp.sqrt(xp.sum(ones)), mean)
    out = np.full(design.shape[1], np.nan)
    if len(used):
        columns = Dense(design.columns(arrays.indices(used.tolist(), design.prototype)))
        every = np.arange(len(used))
        out[used] = _deviations(columns, weight, every, center=center)
    return out


def _without_rounding(deviation: Array, mean: Array | None) -> np.ndarray:
    """Deviations as numbers, 0 for columns that are constant up to rounding."""
    numbers = arrays.to_numpy(deviation).astype(np.float64)
    if mean is None:
        return numbers
    floor = 100 * arrays.eps(mean) * np.abs(arrays.to_numpy(mean).astype(np.float64))
    return np.where(numbers <= floor, 0.0, numbers)


class Canonical(NamedTuple):
    """Canonical factors of a coefficient matrix."""

    factors: Factors  # U and V
    means: Array  # (rank,) means of XU over the training rows; zeros without centring
    scores: Array | None  # (n_samples, rank) XU minus the means, if X is in memory
    # (rank,) variances of the scores, decreasing. They are those of the part of the fit that
    # belongs to each factor, summed over the scaled responses
    variances: np.ndarray


def canonical(
    factors: Factors,
    design: Design,
    weight: Array | None,
    scale: Array,
    *,
    center: bool,
    known: tuple[Array, Array] | None = None,
) -> Canonical:
    """Rotate the factors of Θ = UVᵀ, so that they do not depend on how Θ was computed.

    The columns of XU (centred) become orthogonal and ordered by decreasing variance, and those of
    V, with rows divided by ``scale``, orthonormal. In each of the latter the entry of largest
    absolute value is positive. This is the singular value decomposition of the scaled fit
    XΘ·diag(1/scale), so it does not change with the units of X. Zero rows stay zero.

    Shapes: ``scale`` (n_targets,), ``known`` (n_samples, rank).
    """
    if factors.rank == 0:
        nothing = arrays.zeros((0,), factors.V)
        scores = arrays.zeros((design.shape[0], 0), factors.V)
        return Canonical(factors, nothing, scores, np.zeros(0))
    xp = arrays.namespace(factors.V)
    if known is not None:
        scores, means = known
    else:
        scores = _scores(design, factors, factors.row_support)
        scores, means = _centred(scores, weight) if center else (scores, scores[0, :] * 0)
    total = float(design.shape[0]) if weight is None else float(xp.sum(weight))
    root = scores if weight is None else scores * xp.sqrt(weight)[:, None]
    root = xp.linalg.qr(_tall(root))[1]
    found, turn, squares = turned(factors, root, scale)
    return Canonical(found, means @ turn, scores @ turn, squares / total)


def canonical_by_moments(
    factors: Factors, moments: BlockForm, scale: Array
) -> tuple[Canonical, np.ndarray]:
    """Canonical factors without the rows of X, and inner products of the scores with responses."""
    U = np.asarray(factors.rows_in_use, dtype=np.float64)
    inner, products, means = moments.of_scores(factors.row_support, U)
    if factors.rank == 0:
        return Canonical(factors, means, None, np.zeros(0)), products
    values, vectors = np.linalg.eigh(inner)
    root = np.sqrt(np.maximum(values, 0.0))[:, None] * vectors.T
    found, turn, squares = turned(factors, root.astype(factors.U.dtype), scale)
    means = (means @ turn).astype(factors.U.dtype)
    return Canonical(found, means, None, squares / moments.samples), products @ turn


def turned(factors: Factors, root: Array, scale: Array) -> tuple[Factors, Array, np.ndarray]:
    """The canonical factors, from the inner products of the scores.

    Shapes: ``root`` (q, rank), ``scale`` (n_targets,), ``turn`` (rank, rank), ``squares``
    (rank,).
    """
    rows, columns = factors.row_support, factors.column_support
    every = columns.shape[0] == factors.shape[1]
    own = arrays.from_numpy(scale, factors.V)
    own = own[:, None] if every else arrays.take_rows(own, columns)[:, None]
    vectors, values, turn = _right_vectors(root, factors.columns_in_use / own)
    signs = _signs(vectors)
    turn, V = turn * signs, vectors * signs * own
    V = V if every else arrays.scatter_rows(V, columns, factors.shape[1])
    U = factors.rows_in_use @ turn
    return Factors.on_rows(U, rows, factors.shape[0], V), turn, values**2


def _right_vectors(root: Array, block: Array) -> tuple[Array, np.ndarray, Array]:
    """Right singular vectors and singular values of root @ block.T, and blockᵀ @ vectors."""
    basis, triangle = arrays.namespace(block).linalg.qr(block)
    _, values, right = linalg.svd(root @ triangle.T)
    numbers = arrays.to_numpy(values).astype(np.float64)
    return basis @ right.T, numbers, triangle.T @ right.T


def _scores(design: Design, factors: Factors, rows: Array) -> Array:
    """XU, from the columns in use if they are few."""
    if 2 * rows.shape[0] > factors.shape[0]:
        return design @ factors.U
    return design.columns(rows) @ factors.rows_in_use


def _centred(scores: Array, weight: Array | None) -> tuple[Array, Array]:
    xp = arrays.namespace(scores)
    means = xp.mean(scores, axis=0) if weight is None else weight @ scores / xp.sum(weight)
    return scores - means, means


def _tall(scores: Array) -> Array:
    """The scores, with rows of zeros added if there are fewer rows than columns."""
    missing = scores.shape[1] - scores.shape[0]
    if missing <= 0:
        return scores
    zeros = arrays.zeros((missing, scores.shape[1]), scores)
    return arrays.namespace(scores).concat([scores, zeros], axis=0)


def _signs(columns: Array) -> Array:
    """For each column the sign of its entry of largest absolute value.

    Of entries that are equal up to rounding the first one counts.
    """
    numbers = arrays.to_numpy(columns)
    peaks = np.argmax(arrays.half_the_digits(np.abs(numbers)), axis=0)
    signs = np.sign(numbers[peaks, np.arange(numbers.shape[1])])
    return arrays.from_numpy(np.where(signs < 0, -1.0, 1.0), columns)
