"""A quadratic form of data in row blocks, from moments that are kept."""

from __future__ import annotations

import numpy as np

from thinrank import arrays
from thinrank.forms.base import HeldCross, plus_ridge, plus_rows
from thinrank.forms.block_moments import BlockMoments, RowPart


class BlockForm(HeldCross):
    """The form of all rows or of the training rows of a split, for the predictors that vary.

    Shapes: ``inverse_scale`` (n_targets,).
    """

    def __init__(
        self,
        moments: BlockMoments,
        part: RowPart,
        targets: np.ndarray,
        inverse_scale: np.ndarray,
        ridge: float = 0.0,
    ) -> None:
        cross = part.cross[np.ix_(part.live, targets)]
        cross *= (part.inverse_scale[part.live] / part.weight)[:, None]
        cross *= inverse_scale
        squares = part.squares_y[targets] * inverse_scale**2
        constant = float(squares.sum()) / part.weight
        super().__init__(cross.astype(part.dtype, copy=False), constant, part.weight, ridge)
        self._moments, self._part = moments, part
        self._diagonal = part.diagonal()

    def diagonal(self) -> np.ndarray:
        """Diagonal of H."""
        return self._diagonal + self._diagonal.dtype.type(self._ridge)

    def gram(self, rows: np.ndarray) -> np.ndarray:
        """H over ``rows``."""
        return plus_ridge(self._submatrix(rows, rows), self._ridge)

    def gram_between(self, rows: np.ndarray, others: np.ndarray) -> np.ndarray:
        """H between ``rows`` and ``others``, of which only one set need be known."""
        if len(self._moments.unknown(self._part.live[others])) == 0:
            return self._submatrix(others, rows).T
        return self._submatrix(rows, others)

    def _submatrix(self, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
        places = self._places(rows)  # may replace the known rows
        return self._part.rows[np.ix_(places, columns)]

    def gradient(self, rows: np.ndarray, U: np.ndarray, V: np.ndarray) -> np.ndarray:
        """H[:, rows] @ U − C @ V."""
        if self._moments.too_many(self._part.live[rows]):
            block = arrays.scatter_rows(U, rows, self.shape[0])
            gradient = self._moments.hessian_product(self._part, block)
        else:
            places = self._places(rows)  # may replace the known rows
            gradient = self._part.rows[places].T @ U
        gradient -= self._cross @ V
        if V.any():
            self._part.hint = arrays.divide_or_zero(
                arrays.row_norms_squared(gradient), self._diagonal
            )
        return plus_rows(gradient, rows, U, self._ridge)

    def _places(self, rows: np.ndarray) -> np.ndarray:
        if self._part.hint is None:
            self._part.hint = arrays.divide_or_zero(self.cross_norms()[0], self._diagonal)
        return self._moments.known(self._part.live[rows], self._part)
