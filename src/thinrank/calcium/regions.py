"""Regions of pixels, computed from footprints."""

from __future__ import annotations

import numpy as np
from scipy.ndimage import binary_fill_holes, label

# The eight neighbors of a pixel.
_AROUND = np.ones((3, 3), dtype=bool)


def region_of(footprint: np.ndarray, threshold: float) -> np.ndarray:
    """Pixels at which a footprint is at least a fraction of its maximum.

    Only the connected component that contains the maximum is returned, with its holes filled.

    Shapes: ``footprint`` (height, width), result (n_pixels, 2).
    """
    peak = np.unravel_index(int(np.argmax(footprint)), footprint.shape)
    pieces, _ = label(footprint >= threshold * footprint[peak], structure=_AROUND)
    return np.argwhere(binary_fill_holes(pieces == pieces[peak]))


def label_image(
    footprints: list[np.ndarray], regions: list[np.ndarray], shape: tuple[int, int]
) -> np.ndarray:
    """Regions as one image of integers: 0, or 1 plus the index of the neuron.

    A pixel in several regions belongs to the footprint that is largest there, relative to its
    maximum.

    Shapes: ``footprints`` (height, width), ``regions`` (n_pixels, 2), result (height, width).
    """
    labels, best = np.zeros(shape, dtype=np.int32), np.full(shape, -1, dtype=np.float32)
    for n, (footprint, region) in enumerate(zip(footprints, regions, strict=True)):
        rows, columns = region.T
        height = footprint[rows, columns] / footprint.max()
        higher = height > best[rows, columns]
        labels[rows[higher], columns[higher]] = n + 1
        best[rows[higher], columns[higher]] = height[higher]
    return labels


def connected_regions(pixels: np.ndarray, shape: tuple[int, int], least: int) -> list[np.ndarray]:
    """Connected components of a set of pixels.

    Shapes: result (n_pixels, 2).
    """
    mask = np.zeros(shape, dtype=bool)
    mask.ravel()[pixels] = True
    pieces, count = label(mask, structure=_AROUND)
    found = [np.argwhere(pieces == piece) for piece in range(1, count + 1)]
    return [piece for piece in found if len(piece) >= least]
