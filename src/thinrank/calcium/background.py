"""Background: changes of light on a scale wider than any neuron, such as neuropil."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.ndimage import gaussian_filter

from thinrank.calcium.movie import Movie

# Cells of the coarse grid per standard deviation of the filter. Rule of thumb: with three, linear
# interpolation between the cells is accurate.
_CELLS = 3.0


@dataclass(frozen=True)
class Background:
    """Mean change over a wide neighborhood of each pixel, on a coarse grid."""

    # (n_frames, n_cell_rows, n_cell_columns) background at the centers of square cells, minus its
    # median over time
    grid: np.ndarray
    cell: int  # side length of a cell, in pixels
    shape: tuple[int, int, int]  # shape of the movie

    def subtract(self, block: np.ndarray, first: int) -> None:
        """Subtract the background from some lines of all frames, in place.

        Shapes: ``block`` (n_frames, n_lines, width).
        """
        _, height, width = self.shape
        lines = np.arange(first, first + block.shape[1])
        down = _interpolation(lines, self.grid.shape[1], self.cell, height)
        across = _interpolation(np.arange(width), self.grid.shape[2], self.cell, width).T
        across = np.ascontiguousarray(across)
        used = np.flatnonzero(down.any(axis=0))
        near = slice(used[0], used[-1] + 1)
        for frame, cells in zip(block, self.grid, strict=True):
            frame -= down[:, near] @ (cells[near] @ across)


def find_background(movie: Movie, width: float) -> Background:
    """Compute the background of a movie: means of cells, smoothed by a Gaussian filter."""
    frames, height, length = movie.shape
    cell = max(1, round(width / _CELLS))
    edges = np.arange(0, length, cell)
    counts = np.diff(np.append(edges, length))
    rows = -(-height // cell)
    grid = np.empty((frames, rows, len(edges)), dtype=np.float32)
    for first, block in movie.blocks(cell):
        starts = np.arange(0, block.shape[1], cell)
        lines = np.diff(np.append(starts, block.shape[1]))
        sums = np.add.reduceat(np.add.reduceat(block, starts, axis=1), edges, axis=2)
        begin = first // cell
        grid[:, begin : begin + len(lines)] = sums / (lines[:, None] * counts)
    grid -= np.median(grid, axis=0)
    grid = gaussian_filter(grid, (0, width / cell, width / cell), mode="nearest", truncate=3.0)
    return Background(grid, cell, movie.shape)


def _interpolation(places: np.ndarray, cells: int, cell: int, length: int) -> np.ndarray:
    """Weights of linear interpolation between the centers of the cells."""
    edges = np.append(np.arange(cells) * cell, length)
    middles = (edges[:-1] + edges[1:] - 1) / 2
    weights = [np.interp(places, middles, unit) for unit in np.eye(cells)]
    return np.stack(weights, axis=1).astype(np.float32)
