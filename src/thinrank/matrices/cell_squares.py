"""Squares of the cells of matrices in which most cells are zero.

The scores A·v of a matrix with few non-zero cells are no normal numbers: most are tiny, because
they are sums of few products, and some are large because of a single cell. Compared with the median
of all, half of them would stand out; compared with those that are not zero, none of a block would.
If the cells of each column are in random order, the mean square of the scores is Σ_j v_j² m_j,
where m_j is the mean square of the cells of column j. This scale is used for such matrices.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from thinrank import arrays
from thinrank.core.contracts import Design
from thinrank.designs import Deflated, Dense, Sparse

# Matrices with a smaller share of non-zero cells are compared with these scales.
_FEW_CELLS = 0.1


class CellSquares(NamedTuple):
    """Mean squares of cells."""

    rows: np.ndarray  # (n_rows,) of each row
    columns: np.ndarray  # (n_columns,) of each column

    def row_scales(self, right: np.ndarray) -> np.ndarray:
        """Scales of the scores of rows, one for each column of ``right``."""
        return np.sqrt(self.columns @ right**2)

    def column_scales(self, left: np.ndarray) -> np.ndarray:
        """Scales of the scores of columns, one for each column of ``left``."""
        return np.sqrt(self.rows @ left**2)


def mostly_zero(A: Design) -> bool:
    """Whether fewer than 10 % of the cells are not zero.

    That is known of dense and sparse matrices, also if a matrix of low rank was subtracted.
    """
    while isinstance(A, Deflated):
        A = A.base
    cells = A.shape[0] * A.shape[1]
    if isinstance(A, Sparse):
        return bool(A.matrix.nnz < _FEW_CELLS * cells)
    if isinstance(A, Dense):
        return bool(arrays.namespace(A.array).count_nonzero(A.array) < _FEW_CELLS * cells)
    return False


def cell_squares(A: Design) -> CellSquares:
    """The mean squares of a matrix in which most cells are zero, and zeros (not known) for others.

    Shapes: ``A`` (n_rows, n_columns).
    """
    if not mostly_zero(A):
        return CellSquares(np.zeros(A.shape[0]), np.zeros(A.shape[1]))
    columns = arrays.to_numpy(A.column_norms()).astype(float) ** 2 / A.shape[0]
    return CellSquares(weighted_squares(A, np.ones(A.shape[1])) / A.shape[1], columns)


def weighted_squares(A: Design, weights: np.ndarray) -> np.ndarray:
    """Σ_j weight_j A_ij² for each row i of a matrix that is mostly zero."""
    if isinstance(A, Deflated):
        U, V = (arrays.to_numpy(x).astype(float) for x in (A.removed.U, A.removed.V))
        weighted = weights[:, None] * V
        image = arrays.to_numpy(A.base @ arrays.from_numpy(weighted, A.prototype)).astype(float)
        change = np.sum(U * (U @ (V.T @ weighted) - 2 * image), axis=1)
        return np.maximum(weighted_squares(A.base, weights) + change, 0.0)
    if isinstance(A, Sparse):
        return np.asarray(A.matrix.multiply(A.matrix) @ weights, dtype=float)
    assert isinstance(A, Dense)
    return arrays.to_numpy(A.array).astype(float) ** 2 @ weights
