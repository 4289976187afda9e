"""Factors of given sizes that fit the observed cells of a matrix.

The objective is

    Σ over observed cells (A_ij − u_i·v_j)² + ridge (‖U‖² + ‖V‖²)

over U with at most s₁ and V with at most s₂ non-zero rows. For given V the rows of U are separate
ridge regressions, and the best U with s₁ non-zero rows keeps those whose regressions lower the
objective most. Likewise for V. With balanced factors the penalty is 2·ridge times the sum of the
singular values of U Vᵀ, so without limits on the sizes this is the problem that soft-impute solves.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np

from thinrank.matrices.observed_cells import Block, ObservedCells

# Regressions are solved in groups of rows; this bounds the entries of the arrays of a group.
_GROUP_ENTRIES = 4_000_000
# Added to the diagonals of the regressions, relative to the largest one, so that a row with fewer
# observed cells than components has a solution. Far below any ridge that changes a result.
_SMALLEST_RIDGE = 1e-13
# Alternations on the chosen rows and columns before these are chosen again.
_BETWEEN_CHOICES = 10


@dataclass(frozen=True, eq=False)
class MaskedFit:
    """Factors that fit the observed cells."""

    U: np.ndarray  # (n_rows, rank) balanced factors
    V: np.ndarray
    objective: float  # value of the objective

    @property
    def is_zero(self) -> bool:
        """Whether all entries are zero."""
        return not self.U.any()


def regressions(block: Block, W: np.ndarray, ridge: float) -> tuple[np.ndarray, np.ndarray]:
    """Ridge regressions of the observed cells of each row on the rows of W.

    Shapes: ``block`` (n_rows, n_columns), ``W`` (n_columns, rank), ``coefficients`` (n_rows,
    rank), ``gains`` (n_rows,).
    """
    n_rows, rank = block.mask.shape[0], W.shape[1]
    above = _pairs(rank)
    products = W[:, above[0]] * W[:, above[1]]
    coefficients, gains = np.empty((n_rows, rank)), np.empty(n_rows)
    floor = _SMALLEST_RIDGE * float(np.sum(W * W)) + np.finfo(float).tiny
    for start in range(0, n_rows, step := max(_GROUP_ENTRIES // rank**2, 1)):
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


@cache
def _pairs(rank: int) -> tuple[np.ndarray, np.ndarray]:
    """Positions on and above the diagonal."""
    return np.triu_indices(rank)


def best_rows(
    cells: ObservedCells, V: np.ndarray, count: int, ridge: float
) -> tuple[np.ndarray, np.ndarray]:
    """The best U with at most ``count`` non-zero rows for given V, and the gains of all rows."""
    support = np.flatnonzero(V.any(axis=1))
    U, gains = regressions(cells.in_columns(support), V[support], ridge)
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
    *,
    tol: float,
    max_iter: int,
) -> MaskedFit:
    """Alternate exact minimisation over U and over V until the objective stays the same.

    Rows and columns are chosen among all of them; between two choices the factors are improved on
    the chosen block, whose size does not depend on the shape of the matrix.
    """
    limited = rows < cells.shape[0] or columns < cells.shape[1]
    previous, objective = None, np.inf
    for done in range(0, max_iter, _BETWEEN_CHOICES):
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
            block, V[in_columns], ridge, tol, max_iter - done if stable else _BETWEEN_CHOICES
        )
        U, V = np.zeros_like(U), np.zeros_like(V)
        U[in_rows], V[in_columns] = small_U, small_V
        value += cells.total - block.total
        settled = stable and objective - value <= tol * abs(value)
        objective, previous = value, supports
        if (settled or not limited) and converged:
            break
    if not V.any():
        return MaskedFit(np.zeros_like(U), V, cells.total)
    return MaskedFit(U, V, objective)


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


def balanced(U: np.ndarray, V: np.ndarray, least: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
    """Factors of the same product with UᵀU = VᵀV diagonal; the number of columns is kept.

    With ``least`` singular values below this share of the largest are raised to it, so that
    directions which a large ridge removed can grow again under a smaller one.
    """
    left, upper = np.linalg.qr(U)
    right, lower = np.linalg.qr(V)
    inner_left, values, inner_right = np.linalg.svd(upper @ lower.T, full_matrices=False)
    root = np.sqrt(np.maximum(values, least * values[:1]))
    new_U, new_V = np.zeros_like(U), np.zeros_like(V)  # fewer rows than columns give fewer values
    new_U[:, : len(root)] = left @ inner_left * root
    new_V[:, : len(root)] = right @ inner_right.T * root
    return new_U, new_V
