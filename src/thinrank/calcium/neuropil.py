"""The pixels around each neuron, whose light is that of the neuropil."""

from __future__ import annotations

import numpy as np
from scipy.ndimage import distance_transform_edt
from scipy.sparse import csr_array

# Pixels between a region and its surroundings, which the light of the neuron still reaches, and
# the number of pixels of the surroundings: suite2p's inner_neuropil_radius and
# min_neuropil_pixels.
_GAP = 2.0
_PIXELS = 350
# Pixels from the edge of a region to that of the window in which its surroundings are searched: a
# ring of this width around a single pixel has 2600 pixels, so that there are enough between
# densely packed neurons too.
_REACH = 28


def surroundings(
    regions: list[np.ndarray], shape: tuple[int, int], usable: np.ndarray
) -> csr_array:
    """Weights that give the mean over the pixels around each region.

    The nearest 350 pixels are taken that are more than two pixels away from the region, belong to
    no other region and are usable; all there are within 28 pixels, if these are fewer.

    Shapes: ``regions`` (n_pixels, 2), ``usable`` (height, width), result (n_neurons, height *
    width).
    """
    free = np.array(usable, dtype=bool)
    for region in regions:
        free[tuple(region.T)] = False
    chosen = [_around(region, shape, free) for region in regions]
    counts = np.array([len(pixels) for pixels in chosen], dtype=np.int64)
    weights = np.repeat(1 / np.maximum(counts, 1), counts)
    bounds = np.concatenate([[0], np.cumsum(counts)])
    pixels = np.concatenate([np.empty(0, dtype=np.int64), *chosen])
    return csr_array((weights, pixels, bounds), shape=(len(regions), shape[0] * shape[1]))


def _around(region: np.ndarray, shape: tuple[int, int], free: np.ndarray) -> np.ndarray:
    """Sorted flat indices of the free pixels around a region."""
    low = np.maximum(region.min(axis=0) - _REACH, 0)
    high = np.minimum(region.max(axis=0) + _REACH + 1, shape)
    outside = np.ones(high - low, dtype=bool)
    outside[tuple((region - low).T)] = False
    distances = distance_transform_edt(outside)
    near = free[low[0] : high[0], low[1] : high[1]] & (distances > _GAP) & (distances <= _REACH)
    rows, columns = np.nonzero(near)
    # all pixels at one distance are taken, or none: a part of them would lie on one side
    order = np.sort(distances[near])
    farthest = order[min(_PIXELS, len(order)) - 1] if len(order) else 0.0
    taken = distances[near] <= farthest
    return (rows[taken] + low[0]) * shape[1] + columns[taken] + low[1]
