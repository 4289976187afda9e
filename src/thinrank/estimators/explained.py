"""How much of every response predictions explain: in training rows, in held-out rows, in scores."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.metrics import r2_score
from sklearn.utils.validation import _check_sample_weight

from thinrank import arrays
from thinrank.arrays import Array
from thinrank.core.contracts import Design
from thinrank.designs.dense import Dense
from thinrank.designs.projections import kept_basis
from thinrank.estimators.extreme_units import Units
from thinrank.estimators.responses import Responses
from thinrank.losses.families import Family, Gaussian
from thinrank.losses.profile import profiled

if TYPE_CHECKING:
    from thinrank.estimators.description import Canonical
    from thinrank.forms.block_moments import BlockForm


class TrainingData(NamedTuple):
    """The data of a fit, in the user's units."""

    design: Design  # (n_samples, n_features) predictors
    Y: Array  # (n_samples, n_targets) responses; any finite number where an entry is missing
    sample_weight: Array | None = None  # (n_samples,) weights of the rows
    # (n_samples, n_targets) weights of the entries, 0 for missing ones
    entry_weight: Array | None = None
    family: Family | None = None  # the family with its estimated parameters; None for least squares
    offset: Array | None = None  # (n_samples, n_targets) offsets
    units: Units | None = None  # what the columns were divided by, if the user's units are extreme
    # (n_samples, rank) XU minus its means, and these means, if they are known
    scores: tuple[Array, Array] | None = None
    # moments of all rows in the units of the fit, if the rows are not in memory
    moments: BlockForm | None = None

    @property
    def weights(self) -> Array | None:
        """Weights of the entries, of shape (n_samples, n_targets) or (n_samples, 1)."""
        if self.sample_weight is None:
            return self.entry_weight
        rows = self.sample_weight[:, None]
        return rows if self.entry_weight is None else rows * self.entry_weight


class Scales(NamedTuple):
    """Scales of the responses, and what the intercepts leave."""

    # (n_targets,) standard deviations (root mean squares without intercept) of the observed
    # entries; 1 for constant responses and for families without units
    deviations: np.ndarray
    canonical: np.ndarray  # (n_targets,) the scales in which factors are orthogonal
    totals: np.ndarray  # (n_targets,) sum of squares, or half of the deviance, without predictors


class Explained(NamedTuple):
    """What a fit explains of the responses it was fitted to."""

    # (n_targets,) share of the squares or of the deviance of each response; nan for constant
    # responses. The categories of one response have the same value, that of the response
    r2: np.ndarray
    # share of the total over all responses that is not explained without the factors, that is, by
    # intercepts and predictors that are always kept
    by_factors: float


def scales(data: TrainingData, *, center: bool, standardize: bool) -> Scales:
    """The scales of the responses."""
    k = data.Y.shape[1]
    if data.family is None:
        totals, deviations = _moments(data, center)
        ones = np.ones(k)
        return Scales(deviations, deviations if standardize else ones, totals)
    xp, weights = arrays.namespace(data.Y), data.weights
    free = arrays.zeros((data.Y.shape[0], 1), data.Y) + 1 if center else None
    start = data.Y * 0 if data.offset is None else data.offset
    values, curvature = profiled(data.family, data.Y, weights, start, free)[2::2]
    number = data.Y.shape[0] if weights is None else xp.sum(data.Y * 0 + weights, axis=0)
    information = _to_float(xp.sum(curvature, axis=0) / number)
    unit = 1 / np.sqrt(np.maximum(information, np.finfo(np.float64).tiny ** 0.5))
    have_units = data.family.units_of(k)
    squares, deviations = _moments(data, center)
    totals = _to_float(values)
    if data.offset is None:  # with offsets a constant response has a deviance
        totals = np.where(squares > 0, totals, 0.0)
    deviations = np.where(have_units, deviations, 1.0)
    own = np.where(have_units, deviations if standardize else 1.0, unit)
    return Scales(deviations, own, _by_block(data.family, totals))


def explained(
    data: TrainingData, left: np.ndarray, known: Scales, kept: Array | None, *, center: bool
) -> Explained:
    """How much a fit explains.

    Shapes: ``left`` (n_targets,), ``kept`` (n_samples, n_kept).
    """
    family = data.family
    if family is not None:
        left = _by_block(family, left)
    live = _live(known)
    r2 = _ratio(known.totals - left, known.totals, live)
    without = known.totals
    if kept is not None:
        without = _left_by_kept(data, kept, center)
        if family is not None:
            without = _by_block(family, without)
    shares = _ratio(without - left, known.totals, live)[live]
    # a response counts by its variance in the scales of the factors
    counts = ((known.deviations / known.canonical) ** 2)[live]
    if family is not None:
        counts = np.where(family.units_of(len(live))[live], counts, 1.0)
    total = float(np.sum(counts))
    return Explained(r2, float(counts @ shares) / total if total > 0 else 0.0)


def held_out_r2(
    errors: np.ndarray, totals: np.ndarray, family: Family | None, places: np.ndarray, count: int
) -> np.ndarray:
    """Share of the squares or of the deviance of held-out entries that is explained.

    Shapes: ``errors``, ``totals`` (n_live,), ``places`` (n_live,), result (n_targets,).
    ``family``: None for least squares.
    """
    full = np.zeros((2, count))
    full[0, places], full[1, places] = errors, totals
    if family is not None:
        full = np.stack([_by_block(family, row) for row in full])
    return _ratio(full[1] - full[0], full[1], full[1] > 0)


def _moments(data: TrainingData, center: bool) -> tuple[np.ndarray, np.ndarray]:
    """Sums of squares about the means (about zero without centring), and standard deviations."""
    if data.moments is not None:
        squares, deviation = data.moments.part.squares_y, data.moments.part.deviation_y
        return np.where(deviation > 0, squares, 0.0), np.where(deviation > 0, deviation, 1.0)
    Y, weights = data.Y, data.weights
    xp = arrays.namespace(Y)
    number: Array | float = float(Y.shape[0])
    if weights is not None:
        number = xp.sum(weights, axis=0)  # one number if weights are those of rows
    moments = Dense(Y).column_moments if center and weights is None else None
    if moments is not None:
        mean, norms = _to_float(moments.mean), _to_float(moments.norms)
        squares, deviation = norms**2, norms / number**0.5
    else:
        mean = xp.sum(Y if weights is None else Y * weights, axis=0) / number
        moved = Y - mean if center else Y
        if weights is None:
            sums = arrays.column_norms_squared(moved)
        else:
            sums = xp.sum(moved**2 * weights, axis=0)
        # one transfer from the device
        squares, deviation, mean = _to_float(xp.stack([sums, xp.sqrt(sums / number), mean]))
    # a constant column differs from its mean by rounding errors of about this size
    floor = 100 * arrays.eps(Y) * np.abs(mean) if center else 0.0
    live = deviation > floor
    return np.where(live, squares, 0.0), np.where(live, deviation, 1.0)


def gains(data: TrainingData, fit: Canonical, products: Array | None = None) -> np.ndarray:
    """Decrease of the squares of each response by a least squares fit; of shape (n_targets,).

    With orthogonal scores T it is 2·vⱼᵀ(Tᵀyⱼ − ½(TᵀT)vⱼ), which needs no array of the size of Y.
    ``products`` are YᵀT, if they are known.
    """
    weights = data.sample_weight
    xp = arrays.namespace(fit.factors.V)
    if products is None:
        products = data.Y.T @ (fit.scores if weights is None else fit.scores * weights[:, None])
    cross = xp.astype(products, xp.float64, copy=False)
    V = xp.astype(fit.factors.V, xp.float64, copy=False)
    number = data.Y.shape[0] if weights is None else float(xp.sum(weights))
    inner = arrays.from_numpy(0.5 * number * fit.variances, V)  # ½TᵀT
    return 2 * _to_float(xp.sum(V * (cross - V * inner), axis=1))


def errors(data: TrainingData, linear: Array) -> np.ndarray:
    """Squared errors, or half deviances, summed over the rows; of shape (n_targets,).

    ``linear`` has the fitted values, or the linear predictors without the offset.
    """
    xp = arrays.namespace(linear)
    weights = data.weights
    if data.family is None:
        value = (data.Y - linear) ** 2
    else:
        value = data.family.value(data.Y, linear if data.offset is None else linear + data.offset)
    return _to_float(xp.sum(value if weights is None else value * weights, axis=0))


def _left_by_kept(data: TrainingData, kept: Array, center: bool) -> np.ndarray:
    """Squared errors, or half deviances, of the best fit on the predictors that are always kept."""
    basis = kept_basis(
        kept, like=data.design.prototype, sample_weight=data.sample_weight, center=center
    ).basis
    family = Gaussian() if data.family is None else data.family
    if center:
        ones = arrays.zeros((basis.shape[0], 1), basis) + 1
        basis = arrays.namespace(basis).concat([ones, basis], axis=1)
    start = data.Y * 0 if data.offset is None else data.offset
    values = _to_float(profiled(family, data.Y, data.weights, start, basis)[2])
    return 2 * values if data.family is None else values


def _live(known: Scales) -> np.ndarray:
    return known.totals > 0


def _ratio(part: np.ndarray, total: np.ndarray, live: np.ndarray) -> np.ndarray:
    return np.divide(part, total, out=np.full(len(total), np.nan), where=live)


def _by_block(family: Family, values: np.ndarray) -> np.ndarray:
    """Sums over the categories of a response, in place of the value of each category."""
    out = values.copy()
    for block in family.blocks(len(values)):
        out[block] = values[block].sum()
    return out


def _to_float(x: Array) -> np.ndarray:
    return arrays.to_numpy(x).astype(np.float64)


def observed_r2(y: np.ndarray, predicted: np.ndarray, sample_weight: Any = None) -> float:
    """Coefficient of determination of the observed entries, averaged over the responses."""
    if y.ndim == 1:
        y, predicted = y[:, None], predicted[:, None]
    if y.shape != predicted.shape:
        raise ValueError(f"y must have shape {predicted.shape}, got {y.shape}")
    weight = None if sample_weight is None else np.asarray(sample_weight)
    # all complete responses in one call, which is much faster if there are thousands
    full = ~np.isnan(y).any(axis=0) if len(y) > 1 else np.zeros(y.shape[1], dtype=bool)
    scores: list[float] = []
    if full.any():
        scores += r2_score(
            y[:, full], predicted[:, full], sample_weight=weight, multioutput="raw_values"
        ).tolist()
    for own, fitted in zip(y[:, ~full].T, predicted[:, ~full].T, strict=True):
        seen = ~np.isnan(own)
        if np.count_nonzero(seen) > 1:
            weights = None if weight is None else weight[seen]
            scores.append(r2_score(own[seen], fitted[seen], sample_weight=weights))
    if scores:
        return float(np.mean(scores))
    warnings.warn(
        "R² is nan: no response in y has two observed entries.",
        UndefinedMetricWarning,
        stacklevel=3,
    )
    return float("nan")


def deviance_explained(
    family: Family,
    responses: Responses,
    linear: Array,
    sample_weight: Any = None,
    offset: Array | None = None,
) -> float:
    """1 − deviance/null deviance of the observed entries.

    Shapes: ``linear`` (n_samples, n_columns).
    """
    Y, weight = responses.Y, responses.weight
    xp = arrays.namespace(Y)
    if tuple(Y.shape) != tuple(linear.shape):
        raise ValueError(
            f"X and Y must have the same number of rows, and Y the columns that fit had: the "
            f"predictions have shape {tuple(linear.shape)}, Y has {tuple(Y.shape)}"
        )
    weight = Y * 0 + 1 if weight is None else weight
    if sample_weight is not None:
        given = _check_sample_weight(
            sample_weight, np.empty((Y.shape[0], 0)), dtype=np.float64, ensure_non_negative=True
        )
        weight = weight * arrays.from_numpy(given, Y)[:, None]
    total = 2 * float(xp.sum(family.value(Y, linear) * weight))
    ones = arrays.zeros((Y.shape[0], 1), Y) + 1
    base = Y * 0 if offset is None else offset
    null = 2 * float(xp.sum(profiled(family, Y, weight, base, ones)[2]))
    if null <= 0:
        return 1.0 if total <= 0 else 0.0
    return 1.0 - total / null
