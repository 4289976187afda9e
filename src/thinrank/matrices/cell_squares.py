"""Mean squares of the cells of rows and columns, for matrices in which most cells are zero.

The scores A·v of a matrix with few non-zero cells are no normal numbers: most are tiny, because
they are sums of few products, and some are large because of a single cell. Compared with the median
of all, half of them would stand out. If the cells of each column are in random order, the mean
square of the scores is Σ_j v_j² m_j, where m_j is the mean square of the cells of column j. This
is the least scale that is used for such matrices.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from thinrank import arrays
from thinrank.core.contracts import Design
from thinrank.designs import Deflated, Dense, Sparse

__all__ = ["CellSquares", "cell_squares"]

# Matrices with a smaller share of non-zero cells are compared with these scales.
_FEW_CELLS = 0.1


class CellSquares(NamedTuple):
    """Mean squares of cells.

    Attributes
    ----------
    rows : ndarray of shape (n_rows,)
        Of each row.
    columns : ndarray of shape (n_columns,)
        Of each column.
    """

    rows: np.ndarray
    columns: np.ndarray

    def row_scales(self, right: np.ndarray) -> np.ndarray:
        """Least scales of the scores of rows, one for each column of ``right``."""
        return np.sqrt(self.columns @ right**2)

    def column_scales(self, left: np.ndarray) -> np.ndarray:
        """Least scales of the scores of columns, one for each column of ``left``."""
        return np.sqrt(self.rows @ left**2)


def cell_squares(A: Design) -> CellSquares:
    """The mean squares of a matrix in which most cells are zero, and zeros for other matrices.

    Parameters
    ----------
    A : Design of shape (n_rows, n_columns)
        The matrix. Whether most cells are zero is known of dense and sparse ones, also if a matrix
        of low rank was subtracted.

    Returns
    -------
    CellSquares
    """
    base: Design = A
    while isinstance(base, Deflated):
        base = base.base
    if _share(base) >= _FEW_CELLS:
        return CellSquares(np.zeros(A.shape[0]), np.zeros(A.shape[1]))
    squares = arrays.to_numpy(A.column_norms()).astype(float) ** 2
    return CellSquares(_row_squares(A) / A.shape[1], squares / A.shape[0])


def _share(A: Design) -> float:
    """Share of the cells that are not zero; 1 if it is not known."""
    cells = max(A.shape[0] * A.shape[1], 1)
    if isinstance(A, Sparse):
        return float(A.matrix.nnz) / cells
    if isinstance(A, Dense):
        return float(arrays.namespace(A.array).count_nonzero(A.array)) / cells
    return 1.0


def _row_squares(A: Design) -> np.ndarray:
    if isinstance(A, Deflated):
        U, V = A.removed.U, A.removed.V
        change = U @ (V.T @ V) - 2 * (A.base @ V)
        xp = arrays.namespace(U)
        inner = arrays.to_numpy(xp.sum(U * change, axis=1)).astype(float)
        return np.maximum(_row_squares(A.base) + inner, 0.0)
    if isinstance(A, Sparse):
        return Sparse(A.matrix.T).column_norms().astype(float) ** 2
    assert isinstance(A, Dense)
    return arrays.to_numpy(arrays.row_norms_squared(A.array)).astype(float)
