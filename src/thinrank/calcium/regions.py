"""Regions of pixels: computed from footprints, judged by their shape, and cut out of images."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.ndimage import binary_fill_holes, gaussian_filter, label

# The eight neighbors of a pixel.
_AROUND = np.ones((3, 3), dtype=bool)


def region_of(footprint: np.ndarray, threshold: float) -> np.ndarray:
    """The connected pixels around the maximum with at least this fraction of it, holes filled."""
    peak = np.unravel_index(int(np.argmax(footprint)), footprint.shape)
    pieces, _ = label(footprint >= threshold * footprint[peak], structure=_AROUND)
    return np.argwhere(binary_fill_holes(pieces == pieces[peak]))


def body_of(footprint: np.ndarray, radius: float) -> np.ndarray:
    """Where a smoothed footprint is at least 0.4 of its maximum, around the maximum."""
    return region_of(_smooth(footprint, 0.4 * radius), 0.4)


def shape_score(footprint: np.ndarray, radius: float) -> tuple[float, str]:
    """How much a footprint looks like a neuron, from 0 to 1, and what is most unlike one.

    0.5 is at the limits: an area of 0.5 to 2.5 discs of the given radius, a length of 1.9 widths,
    and a bright part of 0.25 discs. Smaller ones are dendrites and spines, or the brightest part of
    something else.
    """
    area = np.pi * radius**2
    bright = len(region_of(_smooth(footprint, 0.2 * radius), 0.5)) / area
    body = body_of(footprint, radius)
    whole, ratio = len(body) / area, np.inf
    if len(body) > 2:
        short, long = np.linalg.eigvalsh(np.cov(body.T))
        ratio = float((long / max(short, 1e-12)) ** 0.5)
    return min(
        (bright / (bright + 0.25), "too small"),
        (whole / (whole + 0.5), "too small"),
        (2.5 / (2.5 + whole), "too large"),
        (1.9 / (1.9 + ratio), "too long"),
    )


def _smooth(footprint: np.ndarray, width: float) -> np.ndarray:
    """A footprint after a Gaussian filter, with room for it around the edges."""
    return gaussian_filter(np.pad(footprint, int(np.ceil(2.5 * width))), width)


def label_image(footprints: np.ndarray, regions: list[np.ndarray]) -> np.ndarray:
    """Regions as one image: 0, or 1 plus the index of the neuron that is brightest there."""
    shape = footprints.shape[1:]
    labels, best = np.zeros(shape, dtype=np.int32), np.full(shape, -1, dtype=np.float32)
    for n, (footprint, region) in enumerate(zip(footprints, regions, strict=True)):
        rows, columns = region.T
        height = footprint[rows, columns] / footprint.max()
        higher = height > best[rows, columns]
        labels[rows[higher], columns[higher]] = n + 1
        best[rows[higher], columns[higher]] = height[higher]
    return labels


# Pixels from the center of a window to its edge: room for a neuron of the usual radius of 5 pixels
# and its neighbors.
_HALF = 14


def mask_of(region: np.ndarray, shape: tuple[int, int]) -> np.ndarray:
    """A region as a boolean image."""
    mask = np.zeros(shape, dtype=bool)
    mask[tuple(inside(region, shape).T)] = True
    return mask


def inside(region: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """The pixels of a region that are in an image."""
    return region[np.all((region >= 0) & (region < np.array(shape)), axis=1)]


def window(image: np.ndarray, centre: Sequence[float] | np.ndarray) -> np.ndarray:
    """A square of 29 × 29 pixels of an image around a pixel, moved inside at the edges."""
    row, column = (
        int(np.clip(round(float(place)) - _HALF, 0, max(length - 2 * _HALF - 1, 0)))
        for place, length in zip(centre, image.shape, strict=True)
    )
    return image[row : row + 2 * _HALF + 1, column : column + 2 * _HALF + 1]


def centres_of(regions: list[np.ndarray]) -> np.ndarray:
    """Mean row and column of each region; of shape (n_regions, 2)."""
    return np.array([region.mean(axis=0) for region in regions]).reshape(-1, 2)
