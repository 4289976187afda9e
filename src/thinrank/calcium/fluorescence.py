"""Raw fluorescence of each neuron, of the neuropil around it, its resting level and ΔF/F."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array, vstack
from scipy.special import ndtri

from thinrank.calcium.deconvolution import trace_noise
from thinrank.calcium.movie import Movie
from thinrank.calcium.neuropil import surroundings
from thinrank.calcium.nonnegative_deconvolution import deconvolve
from thinrank.calcium.preprocessing import interpolated
from thinrank.calcium.stages import StageProgress


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


@dataclass(frozen=True)
class RestingLevel:
    """A running percentile, raised to the median of the noise."""

    percentile: float  # above 0 and below 100
    # number of frames of a window. Windows overlap by half, and the level is interpolated between
    # their centers
    window: int

    def of(self, values: np.ndarray) -> np.ndarray:
        """The level of each trace.

        Shapes: result (n_neurons, n_frames).
        """
        frames = values.shape[1]
        window = min(self.window, frames)
        starts = np.array([0])
        if window < frames:
            spaced = np.linspace(0, frames - window, max(2, round(2 * frames / window) - 1))
            starts = np.round(spaced).astype(int)
        spans = [values[:, start : start + window] for start in starts]
        levels = np.stack([np.percentile(span, self.percentile, axis=1) for span in spans])
        levels -= trace_noise(values) * ndtri(self.percentile / 100)
        running = interpolated(levels.astype(np.float32), starts + window // 2, frames)
        return np.ascontiguousarray(np.broadcast_to(running, (frames, len(values))).T)


def measure_fluorescence(
    movie: Movie,
    footprints: csr_array,
    regions: list[np.ndarray],
    usable: np.ndarray,
    *,
    coefficient: float,
    resting: RestingLevel,
    decay: float,
    progress: StageProgress,
) -> Fluorescence:
    """Measure the light of each neuron and of its surroundings in the raw frames.

    Shapes: ``footprints`` (n_neurons, height * width), ``regions`` (n_pixels, 2), ``usable``
    (height, width).
    """
    shape = movie.shape[1:]
    inside, around = _in_regions(footprints, regions, shape), surroundings(regions, shape, usable)
    means = _weighted_sums(movie, csr_array(vstack([inside, around])), progress)
    raw, neuropil = means[: len(regions)], means[len(regions) :]
    corrected = raw - np.float32(coefficient) * neuropil
    baseline = resting.of(corrected)
    return Fluorescence(
        raw, neuropil, baseline, deconvolve(corrected - baseline, decay), float(coefficient)
    )


def _in_regions(
    footprints: csr_array, regions: list[np.ndarray], shape: tuple[int, int]
) -> csr_array:
    """Footprints inside their regions, as weights that sum to 1."""
    rows = []
    for number, region in enumerate(regions):
        pixels = region[:, 0] * shape[1] + region[:, 1]
        weights = np.maximum(footprints[[number]][:, pixels].toarray().ravel(), 0).astype(float)
        weights = weights if weights.sum() > 0 else np.ones(len(pixels))
        where = (np.zeros(len(pixels), dtype=int), pixels)
        size = (1, shape[0] * shape[1])
        rows.append(csr_array((weights / weights.sum(), where), shape=size))
    return csr_array(vstack(rows)) if rows else csr_array((0, shape[0] * shape[1]))


def _weighted_sums(movie: Movie, weights: csr_array, progress: StageProgress) -> np.ndarray:
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
