"""A regression under any family in the units of the solver, and the conversion to the user's."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from thinrank import arrays
from thinrank.arrays import Array
from thinrank.core.contracts import Design
from thinrank.core.factors import Factors
from thinrank.designs import (
    ColumnSubset,
    Deflated,
    Dense,
    Standardization,
    Transformed,
    standardize,
)
from thinrank.estimators import noise
from thinrank.estimators.kept import KeptPredictors
from thinrank.estimators.responses import Responses
from thinrank.losses import LeastSquares
from thinrank.losses.families import Family, Gaussian, combined
from thinrank.losses.generalized_linear import GeneralizedLinear

# Ridge where none is asked for, for families with probabilities or means: without it separated
# classes and counts that are all zero in a part of the data have no finite optimum. It changes
# coefficients that are determined by the data by about this relative amount.
_LEAST_RIDGE = 1e-6
# Scales are about the same if their logarithms differ by less than this. Rule of thumb.
_SAME_SCALE = 0.1
# Typical relative changes of scales that are never worth another fit.
_NEGLIGIBLE = 0.005
# A linear predictor of an observed entry beyond this, a probability below 1e-9 or a mean below
# 1e-9, means that the fit would have gone on to infinity.
_SEPARATED = 20.0


@dataclass(frozen=True)
class Problem:
    """Centred, scaled and weighted data as a loss; here least squares of complete responses.

    With ``standardize_columns`` the predictors and responses that are constant are left out, and
    every response is divided by a scale of its own. So nothing depends on the units of any
    predictor or response, nor on the number of constant ones.

    Predictors that are always kept are projected out of X and Y like the means, so that Θ is the
    matrix of the other predictors, and its rank, sparsity and ridge do not affect the kept ones.
    """

    # in the solver's units: Θ̃ = diag(units of predictors)·Θ·diag(1 / scales of responses)
    loss: Any
    columns: Standardization  # what was done to X
    target_mean: Array | None  # (k,) what was taken out of Y
    # (n_live_targets,) what the responses were divided by, and their standard deviations; None if
    # they are not scaled
    target_scale: Any
    deviations: Any
    # predictors and responses that are not constant, nor explained by those that are always kept;
    # None for all
    live_rows: Array | None
    live_columns: Array | None
    shape: tuple[int, int]  # shape of Θ in the user's units, (p, k)
    kept: KeptPredictors | None = None  # the predictors that are always kept
    family: Family | None = None  # the family of all responses; None for least squares
    moments: Any = None  # a form of all rows, in the units of the first fit, if not in memory

    # number of fits, each with the responses scaled by the noise that the fit before left in them;
    # more than two further fits rarely change the supports
    max_rounds: ClassVar[int] = 3
    # whether the final fit begins with the noise levels of the search
    continues_search: ClassVar[bool] = False

    @classmethod
    def prepare(
        cls,
        design: Design,
        Y: Array,
        weight: Array | None,
        *,
        fit_intercept: bool,
        standardize_columns: bool,
        scale_targets: bool,
        keep: np.ndarray | None = None,
    ) -> Problem:
        """Take means and scales out of the data, without copying X."""
        shape = (design.shape[1], Y.shape[1])
        X, columns, live_rows, kept = _predictors(
            design, weight, fit_intercept, standardize_columns, keep
        )
        basis = None if kept is None else kept.basis
        dense = Dense(Y)
        responses = standardize(
            dense, sample_weight=weight, center=fit_intercept, scale=scale_targets, kept=basis
        )
        targets: Design = Transformed(dense, center=responses.center)
        if kept is not None:
            kept = replace(kept, loadings_y=responses.loadings)
            assert responses.loadings is not None
            targets = Deflated(targets, Factors(kept.basis.basis, responses.loadings.T))
            if not (scale_targets and arrays.norm(responses.scale) > 0):
                targets = responses.design  # explained responses are zero, without rounding errors
        live_columns = live(responses.scale) if scale_targets else None
        scale = responses.scale if scale_targets else None
        if live_columns is not None:
            targets = ColumnSubset(targets, live_columns)
            scale = arrays.take_rows(scale, live_columns)
        constant = scale is None and fit_intercept and _all_constant(Y, weight)
        if scale is not None and not np.any(arrays.to_numpy(scale) > 0):
            scale, constant = None, True
        if constant:
            targets = Dense(arrays.zeros(targets.shape, Y))  # without rounding errors
        if kept is None and live_columns is None and scale is not None:
            targets = responses.design  # with norms that are known
        else:
            targets = _divided(targets, scale)
        loss = LeastSquares(X, targets, sample_weight=weight)
        mean = responses.center
        return cls(loss, columns, mean, scale, scale, live_rows, live_columns, shape, kept)

    # ------------------------------------------------------------------ what a search asks

    def hold_for_search(self) -> None:
        """Compute what saves time in a search with many fits."""
        self.loss.hold_for_search()

    @property
    def explainable(self) -> bool:
        """Whether the responses differ from their predictions without predictors."""
        return self.loss.constant > 0

    @property
    def has_units(self) -> bool:
        """Whether a response has units, and hence a noise level."""
        return True

    @property
    def needs_ridge(self) -> bool:
        """Whether there may be no optimum without ridge, as for probabilities and counts."""
        return False

    def alone_in_class(self, weight: np.ndarray | None) -> np.ndarray | None:
        """Whether a row is the only one of positive weight in a category; None if none can be."""
        return None

    # ------------------------------------------------------------------ scales of the responses

    def noise_matters(self, rows: int, ridge: float = 0.0) -> bool:
        """Whether to weight the responses by the noise, estimated from a fit with ``rows`` rows.

        False without standardisation, for a single response, and without ridge if there are more
        rows than half of the samples, since the residuals of such a fit say little about the noise.
        """
        able = "target_scale" in self.loss.capabilities and self.loss.shape[1] > 1
        few = ridge > 0 or 2 * rows <= self.loss.samples
        return able and self.target_scale is not None and few

    def left_by(self, fit: Any, rows: int, ridge: float) -> Problem:
        """The problem with every response divided by the noise that a fit leaves in it.

        The same problem if the noise differs too little, apart from a common factor, for another
        fit: by a tenth of the standard error of a noise level. Changes of about the standard error
        do matter: with them other predictors are chosen among correlated ones.
        """
        explained = None if ridge else getattr(fit, "explained", None)
        total, n = self.loss.target_squares(), self.loss.samples
        if explained is None:
            squares = arrays.to_numpy(self.loss.residual_squares(fit.factors))
        else:
            squares = total - n * arrays.to_numpy(explained)
        taken = 1 if self.kept is None else 1 + self.kept.rank
        shrunk = noise.ridge_freedom(fit, ridge) if 2 * rows > n else 0.0
        found = noise.of_squares(fit.factors, squares, total, n, taken, shrunk)
        own, deviations = arrays.to_numpy(self.target_scale), arrays.to_numpy(self.deviations)
        scale = np.maximum(found * own, noise.LEAST * deviations)
        change = float(np.std(np.log(scale / arrays.to_numpy(self.target_scale))))
        if change < max(0.1 * float((2 * n) ** -0.5), _NEGLIGIBLE):
            return self
        return self.with_target_scale(scale)

    def left_by_model(self, model: Any) -> Problem | None:
        """The problem with the noise that a model leaves in held-out rows, if that is enough."""
        return None

    def settled(self, fit: Any) -> Problem:
        """The problem with the noise levels to search with, after the last of a few fits."""
        return self

    def with_target_scale(self, scale: np.ndarray) -> Problem:
        """The same problem with the responses divided by other scales."""
        moved = arrays.from_numpy(scale, self.loss.prototype)
        scale = arrays.to_numpy(moved)  # in the dtype of the data
        loss = self.loss.with_target_scale(scale / arrays.to_numpy(self.target_scale))
        return replace(self, loss=loss, target_scale=moved)

    def has_about_the_scales_of(self, other: Problem) -> bool:
        """Whether the scales of the responses are those of another problem times one number.

        All relative differences must be below a tenth, apart from a common factor, which does not
        change which coefficients are the best.
        """
        change = np.log(arrays.to_numpy(self.target_scale) / arrays.to_numpy(other.target_scale))
        return bool(np.all(np.abs(change - np.mean(change)) < _SAME_SCALE))

    def in_units_of(self, other: Problem, factors: Factors) -> Factors:
        """Convert coefficients to the units of a problem with other scales of the responses.

        They are not balanced, unless the units are the same.
        """
        if self is other:
            return factors
        return factors.with_column_units(self.target_scale / other.target_scale)

    def target_units(self) -> np.ndarray | None:
        """What all responses are divided by, 0 for those left out; None if they are not scaled."""
        if self.target_scale is None:
            return None
        units = arrays.to_numpy(self.target_scale).astype(np.float64)
        if self.live_columns is None:
            return units
        every = np.zeros(self.shape[1])
        every[arrays.to_numpy(self.live_columns)] = units
        return every

    def with_target_units(self, units: np.ndarray) -> Problem:
        """The same problem with the responses divided by what :meth:`target_units` returned."""
        if self.target_scale is None:
            return self
        if self.live_columns is not None:
            units = units[arrays.to_numpy(self.live_columns)]
        return self.with_target_scale(units)

    # ------------------------------------------------------------------ the user's units

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

    def to_user(self, factors: Factors) -> tuple[Factors, Array, Array | None]:
        """Coefficients, intercept and coefficients of the kept predictors, in the user's units.

        The latter have shape (n_targets, n_kept), or are None if nothing is kept. The kept
        predictors have zero rows in the factors.
        """
        user = factors.compact()
        if self.target_scale is not None:
            user = user.with_column_units(self.target_scale)
        if self.live_rows is not None:
            user = Factors(arrays.scatter_rows(user.U, self.live_rows, self.shape[0]), user.V)
        if self.live_columns is not None:
            user = Factors(user.U, arrays.scatter_rows(user.V, self.live_columns, self.shape[1]))
        user = user.with_units(self.columns.inverse_scale)
        mean, loadings = self._free_coefficients(factors)
        intercept = arrays.zeros((user.shape[1],), like=user.V)
        if mean is not None:
            intercept = mean - user.V @ self._mean_scores(user)
        if self.kept is None:
            return user, intercept, None
        kept = self.kept.coefficients(user, loadings)
        if mean is not None:
            intercept = intercept - self.kept.at_means(kept)
        return user, intercept, kept

    def _free_coefficients(self, factors: Factors) -> tuple[Array | None, Array | None]:
        """Intercepts of centred predictors, and loadings of the kept ones; None for none."""
        return self.target_mean, None if self.kept is None else self.kept.loadings_y

    def scores(self, factors: Factors, user: Factors) -> tuple[Array, Array] | None:
        """XU minus its means, and these means, from what a fit holds; None if too little."""
        held = getattr(self.loss, "scores_held", None)  # losses of row blocks hold no columns
        known = None if held is None or self.kept is not None else held(factors)
        if known is None:
            return None
        centred = self.columns.center is not None
        return known, self._mean_scores(user) if centred else known[0, :] * 0

    def _mean_scores(self, user: Factors) -> Array:
        """Means of XU, for coefficients in the user's units."""
        return user.rows_in_use.T @ arrays.take_rows(self.columns.center, user.row_support)

    def start(self, start: Any) -> Any:
        """A start given in the user's units, in the solver's; anything else passes."""
        if isinstance(start, Factors) and start.shape == self.shape:
            like = self.loss.prototype
            U, V = arrays.from_numpy(start.U, like), arrays.from_numpy(start.V, like)
            return Factors(self._rows(U), self._columns(V)).balanced()
        if arrays.is_array(start) and tuple(start.shape) == self.shape:
            theta = self._rows(arrays.from_numpy(start, self.loss.prototype))
            return self._columns(theta.T).T
        return start

    def _rows(self, block: Array) -> Array:
        """One row per predictor, in the solver's units."""
        if self.columns.scale is not None:
            block = block * self.columns.scale[:, None]
        return block if self.live_rows is None else arrays.take_rows(block, self.live_rows)

    def _columns(self, block: Array) -> Array:
        """One row per response, in the solver's units."""
        if self.live_columns is not None:
            block = arrays.take_rows(block, self.live_columns)
        return block if self.target_scale is None else block / self.target_scale[:, None]

    # ------------------------------------------------------------------ the fitted family

    def family_left_by(self, factors: Factors) -> Family | None:
        """The family of all responses with the parameters that a fit leaves."""
        return None

    def doubts(self, factors: Factors) -> list[str]:
        """What the user is to be warned of after a fit."""
        return []


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
    continues_search: ClassVar[bool] = True

    @classmethod
    def of(
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
        X, columns, live_rows, kept = _predictors(
            design, weight, fit_intercept, standardize_columns, keep
        )
        Y, entries, family = responses.Y, responses.weight, responses.family
        intercepts = family.null_link(Y, entries)
        # with offsets a response that is constant has no constant linear predictor
        live_columns = None if offset is not None else _varying(Y, entries, family)
        if live_columns is not None:
            Y, family = arrays.take_columns(Y, live_columns), family.take(live_columns)
            entries = None if entries is None else arrays.take_columns(entries, live_columns)
        loss = GeneralizedLinear(
            X,
            Y,
            family,
            entry_weight=entries,
            sample_weight=weight,
            offset=offset,
            free=_free(design, fit_intercept, None if kept is None else kept.basis.basis),
            least_ridge=0.0 if bool(np.all(family.units_of(Y.shape[1]))) else _LEAST_RIDGE,
        )
        # squared errors in the user's units, as in least squares
        plain = type(family) is Gaussian and family.scale is None and not standardize_columns
        deviations = np.ones(loss.shape[1])
        rescales = family.has_parameters and not plain
        if rescales:
            freedom = noise.freedom(loss, loss.null.factors, kept)
            family = family.fitted_to(Y, loss.null.linear, noise.relative_weights(loss), freedom)
            deviations = family.scale_of(loss.shape[1])
            loss = loss.with_family(family, None)
        if not plain:
            loss = noise.in_own_units(loss)
        return cls(
            loss,
            columns,
            None,
            loss.unit,
            deviations,
            live_rows,
            live_columns,
            (design.shape[1], responses.Y.shape[1]),
            kept,
            family=responses.family,
            intercepts=intercepts,
            rescales=rescales,
        )

    def hold_for_search(self) -> None:
        """Nothing: every fit has its own weights."""

    @property
    def explainable(self) -> bool:
        """Whether the responses differ from their predictions without predictors."""
        size = arrays.norm(self.loss.null.derivative * self.loss.unit)
        return size > 1e3 * arrays.eps(self.loss.prototype) * self.loss.observations**0.5

    @property
    def has_units(self) -> bool:
        """Whether a response has units, and hence a noise level."""
        return bool(np.any(self.loss.family.units_of(self.loss.shape[1])))

    @property
    def needs_ridge(self) -> bool:
        """Whether there are probabilities or counts, which may have no optimum."""
        return not np.all(self.loss.family.units_of(self.loss.shape[1]))

    def alone_in_class(self, weight: np.ndarray | None) -> np.ndarray | None:
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
        family = noise.family_left_by(self.loss, fit.factors, self.kept, self.deviations)
        return self._with_family(family)

    def settled(self, fit: Any) -> FamilyProblem:
        """The problem with the noise levels or dispersions that the last fit leaves."""
        return self.left_by(fit) if fit.factors.rank else self

    def left_by_model(self, model: Any) -> FamilyProblem | None:
        """The problem with the noise that a model leaves in held-out rows, if that is enough."""
        if not self.loss.nearly_quadratic or model.responses is None:
            return None
        scale = np.maximum(model.responses.noise, noise.LEAST) * self.deviations
        return self._with_family(self.loss.family.with_scale(scale))

    def _with_family(self, family: Family) -> FamilyProblem:
        loss = noise.in_own_units(self.loss.with_family(family, None))
        return replace(self, loss=loss, target_scale=loss.unit)

    def target_units(self) -> None:
        """None: the units of the columns are those of the linear predictors."""
        return

    def to_user(self, factors: Factors) -> tuple[Factors, Array, Array | None]:
        """Coefficients, intercepts and coefficients of the kept predictors, in the user's units."""
        user, intercept, kept = super().to_user(factors)
        for block in self.family.blocks(self.shape[1]):
            # only differences between categories matter
            index = arrays.indices(block, intercept)
            own = _centred(arrays.take_rows(intercept, index))
            intercept = arrays.put_rows(intercept, index, own)
            if kept is not None:
                rows = _centred(arrays.take_rows(kept, index))
                kept = arrays.put_rows(kept, index, rows)
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

    def family_left_by(self, factors: Factors) -> Family:
        """The family of all responses with the parameters that a fit leaves."""
        family = self.loss.family
        if self.rescales and factors.rank:
            family = noise.family_left_by(self.loss, factors, self.kept, self.deviations)
        if self.live_columns is None:
            return family
        index = arrays.to_numpy(self.live_columns).tolist()
        rest = [j for j in range(self.shape[1]) if j not in set(index)]
        return combined([family, self.family.take(rest)], [index, rest])

    def doubts(self, factors: Factors) -> list[str]:
        """That counts are overdispersed, or fitted probabilities or means 0 or 1 up to rounding."""
        if not self.needs_ridge:
            return []
        loss, messages = self.loss, list[str]()
        point = loss.at(factors) if factors.rank else loss.null
        left = noise.freedom(loss, factors, self.kept)
        times = loss.family.overdispersion(loss.Y, point.linear, noise.relative_weights(loss), left)
        if times > 1:
            messages.append(
                f"The counts are overdispersed: their variance is about {times:.3g} times that of "
                'the Poisson family. Use family="negative_binomial", for which sizes and held-out '
                "deviances do not depend on a few large counts."
            )
        if factors.rank == 0:
            return messages
        xp = arrays.namespace(loss.prototype)
        # of the predictors in use, without intercept and offset
        linear = point.scores @ (factors.V * loss.unit[:, None]).T
        plain = (~loss.family.units_of(loss.shape[1])).astype(float)
        weight = arrays.from_numpy(plain, loss.prototype) * loss.weights()
        beyond = xp.astype(xp.abs(linear) > _SEPARATED, loss.prototype.dtype)
        extreme = int(xp.count_nonzero(beyond * weight))
        if extreme:
            messages.append(
                f"The fit predicts some responses perfectly ({extreme} entries have a fitted "
                "probability or mean that is 0 up to rounding), so that without a ridge their "
                "coefficients have no finite optimum. Use a larger ridge if their size matters."
            )
        return messages


def prepared(
    design: Design,
    responses: Responses,
    weight: Array | None,
    *,
    offset: Array | None = None,
    scale_targets: bool,
    **options: Any,
) -> Problem:
    """The problem of responses of any family; the options are those of both kinds."""
    if not responses.is_least_squares:
        return FamilyProblem.of(design, responses, weight, offset=offset, **options)
    Y = responses.Y if offset is None else responses.Y - offset
    return Problem.prepare(design, Y, weight, scale_targets=scale_targets, **options)


def live(scale: Array) -> Array | None:
    """Indices where a scale is not zero; None when that is everywhere or nowhere."""
    live = np.flatnonzero(arrays.to_numpy(scale) > 0)
    return None if len(live) in (0, scale.shape[0]) else arrays.indices(live, scale)


def _predictors(
    design: Design, weight: Array | None, center: bool, scale: bool, keep: np.ndarray | None
) -> tuple[Design, Standardization, Array | None, KeptPredictors | None]:
    """X in the solver's units, what was done to it, its columns in use, and the kept predictors."""
    kept = None
    if keep is not None and len(keep):
        kept = KeptPredictors.of(design, keep, weight, center=center)
    basis = None if kept is None else kept.basis
    columns = standardize(design, sample_weight=weight, center=center, scale=scale, kept=basis)
    used = live(columns.scale) if scale else None
    if kept is not None:
        kept = replace(kept, loadings_x=columns.loadings)
        used = kept.others(columns.scale)
    X = columns.design if used is None else ColumnSubset(columns.design, used)
    return X, columns, used, kept


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


def _centred(values: Array) -> Array:
    return values - arrays.namespace(values).mean(values, axis=0)


def _all_constant(Y: Array, weight: Array | None) -> bool:
    """Whether every response has the same value in all rows of positive weight."""
    rows = Y if weight is None else arrays.take_rows(Y, arrays.true_positions(weight > 0))
    return bool(arrays.namespace(Y).all(rows == rows[:1, :]))


def _divided(targets: Design, scale: Array | None) -> Design:
    if scale is None:
        return targets
    return Transformed(targets, column_scale=arrays.divide_or_zero(1.0, scale))
