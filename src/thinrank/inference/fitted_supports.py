"""The data and the supports of a fitted regressor, ready for inference."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from scipy import linalg, stats
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from thinrank import arrays
from thinrank.core import resources
from thinrank.estimators.cross_validated import SparseReducedRankRegressorCV
from thinrank.estimators.findings import findings
from thinrank.estimators.regressor import SparseReducedRankRegressor
from thinrank.estimators.validation import check_loss, check_new_X, has_missing
from thinrank.inference.structure import DEPENDENT
from thinrank.inference.tangent_model import (
    SUFFICIENCY_LEVEL,
    LowRankFit,
    TangentModel,
    sufficient_rank,
)

# Squared size of the weakest layer, relative to the largest layer of noise alone, below which the
# low rank is not used: a layer that the fit misses hides where the noise is, and biases what is
# projected. Non-zero coefficients with noise that responses share, n = 200, p = 80, k = 8, even
# seeds (49 fits each, strong and weak signals): with 5 intervals cover 93.6 and 94.4 %, with 20
# 94.6 and 94.8 %, without the low rank 94.9 and 94.8 % (benchmarks/inference.py intervals).
_CLEAR_LAYER = 20.0
# Degrees of freedom per predictor from which all predictors are adjusted for: intervals are 1.4 to
# 1.6 times as wide as with those of the fit, and cover 94.3 to 95.3 % of non-zero coefficients in
# place of 93.6 to 95.1, and 69 to 83 % of zeros that the fit selected in place of 49 to 71
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
        est = _fitted(est, X, Y)
        design = check_new_X(est, X)
        resources.check_fits(design.shape, 8, "X as a dense matrix", "pass fewer predictors")
        dense, target = _dense(design), _responses(est, Y, design.shape[0])
        _check_same_data(est, X, target)
        self.estimator, self.asked_rank, self.layers = est, rank, of == "layers"
        self.kept = np.asarray(est.kept_, dtype=np.int64)
        found = findings(est)
        self.predictor_names, self.response_names = found.predictor_names, found.response_names
        # (n_samples, used) the intercept and the predictors that are always kept, and the
        # coefficients and residuals of X and Y in a regression on them
        self.basis = _basis(dense, est.fit_intercept, self.kept)
        self.X_basis, self.Y_basis = (np.linalg.pinv(self.basis) @ A for A in (dense, target))
        self.X, self.Y = dense - self.basis @ self.X_basis, target - self.basis @ self.Y_basis
        squares, used = np.sum(dense**2, axis=0), self.basis.shape[1]
        alive = np.sum(self.X**2, axis=0) > DEPENDENT * squares
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
            enough = of == "coefficients" and freedom >= _ROWS_FOR_ALL * int(alive.sum())
            adjust = "all" if enough else "supports"
        _check_degrees(adjust, freedom, rows, int(alive.sum()))
        self.adjust = adjust
        self.fitted_rank = est.factors_.rank
        data = self.X[:, rows], self.Y[:, self.columns]
        self.rank = _own_rank(*data, rank, self.fitted_rank, used)
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

    def new_rows(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        """New rows of X: their part in the basis, and the rest of the adjusted predictors."""
        dense = _dense(check_new_X(self.estimator, X))
        basis = _basis(dense, self.estimator.fit_intercept, self.kept)
        return basis, (dense - basis @ self.X_basis)[:, self.adjusted]


def _own_rank(A: np.ndarray, Y: np.ndarray, rank: int | str | None, fitted: int, used: int) -> int:
    largest = min(A.shape[1], Y.shape[1])
    if not fitted or rank is None:
        return largest
    if isinstance(rank, str):
        return sufficient_rank(A, Y, fitted, used)
    if rank > largest:
        raise ValueError(
            f"rank must be at most {largest}, the smaller number of predictors and responses of "
            f"the fit, got {rank}"
        )
    return int(rank)


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

    A predictor that is missing biases the coefficients of those correlated with it. The test is
    Hotelling's, of the part of its coefficients in the row space of the fit, with Bonferroni's
    correction; the clearest is added until none is left.
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


def _fitted(est: Any, X: Any, Y: Any) -> Any:
    if not isinstance(est, (SparseReducedRankRegressor, SparseReducedRankRegressorCV)):
        raise TypeError(
            "est must be a SparseReducedRankRegressor or SparseReducedRankRegressorCV, got "
            f"{type(est).__name__}"
        )
    if check_loss(est.loss) is not None:
        raise ValueError(
            f'est must have loss="squared", got loss={est.loss!r}: the intervals are those of '
            "least squares"
        )
    if not hasattr(est, "factors_"):
        return clone(est).fit(X, Y)
    check_is_fitted(est)
    return est


def _responses(est: Any, Y: Any, samples: int) -> np.ndarray:
    target = np.asarray(arrays.to_numpy(Y) if arrays.is_array(Y) else Y, dtype=np.float64)
    target = target[:, None] if target.ndim == 1 else target
    expected = samples, est.factors_.shape[1]
    if target.shape != expected:
        raise ValueError(f"Y must be the responses of fit, of shape {expected}, got {target.shape}")
    if has_missing(target):
        raise ValueError(
            "Y must be complete, got missing entries: leave out the rows or responses that have "
            "them and fit again"
        )
    return target


def _check_same_data(est: Any, X: Any, Y: np.ndarray) -> None:
    """Raise a ValueError if the fit is to other data, or weighted, as far as that shows cheaply."""
    if len(Y) != est.n_samples_:
        raise ValueError(
            f"X and Y must be the data of fit, which had {est.n_samples_} rows, got {len(Y)}"
        )
    if not est.fit_intercept:
        return
    left = (Y - arrays.to_numpy(est.predict(X)).reshape(Y.shape)).mean(axis=0)
    # single precision and the tolerance of the solver stay far below a thousandth
    if np.any(np.abs(left) > 1e-3 * Y.std(axis=0) + 1e-12 * np.abs(Y).max(axis=0)):
        raise ValueError(
            "X and Y must be the data of fit, without sample_weight: the residuals of this fit to "
            "them do not have mean zero"
        )


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


def _dense(design: Any) -> np.ndarray:
    every = arrays.indices(range(design.shape[1]), design.prototype)
    return arrays.to_numpy(design.columns(every)).astype(np.float64)
