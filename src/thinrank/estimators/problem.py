"""The data and the result of a fit, and the problem in the units of the solver in between."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

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
    from thinrank.estimators.extreme_units import Units
    from thinrank.losses.families import Family

# The noise in a response is taken to be at least this fraction of its standard deviation, so that
# a response that is explained almost completely does not outweigh all others. Rule of thumb.
LEAST_NOISE = 0.1
# With this many degrees of freedom an estimate of the noise has the same weight as the standard
# deviation of the response. Rule of thumb.
PRIOR_FREEDOM = 2.0
# Scales are about the same if their logarithms differ by less than this. Rule of thumb.
_SAME_SCALE = 0.1
# Typical relative changes of scales that are never worth another fit.
_NEGLIGIBLE = 0.005


class TrainingData(NamedTuple):
    """The data of a fit, in the user's units or those divided by ``units``."""

    design: Design  # (n_samples, n_features) predictors
    Y: Array  # (n_samples, n_targets) responses; any finite number where an entry is missing
    sample_weight: Array | None = None  # (n_samples,) weights of the rows
    # (n_samples, n_targets) weights of the entries, 0 for missing ones
    entry_weight: Array | None = None
    family: Family | None = None  # None for least squares with all entries
    offset: Array | None = None  # (n_samples, n_targets) offsets
    kept: np.ndarray = np.empty(0, dtype=np.int64)  # predictors that are always kept, sorted
    units: Units | None = None  # what the columns were divided by, if the user's are extreme
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
    n_iter: int = 0  # of the final fit
    status: Status | None = None
    history: History | None = None
    messages: Sequence[str] = ()  # what the user was warned of
    # (n_features,) standard deviations of the predictors, if they were computed for the fit
    feature_scale: Array | None = None
    # (n_columns,) share explained of each response in held-out rows; None if the sizes were not
    # chosen by it
    held_out_r2: np.ndarray | None = None
    # (n_columns,) what the final fit divided the responses by; None if it did not scale them
    target_units: np.ndarray | None = None
    # (n_samples, rank) XU minus its means, and these means, if the fit knows them
    scores: tuple[Array, Array] | None = None
    moments: Any = None  # of all rows, if these are not in memory


@dataclass(frozen=True, eq=False)
class KeptPredictors:
    """The columns Z of X that are always kept, and what they explain of X and Y."""

    index: np.ndarray  # their sorted indices
    values: Array  # (n_samples, n_kept) Z
    basis: KeptBasis  # the basis of Z, centred if there is an intercept
    # loadings of X and, for least squares, of Y, in the user's units; None before they are computed
    loadings_x: Array | None = None
    loadings_y: Array | None = None

    @property
    def rank(self) -> int:
        """Number of coefficients per response that can be told apart."""
        return self.basis.basis.shape[1]

    def others(self, scale: Array) -> Array:
        """Sorted indices of the other predictors that have a positive scale; all if none has."""
        others = np.setdiff1d(np.arange(scale.shape[0]), self.index)
        live = others[arrays.to_numpy(scale)[others] > 0]
        return arrays.indices(live if len(live) else others, scale)

    def coefficients(self, factors: Factors, loadings: Any) -> Array:
        """Coefficients of shape (n_targets, n_kept), for coefficients Θ of the others.

        ``loadings`` are those of the responses, or of their linear predictors.
        """
        own = loadings - (self.loadings_x @ factors.U) @ factors.V.T
        return self.basis.coefficients(own).T


@dataclass(frozen=True, eq=False)
class Problem:
    """Centred, scaled and weighted data as a loss; here least squares of complete responses.

    If the predictors are scaled, those that are constant are left out, and so are responses that
    are scaled; every response is divided by a scale of its own. So nothing depends on the units of
    any predictor or response, nor on the number of constant ones.

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

    @classmethod
    def prepare(
        cls, data: TrainingData, *, fit_intercept: bool, standardize_columns: bool, scale: bool
    ) -> Problem:
        """Take means and scales out of the data, without copying X.

        ``scale`` says whether the responses are scaled, too.
        """
        weight = data.sample_weight
        X, columns, live_rows, kept = standardized_predictors(
            data, fit_intercept, standardize_columns
        )
        basis = None if kept is None else kept.basis
        Y = data.Y
        responses = standardize(
            Dense(Y), sample_weight=weight, center=fit_intercept, scale=scale, kept=basis
        )
        if kept is not None:
            kept = replace(kept, loadings_y=responses.loadings)
        targets, live_columns, deviations = responses.design, None, None
        if scale and arrays.norm(responses.scale) > 0:
            live_columns, deviations = live(responses.scale), responses.scale
        elif scale or (fit_intercept and _all_constant(Y, weight)):
            targets = Dense(arrays.zeros(targets.shape, Y))  # without rounding errors
        if live_columns is not None:
            targets = ColumnSubset(targets, live_columns)
            deviations = arrays.take_rows(deviations, live_columns)
        return cls(
            LeastSquares(X, targets, sample_weight=weight),
            columns,
            responses.center,
            deviations,
            deviations,
            live_rows,
            live_columns,
            (data.design.shape[1], Y.shape[1]),
            kept,
        )

    # ------------------------------------------------------------------ what a search asks

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

        The residual sums of squares are divided by ν = n − 1 − q − (s₁ + s₂ − r)·r/s₂, where q is
        the number of predictors that are always kept and the last term is the share of a response
        in use in the degrees of freedom of the fit, but not by less than n/2. As the estimate is
        uncertain with few samples, it is averaged on the logarithmic scale with the standard
        deviation of the response, with weights ν/(ν + 2) and 2/(ν + 2).

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
        shrunk = _ridge_freedom(fit, ridge) if 2 * rows > n else 0.0
        left = freedom_left(fit.factors, np.full(len(total), n), self.kept, shrunk)
        trust = left / (left + PRIOR_FREEDOM)
        found, deviation = np.sqrt(np.maximum(squares, 0.0) / left), np.sqrt(total / n)
        noise = found**trust * deviation ** (1 - trust)
        own, deviations = arrays.to_numpy(self.target_scale), arrays.to_numpy(self.deviations)
        scale = np.maximum(noise * own, LEAST_NOISE * deviations)
        change = float(np.std(np.log(scale / own)))
        if change < max(0.1 * float((2 * n) ** -0.5), _NEGLIGIBLE):
            return self
        return self.with_target_scale(scale)

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
            intercept = intercept - kept @ self.kept.basis.center
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


def standardized_predictors(
    data: TrainingData, center: bool, scale: bool
) -> tuple[Design, Standardization, Array | None, KeptPredictors | None]:
    """X in the solver's units, what was done to it, its columns in use, and the kept predictors."""
    design, weight, kept, basis = data.design, data.sample_weight, None, None
    if len(data.kept):
        values = design.columns(arrays.indices(data.kept, design.prototype))
        basis = kept_basis(values, like=design.prototype, sample_weight=weight, center=center)
        kept = KeptPredictors(data.kept, values, basis)
    columns = standardize(design, sample_weight=weight, center=center, scale=scale, kept=basis)
    used = live(columns.scale) if scale else None
    if kept is not None:
        kept = replace(kept, loadings_x=columns.loadings)
        used = kept.others(columns.scale)
    X = columns.design if used is None else ColumnSubset(columns.design, used)
    return X, columns, used, kept


def live(scale: Array) -> Array | None:
    """Indices where a scale is not zero; None when that is everywhere or nowhere."""
    live = np.flatnonzero(arrays.to_numpy(scale) > 0)
    return None if len(live) in (0, scale.shape[0]) else arrays.indices(live, scale)


def _all_constant(Y: Array, weight: Array | None) -> bool:
    """Whether every response has the same value in all rows of positive weight."""
    rows = Y if weight is None else arrays.take_rows(Y, arrays.true_positions(weight > 0))
    return bool(arrays.namespace(Y).all(rows == rows[:1, :]))


def freedom_left(
    factors: Factors, entries: np.ndarray, kept: KeptPredictors | None, shrunk: float = 0.0
) -> np.ndarray:
    """Entries of every response minus its share of the degrees of freedom, at least half.

    ``shrunk`` is what a ridge takes from the number of rows.
    """
    share = np.zeros(factors.shape[1])
    share[arrays.to_numpy(factors.column_support)] = share_of_freedom(factors, shrunk)
    free = 1 if kept is None else 1 + kept.rank
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
