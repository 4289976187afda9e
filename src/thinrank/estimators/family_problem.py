"""A regression under any family in the units of the solver, and the conversion to the user's."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import fdtrc

from thinrank import arrays
from thinrank.arrays import Array
from thinrank.core.contracts import Design
from thinrank.core.factors import Factors
from thinrank.designs import ColumnSubset, Standardization, standardize
from thinrank.estimators.kept import KeptPredictors
from thinrank.estimators.problem import MIN_NOISE, PRIOR_FREEDOM, live, share_of_freedom
from thinrank.estimators.responses import Responses
from thinrank.losses.families import Family, Gaussian, combined
from thinrank.losses.generalized_linear import GeneralizedLinear

# Ridge where none is asked for, for families with probabilities or means: without it separated
# classes and counts that are all zero in a part of the data have no finite optimum. It changes
# coefficients that are determined by the data by about this relative amount.
_LEAST_RIDGE = 1e-8


@dataclass(frozen=True, eq=False)
class FamilyProblem:
    """Centred and scaled predictors, and responses of any family, as a loss.

    Responses that are constant are left out and predicted by their intercept. The columns of Θ are
    in units of the information that an entry of their response has without predictors, so that
    nothing depends on the units of any predictor or response.
    """

    loss: GeneralizedLinear  # the loss, without ridge
    columns: Standardization  # what was done to X
    kept: KeptPredictors | None  # the predictors that are always kept
    live_rows: Array | None  # predictors and responses that are not constant; None for all
    live_columns: Array | None
    intercepts: Array  # (n_columns,) linear predictors of responses that are constant
    family: Family  # the family of all columns
    # (n_live,) scales of the responses without predictors, 1 for those without units
    deviations: np.ndarray
    shape: tuple[int, int]  # shape of Θ in the user's units
    rescales: bool = True  # whether noise levels or dispersions are estimated from fits

    @classmethod
    def prepare(
        cls,
        design: Design,
        responses: Responses,
        weight: Array | None,
        *,
        offset: Array | None = None,
        fit_intercept: bool,
        standardize_columns: bool,
        keep: np.ndarray | None = None,
    ) -> FamilyProblem:
        """Take means and scales out of the predictors, without copying X."""
        kept, basis = None, None
        if keep is not None and len(keep):
            kept = KeptPredictors.of(design, keep, weight, center=fit_intercept)
            basis = kept.basis
        columns = standardize(
            design,
            sample_weight=weight,
            center=fit_intercept,
            scale=standardize_columns,
            kept=basis,
        )
        live_rows = live(columns.scale) if standardize_columns else None
        if kept is not None:
            kept = replace(kept, loadings_x=columns.loadings)
            live_rows = kept.others(columns.scale)
        X = columns.design if live_rows is None else ColumnSubset(columns.design, live_rows)
        Y, entries, family = responses.Y, responses.weight, responses.family
        intercepts = family.null_link(Y, entries)
        # with offsets a response that is constant has no constant linear predictor
        live_columns = None if offset is not None else _varying(Y, entries, family)
        if live_columns is not None:
            Y, family = arrays.take_columns(Y, live_columns), family.take(live_columns)
            entries = None if entries is None else arrays.take_columns(entries, live_columns)
            offset = None if offset is None else arrays.take_columns(offset, live_columns)
        free = _free(design, fit_intercept, None if basis is None else basis.basis)
        loss = GeneralizedLinear(
            X,
            Y,
            family,
            entry_weight=entries,
            sample_weight=weight,
            offset=offset,
            free=free,
            least_ridge=0.0 if bool(np.all(family.units_of(Y.shape[1]))) else _LEAST_RIDGE,
        )
        shape = design.shape[1], responses.Y.shape[1]
        problem = cls(
            loss,
            columns,
            kept,
            live_rows,
            live_columns,
            intercepts,
            responses.family,
            np.ones(loss.shape[1]),
            shape,
        )
        # squared errors in the user's units, as in the regressor
        plain = type(family) is Gaussian and family.scale is None and not standardize_columns
        if plain or not family.has_parameters:
            problem = replace(problem, rescales=False)
            return problem if plain else replace(problem, loss=in_own_units(loss))
        null = loss.null
        freedom = problem._freedom(null.factors)
        family = family.fitted_to(Y, null.linear, relative_weights(loss), freedom)
        problem = replace(problem, deviations=family.scale_of(loss.shape[1]))
        return replace(problem, loss=in_own_units(loss.with_family(family, None)))

    def left_by(self, loss: GeneralizedLinear, factors: Factors) -> GeneralizedLinear:
        """The loss with the noise levels or dispersions that a fit leaves.

        As an estimate of a noise level is uncertain with few entries, it is averaged on the
        logarithmic scale with the scale of the response without predictors, with weights
        ν/(ν + 2) and 2/(ν + 2), where ν is the number of entries minus the response's share of
        the degrees of freedom. For squared errors the noise in responses that the fit leaves out
        is estimated from regressions on its scores; with many missing entries the noise in
        responses of which the fit lacks something, from regressions on its predictors. It is at
        least a tenth of that scale.
        """
        if not self.rescales:
            return loss
        freedom = self._freedom(factors)
        weight = relative_weights(loss)
        linear = loss.null.linear
        if factors.rank:
            linear, freedom = self._predicted(loss, factors, freedom)
        family = loss.family.fitted_to(loss.Y, linear, weight, freedom)
        if np.any(family.units_of(loss.shape[1])):
            trust = freedom / (freedom + PRIOR_FREEDOM)
            found = np.log(np.maximum(family.scale_of(loss.shape[1]), 1e-300))
            scale = np.exp(trust * found + (1 - trust) * np.log(self.deviations))
            family = family.with_scale(np.maximum(scale, MIN_NOISE * self.deviations))
        return in_own_units(loss.with_family(family, None))

    @property
    def weights_by_noise(self) -> bool:
        """Whether a search begins with estimates of noise levels or dispersions."""
        return self.rescales

    def with_noise(self, noise: np.ndarray) -> GeneralizedLinear:
        """The loss with given noise levels, in units of the scales without predictors.

        They are taken to be at least a tenth.
        """
        scale = np.maximum(noise, MIN_NOISE) * self.deviations
        return in_own_units(self.loss.with_family(self.loss.family.with_scale(scale), None))

    def of_all_columns(self, family: Family) -> Family:
        """The family of all columns, from that of the columns that are not constant."""
        if self.live_columns is None:
            return family
        index = arrays.to_numpy(self.live_columns).tolist()
        rest = [j for j in range(self.shape[1]) if j not in set(index)]
        return combined([family, self.family.take(rest)], [index, rest])

    @property
    def feature_scale(self) -> Array | None:
        """Standard deviations of the predictors, if they were computed."""
        return None if self.kept is not None else self.columns.scale

    def limited(self, rank: int, rows: int | None, columns: int | None) -> tuple[int, int, int]:
        """The sizes, limited by the numbers of predictors and responses that are not constant."""
        p, k = self.loss.shape
        rows = p if rows is None else min(rows, p)
        columns = k if columns is None else min(columns, k)
        return min(rank, rows, columns), rows, columns

    def to_user(
        self, loss: GeneralizedLinear, factors: Factors
    ) -> tuple[Factors, Array, Array | None]:
        """Coefficients, intercepts and coefficients of the kept predictors, in the user's units."""
        free = loss.at(factors if factors.rank else loss.null.factors).free
        factors = factors.balanced()
        V = factors.V * loss.unit[:, None]
        U = factors.U
        if self.live_rows is not None:
            U = arrays.scatter_rows(U, self.live_rows, self.shape[0])
        intercept = self.intercepts
        if self.live_columns is not None:
            V = arrays.scatter_rows(V, self.live_columns, self.shape[1])
            free = arrays.scatter_rows(free.T, self.live_columns, self.shape[1]).T
        user = Factors(U, V).with_units(self.columns.inverse_scale)
        kept_coef = None
        center = self.columns.center is not None
        own = free[0, :] if center else arrays.zeros((self.shape[1],), free)
        if self.kept is not None:
            loadings = free[1:, :] if center else free
            assert self.kept.loadings_x is not None
            moved = loadings - (self.kept.loadings_x @ user.U) @ user.V.T
            kept_coef = self.kept.basis.coefficients(moved).T
            if center:
                own = own - self.kept.at_means(kept_coef)
        if center:
            own = own - user.V @ (user.U.T @ self.columns.center)
        for block in self.family.blocks(self.shape[1]):
            # only differences between categories matter
            index = arrays.indices(block, own)
            own = arrays.put_rows(own, index, _centred(arrays.take_rows(own, index)))
            if kept_coef is not None:
                rows = _centred(arrays.take_rows(kept_coef, index))
                kept_coef = arrays.put_rows(kept_coef, index, rows)
        if self.live_columns is not None:
            xp = arrays.namespace(own)
            ones = arrays.zeros((self.live_columns.shape[0],), own) + 1
            alive = arrays.scatter_rows(ones, self.live_columns, self.shape[1]) > 0
            own = xp.where(alive, own, intercept)
        return user, own, kept_coef

    def start(self, start: Any, loss: GeneralizedLinear) -> Any:
        """A start given in the user's units, in the solver's; anything else passes."""
        if isinstance(start, Factors) and start.shape == self.shape:
            like = loss.prototype
            U, V = arrays.from_numpy(start.U, like), arrays.from_numpy(start.V, like)
            return Factors(self._rows(U), self._columns(V, loss)).balanced()
        if arrays.is_array(start) and tuple(start.shape) == self.shape:
            theta = self._rows(arrays.from_numpy(start, loss.prototype))
            return self._columns(theta.T, loss).T
        return start

    def _rows(self, block: Array) -> Array:
        if self.columns.scale is not None:
            block = block * self.columns.scale[:, None]
        return block if self.live_rows is None else arrays.take_rows(block, self.live_rows)

    def _columns(self, block: Array, loss: GeneralizedLinear) -> Array:
        if self.live_columns is not None:
            block = arrays.take_rows(block, self.live_columns)
        return block / loss.unit[:, None]

    def _freedom(self, factors: Factors) -> np.ndarray:
        """Entries of every response minus its share of the degrees of freedom, at least half."""
        entries, free = self._entries()
        share = np.zeros(len(entries))
        share[arrays.to_numpy(factors.column_support)] = share_of_freedom(factors)
        return np.maximum(entries - free - share, entries / 2)

    def _entries(self) -> tuple[np.ndarray, int]:
        """Number of entries of every response, and of free coefficients."""
        entries = arrays.to_numpy(relative_weights(self.loss)).astype(np.float64).sum(axis=0)
        return entries, 1 if self.kept is None else 1 + self.kept.rank  # as for least squares

    def _predicted(
        self, loss: GeneralizedLinear, factors: Factors, freedom: np.ndarray
    ) -> tuple[Array, np.ndarray]:
        """Linear predictors of all responses by the predictors of a fit, and degrees of freedom.

        A fit of too low a rank, or one that leaves a response out, would count what it lacks as
        noise. The response would then count for little in the next fit, and no search would find
        that more is worthwhile. So a response that the fit leaves out is regressed on its scores.
        With many missing entries, where this is not enough, every response is regressed on the
        predictors of the fit, with no limit on the rank, unless these are too many. The regression
        is used where an F test says that the fit lacks something; elsewhere the fit, which has
        fewer coefficients, says more about the noise.
        """
        steps = loss.column_steps(factors)
        if steps is None:
            return loss.at(factors).linear, freedom
        outside = arrays.to_numpy(arrays.row_norms_squared(factors.V)) == 0
        left = np.where(outside, freedom - factors.rank, freedom)
        used = ~outside | (left > 0)  # others have too few entries
        V = steps[0] * arrays.from_numpy(used * 1.0, steps[0])[:, None]
        linear, freedom = loss.at(Factors(factors.U, V)).linear, np.where(used, left, freedom)
        rows = factors.row_support
        if loss.nearly_quadratic or not 0 < rows.shape[0] <= MOST_REGRESSED:
            return linear, freedom
        entries, free = self._entries()
        left = entries - free - rows.shape[0]
        whole = regressed(loss, rows)
        lacks = explains_more(loss, linear, whole, freedom, left) & (left >= LEAST_LEFT * entries)
        mask = arrays.from_numpy(lacks * 1.0, linear)
        return mask * whole + (1 - mask) * linear, np.where(lacks, left, freedom)


def _centred(values: Array) -> Array:
    return values - arrays.namespace(values).mean(values, axis=0)


def in_own_units(loss: GeneralizedLinear) -> GeneralizedLinear:
    """The loss with columns of Θ in units of the information of an entry without predictors."""
    xp = arrays.namespace(loss.prototype)
    entries = xp.sum(loss.weights(), axis=0) / loss.samples
    mean = loss.mean_curvatures(loss.null) / entries
    floor = arrays.eps(mean) * max(float(xp.max(mean)), 1e-300)
    return loss.with_family(loss.family, 1.0 / xp.sqrt(xp.clip(mean, min=floor)))


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
    parts = []
    if intercept:
        parts.append(arrays.zeros((design.shape[0], 1), design.prototype) + 1)
    if basis is not None:
        parts.append(basis)
    if not parts:
        return None
    return arrays.namespace(design.prototype).concat(parts, axis=1)


def explainable(loss: GeneralizedLinear) -> bool:
    """Whether the responses differ from their predictions without predictors."""
    size = arrays.norm(loss.null.derivative * loss.unit)
    return size > 1e3 * arrays.eps(loss.prototype) * loss.observations**0.5


# With many missing entries noise levels are estimated by regressions of the responses on the
# predictors of a fit if there are at most this number of them, since more would take long, and only
# for responses of which such a regression leaves this fraction of the entries as degrees of
# freedom. Rules of thumb.
MOST_REGRESSED = 100
LEAST_LEFT = 0.25
# Level of the test that a fit lacks something of a response.
_LACKS = 0.01


def explains_more(
    loss: GeneralizedLinear, fit: Array, whole: Array, freedom: np.ndarray, left: np.ndarray
) -> np.ndarray:
    """Whether an F test says that a fit lacks something that regressions explain, per response.

    Shapes: ``fit``, ``whole`` (n_samples, n_targets), ``freedom``, ``left`` (n_targets,),
    result (n_targets,).
    """
    weight = relative_weights(loss)
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


def regressed(loss: GeneralizedLinear, rows: Array) -> Array:
    """Linear predictors of separate regressions of all responses on some predictors.

    Shapes: result (n_samples, n_targets).
    """
    inner = loss.restrict(rows, loss.targets)
    every = arrays.identity(rows.shape[0], like=loss.prototype)
    nothing = arrays.zeros((loss.shape[1], rows.shape[0]), like=loss.prototype)
    steps = inner.column_steps(Factors(every, nothing))
    assert steps is not None  # as for the loss itself
    return inner.at(Factors(every, steps[0])).linear


def relative_weights(loss: GeneralizedLinear) -> Array:
    """Weights of all entries, with a mean of 1 over those that are positive."""
    weight = loss.weights()
    xp = arrays.namespace(weight)
    return weight * (loss.observations / float(xp.sum(weight)))
