"""Lower bounds on the objective over all models of given sizes, from relaxations.

With a curvature δ > 0 in every direction, δ‖Θᵢ‖² can be replaced by δ‖Θᵢ‖²/zᵢ, where zᵢ is 1 for
the rows in use and 0 for the others. Letting z be anything in [0, 1] with sum at most s₁ is a
convex problem (the perspective relaxation). What a row-sparse regression can explain is at most
its maximum, a concave function of z, and that is at most the value of any tangent of it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from thinrank.theory.fitted_problem import FittedProblem, cost_of_refit, objectives_on
from thinrank.theory.suprema import Kind, subsets

# Size up to which n×n or p×p systems are solved repeatedly: some seconds with one thread.
_MAX_SYSTEM = 1_200
# Size up to which a singular value decomposition of X and the Gram matrix are computed.
_MAX_SPECTRUM = 4_000
# Multiplications that trying all supports may take: some seconds with one thread.
_MAX_WORK = 1.5e9


# Iterations; the bound is valid after each of them.
_ITERATIONS = 60
# Relative gap between the bound and the relaxation at which the iteration stops.
_TOLERANCE = 1e-4
# Smallest z relative to its mean, so that no row is out for good.
_FLOOR = 1e-4


@dataclass(frozen=True)
class LowerBound:
    """A number that no model of the sizes has an objective below.

    Attributes
    ----------
    value : float
        The bound; 0 holds for every problem.
    name : {"all supports", "rank", "rows", "rows and rank"}
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
        found += _by_rows(problem)
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
    alone = _most_explained(problem.A, problem.B, *args, problem.columns, problem.column_support)
    name = "a convex relaxation of the number of predictors"
    found = [_bound(problem, alone, "rows", f"{name}, without limit on rank")]
    if problem.fit.rank:
        Q = problem.row_space
        inside = _most_explained(problem.A, problem.B @ Q, *args)
        how = f"{name} for the factors of the fit, and reduced-rank regression of the rest"
        found.append(_bound(problem, inside + _outside(problem), "rows and rank", how))
    return found


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


def _most_explained(
    A: np.ndarray,
    B: np.ndarray,
    ridge: float,
    delta: float,
    rows: int,
    first: np.ndarray,
    columns: int | None = None,
    first_columns: np.ndarray | None = None,
) -> float:
    """An upper bound on what ``rows`` columns of A can explain of B by ridge regression.

    The bound is on max over S of tr C_Sᵀ H_SS⁻¹ C_S, with C = AᵀB and H = AᵀA + ridge·I. It is the
    lowest tangent value found while Θ and z are optimised in turn, each in closed form. With
    ``columns``, only that number of columns of B count, the best ones.

    Shapes: ``A`` (n_samples, p), ``B`` (n_samples, q). ``columns``: None for all columns.
    ``first_columns``: None for all columns.
    """
    p = A.shape[1]
    z = np.full(p, 0.5 * rows / p)
    z[first] = 1.0
    z = _spent(z, rows)
    best = np.inf
    solve = _Solver(A, B, ridge, delta)
    guess = np.arange(B.shape[1]) if first_columns is None else first_columns
    count = B.shape[1] if columns is None else columns
    for _ in range(_ITERATIONS):
        theta, slopes = solve(z)
        values = np.sum(theta * solve.cross, axis=0)
        bound = _tangent(values - z @ slopes, slopes, rows, count)
        best = min(best, bound)
        if bound - values[guess].sum() <= _TOLERANCE * abs(bound):
            break
        z = _spent(np.linalg.norm(theta[:, guess], axis=1), rows)
    return best


def _tangent(offsets: np.ndarray, slopes: np.ndarray, rows: int, columns: int) -> float:
    """An upper bound on Σ offsetsⱼ + slopesᵢⱼ over sets of rows i and columns j of given sizes.

    The slopes are not negative, so that sets of fewer rows do not have larger sums. With all
    columns the bound is the maximum. Otherwise the sets of rows may differ between columns, or the
    sets of columns between rows and offsets, whichever gives less.
    """
    if columns >= len(offsets):
        return float(offsets.sum() + _top(slopes.sum(axis=1), rows))
    by_column = _top(offsets + np.sort(slopes, axis=0)[::-1][:rows].sum(axis=0), columns)
    by_row = _top(offsets, columns) + _top(np.sort(slopes, axis=1)[:, -columns:].sum(axis=1), rows)
    together = offsets.sum() + _top(slopes.sum(axis=1), rows)  # offsets are not negative either
    return min(by_column, by_row, float(together))


def _top(values: np.ndarray, count: int) -> float:
    return float(np.sort(values)[::-1][:count].sum())


class _Solver:
    """Θ at given z, and the slopes of the explained squares of each column with respect to z."""

    def __init__(self, A: np.ndarray, B: np.ndarray, ridge: float, delta: float) -> None:
        self.A, self.B, self.delta = A, B, delta
        self.cross = A.T @ B
        # with more rows than samples delta is the ridge, and systems are of the size of n
        self._small = A.shape[0] < A.shape[1] and delta <= ridge
        if not self._small:
            self._rest = A.T @ A + (ridge - delta) * np.eye(A.shape[1])

    def __call__(self, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        root = np.sqrt(z)
        if self._small:
            scaled = self.A * root
            system = scaled @ scaled.T + self.delta * np.eye(len(self.A))
            dual = self.A.T @ np.linalg.solve(system, self.B)
            return z[:, None] * dual, self.delta * dual**2
        system = root[:, None] * self._rest * root + self.delta * np.eye(len(z))
        theta = root[:, None] * np.linalg.solve(system, root[:, None] * self.cross)
        left = self.cross - self._rest @ theta
        return theta, left**2 / self.delta


def _spent(weights: np.ndarray, total: int) -> np.ndarray:
    """The z that minimises Σ weightsᵢ²/zᵢ over 0 ≤ z ≤ 1 with sum ``total``, with a floor.

    z is proportional to the weights where it is below 1; the largest weights have z = 1.
    """
    p = len(weights)
    if total >= p:
        return np.ones(p)
    order = np.sort(np.maximum(weights, np.finfo(np.float64).tiny))[::-1]
    tails = np.cumsum(order[::-1])[::-1]
    for full in range(total):
        scale = (total - full) / tails[full]
        if order[full] * scale <= 1:
            break
    return np.maximum(np.minimum(weights * scale, 1.0), _FLOOR * total / p)
