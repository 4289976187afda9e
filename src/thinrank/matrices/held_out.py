"""Whether a layer is there in rows and columns that were left out of its fit."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.stats import binom

from thinrank import arrays
from thinrank.core.contracts import Design
from thinrank.designs import Deflated, Dense, Sparse, take_rows
from thinrank.designs.dense import ColumnSubset
from thinrank.matrices.cell_squares import cell_squares, mostly_zero, weighted_squares
from thinrank.matrices.layer import Side, find_layer
from thinrank.matrices.outliers import limit, null_scale

_FOLDS = 5
# A layer is fitted to a part of the data with this rate of false rows and columns: the test is what
# is left out, so that the fit may be more lenient.
_RATE = 0.05
# A layer is accepted if the number of outliers left out has at most this probability under noise.
_LEVEL = 0.005
# Standard errors by which the block left out must agree with the fit.
_AGREEMENT = 3.0
# Scores left out that enter the prediction of the block, in units of their scale.
_PREDICTED = 2.0


class Evidence(NamedTuple):
    """What data that were left out say about a layer."""

    # probability that noise has as many outlying rows (columns) among those left out. NaN if the
    # side is not tested, because its number of rows (columns) is not automatic
    rows: float
    columns: float
    # how well the layer predicts cells whose row and column were left out, in standard errors
    agreement: float

    @property
    def accepted(self) -> bool:
        """Whether the layer is in the data left out on every side that is tested."""
        sides = [p for p in (self.rows, self.columns) if not np.isnan(p)]
        return all(p < _LEVEL for p in sides) and self.agreement > _AGREEMENT


def evidence(A: Design, rows: Side, columns: Side, seed: int = 0) -> Evidence:
    """Fit the first layer without some rows and columns, and look for it there.

    Rows that were left out are compared with each other by their scores on the columns of the fit.
    If rows are independent draws, no row of noise stands out, whatever the correlations of the
    columns are; the same holds for columns. Cells of the block left out on both sides are
    independent of the fit if cells are independent, whatever their distribution is. A layer must
    pass all three tests, so that each kind of noise is recognised by one of them.

    Shapes: ``A`` (n_rows, n_columns).
    """
    folds = min(_FOLDS, *A.shape)
    if folds < 2:
        return Evidence(1.0, 1.0, 0.0)
    rng = np.random.default_rng(seed)
    row_fold, column_fold = (rng.permutation(size) % folds for size in A.shape)
    row_scores, column_scores = (np.zeros(size) for size in A.shape)
    agreement = np.zeros(folds)
    for fold in range(folds):
        out_rows, out_columns = row_fold == fold, column_fold == fold
        found = find_layer(
            submatrix(A, ~out_rows, ~out_columns), rows, columns, rate=_RATE, seed=seed, parts=False
        )
        if found is None:
            continue
        beside = submatrix(A, out_rows, ~out_columns)
        below = submatrix(A, ~out_rows, out_columns)
        row_scores[out_rows] = _standardized(
            beside @ _column(found.right, A),
            cell_squares(beside).row_scales(found.right[:, None])[0],
        )
        column_scores[out_columns] = _standardized(
            below.transposed_product(_column(found.left, A)),
            cell_squares(below).column_scales(found.left[:, None])[0],
        )
        agreement[fold] = _block_agreement(
            submatrix(A, out_rows, out_columns),
            _predictive(row_scores[out_rows], rows),
            _predictive(column_scores[out_columns], columns),
        )
    return Evidence(
        _probability(row_scores) if rows.automatic else float("nan"),
        _probability(column_scores) if columns.automatic else float("nan"),
        float(np.sum(agreement) / folds**0.5),
    )


def submatrix(A: Design, rows: np.ndarray, columns: np.ndarray) -> Design:
    """The block of flagged rows and columns as a Design, a copy for dense and sparse matrices."""
    in_rows = arrays.indices(np.flatnonzero(rows).tolist(), A.prototype)
    in_columns = arrays.indices(np.flatnonzero(columns).tolist(), A.prototype)
    if isinstance(A, Deflated):
        removed = type(A.removed)(
            arrays.take_rows(A.removed.U, in_rows), arrays.take_rows(A.removed.V, in_columns)
        )
        return Deflated(submatrix(A.base, rows, columns), removed)
    if isinstance(A, Dense):
        return Dense(arrays.submatrix(A.array, in_rows, in_columns))
    if isinstance(A, Sparse):
        return Sparse(A.matrix[in_rows][:, in_columns])
    return ColumnSubset(take_rows(A, in_rows), in_columns)


def _column(vector: np.ndarray, A: Design) -> arrays.Array:
    return arrays.from_numpy(vector[:, None], A.prototype)


def _standardized(scores: arrays.Array, known_scale: float) -> np.ndarray:
    values = arrays.to_numpy(scores)[:, 0].astype(float)
    scale = known_scale or null_scale(values, np.inf)
    return values / scale if scale else values


def _predictive(scores: np.ndarray, side: Side) -> np.ndarray:
    """The scores that predict the block: without those that are most likely noise."""
    if side.everything:
        return scores
    return np.where(np.abs(scores) > _PREDICTED, scores, 0.0)


def _block_agreement(block: Design, left: np.ndarray, right: np.ndarray) -> float:
    """Inner product of a block with what is predicted for it, in standard deviations of noise.

    The cells of a block have the same variance, except in a matrix in which most cells are zero:
    there the squares of those that are predicted tell it.
    """
    size = float(np.linalg.norm(left) * np.linalg.norm(right))
    if size == 0.0:
        return 0.0
    prototype = block.prototype
    image = arrays.to_numpy(block @ arrays.from_numpy(right[:, None], prototype))[:, 0]
    if mostly_zero(block):
        variance = float(left**2 @ weighted_squares(block, right**2))
        return float(left @ image) / variance**0.5 if variance else 0.0
    squares = arrays.norm(block.column_norms()) ** 2 / (block.shape[0] * block.shape[1])
    return float(left @ image) / (size * squares**0.5) if squares else 0.0


def _probability(scores: np.ndarray) -> float:
    """Probability that as many of the scores stand out if all are noise."""
    count = len(scores)
    found = np.count_nonzero(np.abs(scores) > limit(count, _RATE))
    return float(binom.sf(found - 1, count, _RATE / count))
