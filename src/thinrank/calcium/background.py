"""Light that is wider than any neuron, and changes: neuropil, and the lamp."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.ndimage import gaussian_filter

from thinrank.calcium.movie import Movie

__all__ = ["Background", "find_background"]

# Cells of the grid that the background is computed on, to one standard deviation of its width.
_CELLS = 3.0
# Entries of the lines that are read at a time.
_BLOCK_ENTRIES = 1 << 22


@dataclass(frozen=True)
class Background:
    """What changes over a wide neighbourhood of each pixel, on a coarse grid.

    Attributes
    ----------
    grid : ndarray of shape (T, h, w), float32
        At the middles of square cells, its median over time taken out.
    cell : int
        Side of a cell, in pixels.
    shape : (T, H, W)
    """

    grid: np.ndarray
    cell: int
    shape: tuple[int, int, int]

    def subtract(self, block: np.ndarray, first: int) -> None:
        """Take it out of lines from ``first`` on, shape (T, lines, W), in place."""
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
    """Means of cells, smoothed by a Gaussian filter.

    Parameters
    ----------
    movie : Movie
        Read once.
    width : float
        Standard deviation of the filter, in pixels.
    """
    frames, height, length = movie.shape
    cell = max(1, round(width / _CELLS))
    edges = np.arange(0, length, cell)
    counts = np.diff(np.append(edges, length))
    rows = -(-height // cell)
    grid = np.empty((frames, rows, len(edges)), dtype=np.float32)
    at_once = max(1, _BLOCK_ENTRIES // (frames * length * cell))
    for first in range(0, rows, at_once):
        last = min(first + at_once, rows)
        block = movie.lines(first * cell, min(last * cell, height))
        starts = np.arange(0, block.shape[1], cell)
        lines = np.diff(np.append(starts, block.shape[1]))
        sums = np.add.reduceat(np.add.reduceat(block, starts, axis=1), edges, axis=2)
        grid[:, first:last] = sums / (lines[:, None] * counts)
    grid -= np.median(grid, axis=0)
    grid = gaussian_filter(grid, (0, width / cell, width / cell), mode="nearest", truncate=3.0)
    return Background(grid, cell, movie.shape)


def _interpolation(places: np.ndarray, cells: int, cell: int, length: int) -> np.ndarray:
    """Weights of the cells, whose middles are known, at some places: linear in between."""
    edges = np.append(np.arange(cells) * cell, length)
    middles = (edges[:-1] + edges[1:] - 1) / 2
    weights = [np.interp(places, middles, unit) for unit in np.eye(cells)]
    return np.stack(weights, axis=1).astype(np.float32)
