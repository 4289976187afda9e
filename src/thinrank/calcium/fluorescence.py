"""Raw fluorescence of each neuron, of the neuropil around it, its resting level and ΔF/F."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.ndimage import distance_transform_edt
from scipy.sparse import csr_array, vstack

from thinrank.calcium.binning import RestingLevel
from thinrank.calcium.deconvolution import deconvolve
from thinrank.calcium.movie import Movie

# Pixels between a region and its surroundings, which the light of the neuron still reaches, and
# the number of pixels of the surroundings: suite2p's inner_neuropil_radius and
# min_neuropil_pixels.
_GAP = 2.0
_PIXELS = 350
# Pixels from the edge of a region to that of the window in which its surroundings are searched: a
# ring of this width around a single pixel has 2600 pixels, so that there are enough between
# densely packed neurons too.
_REACH = 28


@dataclass(frozen=True)
class Fluorescence:
    """Light of each neuron in the units of the movie, measured in the raw frames.

    Attributes
    ----------
    raw : ndarray of shape (n_neurons, n_frames), float32
        F, the mean over the pixels of the region, weighted by the footprint.
    neuropil : ndarray of shape (n_neurons, n_frames), float32
        Mean over the pixels around the region that belong to no region; 0 if there are none.
    baseline : ndarray of shape (n_neurons, n_frames), float32
        F0, the resting level of ``corrected``: a running percentile, raised to the median of the
        noise.
    deconvolved : ndarray of shape (n_neurons, n_frames), float32
        Non-negative deconvolution of ``corrected`` − F0; see :func:`deconvolve`. Unlike spike
        trains, it has values in many frames.
    coefficient : float
        Fraction of the neuropil that is subtracted.
    """

    raw: np.ndarray
    neuropil: np.ndarray
    baseline: np.ndarray
    deconvolved: np.ndarray
    coefficient: float

    @property
    def corrected(self) -> np.ndarray:
        """F − coefficient × neuropil; of shape (n_neurons, n_frames)."""
        return self.raw - np.float32(self.coefficient) * self.neuropil

    @property
    def dff(self) -> np.ndarray:
        """ΔF/F = (``corrected`` − F0) / F0; of shape (n_neurons, n_frames).

        NaN where F0 is not positive, for example because an offset was subtracted from the movie:
        a ratio to it has no meaning.
        """
        change, positive = self.corrected - self.baseline, self.baseline > 0
        return np.divide(change, self.baseline, out=np.full_like(change, np.nan), where=positive)

    def of(self, neurons: np.ndarray) -> Fluorescence:
        """The same for some of the neurons, given by their indices."""
        return Fluorescence(
            self.raw[neurons],
            self.neuropil[neurons],
            self.baseline[neurons],
            self.deconvolved[neurons],
            self.coefficient,
        )


def measure_fluorescence(
    movie: Movie,
    footprints: csr_array,
    regions: list[np.ndarray],
    usable: np.ndarray,
    *,
    coefficient: float,
    resting: RestingLevel,
    decay: float,
    progress: Callable[[float], None],
) -> Fluorescence:
    """Measure the light of each neuron and of its surroundings in the raw frames.

    Shapes: ``footprints`` (n_neurons, height * width), ``regions`` (n_pixels, 2), ``usable``
    (height, width).
    """
    shape = movie.shape[1:]
    pixels = [np.ravel_multi_index(tuple(region.T), shape) for region in regions]
    inside = _means(_in_rows(pixels, shape).multiply(footprints))
    weights = csr_array(vstack([inside, surroundings(regions, shape, usable)]))
    means = _weighted_sums(movie, weights, progress)
    raw, neuropil = means[: len(regions)], means[len(regions) :]
    corrected = raw - np.float32(coefficient) * neuropil
    baseline = resting.of(corrected)
    return Fluorescence(
        raw, neuropil, baseline, deconvolve(corrected - baseline, decay), float(coefficient)
    )


def _in_rows(pixels: list[np.ndarray], shape: tuple[int, int]) -> csr_array:
    """Ones at the given flat indices of each row."""
    bounds = np.cumsum([0, *map(len, pixels)])
    flat = np.concatenate([np.empty(0, dtype=np.int64), *pixels])
    return csr_array((np.ones(len(flat)), flat, bounds), shape=(len(pixels), shape[0] * shape[1]))


def _means(weights: csr_array) -> csr_array:
    """Weights that sum to 1 in each row that is not empty."""
    sums = weights.sum(axis=1)
    return csr_array(weights.multiply(1 / np.where(sums > 0, sums, 1)[:, None]))


def _weighted_sums(
    movie: Movie, weights: csr_array, progress: Callable[[float], None]
) -> np.ndarray:
    """Sums over the pixels of every frame, weighted; of shape (n_rows_of_weights, n_frames)."""
    frames, height, width = movie.shape
    sums = np.zeros((frames, weights.shape[0]), dtype=np.float32)
    columns = csr_array(weights.T.astype(np.float32))
    needed = np.diff(columns.indptr).reshape(height, width).any(axis=1)
    for first, block in movie.blocks(needed=needed):
        progress(first / height)
        part = columns[first * width : (first + block.shape[1]) * width]
        near = np.unique(part.indices)
        sums[:, near] += block.reshape(frames, -1) @ part[:, near].toarray()
    return np.ascontiguousarray(sums.T)


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
    return _means(_in_rows([_around(region, shape, free) for region in regions], shape))


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
