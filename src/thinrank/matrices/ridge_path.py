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

# Factor between two ridges of a path, and their number: the last is 1e-5 of the largest singular
# value, at which the penalty is far below the noise of any data.
_STEP = 0.35
_MOST_RIDGES = 11
# The first fits have more components than asked for, of which the leading ones are continued. In
# simulations with few observed cells this avoids nearly all of the poor solutions that remain.
_EXTRA = 3
_WIDE_RIDGES = 2
# Share of the largest singular value with which a removed direction starts again.
_REVIVED = 0.01
# Precision of fits from which the next ridge continues.
_PATH_TOL = 1e-3
_PATH_ITERATIONS = 50
# With at most this number of observed cells, rows with large entries in single columns give further
# starting points, for this number of columns.
_SMALL = 200
_SINGLE_COLUMNS = 10
# Choices of rows and columns by turns in the starting point.
_TURNS = 5


class RidgePath:
    """Fits of one size for decreasing ridges, each the starting point of the next."""

    def __init__(
        self, cells: ObservedCells, rank: int, rows: int, columns: int, tol: float, max_iter: int
    ) -> None:
        self.cells, self.rank, self.rows, self.columns = cells, rank, rows, columns
        self.tol, self.max_iter = tol, max_iter
        wide = min(rank + _EXTRA, rows, columns)
        self._V, self.largest = _start(cells, wide, rows, columns)
        self._n_wide = _WIDE_RIDGES if wide > rank else 0

    def fit(self, ridge: float, tol: float | None = None, max_iter: int | None = None) -> MaskedFit:
        """The fit for the next ridge."""
        if self._n_wide:
            wide = self._alternate(self._V, ridge, self.tol, self.max_iter)
            if not wide.is_zero:
                _, self._V = balanced(wide.U, wide.V, _REVIVED)
            self._n_wide -= 1
        found = self._alternate(
            self._V[:, : self.rank],
            ridge,
            self.tol if tol is None else tol,
            self.max_iter if max_iter is None else max_iter,
        )
        if not self._n_wide:
            self._V = self._V[:, : self.rank]
            if not found.is_zero:
                _, self._V = balanced(found.U, found.V, _REVIVED)
        return found

    def _alternate(self, V: np.ndarray, ridge: float, tol: float, max_iter: int) -> MaskedFit:
        return alternate(self.cells, V, self.rows, self.columns, ridge, tol=tol, max_iter=max_iter)


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
    """Fit of given sizes and ridge, by way of larger ridges.

    In small matrices, where blocks are hard to tell apart, further starting points are tried.
    """
    path = RidgePath(cells, rank, rows, columns, _PATH_TOL, _PATH_ITERATIONS)
    *larger, last = ridges(path.largest, ridge)
    for each in larger:
        path.fit(each)
    found = path.fit(last, tol, max_iter)
    if len(cells) > _SMALL or (rows >= cells.shape[0] and columns >= cells.shape[1]):
        return found
    for V in _single_column_starts(cells, rank, rows):
        other = alternate(cells, V, rows, columns, ridge, tol=tol, max_iter=max_iter)
        found = min(found, other, key=lambda fit: fit.objective)
    return found


def _single_column_starts(cells: ObservedCells, rank: int, rows: int) -> Iterator[np.ndarray]:
    """Right factors of the rows with the largest entries in one column, for large columns."""
    values = cells.by_row.values
    dense = values if isinstance(values, np.ndarray) else values.toarray()
    for j in _largest(np.sum(dense**2, axis=0), _SINGLE_COLUMNS):
        in_rows = _largest(np.abs(dense[:, j]), rows)
        _, found, right = linalg.truncated_svd(dense[in_rows], rank)
        V = np.zeros((cells.shape[1], rank))
        V[:, : len(found)] = right * np.sqrt(np.maximum(found, _REVIVED * found[:1]))
        yield V


def _screened(cells: ObservedCells, rows: int, columns: int) -> tuple[np.ndarray, np.ndarray]:
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
    in_rows, in_columns = _screened(cells, rows, columns)
    values = cells.block(in_rows, in_columns).values
    if isinstance(values, np.ndarray):
        _, found, right = linalg.truncated_svd(values, rank)
    else:
        products = (values.__matmul__, values.T.__matmul__)
        _, found, right = linalg.truncated_svd(products, rank, shape=values.shape, like=np.empty(0))
    V = np.zeros((cells.shape[1], rank))
    V[in_columns, : len(found)] = right * np.sqrt(np.maximum(found, _REVIVED * found[:1]))
    return V, float(found[0]) if len(found) else 0.0
