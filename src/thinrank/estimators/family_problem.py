"""The problem of any family, missing entries, weights and offsets in the units of the solver."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from scipy.special import fdtrc

from thinrank import arrays
from thinrank.arrays import Array
from thinrank.core.contracts import Design
from thinrank.core.factors import Factors
from thinrank.estimators.problem import (
    LEAST_NOISE,
    PRIOR_FREEDOM,
    Problem,
    TrainingData,
    freedom_left,
    standardized_predictors,
)
from thinrank.losses.families import Family, Gaussian, combined
from thinrank.losses.generalized_linear import GeneralizedLinear

# Ridge where none is asked for, for families with probabilities or means: without it separated
# classes and counts that are all zero in a part of the data have no finite optimum. It changes
# coefficients that are determined by the data by about this relative amount.
_LEAST_RIDGE = 1e-8
# A linear predictor of an observed entry beyond this, a probability below 1e-9 or a mean below
# 1e-9, means that the fit would have gone on to infinity.
_SEPARATED = 20.0
# With many missing entries noise levels are estimated by regressions of the responses on the
# predictors of a fit if there are at most this number of them, since more would take long, and only
# for responses of which such a regression leaves this fraction of the entries as degrees of
# freedom. Rules of thumb.
_MOST_REGRESSED = 100
_LEAST_LEFT = 0.25
# Level of the test that a fit lacks something of a response.
_LACKS = 0.01


@dataclass(frozen=True, eq=False, kw_only=True)
class FamilyProblem(Problem):
    """The problem of responses of any family, with missing entries, weights and offsets.

    Responses that are constant are left out and predicted by their intercept. The columns of Θ are
    in units of the information that an entry of their response has without predictors, so that
    nothing depends on the units of any predictor or response.
    """

    family: Family
    intercepts: Array  # (n_columns,) linear predictors of responses that are constant
    rescales: bool  # whether noise levels or dispersions are estimated from fits

    max_rounds: ClassVar[int] = 6

    @classmethod
    def of(
        cls, data: TrainingData, *, fit_intercept: bool, standardize_columns: bool
    ) -> FamilyProblem:
        """Take means and scales out of the predictors, without copying X."""
        X, columns, live_rows, kept = standardized_predictors(
            data, fit_intercept, standardize_columns
        )
        Y, entries = data.Y, data.entry_weight
        every: Family = data.family  # type: ignore[assignment]  # this is no least squares
        family = every
        intercepts = family.null_link(Y, entries)
        # with offsets a response that is constant has no constant linear predictor
        live_columns = None if data.offset is not None else _varying(Y, entries, family)
        if live_columns is not None:
            Y, family = arrays.take_columns(Y, live_columns), family.take(live_columns)
            entries = None if entries is None else arrays.take_columns(entries, live_columns)
        loss = GeneralizedLinear(
            X,
            Y,
            family,
            entry_weight=entries,
            sample_weight=data.sample_weight,
            offset=data.offset,
            free=_free(data.design, fit_intercept, None if kept is None else kept.basis.basis),
            least_ridge=0.0 if bool(np.all(family.units_of(Y.shape[1]))) else _LEAST_RIDGE,
        )
        # squared errors in the user's units, as in least squares
        plain = type(family) is Gaussian and family.scale is None and not standardize_columns
        deviations = np.ones(loss.shape[1])
        rescales = family.has_parameters and not plain
        if rescales:
            freedom = freedom_left(loss.null.factors, _entries(loss), kept)
            family = family.fitted_to(Y, loss.null.linear, _relative_weights(loss), freedom)
            deviations = family.scale_of(loss.shape[1])
        if not plain:
            loss = _in_own_units(loss, family)
        return cls(
            loss,
            columns,
            None,
            loss.unit,
            deviations,
            live_rows,
            live_columns,
            (data.design.shape[1], data.Y.shape[1]),
            kept,
            family=every,
            intercepts=intercepts,
            rescales=rescales,
        )

    @property
    def explainable(self) -> bool:
        """Whether the responses differ from their predictions without predictors."""
        size = arrays.norm(self.loss.null.derivative * self.loss.unit)
        return size > 1e3 * arrays.eps(self.loss.prototype) * self.loss.observations**0.5

    @property
    def needs_ridge(self) -> bool:
        """Whether there are probabilities or counts, which may have no optimum."""
        return not np.all(self.loss.family.units_of(self.loss.shape[1]))

    def alone_in_class(self, weight: np.ndarray | None) -> np.ndarray:
        """Whether a row is the only one of positive weight in its category of a response."""
        alone = np.zeros(self.loss.X.shape[0], dtype=bool)
        for block in self.loss.family.blocks(self.loss.shape[1]):
            member = arrays.to_numpy(self.loss.Y)[:, block] > 0
            member &= True if weight is None else (weight > 0)[:, None]
            alone |= np.any(member[:, member.sum(axis=0) == 1], axis=1)
        return alone

    def noise_matters(self, rows: int, ridge: float = 0.0) -> bool:
        """Whether to estimate noise levels or dispersions from a fit with ``rows`` rows."""
        return self.rescales and 2 * rows <= self.loss.observations / self.loss.shape[1]

    def left_by(self, fit: Any, rows: int = 0, ridge: float = 0.0) -> FamilyProblem:
        """The problem with the noise levels or dispersions that a fit leaves."""
        return self._with_family(self._family_after(fit.factors))

    def left_by_model(self, model: Any) -> FamilyProblem | None:
        """The problem with the noise that a model leaves in held-out rows, if that is enough."""
        if not self.loss.nearly_quadratic or model.responses is None:
            return None
        scale = np.maximum(model.responses.noise, LEAST_NOISE) * self.deviations
        return self._with_family(self.loss.family.with_scale(scale))

    def _with_family(self, family: Family) -> FamilyProblem:
        loss = _in_own_units(self.loss, family)
        return replace(self, loss=loss, target_scale=loss.unit)

    def target_units(self) -> None:
        """None: the units of the columns are those of the linear predictors."""
        return

    # ------------------------------------------------------------------ the user's units

    def to_user(self, factors: Factors) -> tuple[Factors, Array, Array | None]:
        """Coefficients, intercepts and coefficients of the kept predictors, in the user's units."""
        user, intercept, kept = super().to_user(factors)
        for block in self.family.blocks(self.shape[1]):
            # only differences between categories matter
            index = arrays.indices(block, intercept)
            intercept = arrays.put_rows(intercept, index, _centred(intercept, index))
            if kept is not None:
                kept = arrays.put_rows(kept, index, _centred(kept, index))
        if self.live_columns is not None:
            ones = arrays.zeros((self.live_columns.shape[0],), intercept) + 1
            alive = arrays.scatter_rows(ones, self.live_columns, self.shape[1]) > 0
            intercept = arrays.namespace(intercept).where(alive, intercept, self.intercepts)
        return user, intercept, kept

    def _free_coefficients(self, factors: Factors) -> tuple[Array | None, Array | None]:
        """Intercepts of centred predictors, and loadings of the kept ones; None for none."""
        free = self.loss.at(factors if factors.rank else self.loss.null.factors).free
        if self.live_columns is not None:
            free = arrays.scatter_rows(free.T, self.live_columns, self.shape[1]).T
        if self.columns.center is None:
            return None, free
        return free[0, :], free[1:, :]

    def fitted_family(self, factors: Factors) -> Family:
        """The family of all responses with the parameters that a fit leaves."""
        family = self.loss.family
        if self.rescales and factors.rank:
            family = self._family_after(factors)
        if self.live_columns is None:
            return family
        index = arrays.to_numpy(self.live_columns).tolist()
        rest = [j for j in range(self.shape[1]) if j not in set(index)]
        return combined([family, self.family.take(rest)], [index, rest])

    def doubts(self, factors: Factors) -> list[str]:
        """That fitted probabilities or means are 0 or 1 up to rounding, for a warning."""
        if factors.rank == 0 or not self.needs_ridge:
            return []
        loss = self.loss
        xp = arrays.namespace(loss.prototype)
        # of the predictors in use, without intercept and offset
        linear = loss.at(factors).scores @ (factors.V * loss.unit[:, None]).T
        plain = (~loss.family.units_of(loss.shape[1])).astype(float)
        weight = arrays.from_numpy(plain, loss.prototype) * loss.weights()
        beyond = xp.astype(xp.abs(linear) > _SEPARATED, loss.prototype.dtype)
        extreme = int(xp.count_nonzero(beyond * weight))
        if not extreme:
            return []
        return [
            f"The fit predicts some responses perfectly ({extreme} entries have a fitted "
            "probability or mean that is 0 up to rounding), so that without a ridge their "
            "coefficients have no finite optimum. Use a larger ridge if their size matters."
        ]

    # ------------------------------------------------------------------ noise levels

    def _family_after(self, factors: Factors) -> Family:
        """The family of the responses in the loss with the parameters that a fit leaves.

        As an estimate of a noise level is uncertain with few entries, it is averaged on the
        logarithmic scale with the scale of the response without predictors, with weights
        ν/(ν + 2) and 2/(ν + 2), where ν is the number of entries minus the response's share of
        the degrees of freedom. For squared errors the noise in responses that the fit leaves out
        is estimated from regressions on its scores; with many missing entries the noise in
        responses of which the fit lacks something, from regressions on its predictors. It is at
        least a tenth of that scale.
        """
        loss = self.loss
        left = freedom_left(factors, _entries(loss), self.kept)
        linear = loss.null.linear
        if factors.rank:
            linear, left = self._predicted(factors, left)
        family = loss.family.fitted_to(loss.Y, linear, _relative_weights(loss), left)
        if np.any(family.units_of(loss.shape[1])):
            trust = left / (left + PRIOR_FREEDOM)
            found = np.log(np.maximum(family.scale_of(loss.shape[1]), 1e-300))
            scale = np.exp(trust * found + (1 - trust) * np.log(self.deviations))
            family = family.with_scale(np.maximum(scale, LEAST_NOISE * self.deviations))
        return family

    def _predicted(self, factors: Factors, freedom: np.ndarray) -> tuple[Array, np.ndarray]:
        """Linear predictors of all responses by the predictors of a fit, and degrees of freedom.

        A fit of too low a rank, or one that leaves a response out, would count what it lacks as
        noise. The response would then count for little in the next fit, and no search would find
        that more is worthwhile. So a response that the fit leaves out is regressed on its scores.
        With many missing entries, where this is not enough, every response is regressed on the
        predictors of the fit, with no limit on the rank, unless these are too many. The regression
        is used where an F test says that the fit lacks something; elsewhere the fit, which has
        fewer coefficients, says more about the noise.
        """
        loss = self.loss
        steps = loss.column_steps(factors)
        if steps is None:
            return loss.at(factors).linear, freedom
        outside = arrays.to_numpy(arrays.row_norms_squared(factors.V)) == 0
        left = np.where(outside, freedom - factors.rank, freedom)
        used = ~outside | (left > 0)  # others have too few entries
        V = steps[0] * arrays.from_numpy(used * 1.0, steps[0])[:, None]
        linear, freedom = loss.at(Factors(factors.U, V)).linear, np.where(used, left, freedom)
        rows = factors.row_support
        if loss.nearly_quadratic or not 0 < rows.shape[0] <= _MOST_REGRESSED:
            return linear, freedom
        entries, free = _entries(loss), 1 if self.kept is None else 1 + self.kept.rank
        left = entries - free - rows.shape[0]
        whole = _regressed(loss, rows)
        lacks = _explains_more(loss, linear, whole, freedom, left) & (left >= _LEAST_LEFT * entries)
        mask = arrays.from_numpy(lacks * 1.0, linear)
        return mask * whole + (1 - mask) * linear, np.where(lacks, left, freedom)


def _explains_more(
    loss: GeneralizedLinear, fit: Array, whole: Array, freedom: np.ndarray, left: np.ndarray
) -> np.ndarray:
    """Whether an F test says that a fit lacks something that regressions explain, per response.

    Shapes: ``fit``, ``whole`` (n_samples, n_targets), ``freedom``, ``left`` (n_targets,).
    """
    weight = _relative_weights(loss)
    xp = arrays.namespace(fit)
    before, after = (
        arrays.to_numpy(
            xp.sum(xp.where(weight > 0, weight * (loss.Y - linear) ** 2, 0.0), axis=0)
        ).astype(np.float64)
        for linear in (fit, whole)
    )
    more, left = np.maximum(freedom - left, 1.0), np.maximum(left, 1.0)
    ratio = np.maximum(before - after, 0) / more / np.maximum(after / left, 1e-300)
    return np.asarray(fdtrc(more, left, ratio) < _LACKS)


def _regressed(loss: GeneralizedLinear, rows: Array) -> Array:
    """Linear predictors of separate regressions of all responses on some predictors."""
    inner = loss.restrict(rows, loss.targets)
    every = arrays.identity(rows.shape[0], like=loss.prototype)
    nothing = arrays.zeros((loss.shape[1], rows.shape[0]), like=loss.prototype)
    steps = inner.column_steps(Factors(every, nothing))
    assert steps is not None  # as for the loss itself
    return inner.at(Factors(every, steps[0])).linear


def _relative_weights(loss: GeneralizedLinear) -> Array:
    """Weights of all entries, with a mean of 1 over those that are positive."""
    weight = loss.weights()
    xp = arrays.namespace(weight)
    return weight * (loss.observations / float(xp.sum(weight)))


def _entries(loss: GeneralizedLinear) -> np.ndarray:
    """Number of entries of every response, by their weights."""
    return arrays.to_numpy(_relative_weights(loss)).astype(np.float64).sum(axis=0)


def _in_own_units(loss: GeneralizedLinear, family: Family) -> GeneralizedLinear:
    """The loss with columns of Θ in units of the information of an entry without predictors."""
    loss = loss.with_family(family, None)
    xp = arrays.namespace(loss.prototype)
    entries = xp.sum(loss.weights(), axis=0) / loss.samples
    mean = loss.mean_curvatures(loss.null) / entries
    floor = arrays.eps(mean) * max(float(xp.max(mean)), 1e-300)
    return loss.with_family(family, 1.0 / xp.sqrt(xp.clip(mean, min=floor)))


def _varying(Y: Array, weight: Array | None, family: Family) -> Array | None:
    """Columns whose observed entries are not all equal; None for all columns, or for none.

    Categories of a response with others that vary are kept.
    """
    numbers = arrays.to_numpy(Y)
    observed = np.ones(numbers.shape, dtype=bool)
    if weight is not None:
        observed = arrays.to_numpy(weight) > 0
    low = np.where(observed, numbers, np.inf).min(axis=0)
    high = np.where(observed, numbers, -np.inf).max(axis=0)
    found = family.whole(np.flatnonzero(high > low), numbers.shape[1])
    if len(found) in (0, numbers.shape[1]):
        return None
    return arrays.indices(found, Y)


def _free(design: Design, intercept: bool, basis: Array | None) -> Array | None:
    """The column of ones and the basis of the kept predictors."""
    ones = [arrays.zeros((design.shape[0], 1), design.prototype) + 1] if intercept else []
    parts = ones if basis is None else [*ones, basis]
    return arrays.namespace(design.prototype).concat(parts, axis=1) if parts else None


def _centred(values: Array, index: Array) -> Array:
    """Some rows, minus their mean."""
    rows = arrays.take_rows(values, index)
    return rows - arrays.namespace(rows).mean(rows, axis=0)
