"""Validation of a matrix with missing cells."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

from thinrank import arrays
from thinrank.arrays import Array
from thinrank.core.resources import check_fits
from thinrank.designs import Dense
from thinrank.estimators.input_types import check_columns, check_kind, without_mask
from thinrank.estimators.validation import check_magnitudes
from thinrank.matrices.cell_centre import Centre
from thinrank.matrices.observed_cells import ObservedCells

# Positions that a message lists.
_MOST_NAMED = 5


@dataclass(frozen=True, eq=False)
class CellData:
    """The observed cells, and how X was given."""

    cells: ObservedCells  # the observed cells
    dtype: Any  # floating-point type of X
    tensor: Array | None  # X, if it is an array of another library than NumPy

    def like_given(self, filled: np.ndarray) -> Array:
        """A matrix in the type and library of X."""
        if self.tensor is not None:
            return arrays.from_numpy(filled, self.tensor)
        return filled.astype(self.dtype, copy=False)


def check_cells(estimator: BaseEstimator, X: Any, *, reset: bool = True) -> CellData:
    """The observed cells of X: NaN is missing, and so is what a sparse matrix does not store."""
    tensor = None
    if arrays.is_array(X) and not isinstance(X, (np.ndarray, np.generic)):
        tensor = arrays.as_float_array(X)
        X = arrays.to_numpy(tensor)
    X = without_mask(X)
    check_kind("X", X)
    check_columns("X", X)
    X = validate_data(
        estimator,
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
    return CellData(cells, X.dtype, tensor)


def empty_lines(cells: ObservedCells, fill: str) -> list[str]:
    """Warnings about rows and columns without observed cells."""
    texts = []
    for name, each in (("rows", cells), ("columns", cells.transposed)):
        empty = np.flatnonzero(each.counts == 0)
        if len(empty):
            shown = ", ".join(map(str, empty[:_MOST_NAMED].tolist()))
            more = f" and {len(empty) - _MOST_NAMED} more" if len(empty) > _MOST_NAMED else ""
            texts.append(
                f"{len(empty)} of {each.shape[0]} {name} of X have no observed cell and are "
                f"filled in with {fill}: {shown}{more}"
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
