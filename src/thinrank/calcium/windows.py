"""Regions as boolean images, and square sections of images around a pixel."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

# Pixels from the center of a window to its edge: room for a neuron of the usual radius of 5 pixels
# and its neighbors.
_HALF = 14


def mask_of(region: np.ndarray, shape: tuple[int, int]) -> np.ndarray:
    """A region as a boolean image.

    Shapes: ``region`` (n_pixels, 2), result (height, width).
    """
    mask = np.zeros(shape, dtype=bool)
    mask[tuple(inside(region, shape).T)] = True
    return mask


def inside(region: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """The pixels of a region that are in an image.

    Shapes: ``region`` (n_pixels, 2), result (n_pixels_inside, 2).
    """
    return region[np.all((region >= 0) & (region < np.array(shape)), axis=1)]


def window(image: np.ndarray, centre: Sequence[float] | np.ndarray) -> np.ndarray:
    """A square of 29 × 29 pixels of an image, around a pixel or, at the edge, next to it.

    A square that would reach beyond the edge is moved inside, so that it holds nothing but pixels
    of the image: padding would show as dark strips and change the range of the colors.

    Shapes: ``image`` (height, width).
    """
    row, column = (
        int(np.clip(round(float(place)) - _HALF, 0, max(length - 2 * _HALF - 1, 0)))
        for place, length in zip(centre, image.shape, strict=True)
    )
    return image[row : row + 2 * _HALF + 1, column : column + 2 * _HALF + 1]
