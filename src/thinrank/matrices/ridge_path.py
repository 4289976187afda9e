"""Fits of given sizes along decreasing ridges.

With few observed cells alternating regressions from the singular vectors of the matrix with zeros
at missing cells stop at poor solutions. A large ridge makes the problem nearly convex; its solution
is the starting point for a smaller one, and so on.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from thinrank import linalg
from thinrank.matrices.masked_factors import MaskedFit, alternate, balanced
from thinrank.matrices.observed_cells import ObservedCells

__all__ = ["RidgePath", "fit_sizes", "screened"]

# Factor between two ridges of a path, and their number: the last is 1e-5 of the largest singular
# value, at which the penalty is far below the noise of any data.
_STEP = 0.35
_MOST_RIDGES = 11
# Share of the largest singular value with which a removed direction starts again.
_REVIVED = 0.01
# Choices of rows and columns by turns in the starting point.
_TURNS = 5


class RidgePath:
    """Fits of one size for decreasing ridges, each the starting point of the next.

    Parameters
    ----------
    cells : ObservedCells
        The data.
    rank, rows, columns : int
        Sizes, at least 1.
    tol : float
        Relative decrease of the objective at which alternations stop.
    max_iter : int
        Largest number of alternations for one ridge.
    """

    def __init__(
        self, cells: ObservedCells, rank: int, rows: int, columns: int, tol: float, max_iter: int
    ) -> None:
        self.cells, self.rows, self.columns = cells, rows, columns
        self.tol, self.max_iter = tol, max_iter
        self._V, self.largest = _start(cells, rank, rows, columns)

    def fit(self, ridge: float, tol: float | None = None, max_iter: int | None = None) -> MaskedFit:
        """The fit for the next ridge."""
        found = alternate(
            self.cells,
            self._V,
            self.rows,
            self.columns,
            ridge,
            tol=self.tol if tol is None else tol,
            max_iter=self.max_iter if max_iter is None else max_iter,
        )
        if not found.is_zero:
            _, self._V = balanced(found.U, found.V, _REVIVED)
        return found


def ridges(largest: float, last: float | None = None) -> Iterator[float]:
    """Decreasing ridges below the largest singular value, down to ``last`` if that is given."""
    for k in range(1, _MOST_RIDGES + 1):
        ridge = largest * _STEP**k
        if last is not None and ridge <= last:
            break
        yield ridge
    if last is not None:
        yield last


def fit_sizes(
    cells: ObservedCells,
    rank: int,
    rows: int,
    columns: int,
    ridge: float,
    *,
    tol: float,
    max_iter: int,
) -> MaskedFit:
    """Fit of given sizes and ridge, by way of larger ridges."""
    path = RidgePath(cells, rank, rows, columns, _PATH_TOL, _PATH_ITERATIONS)
    *larger, last = ridges(path.largest, ridge)
    for each in larger:
        path.fit(each)
    return path.fit(last, tol, max_iter)


# Precision of fits that are only compared by their errors in held-out cells, or continued.
_PATH_TOL = 1e-3
_PATH_ITERATIONS = 50


def screened(cells: ObservedCells, rows: int, columns: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows and columns with the largest sums of squares above those of noise, by turns.

    The noise is that of the median cell. In the first turn all columns count, then only the
    chosen ones.
    """
    excess = cells.replaced(cells.values**2 - noise_variance(cells)).by_row.values
    in_columns = np.ones(cells.shape[1])
    for _ in range(_TURNS):
        chosen_rows = _largest(excess @ in_columns, rows)
        in_rows = np.zeros(cells.shape[0])
        in_rows[chosen_rows] = 1.0
        chosen_columns = _largest(excess.T @ in_rows, columns)
        in_columns = np.zeros(cells.shape[1])
        in_columns[chosen_columns] = 1.0
    return chosen_rows, chosen_columns


def noise_variance(cells: ObservedCells) -> float:
    """Variance of the noise if most cells contain nothing else (from the median square)."""
    median_of_chi_square = 0.4549364231195724
    return float(np.median(cells.values**2)) / median_of_chi_square if len(cells) else 0.0


def _largest(scores: np.ndarray, count: int) -> np.ndarray:
    """Sorted positions of the largest scores."""
    if count >= len(scores):
        return np.arange(len(scores))
    return np.sort(np.argpartition(-scores, count - 1)[:count])


def _start(cells: ObservedCells, rank: int, rows: int, columns: int) -> tuple[np.ndarray, float]:
    """Right factor of the screened block with zeros at missing cells, and its largest value."""
    in_rows, in_columns = screened(cells, rows, columns)
    values = cells.block(in_rows, in_columns).values
    if isinstance(values, np.ndarray):
        _, found, right = linalg.truncated_svd(values, rank)
    else:
        products = (values.__matmul__, values.T.__matmul__)
        _, found, right = linalg.truncated_svd(products, rank, shape=values.shape, like=np.empty(0))
    V = np.zeros((cells.shape[1], rank))
    V[in_columns, : len(found)] = right * np.sqrt(np.maximum(found, _REVIVED * found[:1]))
    return V, float(found[0]) if len(found) else 0.0
