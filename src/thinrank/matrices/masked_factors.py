"""Factors of given sizes that fit the observed cells of a matrix.

The objective is

    Σ over observed cells (A_ij − u_i·v_j)² + ridge (‖U‖² + ‖V‖²)

over U with at most s₁ and V with at most s₂ non-zero rows. For given V the rows of U are separate
ridge regressions, and the best U with s₁ non-zero rows keeps those whose regressions lower the
objective most. Likewise for V. With balanced factors the penalty is 2·ridge times the sum of the
singular values of U Vᵀ, so without limits on the sizes this is the problem that soft-impute solves.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.special import chdtri

from thinrank.designs import as_design
from thinrank.matrices.cells import Block, ObservedCells
from thinrank.matrices.decomposition import BLOCK_ENTRIES
from thinrank.matrices.given_sizes import singular_triplets

# Alternations on the chosen rows and columns before these are chosen again, and in all.
_BETWEEN_CHOICES, _MOST_ROUNDS = 10, 1000
# Relative precision of final fits, and of those that are compared or continued.
EXACT, QUICK = 1e-9, 1e-3

# Balanced factors that fit the observed cells.
Fit = tuple[np.ndarray, np.ndarray]


def regressions(block: Block, W: np.ndarray, ridge: float) -> tuple[np.ndarray, np.ndarray]:
    """Ridge regressions of the observed cells of each row on the rows of W.

    Shapes: ``W`` (n_columns, rank), the coefficients (n_rows, rank), the gains (n_rows,).
    """
    n_rows, rank = block.mask.shape[0], W.shape[1]
    above = np.triu_indices(rank)
    products = W[:, above[0]] * W[:, above[1]]
    coefficients, gains = np.empty((n_rows, rank)), np.empty(n_rows)
    # added to the diagonals, so that a row with fewer observed cells than components has a
    # solution; far below any ridge that changes a result
    floor = 1e3 * np.finfo(float).eps * float(np.sum(W * W)) + np.finfo(float).tiny
    for start in range(0, n_rows, step := max(BLOCK_ENTRIES // rank**2, 1)):
        group = slice(start, start + step)
        whole = step >= n_rows
        target = (block.values if whole else block.values[group]) @ W
        packed = (block.mask if whole else block.mask[group]) @ products
        gram = np.empty((len(target), rank, rank))
        gram[:, above[0], above[1]] = gram[:, above[1], above[0]] = packed
        gram[:, range(rank), range(rank)] += max(ridge, floor)
        solved = np.linalg.solve(gram, target[:, :, None])[:, :, 0]
        coefficients[group], gains[group] = solved, np.einsum("ij,ij->i", solved, target)
    return coefficients, gains


def best_rows(
    cells: ObservedCells, V: np.ndarray, count: int, ridge: float
) -> tuple[np.ndarray, np.ndarray]:
    """The best U with at most ``count`` non-zero rows for given V, and the gains of all rows."""
    support = np.flatnonzero(V.any(axis=1))
    U, gains = regressions(cells.block(None, support), V[support], ridge)
    if count < len(U):
        left_out = np.argpartition(-gains, count - 1)[count:]
        U[left_out] = 0.0
    return U, gains


def alternate(
    cells: ObservedCells,
    V: np.ndarray,
    rows: int,
    columns: int,
    ridge: float,
    tol: float = QUICK,
) -> Fit:
    """Alternate exact minimization over U and over V until the objective stays the same.

    Rows and columns are chosen among all of them; between two choices the factors are improved on
    the chosen block, whose size does not depend on the shape of the matrix.
    """
    limited = rows < cells.shape[0] or columns < cells.shape[1]
    previous, objective = None, np.inf
    for done in range(0, _MOST_ROUNDS, _BETWEEN_CHOICES):
        U, _ = best_rows(cells, V, rows, ridge)
        V, _ = best_rows(cells.transposed, U, columns, ridge)
        if not V.any():
            break
        in_rows, in_columns = (np.flatnonzero(W.any(axis=1)) for W in (U, V))
        supports = in_rows.tobytes(), in_columns.tobytes()
        # with changing supports it is too early for many alternations on one block
        stable = supports == previous or not limited
        block = cells.block(in_rows, in_columns)
        small_U, small_V, value, converged = _on_block(
            block, V[in_columns], ridge, tol, _MOST_ROUNDS - done if stable else _BETWEEN_CHOICES
        )
        U, V = np.zeros_like(U), np.zeros_like(V)
        U[in_rows], V[in_columns] = small_U, small_V
        value += cells.total - block.total
        settled = stable and objective - value <= tol * abs(value)
        objective, previous = value, supports
        if (settled or not limited) and converged:
            break
    return (U if V.any() else np.zeros_like(U)), V


def _on_block(
    block: Block, V: np.ndarray, ridge: float, tol: float, max_iter: int
) -> tuple[np.ndarray, np.ndarray, float, bool]:
    """Alternating ridge regressions on a block; balanced factors, the objective, convergence."""
    previous = np.inf
    U = np.zeros((block.mask.shape[0], V.shape[1]))
    for _ in range(max_iter):
        U, _ = regressions(block, V, ridge)
        V, gains = regressions(block.transposed, U, ridge)
        objective = block.total - float(np.sum(gains)) + ridge * float(np.sum(U * U))
        U, V = balanced(U, V)
        if previous - objective <= tol * max(objective, tol * block.total):
            return U, V, objective, True
        previous = objective
    return U, V, previous, False


def balanced(U: np.ndarray, V: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Factors of the same product with UᵀU = VᵀV diagonal; the number of columns is kept."""
    left, upper = np.linalg.qr(U)
    right, lower = np.linalg.qr(V)
    inner_left, values, inner_right = np.linalg.svd(upper @ lower.T, full_matrices=False)
    root = np.sqrt(values)
    new_U, new_V = np.zeros_like(U), np.zeros_like(V)  # fewer rows than columns give fewer values
    new_U[:, : len(root)] = left @ inner_left * root
    new_V[:, : len(root)] = right @ inner_right.T * root
    return new_U, new_V


# --------------------------------------------------------------------------- decreasing ridges

# Factor between two ridges of a path, and their number: the last is 1e-5 of the largest singular
# value, at which the penalty is far below the noise of any data.
_STEP = 0.35
_MOST_RIDGES = 11
# The first fits have more components than asked for, of which the leading ones are continued. In
# simulations with few observed cells this avoids nearly all of the poor solutions that remain.
_EXTRA = 3
_WIDE_RIDGES = 2


class RidgePath:
    """Fits of one size for decreasing ridges, each the starting point of the next."""

    def __init__(self, cells: ObservedCells, rank: int, rows: int, columns: int) -> None:
        self.cells, self.rank, self.rows, self.columns = cells, rank, rows, columns
        wide = min(rank + _EXTRA, rows, columns)
        self._V, self.largest = _start(cells, wide, rows, columns)
        self._n_wide = _WIDE_RIDGES if wide > rank else 0

    def fit(self, ridge: float, tol: float = QUICK) -> Fit:
        """The fit for the next ridge."""
        sizes = self.rows, self.columns, ridge
        if self._n_wide:
            self._continue_from(alternate(self.cells, self._V, *sizes))
            self._n_wide -= 1
        found = alternate(self.cells, self._V[:, : self.rank], *sizes, tol)
        if not self._n_wide:
            self._continue_from(found)
        return found

    def _continue_from(self, found: Fit) -> None:
        if found[0].any():
            self._V = found[1]


def ridges(largest: float, last: float | None = None) -> Iterator[float]:
    """Decreasing ridges below the largest singular value, down to ``last`` if that is given."""
    for k in range(1, _MOST_RIDGES + 1):
        ridge = largest * _STEP**k
        if last is not None and ridge <= last:
            break
        yield ridge
    if last is not None:
        yield last


def fit_sizes(cells: ObservedCells, rank: int, rows: int, columns: int, ridge: float) -> Fit:
    """Fit of given sizes and ridge, by way of larger ridges."""
    path = RidgePath(cells, rank, rows, columns)
    *larger, last = ridges(path.largest, ridge)
    for each in larger:
        path.fit(each)
    return path.fit(last, EXACT)


def _screened(cells: ObservedCells, rows: int, columns: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows with the largest sums of squares above those of noise, and such columns in these rows.

    The noise is that of the median cell. Five choices by turns were worse: errors of .33 in place
    of .27 where the variances of rows differ.
    """
    excess = cells.replaced(cells.values**2 - noise_variance(cells)).by_row.values
    chosen = _largest(excess @ np.ones(cells.shape[1]), rows)
    in_rows = np.zeros(cells.shape[0])
    in_rows[chosen] = 1.0
    return chosen, _largest(excess.T @ in_rows, columns)


def noise_variance(cells: ObservedCells) -> float:
    """Variance of the noise if most cells contain nothing else (from the median square)."""
    return float(np.median(cells.values**2) / chdtri(1, 0.5)) if len(cells) else 0.0


def _largest(scores: np.ndarray, count: int) -> np.ndarray:
    """Sorted positions of the largest scores, of either sign."""
    return np.sort(np.argsort(-scores, kind="stable")[:count])


def _start(cells: ObservedCells, rank: int, rows: int, columns: int) -> tuple[np.ndarray, float]:
    """Right factor of the screened block with zeros at missing cells, and its largest value."""
    in_rows, in_columns = _screened(cells, rows, columns)
    block = as_design(cells.block(in_rows, in_columns).values)
    _, found, right = singular_triplets(block, rank)
    V = np.zeros((cells.shape[1], rank))
    V[in_columns, : len(found)] = right * np.sqrt(found)
    return V, float(found[0]) if len(found) else 0.0
