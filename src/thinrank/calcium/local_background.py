"""Background with a gain for each pixel: light that changes on a scale wider than any neuron.

The means of coarse cells are smoothed by a Gaussian filter G, twice over: 2G − G² has a much
smaller bias than G where the background is curved, and neurons pass it almost as little. What is
subtracted from a pixel is this background times the pixel's gain, its regression coefficient.
Without a gain, dark pixels would show the background upside down.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.ndimage import gaussian_filter1d
from scipy.sparse import csr_array

# Cells of the coarse grid per standard deviation of the filter. Rule of thumb: with three, linear
# interpolation between the cells is accurate.
_CELLS = 3.0


@dataclass(frozen=True)
class CellGrid:
    """Square cells that cover a frame."""

    shape: tuple[int, int]  # shape of a frame
    width: float  # standard deviation of the filter, in pixels

    @property
    def cell(self) -> int:
        """Side length of a cell, in pixels."""
        return max(1, round(self.width / _CELLS))

    @property
    def cells(self) -> tuple[int, int]:
        """Numbers of rows and columns of cells."""
        height, width = self.shape
        return -(-height // self.cell), -(-width // self.cell)

    def means(self, values: np.ndarray, first: int = 0) -> np.ndarray:
        """Means of the cells.

        Shapes: result (n_cell_rows, n_cell_columns, …).
        """
        if first % self.cell:
            raise ValueError(f"first must be a multiple of {self.cell}, got {first}")
        sums = _cell_sums(_cell_sums(values, 1, self.cell), 0, self.cell)
        counts = [
            np.diff(np.append(np.arange(0, side, self.cell), side)) for side in values.shape[:2]
        ]
        counted = np.outer(*counts).reshape(*sums.shape[:2], *[1] * (values.ndim - 2))
        return np.asarray(sums / counted.astype(values.dtype))

    def smoothed(self, grid: np.ndarray) -> np.ndarray:
        """The filter 2G − G² of a grid of shape (n_cell_rows, n_cell_columns, …)."""
        down, across = (self._filter(side) for side in grid.shape[:2])
        once = _filtered(grid, down, across)
        return 2 * once - _filtered(once, down, across)

    def _filter(self, count: int) -> np.ndarray:
        """The filter G along one side of the grid, as a matrix."""
        width = self.width / self.cell
        matrix = gaussian_filter1d(np.eye(count), width, axis=0, mode="nearest", truncate=3.0)
        return np.asarray(matrix, dtype=np.float32)

    def line(self, grid: np.ndarray, row: int) -> np.ndarray:
        """Linear interpolation of a grid along one line of the frame."""
        upper, lower, share = (part[row] for part in self._between(0))
        here = grid[upper] * (1 - share) + grid[lower] * share
        left, right, shares = self._between(1)
        shares = shares.reshape(-1, *[1] * (grid.ndim - 2))
        return np.asarray(here[left] * (1 - shares) + here[right] * shares)

    def interpolation(self) -> csr_array:
        """The interpolation as a matrix of shape (height * width, n_cells)."""
        (upper, lower, down), (left, right, across) = self._between(0), self._between(1)
        columns = self.cells[1]
        index, weights = [], []
        for i, v in ((upper, 1 - down), (lower, down)):
            for j, h in ((left, 1 - across), (right, across)):
                index.append((i[:, None] * columns + j).ravel())
                weights.append(np.outer(v, h).ravel())
        rows = np.tile(np.arange(self.shape[0] * self.shape[1]), 4)
        shape = (self.shape[0] * self.shape[1], self.cells[0] * columns)
        return csr_array((np.concatenate(weights), (rows, np.concatenate(index))), shape=shape)

    def _between(self, axis: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """For each line or column: the cells before and after it, and the share of the second."""
        side, count = self.shape[axis], self.cells[axis]
        edges = np.append(np.arange(count) * self.cell, side)
        middles = (edges[:-1] + edges[1:] - 1) / 2
        places = np.clip(np.arange(side), middles[0], middles[-1])
        before = np.clip(np.searchsorted(middles, places, side="right") - 1, 0, max(count - 2, 0))
        after = np.minimum(before + 1, count - 1)
        gap = np.where(after > before, middles[after] - middles[before], 1.0)
        return before, after, ((places - middles[before]) / gap).astype(np.float32)


@dataclass(frozen=True)
class LocalBackground:
    """The background of a binned movie."""

    grid: CellGrid
    gain: np.ndarray  # (height, width) factor of each pixel


def fit_background(rest: np.ndarray, width: float, largest_gain: float) -> LocalBackground:
    """Fit the background of a movie without neurons, and subtract it in place.

    Shapes: ``rest`` (height, width, n_bins).
    """
    cells = CellGrid((rest.shape[0], rest.shape[1]), width)
    grid = cells.smoothed(cells.means(rest))
    grid -= np.median(grid, axis=2, keepdims=True)
    gain = np.zeros(rest.shape[:2], dtype=np.float32)
    for row, line in enumerate(rest):
        wide = cells.line(grid, row)
        shared = np.einsum("ij,ij->i", line, wide)
        own = np.einsum("ij,ij->i", wide, wide)
        np.divide(shared, own, out=gain[row], where=own > 0)
        np.clip(gain[row], 0, largest_gain, out=gain[row])
        wide *= gain[row][:, None]
        line -= wide
    return LocalBackground(cells, gain)


def _cell_sums(values: np.ndarray, axis: int, cell: int) -> np.ndarray:
    """Sums of ``cell`` successive entries along an axis; the last sum may have fewer.

    Slices are added one after another, which is much faster than ``np.add.reduceat`` if the axis
    is not the last one in memory.
    """
    along = np.moveaxis(values, axis, 0)
    sums = along[::cell].copy(order="K")  # in the order of the memory, whatever the axes
    for step in range(1, cell):
        part = along[step::cell]
        sums[: len(part)] += part
    return np.moveaxis(sums, 0, axis)


def _filtered(grid: np.ndarray, down: np.ndarray, across: np.ndarray) -> np.ndarray:
    """A grid filtered by one matrix along its rows and another along its columns."""
    lines = down.astype(grid.dtype) @ grid.reshape(len(grid), -1)
    lines = lines.reshape(*grid.shape[:2], -1)
    return np.asarray(np.matmul(across.astype(grid.dtype), lines)).reshape(grid.shape)
