"""What is kept of a fit beside its coefficients: canonical factors, scales, shares explained."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.utils.validation import _check_sample_weight

from thinrank import arrays, linalg
from thinrank.arrays import Array
from thinrank.core.checks import check_finite
from thinrank.core.contracts import Design
from thinrank.core.factors import Factors
from thinrank.designs import Dense, Sparse, kept_basis, standardize
from thinrank.estimators.problem import FitResult, TrainingData, free_columns
from thinrank.estimators.validation import rows_of_data

if TYPE_CHECKING:
    from thinrank.forms.block_moments import BlockForm
    from thinrank.losses.families import Family


def described(
    data: TrainingData, result: FitResult, kept_coef: Array, *, center: bool, standardize: bool
) -> dict[str, Any]:
    """Attributes that describe a fit, in the user's units; ``kept_coef``: (n_targets, n_kept)."""
    design, weight, kept = data.design, data.sample_weight, data.kept
    scales = _scales(data, result, center, standardize)
    scale = arrays.from_numpy(scales.canonical, result.factors.V)
    feature_scale, moments = result.feature_scale, result.moments
    found = _canonical(result.factors, data, moments, scale, center)
    if moments is not None:
        feature_scale = moments.part.deviation_x
    values = design.columns(arrays.indices(kept, design.prototype)) if len(kept) else None
    if result.family is None and values is None:
        left = scales.totals - _gains(data, found)
    else:
        linear = found.scores @ found.factors.V.T + found.factors.V @ found.means + result.intercept
        linear = linear if values is None else linear + values @ kept_coef.T
        left = _errors(data, result.family, linear)
    r2, by_factors = _explained(data, result.family, left, scales, values, center)
    total = found.variances.sum()
    share = found.variances / total if total > 0 else found.variances
    if feature_scale is None:
        used = np.union1d(arrays.to_numpy(found.factors.row_support), kept).astype(np.int64)
        own = _deviations(design, weight, used, center)
    else:
        own = as_numbers(feature_scale)
    return {
        "factors_": found.factors,
        "factor_means_": found.means,
        "factor_scale_": np.sqrt(found.variances),
        "explained_variance_ratio_": by_factors * share,
        "r2_": r2,
        "n_samples_": rows_of_data(design, weight),
        "feature_scale_": own,
        "target_scale_": scales.deviations,
    }


def _deviations(design: Design, weight: Array | None, used: np.ndarray, center: bool) -> np.ndarray:
    """Standard deviations of the predictors; nan for unused ones whose columns may be expensive."""
    if not isinstance(design, (Dense, Sparse)):
        out = np.full(design.shape[1], np.nan)
        if len(used):
            columns = Dense(design.columns(arrays.indices(used, design.prototype)))
            out[used] = _deviations(columns, weight, used, center)
        return out
    return as_numbers(standardize(design, sample_weight=weight, center=center).scale)


# ---------------------------------------------------------------------- canonical factors


class _Canonical(NamedTuple):
    """Canonical factors of a coefficient matrix."""

    factors: Factors
    means: Array  # (rank,) means of XU over the training rows; zeros without centering
    # (rank,) variances of the scores, decreasing. They are those of the part of the fit that
    # belongs to each factor, summed over the scaled responses
    variances: np.ndarray
    scores: Array | None = None  # (n_samples, rank) XU minus the means, if X is in memory
    products: np.ndarray | None = None  # (n_targets, rank) YᵀXU, centered, if it is not


def _canonical(
    factors: Factors, data: TrainingData, moments: BlockForm | None, scale: Array, center: bool
) -> _Canonical:
    """Rotate Θ = UVᵀ to the singular value decomposition of the scaled fit XΘ·diag(1/scale).

    The factors then do not depend on how Θ was computed, nor on the units of X: the columns of XU
    (centered) are orthogonal and ordered by decreasing variance, those of diag(1/scale)·V are
    orthonormal, with a positive largest entry. Without the rows of X it is from ``moments``.
    """
    design, weight, rows = data.design, data.sample_weight, factors.row_support
    if factors.rank == 0:
        scores = arrays.zeros((design.shape[0], 0), factors.V)
        products = None if moments is None else np.zeros((factors.shape[1], 0))
        return _Canonical(factors, scores[0, :], np.zeros(0), scores, products)
    if moments is not None:
        used = np.asarray(factors.rows_in_use, dtype=np.float64)
        inner, products, means = moments.of_scores(rows, used)
        values, vectors = np.linalg.eigh(inner)
        root = np.sqrt(np.maximum(values, 0.0))[:, None] * vectors.T
        found, turn, squares = _turned(factors, root.astype(factors.U.dtype), scale)
        means = (means @ turn).astype(factors.U.dtype)
        return _Canonical(found, means, squares / moments.samples, products=products @ turn)
    xp = arrays.namespace(factors.V)
    if 2 * rows.shape[0] > factors.shape[0]:
        scores = design @ factors.U
    else:
        scores = design.columns(rows) @ factors.rows_in_use
    own = arrays.zeros((design.shape[0],), scores) + 1 if weight is None else weight
    total = xp.sum(own)
    means = own @ scores / total if center else scores[0, :] * 0
    scores = scores - means
    root = scores * xp.sqrt(own)[:, None]
    missing = scores.shape[1] - scores.shape[0]
    if missing > 0:
        root = xp.concat([root, arrays.zeros((missing, scores.shape[1]), scores)], axis=0)
    found, turn, squares = _turned(factors, xp.linalg.qr(root)[1], scale)
    return _Canonical(found, means @ turn, squares / float(total), scores @ turn)


def _turned(factors: Factors, root: Array, scale: Array) -> tuple[Factors, Array, np.ndarray]:
    """The canonical factors, the rotation, and the squares of the scores.

    ``root`` has the inner products of the scores, RᵀR. The right singular vectors of R Vᵀ, with the
    columns of V scaled, are those of the scaled fit.
    """
    rows, columns = factors.row_support, factors.column_support
    every = columns.shape[0] == factors.shape[1]
    own = arrays.from_numpy(scale, factors.V)
    own = own[:, None] if every else arrays.take_rows(own, columns)[:, None]
    basis, triangle = arrays.namespace(factors.V).linalg.qr(factors.columns_in_use / own)
    _, values, right = linalg.svd(root @ triangle.T)
    vectors, turn = basis @ right.T, triangle.T @ right.T
    signs = signs_of_largest(vectors)
    turn, V = turn * signs, vectors * signs * own
    V = V if every else arrays.scatter_rows(V, columns, factors.shape[1])
    U = factors.rows_in_use @ turn
    return Factors.on_rows(U, rows, factors.shape[0], V), turn, as_numbers(values) ** 2


def signs_of_largest(columns: Array) -> Array:
    """Sign of the largest entry of each column, of the first if some are equal up to rounding."""
    numbers = arrays.to_numpy(columns)
    peaks = np.argmax(arrays.half_the_digits(np.abs(numbers)), axis=0)
    signs = np.sign(numbers[peaks, np.arange(numbers.shape[1])])
    return arrays.from_numpy(np.where(signs < 0, -1.0, 1.0), columns)


# ---------------------------------------------------------------------- shares explained


class _Scales(NamedTuple):
    """Scales of the responses, and what the intercepts leave."""

    # (n_targets,) standard deviations (root mean squares without intercept) of the observed
    # entries; 1 for constant responses and for families without units
    deviations: np.ndarray
    canonical: np.ndarray  # (n_targets,) the scales in which factors are orthogonal
    totals: np.ndarray  # (n_targets,) sum of squares, or half of the deviance, without predictors


def _scales(data: TrainingData, result: FitResult, center: bool, standardize: bool) -> _Scales:
    """The scales of the responses."""
    squares, deviations = _moments(data, result.moments, center)
    family = result.family
    if family is None:
        own = deviations if standardize else np.ones(len(deviations))
        return _Scales(deviations, own, squares)
    xp, weights, k = arrays.namespace(data.Y), data.weights, data.Y.shape[1]
    values, curvature = _without_predictors(data, family, None, center)
    number = data.Y.shape[0] if weights is None else xp.sum(data.Y * 0 + weights, axis=0)
    information = as_numbers(xp.sum(curvature, axis=0) / number)
    unit = 1 / np.sqrt(np.maximum(information, np.finfo(np.float64).tiny ** 0.5))
    have_units = family.units_of(k)
    totals = as_numbers(values)
    if data.offset is None:  # with offsets a constant response has a deviance
        totals = np.where(squares > 0, totals, 0.0)
    deviations = np.where(have_units, deviations, 1.0)
    own = np.where(have_units, deviations if standardize else 1.0, unit)
    return _Scales(deviations, own, by_block(family, totals))


def _explained(
    data: TrainingData,
    family: Family | None,
    left: np.ndarray,
    scales: _Scales,
    kept: Array | None,
    center: bool,
) -> tuple[np.ndarray, float]:
    """Share that a fit explains of each response, nan for constant ones, and its factors of all.

    Shapes: ``left`` (n_targets,), ``kept`` (n_samples, n_kept).
    """
    left = by_block(family, left)
    live, without = scales.totals > 0, scales.totals
    if kept is not None:
        own = kept_basis(
            kept, like=data.design.prototype, sample_weight=data.sample_weight, center=center
        )
        without = by_block(
            family, as_numbers(_without_predictors(data, family, own.basis, center)[0])
        )
    totals, nothing = scales.totals, np.full(len(live), np.nan)
    r2 = np.divide(totals - left, totals, nothing, where=live)
    shares = (without - left)[live] / totals[live]
    # a response counts by its variance in the scales of the factors
    counts = ((scales.deviations / scales.canonical) ** 2)[live]
    if family is not None:
        counts = np.where(family.units_of(len(live))[live], counts, 1.0)
    total = float(np.sum(counts))
    return r2, float(counts @ shares) / total if total > 0 else 0.0


def _without_predictors(
    data: TrainingData, family: Family | None, basis: Array | None, center: bool
) -> tuple[Array, Array | None]:
    """Squares, or half deviances, of the best fit on an intercept and a basis, and curvatures."""
    from thinrank.losses.families import Gaussian
    from thinrank.losses.profile import profiled

    free = free_columns(data.design, center, basis)
    start = data.Y * 0 if data.offset is None else data.offset
    known = profiled(family or Gaussian(), data.Y, data.weights, start, free)
    return (2 if family is None else 1) * known[2], known[4]


def _moments(data: TrainingData, moments: Any, center: bool) -> tuple[np.ndarray, np.ndarray]:
    """Sums of squares about the means (about zero without centering), and standard deviations."""
    Y, weights = data.Y, data.weights
    if moments is not None:
        squares, deviation = moments.part.squares_y, moments.part.deviation_y
    elif data.entry_weight is None:
        responses = standardize(Dense(Y), sample_weight=data.sample_weight, center=center)
        deviation = as_numbers(responses.scale)
        squares = deviation**2 * (Y.shape[0] if weights is None else as_numbers(weights).sum())
    else:
        xp = arrays.namespace(Y)
        number = xp.sum(weights, axis=0)
        mean = xp.sum(Y * weights, axis=0) / number if center else Y[0, :] * 0
        squares = as_numbers(xp.sum((Y - mean) ** 2 * weights, axis=0))
        deviation = np.sqrt(squares / as_numbers(number))
        # a constant column differs from its mean by rounding errors of about this size
        deviation[deviation <= 100 * arrays.eps(Y) * np.abs(as_numbers(mean))] = 0.0
    live = deviation > 0
    return np.where(live, squares, 0.0), np.where(live, deviation, 1.0)


def _gains(data: TrainingData, fit: _Canonical) -> np.ndarray:
    """Decrease of the squares of each response by a least squares fit; of shape (n_targets,).

    With orthogonal scores T it is 2·vⱼᵀ(Tᵀyⱼ − ½(TᵀT)vⱼ), which needs no array of the size of Y.
    """
    weights, products = data.sample_weight, fit.products
    xp = arrays.namespace(fit.factors.V)
    if products is None:
        products = data.Y.T @ (fit.scores if weights is None else fit.scores * weights[:, None])
    cross = xp.astype(products, xp.float64, copy=False)
    V = xp.astype(fit.factors.V, xp.float64, copy=False)
    number = data.Y.shape[0] if weights is None else float(xp.sum(weights))
    inner = arrays.from_numpy(0.5 * number * fit.variances, V)  # ½TᵀT
    return 2 * as_numbers(xp.sum(V * (cross - V * inner), axis=1))


def _errors(data: TrainingData, family: Family | None, linear: Array) -> np.ndarray:
    """Squared errors, or half deviances, of each response; ``linear`` is without the offset."""
    weights = data.weights
    if family is None:
        value = (data.Y - linear) ** 2
    else:
        value = family.value(data.Y, linear if data.offset is None else linear + data.offset)
    value = value if weights is None else value * weights
    return as_numbers(arrays.namespace(linear).sum(value, axis=0))


def by_block(family: Family | None, values: np.ndarray) -> np.ndarray:
    """Sums over the categories of a response, in place of the value of each category."""
    out = values.copy()
    for block in [] if family is None else family.blocks(len(values)):
        out[block] = values[block].sum()
    return out


def as_numbers(x: Any) -> np.ndarray:
    """An array of any library, or a list, as an array of NumPy in double precision."""
    return (arrays.to_numpy(x) if arrays.is_array(x) else np.asarray(x)).astype(np.float64)


def observed_r2(y: np.ndarray, predicted: np.ndarray, sample_weight: Any = None) -> float:
    """Coefficient of determination of the observed entries, averaged over the responses."""
    if y.ndim == 1:
        y, predicted = y[:, None], predicted[:, None]
    if y.shape != predicted.shape:
        raise ValueError(f"y must have shape {predicted.shape}, got {y.shape}")
    seen = ~np.isnan(y)
    y = np.where(seen, y, 0.0)
    check_finite("y", y)
    weight = _check_sample_weight(sample_weight, y, dtype=np.float64)
    enough = np.count_nonzero(seen[weight != 0], axis=0) > 1
    if not enough.all():
        y, predicted, seen = (each[:, enough] for each in (y, predicted, seen))
    mean = np.einsum("i,ij->j", weight, y) / np.einsum("i,ij->j", weight, seen)
    # without arrays of all products, each of which is large for thousands of responses
    left, total = (
        np.einsum("i,ij,ij,ij->j", weight, seen, distance, distance)
        for distance in (y - center for center in (predicted, mean))
    )
    # of constant responses as scikit-learn defines it
    scores = (1 - arrays.divide_or_zero(left, total)) * ((total > 0) | (left == 0))
    if enough.any():
        return float(np.mean(scores))
    warnings.warn(
        "R² is nan: no response in y has two observed entries.",
        UndefinedMetricWarning,
        stacklevel=3,
    )
    return float("nan")
