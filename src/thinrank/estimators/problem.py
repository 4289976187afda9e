"""The data and the result of a fit, and the problem in the units of the solver in between."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.special import fdtrc

from thinrank import arrays
from thinrank.arrays import Array
from thinrank.core.contracts import Design
from thinrank.core.factors import Factors
from thinrank.core.result import History, Record, Status
from thinrank.designs import (
    ColumnSubset,
    Dense,
    KeptBasis,
    Standardization,
    kept_basis,
    standardize,
)
from thinrank.losses import LeastSquares

if TYPE_CHECKING:
    from thinrank.losses.families import Family
    from thinrank.losses.generalized_linear import GeneralizedLinear

# The noise in a response is taken to be at least this fraction of its standard deviation, so that
# a response that is explained almost completely does not outweigh all others. Rule of thumb.
LEAST_NOISE = 0.1
# With this many degrees of freedom an estimate of the noise has the same weight as the standard
# deviation of the response. Rule of thumb.
PRIOR_FREEDOM = 2.0
# Typical relative changes of scales that are never worth another fit.
_NEGLIGIBLE = 0.005
# Ridge where none is asked for, for families with probabilities or means: without it separated
# classes and counts that are all zero in a part of the data have no finite optimum. It changes
# coefficients that are determined by the data by about this relative amount.
_LEAST_RIDGE = 1e-6
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


class TrainingData(NamedTuple):
    """The data of a fit, in the user's units."""

    design: Design  # (n_samples, n_features) predictors
    Y: Array  # (n_samples, n_targets) responses; any finite number where an entry is missing
    sample_weight: Array | None = None  # (n_samples,) weights of the rows
    # (n_samples, n_targets) weights of the entries, 0 for missing ones
    entry_weight: Array | None = None
    family: Family | None = None  # None for least squares with all entries
    offset: Array | None = None  # (n_samples, n_targets) offsets
    kept: np.ndarray = np.empty(0, dtype=np.int64)  # predictors that are always kept, sorted
    groups: Any = None  # (n_samples,) groups that splits do not divide

    @property
    def weights(self) -> Array | None:
        """Weights of the entries, of shape (n_samples, n_targets) or (n_samples, 1)."""
        if self.sample_weight is None:
            return self.entry_weight
        rows = self.sample_weight[:, None]
        return rows if self.entry_weight is None else rows * self.entry_weight


class FitResult(NamedTuple):
    """The result of a fit, in the units of the data."""

    factors: Factors  # Θ
    intercept: Array  # (n_columns,) intercepts
    # (n_columns, n_kept) coefficients of the predictors that are always kept
    kept_coef: Array | None = None
    family: Any = None  # the family, with its estimated parameters; None for least squares
    params: dict[str, Any] | None = None  # the sizes, chosen or given
    search: Sequence[Record] = ()  # the models that were tried
    status: Status | None = None
    history: History | None = None  # of the final fit
    messages: Sequence[str] = ()  # what the user was warned of
    # (n_features,) standard deviations of the predictors, if they were computed for the fit
    feature_scale: Array | None = None
    # (n_columns,) share explained of each response in held-out rows; None if the sizes were not
    # chosen by it
    held_out_r2: np.ndarray | None = None
    # (n_columns,) what the final fit divided the responses by; None if it did not scale them
    target_units: np.ndarray | None = None
    moments: Any = None  # of all rows, if these are not in memory


@dataclass(frozen=True, eq=False)
class Problem:
    """Centred, scaled and weighted data as a loss.

    Nothing depends on the units of any predictor or response that is scaled, nor on the number of
    constant ones, which are left out. Predictors that are always kept are projected out of X and Y
    like the means, so that the rank, sparsity and ridge of Θ, the matrix of the others, do not
    affect them.
    """

    # least squares for squared errors of complete responses, whose means are taken out; otherwise
    # a generalized linear model, with intercepts of its own and columns of Θ in units of the
    # information that an entry of their response has without predictors. In the solver's units:
    # Θ̃ = diag(units of predictors)·Θ·diag(1 / scales of responses)
    loss: Any
    columns: Standardization  # what was done to X
    targets: Standardization | None  # what was taken out of Y in least squares
    # (n_live_targets,) what the responses were divided by, and their standard deviations; None if
    # they are not scaled
    target_scale: Any
    deviations: Any
    # predictors and responses that are not constant, nor explained by those that are always kept;
    # None for all
    live_rows: Array | None
    live_columns: Array | None
    shape: tuple[int, int]  # shape of Θ in the user's units, (p, k)
    forced: Array | None = None  # (n_samples, n_kept) predictors that are always kept
    kept: KeptBasis | None = None  # their basis, centered if there is an intercept
    family: Any = None  # the Family of all responses; None for least squares
    intercepts: Any = None  # (k,) linear predictors of constant responses of a family
    rescales: bool = False  # whether noise levels or dispersions are estimated from fits
    moments: Any = None  # a form of all rows, in the units of the first fit, if not in memory

    @classmethod
    def prepare(
        cls, data: TrainingData, *, fit_intercept: bool, standardize_columns: bool, scale: bool
    ) -> Problem:
        """Take means and scales out of the data, without copying X; ``scale``: also out of Y."""
        design, weight, forced, kept = data.design, data.sample_weight, None, None
        options: Any = {"sample_weight": weight, "center": fit_intercept}
        if len(data.kept):
            forced = design.columns(arrays.indices(data.kept, design.prototype))
            kept = kept_basis(forced, like=design.prototype, **options)
        columns = standardize(design, **options, scale=standardize_columns, kept=kept)
        live_rows = live(columns.scale) if standardize_columns else None
        if kept is not None:  # the others, without those that are explained, unless all are
            others = np.setdiff1d(np.arange(design.shape[1]), data.kept)
            left = others[arrays.to_numpy(columns.scale)[others] > 0]
            live_rows = arrays.indices(left if len(left) else others, columns.scale)
        X = columns.design if live_rows is None else ColumnSubset(columns.design, live_rows)
        if data.family is None:
            found = _least_squares(data, X, kept, center=fit_intercept, scale=scale)
        else:
            found = _any_family(data, X, kept, center=fit_intercept, plain=not standardize_columns)
        shape = design.shape[1], data.Y.shape[1]
        return cls(
            columns=columns, live_rows=live_rows, shape=shape, forced=forced, kept=kept, **found
        )

    # ------------------------------------------------------------------ what a search asks

    @property
    def explainable(self) -> bool:
        """Whether the responses differ from their predictions without predictors."""
        if self.family is None:
            return self.loss.constant > 0
        size = arrays.norm(self.loss.null.derivative * self.loss.unit)
        return size > 1e3 * arrays.eps(self.loss.prototype) * self.loss.observations**0.5

    @property
    def has_units(self) -> np.ndarray:
        """Whether each response has units, and so a noise level: no probabilities and counts."""
        k = self.shape[1]
        return np.ones(k, dtype=bool) if self.family is None else self.family.units_of(k)

    def filled(self, data: TrainingData) -> Callable[[np.ndarray], tuple[Design, Array | None]]:
        """X, and its forced predictors, with the means of given rows in place of missing cells."""

        def with_means_of(rows: np.ndarray) -> tuple[Design, Array | None]:
            X: Any = data.design
            X = X.with_means_of(rows, data.sample_weight)
            forced = None if self.kept is None else X.columns(data.kept)
            return (X if self.live_rows is None else ColumnSubset(X, self.live_rows)), forced

        return with_means_of

    # ------------------------------------------------------------------ noise of the responses

    def noise_matters(self, rows: int, ridge: float = 0.0) -> bool:
        """Whether to estimate noise levels or dispersions from a fit with ``rows`` rows."""
        # the residuals of a fit with more rows than half of the samples say little about the noise,
        # unless it is least squares with a ridge
        if self.family is None:
            few = ridge > 0 or 2 * rows <= self.loss.samples
        else:
            few = 2 * rows <= self.loss.observations / self.loss.shape[1]
        return self.rescales and few

    def left_by(self, fit: Any, rows: int = 0, ridge: float = 0.0) -> Problem:
        """The problem in units of the noise levels or dispersions that a fit leaves.

        The same problem if the noise of least squares differs too little for another fit, apart
        from a common factor: by a tenth of the standard error of a noise level. Changes of about
        the standard error do matter: with them other predictors are chosen among correlated ones.
        """
        if self.family is not None:
            loss = _in_own_units(self.loss, self._family_after(fit.factors))
            return replace(self, loss=loss, target_scale=loss.unit)
        n, k = self.loss.samples, self.loss.shape[1]
        squares = arrays.to_numpy(self.loss.residual_squares(fit.factors))
        shrunk = _ridge_freedom(fit, ridge) if 2 * rows > n else 0.0
        left = freedom_left(fit.factors, np.full(k, n), self.kept, shrunk)
        own = arrays.to_numpy(self.target_scale)
        scale = self._averaged(np.sqrt(np.maximum(squares, 0.0) / left) * own, left)
        change = float(np.std(np.log(scale / own)))
        if change < max(0.1 * float((2 * n) ** -0.5), _NEGLIGIBLE):
            return self
        return self.with_target_scale(scale)

    def _averaged(self, noise: np.ndarray, left: np.ndarray) -> np.ndarray:
        """Noise levels averaged with the scales of the responses, and at least a tenth of these.

        With few degrees of freedom ν estimates are uncertain. So logarithms are averaged, with the
        weights ν/(ν + 2) and 2/(ν + 2).
        """
        deviations = arrays.to_numpy(self.deviations)
        trust = left / (left + PRIOR_FREEDOM)
        return np.maximum(noise**trust * deviations ** (1 - trust), LEAST_NOISE * deviations)

    def fitted_family(self, factors: Factors) -> Family:
        """The family of all responses with the parameters that a fit leaves."""
        family = self.loss.family
        if self.rescales and factors.rank:
            family = self._family_after(factors)
        if self.live_columns is None:
            return family
        from thinrank.losses.families import combined

        index = arrays.to_numpy(self.live_columns).tolist()
        rest = [j for j in range(self.shape[1]) if j not in set(index)]
        return combined([family, self.family.take(rest)], [index, rest])

    def doubts(self, factors: Factors) -> Iterator[str]:
        """That counts are overdispersed, or fitted probabilities or means 0 or 1 up to rounding."""
        if self.has_units.all():
            return
        loss = self.loss
        point = loss.at(factors) if factors.rank else loss.null
        left = freedom_left(factors, _entries(loss), self.kept)
        times = loss.family.overdispersion(loss.Y, point.linear, _relative_weights(loss), left)
        if times > 1:
            yield (
                f"The counts are overdispersed: their variance is about {times:.3g} times that of "
                'the Poisson family. Use family="negative_binomial", for which sizes and held-out '
                "deviances do not depend on a few large counts."
            )
        if factors.rank == 0:
            return
        # of the predictors in use, without intercept and offset
        linear = arrays.to_numpy(point.scores @ (factors.V * loss.unit[:, None]).T)
        plain = ~loss.family.units_of(loss.shape[1]) & (arrays.to_numpy(loss.weights()) > 0)
        extreme = int(np.count_nonzero(plain & (np.abs(linear) > _SEPARATED)))
        if extreme:
            yield (
                f"The fit predicts some responses perfectly ({extreme} entries have a fitted "
                "probability or mean that is 0 up to rounding), so that without a ridge their "
                "coefficients have no finite optimum. Use a larger ridge if their size matters."
            )

    def _family_after(self, factors: Factors) -> Family:
        """The family of the responses in the loss with the parameters that a fit leaves."""
        loss = self.loss
        left = freedom_left(factors, _entries(loss), self.kept)
        linear = loss.null.linear
        if factors.rank:
            linear, left = self._predicted(factors, left)
        family = loss.family.fitted_to(loss.Y, linear, _relative_weights(loss), left)
        if np.any(family.units_of(loss.shape[1])):
            family = family.with_scale(self._averaged(family.scale_of(loss.shape[1]), left))
        return family

    def _predicted(self, factors: Factors, freedom: np.ndarray) -> tuple[Array, np.ndarray]:
        """Linear predictors of all responses by the predictors of a fit, and degrees of freedom.

        What a fit of too low a rank lacks would count as noise, and no later search would find that
        more is worthwhile. So a response that the fit leaves out is regressed on its scores. With
        many missing entries every response is regressed on the predictors of the fit, where an F
        test says that the fit lacks something; else the fit, with fewer coefficients, says more.
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
        entries, free = _entries(loss), 1 if self.kept is None else 1 + self.kept.basis.shape[1]
        left = entries - free - rows.shape[0]
        whole = _regressed(loss, rows)
        lacks = _explains_more(loss, linear, whole, freedom, left) & (left >= _LEAST_LEFT * entries)
        mask = arrays.from_numpy(lacks * 1.0, linear)
        return mask * whole + (1 - mask) * linear, np.where(lacks, left, freedom)

    def with_target_scale(self, scale: np.ndarray) -> Problem:
        """The same problem with the responses divided by other scales."""
        moved = arrays.from_numpy(scale, self.loss.prototype)
        scale = arrays.to_numpy(moved)  # in the dtype of the data
        loss = self.loss.with_target_scale(scale / arrays.to_numpy(self.target_scale))
        return replace(self, loss=loss, target_scale=moved)

    def target_units(self) -> np.ndarray | None:
        """What responses are divided by, 0 for those left out; None if unscaled or a family."""
        if self.target_scale is None or self.family is not None:
            return None
        units = _scattered(self.target_scale, self.live_columns, self.shape[1])
        return arrays.to_numpy(units).astype(np.float64)

    def with_target_units(self, units: np.ndarray) -> Problem:
        """The same problem with the responses divided by what :meth:`target_units` returned."""
        if self.target_scale is None:
            return self
        if self.live_columns is not None:
            units = units[arrays.to_numpy(self.live_columns)]
        return self.with_target_scale(units)

    # ------------------------------------------------------------------ the user's units

    def limited(self, rank: int, rows: int | None, columns: int | None) -> tuple[int, int, int]:
        """The sizes, limited by the numbers of predictors and responses that are not constant."""
        p, k = self.loss.shape
        rows = p if rows is None else min(rows, p)
        columns = k if columns is None else min(columns, k)
        return min(rank, rows, columns), rows, columns

    def to_user(self, factors: Factors) -> tuple[Factors, Array, Array | None]:
        """Coefficients, intercept and coefficients of forced predictors, in the user's units."""
        user = factors.compact()
        if self.target_scale is not None:
            user = user.with_column_units(self.target_scale)
        U = _scattered(user.U, self.live_rows, self.shape[0])
        V = _scattered(user.V, self.live_columns, self.shape[1])
        user = Factors(U, V).with_units(self.columns.inverse_scale)
        mean, loadings = self._free_coefficients(factors)
        intercept = arrays.zeros((user.shape[1],), like=user.V)
        if mean is not None:
            means = arrays.take_rows(self.columns.center, user.row_support)
            intercept = mean - user.V @ (user.rows_in_use.T @ means)
        kept = None
        if self.kept is not None:
            own = loadings - (self.columns.loadings @ user.U) @ user.V.T
            kept = self.kept.coefficients(own).T
            if mean is not None:
                intercept = intercept - kept @ self.kept.center
        if self.family is None:
            return user, intercept, kept
        for block in self.family.blocks(self.shape[1]):
            intercept = _centred(intercept, block)  # only differences between categories matter
            kept = None if kept is None else _centred(kept, block)
        if self.live_columns is not None:
            own = arrays.take_rows(intercept, self.live_columns)
            intercept = arrays.put_rows(self.intercepts + 0, self.live_columns, own)  # a copy
        return user, intercept, kept

    def _free_coefficients(self, factors: Factors) -> tuple[Array | None, Array | None]:
        """Intercepts of centered predictors, and loadings of the kept ones; None for none."""
        if self.targets is not None:
            return self.targets.center, self.targets.loadings
        free = self.loss.at(factors if factors.rank else self.loss.null.factors).free
        free = _scattered(free.T, self.live_columns, self.shape[1]).T
        return (None, free) if self.columns.center is None else (free[0, :], free[1:, :])

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


def _least_squares(
    data: TrainingData, X: Design, kept: KeptBasis | None, *, center: bool, scale: bool
) -> dict[str, Any]:
    """Least squares of complete responses, in units of their standard deviations."""
    Y, weight = data.Y, data.sample_weight
    responses = standardize(Dense(Y), sample_weight=weight, center=center, scale=scale, kept=kept)
    targets, live_columns, deviations = responses.design, None, None
    if scale and arrays.norm(responses.scale) > 0:
        live_columns, deviations = live(responses.scale), responses.scale
    elif scale or (center and _all_constant(Y, weight)):
        targets = Dense(arrays.zeros(targets.shape, Y))  # without rounding errors
    if live_columns is not None:
        targets = ColumnSubset(targets, live_columns)
        deviations = arrays.take_rows(deviations, live_columns)
    return {
        "loss": LeastSquares(X, targets, sample_weight=weight),
        "targets": responses,
        "target_scale": deviations,
        "deviations": deviations,
        "live_columns": live_columns,
        "rescales": deviations is not None and targets.shape[1] > 1,
    }


def _any_family(
    data: TrainingData, X: Design, kept: KeptBasis | None, *, center: bool, plain: bool
) -> dict[str, Any]:
    """A generalized linear model of what varies; ``plain``: squared errors keep their units."""
    from thinrank.losses.families import Gaussian
    from thinrank.losses.generalized_linear import GeneralizedLinear

    Y, entries = data.Y, data.entry_weight
    every: Any = data.family
    family, intercepts = every, every.null_link(Y, entries)
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
        free=free_columns(data.design, center, None if kept is None else kept.basis),
        least_ridge=0.0 if bool(np.all(family.units_of(Y.shape[1]))) else _LEAST_RIDGE,
    )
    plain = plain and type(family) is Gaussian and family.scale is None
    deviations = np.ones(loss.shape[1])
    rescales = family.has_parameters and not plain
    if rescales:
        freedom = freedom_left(loss.null.factors, _entries(loss), kept)
        family = family.fitted_to(Y, loss.null.linear, _relative_weights(loss), freedom)
        deviations = family.scale_of(loss.shape[1])
    if not plain:
        loss = _in_own_units(loss, family)
    return {
        "loss": loss,
        "targets": None,
        "target_scale": loss.unit,
        "deviations": deviations,
        "live_columns": live_columns,
        "family": every,
        "intercepts": intercepts,
        "rescales": rescales,
    }


def live(scale: Array) -> Array | None:
    """Indices where a scale is not zero; None when that is everywhere or nowhere."""
    live = np.flatnonzero(arrays.to_numpy(scale) > 0)
    return None if len(live) in (0, scale.shape[0]) else arrays.indices(live, scale)


def _scattered(block: Array, index: Array | None, count: int) -> Array:
    """Rows in their places, with zeros between them; as they are without an index."""
    return block if index is None else arrays.scatter_rows(block, index, count)


def _all_constant(Y: Array, weight: Array | None) -> bool:
    """Whether every response has the same value in all rows of positive weight."""
    rows = Y if weight is None else arrays.take_rows(Y, arrays.true_positions(weight > 0))
    return bool(arrays.namespace(Y).all(rows == rows[:1, :]))


def freedom_left(
    factors: Factors, entries: np.ndarray, kept: KeptBasis | None, shrunk: float = 0.0
) -> np.ndarray:
    """Entries minus degrees of freedom, at least half; ``shrunk``: rows that a ridge takes off."""
    share = np.zeros(factors.shape[1])
    share[arrays.to_numpy(factors.column_support)] = share_of_freedom(factors, shrunk)
    free = 1 if kept is None else 1 + kept.basis.shape[1]
    return np.maximum(entries - free - share, entries / 2)


def share_of_freedom(factors: Factors, shrunk: float = 0.0) -> float:
    """Degrees of freedom of a fit per response in use: (s₁ + s₂ − r)·r/s₂, 0 for rank 0."""
    rows, columns = factors.row_support.shape[0] - shrunk, factors.column_support.shape[0]
    if not columns:
        return 0.0
    return (rows + columns - factors.rank) * factors.rank / columns


def _ridge_freedom(fit: Any, ridge: float) -> float:
    """The degrees of freedom that a ridge takes from the rows of a fit by pursuit."""
    root = getattr(fit, "root", None)
    if not ridge or root is None or root.shape[0] == 0:
        return 0.0
    return root.shape[1] - root.shape[0] + ridge * arrays.norm(root) ** 2


def _explains_more(
    loss: GeneralizedLinear, fit: Array, whole: Array, freedom: np.ndarray, left: np.ndarray
) -> np.ndarray:
    """Whether an F test says that a fit lacks something that regressions explain, per response.

    Shapes: ``fit``, ``whole`` (n_samples, n_targets), ``freedom``, ``left`` (n_targets,).
    """
    weight, Y = arrays.to_numpy(_relative_weights(loss)), arrays.to_numpy(loss.Y)
    before, after = (
        np.sum(np.where(weight > 0, weight * (Y - arrays.to_numpy(each)) ** 2, 0.0), axis=0)
        for each in (fit, whole)
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
    # probabilities and means may be 0 up to rounding; noise levels have any size
    counts = arrays.from_numpy(1.0 - family.units_of(loss.shape[1]), mean)
    floor = arrays.eps(mean) * max(float(xp.max(mean * counts)), 1e-300)
    return loss.with_family(family, 1.0 / xp.sqrt(xp.maximum(mean, floor * counts)))


def _varying(Y: Array, weight: Array | None, family: Family) -> Array | None:
    """Columns whose observed entries, or those of another category, vary; None for all or none."""
    numbers = arrays.to_numpy(Y)
    observed = np.ones(numbers.shape) if weight is None else arrays.to_numpy(weight)
    observed = observed > 0
    low = np.where(observed, numbers, np.inf).min(axis=0)
    high = np.where(observed, numbers, -np.inf).max(axis=0)
    found = family.whole(np.flatnonzero(high > low), numbers.shape[1])
    if len(found) in (0, numbers.shape[1]):
        return None
    return arrays.indices(found, Y)


def free_columns(design: Design, intercept: bool, basis: Array | None) -> Array | None:
    """The column of ones and the basis of the kept predictors."""
    ones = [arrays.zeros((design.shape[0], 1), design.prototype) + 1] if intercept else []
    parts = ones if basis is None else [*ones, basis]
    return arrays.namespace(design.prototype).concat(parts, axis=1) if parts else None


def _centred(values: Array, block: Sequence[int] | np.ndarray) -> Array:
    """Values with the mean of some rows taken off these."""
    index = arrays.indices(block, values)
    rows = arrays.take_rows(values, index)
    return arrays.put_rows(values, index, rows - arrays.namespace(rows).mean(rows, axis=0))
