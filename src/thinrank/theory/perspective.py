"""The convex relaxation of a limit on the number of rows, and an upper bound from any point of it.

With a curvature δ > 0 in every direction, δ‖Θᵢ‖² can be replaced by δ‖Θᵢ‖²/zᵢ, where zᵢ is 1 for
the rows in use and 0 for the others. Letting z be anything in [0, 1] with sum at most s₁ is a
convex problem (the perspective relaxation). What a row-sparse regression can explain is at most
its maximum, a concave function of z, and that is at most the value of any tangent of it.
"""

from __future__ import annotations

import numpy as np

# Iterations; the bound is valid after each of them.
_ITERATIONS = 60
# Relative gap between the bound and the relaxation at which the iteration stops.
_TOLERANCE = 1e-4
# Smallest z relative to its mean, so that no row is out for good.
_FLOOR = 1e-4


def most_explained(
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
