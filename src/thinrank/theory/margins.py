"""What the objective loses if a selected predictor or response is replaced by another."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from thinrank.theory.fitted_problem import (
    MAX_WORK,
    FittedProblem,
    cost_of_refit,
    objectives_on,
    pseudo_inverse,
    whitened_on,
)
from thinrank.theory.suprema import Kind

# Differences below this share of the objective of rank 0 are rounding errors, and set to 0.
_ROUNDING = 1e-9
# Candidates per selected row below which refits are not worth their time.
_FEWEST_CANDIDATES = 3


@dataclass(frozen=True, eq=False)
class Margins:
    """For each selected row (or column): what replacing it by the best other one costs.

    Attributes
    ----------
    selected : ndarray of int
        The selected rows or columns.
    replacement : ndarray of int
        The best row or column to put in its place; −1 if there is no other.
    loss : ndarray of float
        Increase of the objective by that exchange; negative if the exchange is a gain, infinite if
        there is no other.
    dropped : ndarray of float
        Increase of the objective if it is removed without replacement.
    kind : {"exact", "estimate"}
        "exact": every exchange was evaluated, each by its best model. "estimate": the models that
        were evaluated may not be the best, so that the true losses are at most these.
    how : str
        What was evaluated.
    """

    selected: np.ndarray
    replacement: np.ndarray
    loss: np.ndarray
    dropped: np.ndarray
    kind: Kind
    how: str

    @property
    def weakest(self) -> int | None:
        """Position of the smallest loss; None if nothing can be exchanged."""
        if not np.isfinite(self.loss).any():
            return None
        return int(np.argmin(self.loss))


def row_margins(problem: FittedProblem) -> Margins:
    """Margins of the selected rows over the rows left out.

    All exchanges are evaluated by a refit if that takes seconds; otherwise those that are best with
    the row space of the fit held fixed, or, for large supports, all with the row space held fixed.
    """
    S = problem.support
    others = np.setdiff1d(np.arange(len(problem.predictors)), S)
    size = len(S)
    if not size:
        return _best(
            problem, S, others, np.empty((0, 0)), np.empty(0), "exact", "nothing is selected"
        )
    fixed, dropped_fixed = _with_fixed_row_space(problem, others)
    per_row = int(MAX_WORK / (cost_of_refit(problem, size) * size))
    if per_row < min(_FEWEST_CANDIDATES, max(len(others), 1)):
        how = "every exchange, with the row space of the fit held fixed"
        return _best(problem, S, others, fixed, dropped_fixed, "estimate", how)
    dropped = _dropped(problem, dropped_fixed)
    if not len(others):
        return _best(problem, S, others, fixed, dropped, "exact", "there is no other predictor")
    tried = min(per_row, len(others))
    order = np.argsort(fixed, axis=1, kind="stable")[:, :tried]
    pool, inverse = np.unique(order, return_inverse=True)
    supports = np.tile(np.arange(size), (size * tried, 1))
    supports[np.arange(size * tried), np.repeat(np.arange(size), tried)] = size + inverse.ravel()
    rows = np.concatenate([S, others[pool]])
    values = objectives_on(problem, rows, supports).reshape(size, tried) - problem.objective
    losses = np.full(fixed.shape, np.inf)
    np.put_along_axis(losses, order, values, axis=1)
    losses = np.minimum(losses, fixed)
    both = problem.columns < len(problem.responses) and problem.rank < size
    everything = tried == len(others)
    how = f"all {size * tried} exchanges" if everything else f"the {tried} most promising per row"
    if both:
        how += ", the responses chosen anew by alternation"
    kind: Kind = "exact" if everything and not both else "estimate"
    return _best(problem, S, others, losses, dropped, kind, how)


def column_margins(problem: FittedProblem) -> Margins:
    """Margins of the selected columns over the columns left out, on the rows of the fit."""
    T, k = problem.column_support, len(problem.responses)
    others = np.setdiff1d(np.arange(k), T)
    if not len(T):
        return _best(
            problem, T, others, np.empty((0, 0)), np.empty(0), "exact", "nothing is selected"
        )
    whitened = whitened_on(problem, problem.support)
    if not len(others):
        dropped = _without_columns(problem, whitened)
        empty = np.full((len(T), 0), np.inf)
        return _best(problem, T, others, empty, dropped, "exact", "there is no other response")
    size = min(len(problem.support), len(T))
    if len(T) * len(others) * 10 * size**3 <= MAX_WORK:
        values = np.array([[_explained(problem, whitened, T, i, j) for j in others] for i in T])
        kind: Kind = "exact"
        how = f"all {values.size} exchanges on the predictors of the fit"
    else:
        left = np.linalg.svd(whitened[:, T], full_matrices=False)[0][:, : problem.rank]
        weights = np.sum((left.T @ whitened) ** 2, axis=0)
        values = weights[T].sum() - weights[T][:, None] + weights[others][None, :]
        kind, how = "estimate", "every exchange, with the scores of the fit held fixed"
    losses = 0.5 * (problem.constant - values) - problem.objective
    return _best(problem, T, others, losses, _without_columns(problem, whitened), kind, how)


def _with_fixed_row_space(
    problem: FittedProblem, others: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Increase of the objective by each exchange and by each removal, with Q held fixed.

    With B = H_SS⁻¹, the coefficients U of Q and aᵢⱼ = (B H_Sj)ᵢ, removing row i costs ‖Uᵢ‖²/(2Bᵢᵢ),
    and row j then gains ‖gⱼ − aᵢⱼUᵢ/Bᵢᵢ‖²/(2(lⱼ + aᵢⱼ²/Bᵢᵢ)), where g is the gradient and l the
    part of H_jj that S does not explain.
    """
    S, Q = problem.support, problem.row_space
    inverse = pseudo_inverse(problem.gram(S))
    U = inverse @ (problem.cross[S] @ Q)
    start = 0.5 * (problem.constant - np.sum(U * (problem.cross[S] @ Q))) - problem.objective
    spread = np.maximum(np.diagonal(inverse), np.finfo(np.float64).tiny)[:, None]
    costs = np.sum(U**2, axis=1, keepdims=True) / spread
    between = problem.A[:, S].T @ problem.A[:, others]
    slopes = between.T @ U - problem.cross[others] @ Q
    curvature = np.sum(problem.A[:, others] ** 2, axis=0) + problem.ridge
    a = inverse @ between
    step = a / spread
    squares = np.sum(slopes**2, axis=1) - 2 * step * (U @ slopes.T)
    squares += step**2 * np.sum(U**2, axis=1, keepdims=True)
    left_over = curvature - np.sum(between * a, axis=0) + a * step
    clear = left_over > 1e3 * np.finfo(np.float64).eps * curvature
    gains = np.where(clear, squares / np.where(clear, left_over, 1.0), 0.0)
    return start + 0.5 * (costs - gains), start + 0.5 * costs[:, 0]


def _dropped(problem: FittedProblem, fixed: np.ndarray) -> np.ndarray:
    """Increase of the objective without each selected row."""
    size = len(problem.support)
    if size < 2:
        return np.full(size, 0.5 * problem.constant - problem.objective)
    supports = np.array([np.delete(np.arange(size), i) for i in range(size)])
    values = objectives_on(problem, problem.support, supports) - problem.objective
    return np.minimum(values, fixed)


def _explained(
    problem: FittedProblem, whitened: np.ndarray, T: np.ndarray, out: int, new: int | None
) -> float:
    """Squares explained by the best directions on T without one column and with another."""
    kept = np.setdiff1d(T, [out])
    part = whitened[:, kept if new is None else np.append(kept, new)]
    if not part.shape[1]:
        return 0.0
    small = part @ part.T if part.shape[0] <= part.shape[1] else part.T @ part
    return float(np.linalg.eigvalsh(small)[-problem.rank :].sum())


def _without_columns(problem: FittedProblem, whitened: np.ndarray) -> np.ndarray:
    T = problem.column_support
    values = [_explained(problem, whitened, T, int(i), None) for i in T]
    return 0.5 * (problem.constant - np.asarray(values)) - problem.objective


def _best(
    problem: FittedProblem,
    selected: np.ndarray,
    others: np.ndarray,
    losses: np.ndarray,
    dropped: np.ndarray,
    kind: Kind,
    how: str,
) -> Margins:
    """The best exchange of each selected row or column, from a matrix of losses."""
    if not len(others) or not len(selected):
        nothing = np.full(len(selected), -1, dtype=np.int64)
        return Margins(selected, nothing, np.full(len(selected), np.inf), dropped, kind, how)
    floor = _ROUNDING * problem.constant
    losses = np.where(np.abs(losses) <= floor, 0.0, losses)
    dropped = np.where(np.abs(dropped) <= floor, 0.0, dropped)
    place = np.argmin(losses, axis=1)
    loss = losses[np.arange(len(selected)), place]
    return Margins(selected, others[place], loss, dropped, kind, how)
