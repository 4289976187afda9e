"""A regression in the units of the solver, and the conversion to those of the user."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

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
from thinrank.estimators.kept import KeptPredictors
from thinrank.losses import LeastSquares

# The noise in a response is taken to be at least this fraction of its standard deviation, so that
# a response that is explained almost completely does not outweigh all others. Rule of thumb.
MIN_NOISE = 0.1
# With this many degrees of freedom an estimate of the noise has the same weight as the standard
# deviation of the response. Rule of thumb.
PRIOR_FREEDOM = 2.0
# Scales are about the same if their logarithms differ by less than this. Rule of thumb.
_SAME_SCALE = 0.1
# Typical relative changes of scales that are never worth another fit.
_NEGLIGIBLE = 0.005


@dataclass(frozen=True)
class Problem:
    """Centred, scaled and weighted data as a loss.

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
    target_scale: Array | None  # (n_live_targets,) what the responses were divided by
    deviations: Array | None  # (n_live_targets,) standard deviations of the responses
    # predictors and responses that are not constant, nor explained by those that are always kept;
    # None for all
    live_rows: Array | None
    live_columns: Array | None
    shape: tuple[int, int]  # shape of Θ in the user's units, (p, k)
    kept: KeptPredictors | None = None  # the predictors that are always kept

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
        make_loss: Callable[..., Any] = LeastSquares,
        keep: np.ndarray | None = None,
    ) -> Problem:
        """Take means and scales out of the data, without copying X."""
        shape = (design.shape[1], Y.shape[1])
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
        dense = Dense(Y)
        responses = standardize(
            dense, sample_weight=weight, center=fit_intercept, scale=scale_targets, kept=basis
        )
        targets: Design = Transformed(dense, center=responses.center)
        live_rows = live(columns.scale) if standardize_columns else None
        if kept is not None:
            kept = replace(kept, loadings_x=columns.loadings, loadings_y=responses.loadings)
            assert responses.loadings is not None
            targets = Deflated(targets, Factors(kept.basis.basis, responses.loadings.T))
            if not (scale_targets and arrays.norm(responses.scale) > 0):
                targets = responses.design  # explained responses are zero, without rounding errors
            live_rows = kept.others(columns.scale)
        live_columns = live(responses.scale) if scale_targets else None
        X = columns.design if live_rows is None else ColumnSubset(columns.design, live_rows)
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
        loss = make_loss(X, targets, sample_weight=weight)
        mean = responses.center
        return cls(loss, columns, mean, scale, scale, live_rows, live_columns, shape, kept)

    def with_ridge(self, ridge: float) -> Problem:
        """The same problem with another ridge; nothing is computed again."""
        return replace(self, loss=self.loss.with_ridge(ridge))

    def with_noise(self, noise: Array) -> Problem:
        """The same problem with every response divided by the noise in it.

        Shapes: ``noise`` (n_live_targets,).
        """
        return self if self.target_scale is None else self.with_target_scale(self.scale_of(noise))

    def scale_of(self, noise: Array) -> np.ndarray:
        """What :meth:`with_noise` divides the responses by."""
        assert self.target_scale is not None
        assert self.deviations is not None
        own, deviations = arrays.to_numpy(self.target_scale), arrays.to_numpy(self.deviations)
        return np.maximum(arrays.to_numpy(noise) * own, MIN_NOISE * deviations)

    def with_target_scale(self, scale: np.ndarray) -> Problem:
        """The same problem with the responses divided by other scales."""
        moved = arrays.from_numpy(scale, self.loss.prototype)
        scale = arrays.to_numpy(moved)  # in the dtype of the data
        loss = self.loss.with_target_scale(scale / arrays.to_numpy(self.target_scale))
        return replace(self, loss=loss, target_scale=moved)

    @property
    def negligible_change(self) -> float:
        """Relative changes of the scales of responses that cannot matter.

        It is a tenth of the standard error of a noise level. Changes of about the standard error
        do matter: with them other predictors are chosen among correlated ones.
        """
        return 0.1 * float((2 * self.loss.samples) ** -0.5)

    def has_about_the_scales_of(self, other: Problem) -> bool:
        """Whether the scales of the responses are those of another problem times one number.

        All relative differences must be below a tenth, apart from a common factor, which does not
        change which coefficients are the best.
        """
        if self.target_scale is None or other.target_scale is None:
            return self.target_scale is other.target_scale
        change = np.log(arrays.to_numpy(self.target_scale) / arrays.to_numpy(other.target_scale))
        return bool(np.all(np.abs(change - np.mean(change)) < _SAME_SCALE))

    def has_nearly_the_scale(self, scale: np.ndarray) -> bool:
        """Whether scales differ by too little for another fit, apart from a common factor."""
        change = float(np.std(np.log(scale / arrays.to_numpy(self.target_scale))))
        return change < max(self.negligible_change, _NEGLIGIBLE)

    def noise_matters(self, rows: int, ridge: float = 0.0) -> bool:
        """Whether to weight the responses by the noise, estimated from a fit with ``rows`` rows.

        False without standardisation, for a single response, and without ridge if there are more
        rows than half of the samples, since the residuals of such a fit say little about the noise.
        """
        able = "target_scale" in self.loss.capabilities and self.loss.shape[1] > 1
        few = ridge > 0 or 2 * rows <= self.loss.samples
        return able and self.target_scale is not None and few

    @property
    def weights_by_noise(self) -> bool:
        """Whether a search weights the responses by the noise in them."""
        return self.noise_matters(0)

    def left_by(self, fit: Any) -> np.ndarray | None:
        """The part of the squares of each response that a fit without ridge leaves, if known."""
        explained = getattr(fit, "explained", None)
        if explained is None:
            return None
        return 1 - self.loss.samples * arrays.to_numpy(explained) / self.loss.target_squares()

    def noise(
        self, factors: Factors, left: np.ndarray | None = None, shrunk: float = 0.0
    ) -> np.ndarray:
        """Standard deviations of the noise in the responses, in the units of the loss.

        They are estimated from the residuals of a fit. The sums of squares are divided by
        ν = n − 1 − q − (s₁ + s₂ − r)·r/s₂, where q is the number of predictors that are always
        kept and the last term is the share of a response in use in the degrees of freedom of the
        fit, but not by less than n/2. As the estimate is uncertain
        with few samples, it is averaged on the logarithmic scale with the standard deviation of
        the response, with weights ν/(ν + 2) and 2/(ν + 2).

        Shapes: ``left`` (n_live_targets,), result (n_live_targets,).
        """
        # few numbers, many operations: on the host
        total, n = self.loss.target_squares(), self.loss.samples
        residual = self.loss.residual_squares(factors) if left is None else left * total
        squares = np.maximum(arrays.to_numpy(residual), 0.0)
        used = np.zeros_like(squares)
        used[arrays.to_numpy(factors.column_support)] = share_of_freedom(factors, shrunk)
        taken = 1 if self.kept is None else 1 + self.kept.rank
        freedom = np.maximum(n - taken - used, n / 2)
        trust = freedom / (freedom + PRIOR_FREEDOM)
        noise, deviation = np.sqrt(squares / freedom), np.sqrt(total / n)
        return noise**trust * deviation ** (1 - trust)

    def in_units_of(self, other: Problem, factors: Factors) -> Factors:
        """Convert coefficients to the units of a problem with other scales of the responses.

        They are not balanced, unless the units are the same.
        """
        if self is other or self.target_scale is None or other.target_scale is None:
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
        intercept = arrays.zeros((user.shape[1],), like=user.V)
        if self.target_mean is not None:
            intercept = self.target_mean - user.V @ self._mean_scores(user)
        if self.kept is None:
            return user, intercept, None
        kept = self.kept.coefficients(user)
        if self.target_mean is not None:
            intercept = intercept - self.kept.at_means(kept)
        return user, intercept, kept

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


def share_of_freedom(factors: Factors, shrunk: float = 0.0) -> float:
    """Degrees of freedom of a fit per response in use: (s₁ + s₂ − r)·r/s₂, 0 for rank 0."""
    rows, columns = factors.row_support.shape[0] - shrunk, factors.column_support.shape[0]
    if not columns:
        return 0.0
    return (rows + columns - factors.rank) * factors.rank / columns


def live(scale: Array) -> Array | None:
    """Indices where a scale is not zero; None when that is everywhere or nowhere."""
    live = np.flatnonzero(arrays.to_numpy(scale) > 0)
    return None if len(live) in (0, scale.shape[0]) else arrays.indices(live, scale)


def _all_constant(Y: Array, weight: Array | None) -> bool:
    """Whether every response has the same value in all rows of positive weight."""
    rows = Y if weight is None else arrays.take_rows(Y, arrays.true_positions(weight > 0))
    return bool(arrays.namespace(Y).all(rows == rows[:1, :]))


def _divided(targets: Design, scale: Array | None) -> Design:
    if scale is None:
        return targets
    return Transformed(targets, column_scale=arrays.divide_or_zero(1.0, scale))
