"""The least squares problem that a fitted estimator minimized, in the units of its solver."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from thinrank import arrays
from thinrank.core.factors import Factors
from thinrank.estimators.description import as_numbers
from thinrank.estimators.fitted_data import dense_columns, fitted_data
from thinrank.estimators.problem import Problem, TrainingData

# Multiplications that refits of other supports may take: some seconds with one thread.
MAX_WORK = 1.5e9


@dataclass(frozen=True, eq=False)
class FittedProblem:
    """½‖B − AΘ‖² + ridge/2·‖Θ‖² over Θ of given sizes, and the Θ that was fitted.

    A and B are X and Y after centering and scaling, times the roots of the weights over n.
    """

    A: np.ndarray  # (n_samples, p) predictors that are not constant and not always kept
    B: np.ndarray  # (n_samples, k) responses that are not constant
    ridge: float  # the ridge
    rank: int  # largest rank and numbers of non-zero rows and columns
    rows: int
    columns: int
    fit: Factors  # the fitted Θ
    predictors: list[str]  # names of the columns of A and B
    responses: list[str]

    @cached_property
    def support(self) -> np.ndarray:
        """Sorted rows of the fit."""
        return np.asarray(self.fit.row_support, dtype=np.int64)

    @cached_property
    def column_support(self) -> np.ndarray:
        """Sorted columns of the fit."""
        return np.asarray(self.fit.column_support, dtype=np.int64)

    @cached_property
    def constant(self) -> float:
        """‖B‖², twice the objective at zero."""
        return float(np.sum(self.B**2))

    @cached_property
    def cross(self) -> np.ndarray:
        """C = AᵀB."""
        return self.A.T @ self.B

    def limits_both(self, size: int) -> bool:
        """Whether the rank and the number of columns are both limits on a support of a size."""
        return self.columns < len(self.responses) and self.rank < size

    def gram(self, rows: np.ndarray) -> np.ndarray:
        """AᵀA + ridge·I over some rows of Θ."""
        part = self.A[:, rows]
        return part.T @ part + self.ridge * np.eye(len(rows))

    @cached_property
    def objective(self) -> float:
        """The objective of the fit."""
        U, V = self.fit.U, self.fit.V
        left = self.B - (self.A @ U) @ V.T
        return float(0.5 * np.sum(left**2) + 0.5 * self.ridge * self.fit.norm() ** 2)

    @cached_property
    def row_space(self) -> np.ndarray:
        """Orthonormal basis of the row space of the fit, of shape (k, rank of the fit)."""
        Q = np.zeros((len(self.responses), self.fit.rank))
        if self.fit.rank:
            Q[self.column_support] = np.linalg.qr(self.fit.V[self.column_support])[0]
        return Q


def fitted_problem(estimator: Any, X: Any, Y: Any, sample_weight: Any) -> FittedProblem:
    """The problem that a regressor minimized on its training data."""
    data = fitted_data(estimator, X, Y, sample_weight)
    if not hasattr(estimator, "_target_units"):
        raise ValueError(
            "certificate needs the scales of the responses of the fit, which models saved by "
            "earlier versions lack: fit the estimator again"
        )
    design, weight, units = data.design, data.weight, estimator._target_units
    target = arrays.from_numpy(data.Y, design.prototype)
    problem = Problem.prepare(
        TrainingData(design, target, weight, kept=estimator.kept_),
        fit_intercept=estimator.fit_intercept,
        standardize_columns=estimator.standardize,
        scale=units is not None,
    )
    problem = problem.with_target_units(units)
    params = estimator.best_params_
    sizes = 0, 0, 0
    if params["rank"]:
        sizes = problem.limited(params["rank"], params["row_sparsity"], params["column_sparsity"])
    root = problem.loss.samples**0.5
    moments = problem.loss.moments
    counted = slice(None) if weight is None else arrays.to_numpy(weight) > 0
    names = [
        every if live is None else [every[i] for i in arrays.to_numpy(live).tolist()]
        for every, live in (
            (data.predictor_names, problem.live_rows),
            (data.response_names, problem.live_columns),
        )
    ]
    fit = problem.start(estimator.factors_)
    return FittedProblem(
        dense_columns(moments.X)[counted] / root,
        dense_columns(moments.Y)[counted] / root,
        float(params["ridge"]),
        *sizes,
        replace(fit, U=as_numbers(fit.U), V=as_numbers(fit.V)),
        *names,
    )


def cost_of_refit(problem: FittedProblem, size: int) -> float:
    """Number of multiplications of one refit, up to constants near 1."""
    rounds = 16 if problem.limits_both(size) else 1  # alternations from two starts
    return 10 * size**3 + rounds * 4 * size**2 * (size + len(problem.responses))


def objectives_on(
    problem: FittedProblem, rows: np.ndarray, supports: np.ndarray, *, relaxed: bool = False
) -> np.ndarray:
    """Objective of the best model with the rank and number of columns of a problem, per support.

    With limits on both rank and columns the columns are found by alternation from two starts, so
    that the result is that of a model, but perhaps not of the best. ``relaxed`` leaves out one of
    these two limits instead, whichever gives more, and so returns lower bounds.
    """
    gram, cross = problem.gram(rows), problem.cross[rows]
    count, size = supports.shape
    total, both = cross.shape[1], problem.limits_both(size)
    mask = np.zeros(total)
    mask[problem.column_support] = 1
    step = max(1, 4_000_000 // max(size * total, 1))  # whitened matrices of 32 MB at once
    out = np.empty(count)
    for first in range(0, count, step):
        part = slice(first, first + step)
        whitened = _whitened(gram, cross, supports[part])
        if both and relaxed:
            by_rank = _explained(whitened, problem.rank, total)
            explained = np.minimum(by_rank, _explained(whitened, size, problem.columns))
        else:
            explained = _explained(whitened, problem.rank, problem.columns)
            if both:
                again = _explained(whitened, problem.rank, problem.columns, mask)
                explained = np.maximum(explained, again)
        out[part] = 0.5 * (problem.constant - explained)
    return out


def whitened_on(problem: FittedProblem, rows: np.ndarray) -> np.ndarray:
    """H_SS^(−½)C_S on one support, of shape (len(rows), k)."""
    index = np.arange(len(rows))[None, :]
    return np.asarray(_whitened(problem.gram(rows), problem.cross[rows], index)[0])


def _whitened(gram: np.ndarray, cross: np.ndarray, index: np.ndarray) -> np.ndarray:
    """H_SS^(−½) C_S, of shape (supports, s, k), up to rotations, by a pseudo-inverse."""
    scale = np.sqrt(arrays.divide_or_zero(1.0, np.diagonal(gram)))
    gram = gram * scale * scale[:, None]
    values, vectors = np.linalg.eigh(gram[index[:, :, None], index[:, None, :]])
    roots = np.sqrt(arrays.divide_or_zero(1.0, values, values > 1e3 * arrays.eps(gram)))
    return roots[:, :, None] * (vectors.transpose(0, 2, 1) @ (cross * scale[:, None])[index])


def _explained(
    whitened: np.ndarray, rank: int, columns: int, mask: np.ndarray | float = 1.0
) -> np.ndarray:
    """Squares that the best directions and columns explain, by alternation from a ``mask``."""
    size, total = whitened.shape[1:]
    if rank >= size:
        return np.sort(np.sum(whitened**2, axis=1), axis=1)[:, total - columns :].sum(axis=1)
    last = np.full(len(whitened), -np.inf)
    for _ in range(8):
        part = whitened * mask
        _, vectors = np.linalg.eigh(part @ part.transpose(0, 2, 1))
        right = whitened.transpose(0, 2, 1) @ vectors[:, :, size - rank :]
        weights = np.sum(right**2, axis=2)
        ordered = np.sort(weights, axis=1)[:, total - columns :]
        values = ordered.sum(axis=1)
        if columns >= total or np.all(values <= last):
            break
        last, mask = values, (weights >= ordered[:, :1])[:, None, :]
    return values
