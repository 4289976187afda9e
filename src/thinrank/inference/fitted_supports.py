"""The data and the supports of a fitted regressor, ready for inference."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from scipy import linalg, stats
from sklearn.base import clone

from thinrank.estimators.base import FactorRegressor
from thinrank.estimators.fitted_data import dense_columns, fitted_data
from thinrank.estimators.validation import check_new_X
from thinrank.inference.structure import DEPENDENT
from thinrank.inference.tangent_model import (
    SUFFICIENCY_LEVEL,
    LowRankFit,
    TangentModel,
    sufficient_rank,
)
from thinrank.minimize import check_size

# Squared size of the weakest layer, relative to the largest layer of noise alone, below which the
# low rank is not used: a layer that the fit misses hides where the noise is, and biases what is
# projected. Non-zero coefficients with noise that responses share, n = 200, p = 80, k = 8, even
# seeds (49 fits each, strong and weak signals): with 5 intervals cover 93.6 and 94.4 %, with 20
# 94.6 and 94.8 %, without the low rank 94.9 and 94.8 % (benchmarks/inference.py intervals).
_CLEAR_LAYER = 20.0
# Degrees of freedom per predictor from which all predictors are adjusted for: intervals are 1.4 to
# 1.6 times as wide as with those of the fit, and cover 94.3 to 94.9 % of non-zero coefficients in
# place of 93.6 to 94.8, and 62 to 83 % of zeros that the fit selected in place of 43 to 72
# (docs/benchmarks/inference_intervals.md).
_ROWS_FOR_ALL = 2


class FittedSupports:
    """Data without intercept and kept predictors, and what a fit selected.

    ``adjust`` and ``rank`` are those of :func:`confidence_intervals`; of what can be estimated,
    ``of``, only layers need the low rank.
    """

    def __init__(
        self, est: Any, X: Any, Y: Any, adjust: str, rank: int | str | None, of: str
    ) -> None:
        if isinstance(est, FactorRegressor) and not hasattr(est, "factors_"):
            est = clone(est).fit(X, Y)
        data = fitted_data(est, X, Y)
        self.estimator, self.asked_rank, self.layers = est, rank, of == "layers"
        self.kept = np.asarray(est.kept_, dtype=np.int64)
        self.predictor_names, self.response_names = data.predictor_names, data.response_names
        dense, target = dense_columns(data.design), data.Y
        lengths = np.linalg.norm(dense, axis=0)
        # (n_features,) means, which are taken off, so that large ones do not hide what varies
        self.means = dense.mean(axis=0) if est.fit_intercept else np.zeros(dense.shape[1])
        dense = dense - self.means
        # (n_samples, used) the intercept and the predictors that are always kept, and the
        # coefficients and residuals of X and Y in a regression on them
        self.basis = _basis(dense, est.fit_intercept, self.kept)
        self.X_basis, self.Y_basis = (np.linalg.pinv(self.basis) @ A for A in (dense, target))
        self.X, self.Y = dense - self.basis @ self.X_basis, target - self.basis @ self.Y_basis
        squares, used = np.sum(dense**2, axis=0), self.basis.shape[1]
        alive = np.sum(self.X**2, axis=0) > DEPENDENT * squares
        alive &= squares > (1e-12 * lengths) ** 2  # others are rounding errors
        self.constant = ~alive  # predictors of which nothing is left
        if np.any(np.abs(self.Y).max() * 1e-150 > squares[alive] ** 0.5):
            raise ValueError(
                "the coefficients of X and Y are so large that their squares overflow: divide Y, "
                "or multiply X, by a constant"
            )
        rows = np.asarray(est.row_support_, dtype=np.int64)
        self.columns = np.asarray(est.column_support_, dtype=np.int64)
        freedom = len(dense) - used
        if adjust == "auto":
            enough = of == "coefficients" and freedom >= _ROWS_FOR_ALL * int(alive.sum()) > 0
            adjust = "all" if enough and _independent(self.X[:, alive]) else "supports"
        _check_degrees(adjust, freedom, rows, int(alive.sum()))
        self.adjust = adjust
        self.fitted_rank = est.factors_.rank
        selected = self.X[:, rows], self.Y[:, self.columns]
        self.rank = _own_rank(*selected, rank, self.fitted_rank, used)
        # predictors that the fit lacks but the data show clearly, and those of the model
        self.added = np.empty(0, dtype=np.int64)
        if self.rank:
            self.added = _missed_rows(self.X, self.Y, rows, self.columns, self.rank, used, alive)
        self.rows = np.union1d(rows, self.added).astype(np.int64)
        # predictors that are adjusted for: those of the model, or all
        self.adjusted = self.rows if adjust == "supports" else np.flatnonzero(alive)

    @cached_property
    def model(self) -> TangentModel:
        """The model on the predictors that are adjusted for."""
        doubtful = self.asked_rank == "auto" and not self.layers and self.unclear_layer
        projected = self.asked_rank is not None and not doubtful
        return TangentModel(*self._data(self.adjusted), projected=projected)

    @cached_property
    def unclear_layer(self) -> bool:
        """Whether the rank is low and the weakest layer hardly exceeds the noise."""
        low = 0 < self.rank < min(len(self.rows), len(self.response_names))
        return low and LowRankFit(*self._data(self.rows)).weakest_layer < _CLEAR_LAYER

    def _data(self, adjusted: np.ndarray) -> tuple[Any, ...]:
        """What :class:`LowRankFit` takes, with these predictors adjusted for."""
        support, used = np.searchsorted(adjusted, self.rows), self.basis.shape[1]
        return self.X[:, adjusted], self.Y, self.columns, self.rank, support, used

    def each_added(self, predictors: np.ndarray, R: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Coefficients of predictors, each added to those adjusted for, times R; their variances.

        Shapes: ``predictors`` (m,), ``R`` (k, q), results (m, q).
        """
        df, noise = self.model.df, np.sum(R * (self.model.noise @ R), axis=0)
        rest, squares = residual_columns(self.X[:, predictors], self.model.A)
        squares = np.where(squares > 0, squares, np.nan)[:, None]
        estimate = rest.T @ (self.Y @ R) / squares
        # the noise with this predictor in the model, too
        without = np.maximum(df * noise - estimate**2 * squares, 0.0) / (df - 1)
        return estimate, without / squares

    def new_rows(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        """New rows of X: their part in the basis, and the rest of the adjusted predictors."""
        dense = dense_columns(check_new_X(self.estimator, X)) - self.means
        basis = _basis(dense, self.estimator.fit_intercept, self.kept)
        return basis, (dense - basis @ self.X_basis)[:, self.adjusted]


def _own_rank(A: np.ndarray, Y: np.ndarray, rank: int | str | None, fitted: int, used: int) -> int:
    largest = min(A.shape[1], Y.shape[1])
    if not fitted or rank is None:
        return largest
    if isinstance(rank, str):
        return sufficient_rank(A, Y, fitted, used)
    check_size("rank", rank, largest, "the smaller number of predictors and responses of the fit")
    return int(rank)


def _independent(X: np.ndarray) -> bool:
    return int(np.linalg.matrix_rank(X / np.linalg.norm(X, axis=0), tol=1e-6)) == X.shape[1]


def _basis(X: np.ndarray, intercept: bool, kept: np.ndarray) -> np.ndarray:
    return np.hstack([np.ones((len(X), int(intercept))), X[:, kept]])


def _missed_rows(
    X: np.ndarray,
    Y: np.ndarray,
    rows: np.ndarray,
    columns: np.ndarray,
    rank: int,
    used: int,
    alive: np.ndarray,
) -> np.ndarray:
    """Predictors that the fit lacks although their coefficients clearly differ from zero.

    They would bias the coefficients of those correlated with them. The test is Hotelling's, in the
    row space of the fit, with Bonferroni's correction; the clearest is added until none is left.
    """
    added: list[int] = []
    while len(X) - used - len(rows) - len(added) > max(len(X) // 2, rank + 1):
        current = np.union1d(rows, added).astype(np.int64)
        model = LowRankFit(X[:, current], Y, columns, rank, np.arange(len(current)), used)
        others = np.flatnonzero(alive)
        others = others[~np.isin(others, current)]
        if not len(others):
            break
        rest, squares = residual_columns(X[:, others], model.A)
        M = model.M
        scores = rest.T @ (Y @ M) / np.sqrt(np.where(squares > 0, squares, np.inf))[:, None]
        covariance = M.T @ model.noise @ M
        precision = np.linalg.pinv(covariance, hermitian=True)
        hotelling = np.einsum("ij,jk,ik->i", scores, precision, scores)
        df = model.df - 1
        # the noise is estimated without this predictor: take its own part out
        hotelling = hotelling * df / np.maximum(model.df - hotelling, 1e-12)
        p_values = stats.f.sf(hotelling * (df - rank + 1) / (rank * df), rank, df - rank + 1)
        best = int(np.argmin(p_values))
        if p_values[best] * len(others) > SUFFICIENCY_LEVEL:
            break
        added.append(int(others[best]))
    return np.sort(np.asarray(added, dtype=np.int64))


def residual_columns(columns: np.ndarray, A: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Columns after a regression on A, and their sums of squares, 0 if they depend on A."""
    before = np.sum(columns**2, axis=0)
    basis = linalg.qr(A, mode="economic")[0]
    rest = columns - basis @ (basis.T @ columns)
    squares = np.sum(rest**2, axis=0)
    return rest, np.where(squares > DEPENDENT * before, squares, 0.0)


def _check_degrees(adjust: str, samples: int, rows: np.ndarray, features: int) -> None:
    size = len(rows) if adjust == "supports" else features
    if samples - size >= 3:
        return
    if adjust == "all":
        raise ValueError(
            f'adjust="all" needs more rows than predictors: {samples} degrees of freedom, '
            f'{features} predictors; use adjust="supports"'
        )
    raise ValueError(
        f"the fit has {size} predictors for {samples} degrees of freedom, which leaves none for "
        'the noise: use a sparser fit (row_sparsity=..., refit_rule="thinnest")'
    )
