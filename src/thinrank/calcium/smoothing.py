"""Gaussian filters of movies that are stored pixel by pixel."""

from __future__ import annotations

import numpy as np

# Number of lines that are computed by one matrix product: more of them need more operations on
# zeros, fewer of them smaller products. Rule of thumb.
_LINES = 16


def gaussian_matrix(side: int, width: float, truncate: float = 3.0) -> np.ndarray:
    """Weights of a Gaussian filter along one side of a frame.

    Shapes: result (side, side).

    Examples
    --------
    >>> from thinrank.calcium.smoothing import gaussian_matrix
    >>> gaussian_matrix(3, 1.0).sum(axis=1).round(6).tolist()
    [1.0, 1.0, 1.0]
    """
    apart = np.subtract.outer(np.arange(side), np.arange(side))
    weights = np.exp(-0.5 * (apart / width) ** 2)
    weights[np.abs(apart) > truncate * width + 0.5] = 0
    return (weights / weights.sum(axis=1, keepdims=True)).astype(np.float32)


def smooth_frames(values: np.ndarray, width: float) -> np.ndarray:
    """A Gaussian filter of each frame, by matrix products.

    Shapes: result (height, width, n_frames).
    """
    if width == 0:
        return values.copy()
    height, across, frames = values.shape
    down = gaussian_matrix(height, width)
    right = gaussian_matrix(across, width)
    flat = values.reshape(height, -1)
    out = np.empty_like(values)
    for rows, near in _bands(down):
        lines = (down[rows, near] @ flat[near]).reshape(-1, across, frames)
        for columns, beside in _bands(right):
            np.matmul(right[columns, beside], lines[:, beside], out=out[rows, columns])
    return out


def _bands(weights: np.ndarray) -> list[tuple[slice, slice]]:
    """Groups of rows of a banded matrix, with the columns that are not zero there."""
    bands = []
    for first in range(0, len(weights), _LINES):
        rows = slice(first, min(first + _LINES, len(weights)))
        used = np.flatnonzero(weights[rows].any(axis=0))
        bands.append((rows, slice(int(used[0]), int(used[-1]) + 1)))
    return bands
