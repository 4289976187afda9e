"""The observed cells of a matrix, by rows and by columns."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

# A matrix or block is held as a dense array if this share of its cells is observed: products with
# dense arrays are then faster, and the array is not much larger than the list of cells.
_DENSE_SHARE = 0.1


@dataclass(frozen=True, eq=False)
class Block:
    """Some rows and columns of a matrix with missing cells."""

    mask: Any  # (n_rows, n_columns) ones and values at observed cells, zeros elsewhere
    values: Any

    @cached_property
    def total(self) -> float:
        """Sum of squares of the observed cells."""
        values = self.values if isinstance(self.values, np.ndarray) else self.values.data
        return float(np.vdot(values, values))

    @cached_property
    def transposed(self) -> Block:
        """The block with rows and columns exchanged."""
        mask, values = self.mask.T, self.values.T
        if isinstance(mask, np.ndarray):
            return Block(mask, values)
        return Block(mask.tocsr(), values.tocsr())


@dataclass(frozen=True, eq=False)
class ObservedCells:
    """Observed cells as lists of positions and values; nothing of the size of the matrix."""

    rows: np.ndarray  # (n_cells,) positions
    columns: np.ndarray
    values: np.ndarray  # (n_cells,) values, in double precision
    shape: tuple[int, int]  # shape of the matrix

    @classmethod
    def of(cls, X: Any) -> ObservedCells:
        """The cells of a dense array that are not NaN, or the stored entries of a sparse one."""
        if sparse.issparse(X):
            listed = X.tocoo()
            rows, columns, values = listed.row, listed.col, listed.data
            seen = ~np.isnan(values)
            rows, columns, values = rows[seen], columns[seen], values[seen]
        else:
            seen = ~np.isnan(X)
            rows, columns = np.nonzero(seen)
            values = X[seen]
        return cls(rows, columns, np.asarray(values, dtype=np.float64), X.shape)

    def __len__(self) -> int:
        return len(self.values)

    @cached_property
    def total(self) -> float:
        """Sum of squares."""
        return float(self.values @ self.values)

    @property
    def complete(self) -> bool:
        """Whether no cell is missing."""
        return len(self) == self.shape[0] * self.shape[1]

    @cached_property
    def transposed(self) -> ObservedCells:
        """The cells of the transposed matrix."""
        return ObservedCells(self.columns, self.rows, self.values, (self.shape[1], self.shape[0]))

    @cached_property
    def by_row(self) -> Block:
        """The whole matrix: dense if that takes about as much memory, else sparse, by rows."""
        if self._is_dense(len(self), self.shape):
            mask, values = np.zeros(self.shape), np.zeros(self.shape)
            mask[self.rows, self.columns] = 1.0
            values[self.rows, self.columns] = self.values
            return Block(mask, values)
        listed = sparse.csr_array((self.values, (self.rows, self.columns)), shape=self.shape)
        return Block(_ones_like(listed), listed)

    @staticmethod
    def _is_dense(cells: int, shape: tuple[int, int]) -> bool:
        return cells >= _DENSE_SHARE * shape[0] * shape[1]

    @cached_property
    def counts(self) -> np.ndarray:
        """Number of observed cells in each row."""
        return np.bincount(self.rows, minlength=self.shape[0])

    def replaced(self, values: np.ndarray) -> ObservedCells:
        """The same positions with other values."""
        return ObservedCells(self.rows, self.columns, values, self.shape)

    def subset(self, chosen: np.ndarray) -> ObservedCells:
        """The cells at which ``chosen`` is true."""
        return ObservedCells(
            self.rows[chosen], self.columns[chosen], self.values[chosen], self.shape
        )

    def in_columns(self, columns: np.ndarray) -> Block:
        """All rows of some columns."""
        if len(columns) == self.shape[1]:
            return self.by_row
        some = self.transposed.by_row
        return Block(some.mask[columns], some.values[columns]).transposed

    def block(self, rows: np.ndarray, columns: np.ndarray) -> Block:
        """Some rows and columns, dense if that takes about as much memory."""
        if len(rows) == self.shape[0] and len(columns) == self.shape[1]:
            return self.by_row
        whole = self.by_row
        if isinstance(whole.mask, np.ndarray):
            here = np.ix_(rows, columns)
            return Block(whole.mask[here], whole.values[here])
        values = whole.values[rows][:, columns]
        mask = _ones_like(values)
        if self._is_dense(values.nnz, values.shape):
            return Block(mask.toarray(), values.toarray())
        return Block(mask, values)

    def products(self, U: np.ndarray, V: np.ndarray) -> np.ndarray:
        """Entries of U Vᵀ at the positions, without forming the matrix."""
        result = np.zeros(len(self))
        for u, v in zip(U.T, V.T, strict=True):
            result += u[self.rows] * v[self.columns]
        return result

    def row_sums(self, entries: np.ndarray) -> np.ndarray:
        """Sums over the rows of one number per cell."""
        return np.bincount(self.rows, entries, self.shape[0])


def _ones_like(values: Any) -> Any:
    return sparse.csr_array((np.ones(values.nnz), values.indices, values.indptr), values.shape)
