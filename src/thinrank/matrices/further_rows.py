"""Rows that held-out cells could not confirm, and all cells together do.

With a part of the cells held out, a row of the block may keep too few cells for its regression on
the right factor, and its held-out errors are larger than without it. With all cells it is clear.
"""

from __future__ import annotations

import numpy as np
from scipy.special import chdtri

from thinrank.matrices.masked_factors import regressions
from thinrank.matrices.observed_cells import ObservedCells

# Probability that the gain of one of the rows of noise exceeds the limit: the number of SparseSVD.
_RATE = 0.005
# Each cell of a further row is predicted from its other cells; the sum of squares of errors must
# not exceed this share of that of the cells. It is near 1 or larger if single cells are large.
_LARGEST_SHARE = 0.5


def further_rows(cells: ObservedCells, V: np.ndarray, used: np.ndarray, ridge: float) -> int:
    """Number of rows not in use that stand out from the others in their regressions on V.

    The gains of rows of noise are multiples of chi-square variables. The scale is the larger one of
    that of the median of the rows not in use, which must be the majority, and of the mean square of
    the cells of the row in columns outside of V: rows may differ in the variance of their noise.

    Shapes: ``V`` (n_columns, rank), ``used`` (n_rows,).
    """
    support = np.flatnonzero(V.any(axis=1))
    rank = V.shape[1]
    block, W = cells.in_columns(support), V[support]
    _, gains = regressions(block, W, ridge)
    counts = np.asarray(block.mask.sum(axis=1)).ravel()
    others = ~used & (counts > rank)  # fewer cells are fitted whatever they are
    if np.count_nonzero(others) < 0.5 * len(used):
        return 0
    common = float(np.median(gains[others])) / float(chdtri(rank, 0.5))
    limits = np.maximum(common, _noise(cells, support)) * float(chdtri(rank, _RATE / len(used)))
    candidates = np.flatnonzero(others & (gains > limits)).tolist()
    return sum(_predicted(cells, i, W, support, ridge) for i in candidates)


def _noise(cells: ObservedCells, support: np.ndarray) -> np.ndarray:
    """Mean square of the cells of each row outside of some columns; 0 without such cells."""
    outside = ~np.isin(cells.columns, support)
    counts = cells.row_sums(outside.astype(float))
    return cells.row_sums(np.where(outside, cells.values**2, 0.0)) / np.maximum(counts, 1.0)


def _predicted(
    cells: ObservedCells, row: int, W: np.ndarray, support: np.ndarray, ridge: float
) -> bool:
    """Whether the cells of a row are predicted by its regressions on the other cells."""
    block = cells.block(np.array([row]), support)
    mask, values = (
        x.ravel() if isinstance(x, np.ndarray) else x.toarray().ravel()
        for x in (block.mask, block.values)
    )
    seen = mask > 0
    A, y = W[seen], values[seen]
    inverse = np.linalg.pinv(A.T @ A + ridge * np.eye(W.shape[1]))
    leverage = np.einsum("ij,jk,ik->i", A, inverse, A)
    errors = (y - A @ (inverse @ (A.T @ y))) / np.maximum(1 - leverage, np.finfo(float).eps)
    return float(errors @ errors) <= _LARGEST_SHARE * float(y @ y)
