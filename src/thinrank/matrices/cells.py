"""Matrices with missing cells: the observed cells, by rows and by columns, and their means."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import lsqr
from sklearn.base import BaseEstimator

from thinrank import arrays
from thinrank.arrays import Array
from thinrank.core.resources import check_fits
from thinrank.designs import Dense
from thinrank.estimators.validation import check_magnitudes, first_few
from thinrank.matrices.decomposition import check_numbers

# A matrix or block is held as a dense array if this share of its cells is observed: products with
# dense arrays are then faster, and the array is not much larger than the list of cells.
DENSE_SHARE = 0.1


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
        return cells >= DENSE_SHARE * shape[0] * shape[1]

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

    def block(self, rows: np.ndarray | None, columns: np.ndarray) -> Block:
        """Some rows, or all, and some columns, dense if that takes about as much memory."""
        rows = np.arange(self.shape[0]) if rows is None else rows
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


# --------------------------------------------------------------------------- means

CENTRES = (None, "columns", "rows", "both")


@dataclass(frozen=True, eq=False)
class Centre:
    """The matrix with entries rows[i] + columns[j]."""

    rows: np.ndarray  # (n_rows,) zeros, or means of the rows
    columns: np.ndarray  # (n_columns,) zeros, or means of the columns

    @classmethod
    def of(cls, cells: ObservedCells, kind: str | None) -> Centre:
        """Least-squares fit of the observed cells; with "both" an additive model.

        Rows without observed cells have the mean of the other rows, and likewise columns.
        """
        rows, columns = np.zeros(cells.shape[0]), np.zeros(cells.shape[1])
        if kind in ("columns", "both"):
            columns = means(cells.transposed)
        if kind == "rows":
            rows = means(cells)
        if kind == "both":
            rows, columns = _additive(cells)
        return cls(rows, columns)

    def removed(self, cells: ObservedCells) -> ObservedCells:
        """The cells minus the center."""
        return cells.replaced(cells.values - self.rows[cells.rows] - self.columns[cells.columns])


def means(cells: ObservedCells) -> np.ndarray:
    """Mean of the observed cells of each row; the mean of these for a row without any."""
    found = cells.row_sums(cells.values) / np.maximum(cells.counts, 1)
    seen = cells.counts > 0
    return np.where(seen, found, np.mean(found[seen]) if seen.any() else 0.0)


def _additive(cells: ObservedCells) -> tuple[np.ndarray, np.ndarray]:
    """Row and column effects by least squares; the row effects have mean zero."""
    n, (n_rows, n_columns) = len(cells), cells.shape
    places = np.tile(np.arange(n), 2), np.concatenate([cells.rows, n_rows + cells.columns])
    design = sparse.csr_array((np.ones(2 * n), places), shape=(n, n_rows + n_columns))
    effects = lsqr(design, cells.values, atol=np.finfo(float).eps, btol=np.finfo(float).eps)[0]
    rows, columns = effects[:n_rows], effects[n_rows:]
    for line, counts in ((rows, cells.counts), (columns, cells.transposed.counts)):
        line[counts == 0] = np.mean(line[counts > 0]) if counts.any() else 0.0
    shift = float(np.mean(rows))
    return rows - shift, columns + shift


# --------------------------------------------------------------------------- checks


def check_cells(
    estimator: BaseEstimator, X: Any, *, reset: bool = True
) -> tuple[ObservedCells, Array]:
    """The observed cells of X, and an empty array of its library and type."""
    tensor = arrays.is_array(X) and not isinstance(X, (np.ndarray, np.generic))
    like = arrays.as_float_array(X) if tensor else None
    X = check_numbers(
        estimator,
        "X",
        X,
        reset=reset,
        accept_sparse=("csr", "csc", "coo"),
        dtype=(np.float64, np.float32),
        ensure_all_finite="allow-nan",
    )
    cells = ObservedCells.of(X)
    if reset and not len(cells):
        raise ValueError("X must have observed cells, but all its cells are missing (NaN)")
    check_magnitudes("X", Dense(np.reshape(cells.values, (-1, 1))))
    return cells, np.zeros(0, X.dtype) if like is None else arrays.zeros((0,), like)


def empty_lines(cells: ObservedCells, fill: str) -> list[str]:
    """Warnings about rows and columns without observed cells."""
    texts = []
    for name, each in (("rows", cells), ("columns", cells.transposed)):
        empty = np.flatnonzero(each.counts == 0)
        if len(empty):
            texts.append(
                f"{len(empty)} of {each.shape[0]} {name} of X have no observed cell and are "
                f"filled in with {fill}: {first_few(map(str, empty))}"
            )
    return texts


def filled_in(cells: ObservedCells, U: np.ndarray, V: np.ndarray, centre: Centre) -> np.ndarray:
    """The whole matrix: estimates, with observed values where there are any."""
    check_fits(cells.shape, 8, "filling in", "use predict_cells for the cells of interest")
    filled = U @ V.T
    filled += centre.rows[:, None]
    filled += centre.columns
    filled[cells.rows, cells.columns] = cells.values
    return filled


def check_positions(name: str, given: Any, size: int) -> np.ndarray:
    """Positions of rows or columns as an array of integers within the size."""
    found = np.asarray(given)
    if not np.issubdtype(found.dtype, np.integer):
        raise ValueError(f"{name} must be integers, got an array of dtype {found.dtype}")
    if found.size and not (found.min() >= 0 and found.max() < size):
        raise ValueError(
            f"{name} must be from 0 to {size - 1}, got values from {found.min()} to {found.max()}"
        )
    return found
