"""The data of a baseline: dense NumPy arrays, centered, scaled and weighted."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.sparse.linalg import LinearOperator
from sklearn.base import BaseEstimator

from thinrank import arrays
from thinrank.core.contracts import Design, is_design
from thinrank.core.factors import Factors
from thinrank.designs import Dense, Standardization, standardize
from thinrank.estimators.problem import FitResult
from thinrank.estimators.validation import (
    check_magnitudes,
    check_predictors,
    check_responses,
    check_weights,
    plain_responses,
)
from thinrank.solvers.reduced_rank import ThinSVD, reduced_rank_from_svd, thin_svd

# Directions of X with singular values below this fraction of the largest are left out of reduced
# rank regression. The coefficients of two predictors that differ by 1e-8 of their size would be
# tens of millions, of opposite signs, and say nothing but noise. Rule of thumb: in such a direction
# the predictors have 1e-12 of the variance in the strongest one.
NEARLY_DEPENDENT = 1e-6


@dataclass(frozen=True)
class TrainingSample:
    """Training data in the user's units."""

    X: np.ndarray  # (n_samples, n_features)
    Y: np.ndarray  # (n_samples, n_targets)
    # (n_samples,) weights of the rows. Rows of weight 0 are kept, so that the indices of a splitter
    # remain valid
    weight: np.ndarray | None
    single_target: bool  # whether the user's Y was one-dimensional

    @classmethod
    def read(cls, estimator: BaseEstimator, X: Any, y: Any, sample_weight: Any) -> TrainingSample:
        """Validate the arguments of ``fit`` and make them dense, in double precision."""
        y = plain_responses(y)
        design = check_predictors(estimator, X, y, numeric=True)
        target = check_responses(estimator, y, design)
        own_type = is_design(X) or isinstance(X, LinearOperator)
        if own_type or not isinstance(design.prototype, np.ndarray):
            raise ValueError(
                f"X must be a NumPy array, a data frame or a scipy sparse matrix for "
                f"{type(estimator).__name__}, got {type(X).__name__}"
            )
        for name, given in (("X", design), ("Y", Dense(np.atleast_2d(target)))):
            check_magnitudes(name, given)
        # the sum of the weights counts as the number of rows in some thresholds
        weight = check_weights(sample_weight, design, unit_mean=False)
        single = target.ndim == 1
        Y = np.asarray(target, dtype=np.float64)
        if weight is not None:
            weight = np.asarray(weight, dtype=np.float64)
        return cls(_dense(design), Y[:, None] if single else Y, weight, single)

    def rows(self, index: np.ndarray) -> TrainingSample:
        """The rows with the given indices."""
        weight = None if self.weight is None else self.weight[index]
        return TrainingSample(self.X[index], self.Y[index], weight, self.single_target)

    def prepared(self, fit_intercept: bool, standardize_columns: bool) -> Prepared:
        """Centre and scale the columns, and multiply the rows by the roots of their weights."""
        used = self if self.weight is None else self.rows(np.flatnonzero(self.weight))
        columns = standardize(
            Dense(used.X),
            sample_weight=used.weight,
            center=fit_intercept,
            scale=standardize_columns,
        )
        X, mean = _dense(columns.design), None
        Y = used.Y
        if fit_intercept:
            mean = np.average(Y, axis=0, weights=used.weight)
            # exactly zero if constant, which a difference from the mean need not be
            Y = np.where(np.ptp(Y, axis=0) > 0, Y - mean, 0.0)
        typical = 1.0
        if used.weight is not None:
            # with weights of mean 1, 1/(2n) is one over twice the sum of the weights
            typical = float(used.weight.mean())
            root = np.sqrt(used.weight / typical)[:, None]
            X, Y = X * root, Y * root
        return Prepared(np.asfortranarray(X), np.asfortranarray(Y), columns, mean, typical)


@dataclass(frozen=True)
class Prepared:
    """Data prepared for minimizing 1/(2n)·‖Y − XΘ‖² with a penalty or constraint."""

    X: np.ndarray  # (n_samples, n_features) predictors: centered, scaled and weighted
    Y: np.ndarray  # (n_samples, n_targets) responses: centered and weighted
    columns: Standardization  # centers and scales of the columns of X
    target_mean: np.ndarray | None  # (n_targets,) means that were subtracted from Y
    # mean of the sample weights. The rows are multiplied by the roots of weights of mean 1, so sums
    # over rows are multiplied by this to be in units of the user's weights
    mean_weight: float = 1.0

    @property
    def shape(self) -> tuple[int, int, int]:
        """Numbers of samples, predictors and responses: (n, p, k)."""
        return self.X.shape[0], self.X.shape[1], self.Y.shape[1]

    @cached_property
    def cross(self) -> np.ndarray:
        """XᵀY, computed once for a whole path."""
        return self.X.T @ self.Y

    @cached_property
    def svd(self) -> ThinSVD:
        """Decomposition of X, computed once for all ranks and ridges."""
        return thin_svd(self.X, NEARLY_DEPENDENT)

    def reduced_rank(self, rank: int, ridge: float = 0.0) -> Factors:
        """Reduced-rank regression of Y on X, with orthonormal V."""
        return reduced_rank_from_svd(self.svd, self.Y, rank, ridge)

    def to_user(self, factors: Factors) -> FitResult:
        """Convert coefficients to the user's units, and compute the intercept."""
        user = factors.balanced().with_units(self.columns.inverse_scale)
        # rounding errors of decompositions must not put a constant response into the support
        user = Factors(user.U, np.where(np.any(self.Y != 0, axis=0)[:, None], user.V, 0.0))
        intercept = np.zeros(user.shape[1])
        if self.target_mean is not None:
            intercept = self.target_mean - user.V @ (user.U.T @ self.columns.center)
        return FitResult(user, intercept)


def _dense(design: Design) -> np.ndarray:
    everything = arrays.indices(range(design.shape[1]), design.prototype)
    return np.asarray(design.columns(everything), dtype=np.float64)
