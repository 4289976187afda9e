"""Regions as images, and squares cut out of images about a region."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

__all__ = ["mask_of", "window"]

_HALF = 14  # pixels from the middle of a window to its edge


def mask_of(region: np.ndarray, shape: tuple[int, int]) -> np.ndarray:
    """A region (m, 2) as a boolean image; what is outside the image is left out."""
    mask = np.zeros(shape, dtype=bool)
    inside = np.all((region >= 0) & (region < np.array(shape)), axis=1)
    mask[tuple(region[inside].T)] = True
    return mask


def window(image: np.ndarray, centre: Sequence[float] | np.ndarray) -> np.ndarray:
    """The square of 29 × 29 pixels about a pixel of an image; zeros beyond its edge.

    For a pixel outside the image, the square about the nearest one inside.
    """
    row, column = np.clip(np.round(centre).astype(int), 0, np.array(image.shape) - 1)
    padded = np.pad(image, _HALF)
    return padded[row : row + 2 * _HALF + 1, column : column + 2 * _HALF + 1]
