"""Lower bounds on the objective over all models of given sizes, from relaxations."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from thinrank.theory.fitted_problem import FittedProblem
from thinrank.theory.perspective import most_explained
from thinrank.theory.quantity import Kind
from thinrank.theory.refits import cost_of_refit, objectives_on
from thinrank.theory.sparse_eigenvalues import subsets

# Size up to which n×n or p×p systems are solved repeatedly: some seconds with one thread.
_MAX_SYSTEM = 1_200
# Size up to which a singular value decomposition of X and the Gram matrix are computed.
_MAX_SPECTRUM = 4_000
# Multiplications that trying all supports may take: some seconds with one thread.
_MAX_WORK = 1.5e9


@dataclass(frozen=True)
class LowerBound:
    """A number that no model of the sizes has an objective below.

    Attributes
    ----------
    value : float
        The bound; 0 holds for every problem.
    name : {"all supports", "rank", "rows", "rows and rank", "eigenvalues"}
        The relaxation.
    how : str
        The relaxation in words.
    kind : {"exact", "bound"}
        "exact" if the bound is attained by a model of the sizes.
    """

    value: float
    name: str
    how: str
    kind: Kind


def lower_bounds(problem: FittedProblem) -> list[LowerBound]:
    """Lower bounds on the objective for the sizes of a problem, the best first."""
    if not problem.rank:
        return [LowerBound(0.5 * problem.constant, "rank", "rank 0 has one model", "exact")]
    found = [_by_rank(problem)]
    exhaustive = _by_all_supports(problem)
    if exhaustive is not None:
        found.append(exhaustive)
    if problem.rows < len(problem.predictors) and (
        exhaustive is None or exhaustive.kind != "exact"
    ):
        found += [*_by_rows(problem), *_by_eigenvalues(problem)]
    # a bound of 0 says nothing, but at least one is returned
    return [b for i, b in enumerate(sorted(found, key=lambda b: -b.value)) if i == 0 or b.value > 0]


def _bound(problem: FittedProblem, explained: float, name: str, how: str) -> LowerBound:
    return LowerBound(max(0.5 * (problem.constant - explained), 0.0), name, how, "bound")


def _by_rank(problem: FittedProblem) -> LowerBound:
    """All predictors with the limit on the rank, or with the limit on the responses."""
    shrunk = _shrunk_responses(problem)
    everything = problem.rows >= len(problem.predictors)
    by_rank = _largest_squares(shrunk, problem.rank)
    by_columns = float(np.sort(np.sum(shrunk**2, axis=0))[::-1][: problem.columns].sum())
    if by_rank <= by_columns:
        found = _bound(problem, by_rank, "rank", "reduced-rank regression on all predictors")
        exact = everything and problem.columns >= len(problem.responses)
    else:
        how = "regression of the best predicted responses on all predictors, without limit on rank"
        found = _bound(problem, by_columns, "rank", how)
        exact = everything and problem.rank >= min(len(problem.predictors), problem.columns)
    return LowerBound(found.value, found.name, found.how, "exact" if exact else "bound")


def _by_all_supports(problem: FittedProblem) -> LowerBound | None:
    """Every set of predictors; None if there are too many of them."""
    p, size = len(problem.predictors), problem.rows
    if size < 1 or size >= p:
        return None
    count = math.comb(p, size)
    if count * cost_of_refit(problem, size) > _MAX_WORK:
        return None
    both = problem.columns < len(problem.responses) and problem.rank < size
    value = min(
        float(objectives_on(problem, np.arange(p), sets, relaxed=True).min())
        for sets in subsets(p, size)
    )
    how = f"all {count} sets of {size} predictors"
    how += ", each with a relaxation of rank or responses" if both else ""
    return LowerBound(max(value, 0.0), "all supports", how, "bound" if both else "exact")


def _by_rows(problem: FittedProblem) -> list[LowerBound]:
    """The perspective relaxation of the limit on the predictors; empty without curvature."""
    n, p = problem.A.shape
    if min(n, p) > _MAX_SYSTEM or max(n, p) > 10 * _MAX_SYSTEM:
        return []
    delta = problem.smallest_eigenvalue() * (1 - 1e-9)  # not above the true one by rounding
    if delta <= 1e-8 * float(np.mean(np.sum(problem.A**2, axis=0)) + problem.ridge):
        return []
    args = problem.ridge, delta, problem.rows, problem.support
    alone = most_explained(problem.A, problem.B, *args, problem.columns, problem.column_support)
    name = "a convex relaxation of the number of predictors"
    found = [_bound(problem, alone, "rows", f"{name}, without limit on rank")]
    if problem.fit.rank:
        Q = problem.row_space
        inside = most_explained(problem.A, problem.B @ Q, *args)
        how = f"{name} for the factors of the fit, and reduced-rank regression of the rest"
        found.append(_bound(problem, inside + _outside(problem), "rows and rank", how))
    return found


def _by_eigenvalues(problem: FittedProblem) -> list[LowerBound]:
    """C_SᵀH_SS⁻¹C_S is at most C_SᵀC_S/μ, with μ a bound on the sparse eigenvalues."""
    p = len(problem.predictors)
    if p > _MAX_SPECTRUM or problem.rows < 1:
        return []
    smallest = problem.sparse_curvature(problem.rows, "bound").smallest.value
    if smallest <= 0:
        return []
    explained = _largest_rows(problem.cross, problem.rows) / smallest
    if problem.fit.rank:
        inside = _largest_rows(problem.cross @ problem.row_space, problem.rows) / smallest
        explained = min(explained, inside + _outside(problem))
    how = "the largest rows of XᵀY over a bound on the smallest restricted eigenvalue"
    return [_bound(problem, explained, "eigenvalues", how)]


def _outside(problem: FittedProblem) -> float:
    """What all predictors explain of the responses outside the row space of the fit.

    For a positive semi-definite K with diagonal blocks K₁ and K₂, the sum of the r largest
    eigenvalues of K is at most that of K₁ plus that of K₂.
    """
    shrunk, Q = _shrunk_responses(problem), problem.row_space
    return _largest_squares(shrunk - (shrunk @ Q) @ Q.T, problem.rank)


def _shrunk_responses(problem: FittedProblem) -> np.ndarray:
    """F with FᵀF = BᵀA(AᵀA + ridge·I)⁻¹AᵀB, what all predictors explain; at most B."""
    if min(problem.A.shape) > _MAX_SPECTRUM:
        return problem.B
    left, values, _ = np.linalg.svd(problem.A, full_matrices=False)
    floor = max(problem.A.shape) * np.finfo(np.float64).eps * (values[0] if len(values) else 0)
    left, values = left[:, values > floor], values[values > floor]
    return np.asarray((values / np.sqrt(values**2 + problem.ridge))[:, None] * (left.T @ problem.B))


def _largest_squares(matrix: np.ndarray, rank: int) -> float:
    """Sum of the largest squared singular values."""
    if 0 in matrix.shape or not rank:
        return 0.0
    return float(np.sum(np.linalg.svd(matrix, compute_uv=False)[:rank] ** 2))


def _largest_rows(matrix: np.ndarray, count: int) -> float:
    """Sum of the largest squared norms of rows."""
    return float(np.sort(np.sum(matrix**2, axis=1))[::-1][:count].sum())
