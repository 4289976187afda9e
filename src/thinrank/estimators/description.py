"""What is kept of every fit beside its coefficients: factors, scales and shares explained."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from thinrank import arrays
from thinrank.arrays import Array
from thinrank.core.contracts import Design
from thinrank.core.factors import Factors
from thinrank.designs import Dense, Sparse
from thinrank.designs.blockwise import column_means
from thinrank.estimators.canonical import canonical, canonical_by_moments
from thinrank.estimators.explained import TrainingData, errors, explained, gains, scales
from thinrank.estimators.extreme_units import Units
from thinrank.estimators.validation import rows_of_data


class Description(NamedTuple):
    """What is kept of a fit; the fields are attributes of estimators with an underscore added."""

    factors: Factors  # canonical factors; see :mod:`thinrank.estimators.canonical`
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
