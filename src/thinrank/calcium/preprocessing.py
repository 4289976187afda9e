"""From raw frames to pixels of unit noise about zero, a few lines at a time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from scipy.ndimage import correlate1d
from scipy.special import ndtri

from thinrank.calcium.background import Background, find_background
from thinrank.calcium.errors import MovieError
from thinrank.calcium.movie import Movie
from thinrank.calcium.stages import StageProgress
from thinrank.designs import RecursiveFilter

__all__ = ["PreparedMovie", "Preprocessing", "interpolated", "smoothing_kernel"]

# Entries of a block of lines; the memory in use is a few times this.
_BLOCK_ENTRIES = 1 << 22
# Where the Gaussian filter is cut off, in standard deviations.
_CUT = 3.0
# Least noise of a pixel, as part of the median: the margin of a registered movie has next to none.
_LEAST_NOISE = 0.1
# E|a − b| of two independent standard normal numbers is 2/√π.
_FROM_MEAN_DIFFERENCE = np.pi**0.5 / 2
# Matched-filter outputs below this many standard deviations do not count as activity.
_ACTIVE = 2.0


@dataclass(frozen=True)
class PreparedMovie:
    """A movie as the matrix Y that the model is fitted to, and the way back.

    Attributes
    ----------
    Y : ndarray of shape (T, m), float32
        Smoothed, without the baseline, over the scale; of the pixels ``pixels`` only.
    pixels : ndarray of shape (m,)
        Sorted flat indices, row·W + column.
    shape : (T, H, W)
    knots : ndarray of shape (K,)
        Frames at which the baseline is known; in between it is interpolated linearly.
    baseline : ndarray of shape (K, H·W), float32
    scale : ndarray of shape (H·W,), float32
        What the pixels were divided by; 0 for a pixel that never changes.
    mean_image : ndarray of shape (H, W), float32
        Of the raw frames.
    """

    Y: np.ndarray
    pixels: np.ndarray
    shape: tuple[int, int, int]
    knots: np.ndarray
    baseline: np.ndarray
    scale: np.ndarray
    mean_image: np.ndarray


@dataclass(frozen=True)
class Preprocessing:
    """How frames become Y.

    Parameters
    ----------
    baseline : {"median", "percentile", "none"}
        What is taken out of each pixel: its median; a percentile in windows that half overlap,
        interpolated between their middles; or nothing.
    percentile : float
        Which one, for "percentile".
    window : int
        Frames of such a window.
    smoothing : float
        Standard deviation, in pixels, of a Gaussian filter of each frame; 0 for none.
    background : float
        Standard deviation, in pixels, of the wider filter whose changes over time are taken out;
        0 for none.
    noise_scaling : bool
        Whether each pixel is divided by the standard deviation of its own noise, or all of them
        by the median one.
    floor : float
        Values below so many standard deviations of the noise under the baseline are raised to
        that; infinity for none.
    most_pixels : int
        Of larger frames only so many pixels are kept, those with the most activity.
    """

    baseline: str
    percentile: float
    window: int
    smoothing: float
    background: float
    noise_scaling: bool
    floor: float
    most_pixels: int

    def prepare(self, movie: Movie, decay: float, progress: StageProgress) -> PreparedMovie:
        """Read the movie, twice when its frames are larger than ``most_pixels``."""
        frames, height, width = movie.shape
        size = height * width
        large = size > self.most_pixels
        knots = self._knots(frames)
        Y = np.empty((frames, 0 if large else size), dtype=np.float32)
        baseline = np.empty((len(knots), size), dtype=np.float32)
        noise, mean = np.empty(size, dtype=np.float32), np.empty(size, dtype=np.float32)
        activity = np.zeros(size, dtype=np.float32)
        background = find_background(movie, self.background) if self.background else None
        for block in self._blocks(movie, background):
            here = block.pixels
            progress(here.start / size / (2 if large else 1))
            mean[here] = block.mean
            baseline[:, here], values = self._without_baseline(block.values, knots)
            noise[here] = _noise(values)
            if large:
                activity[here] = _activity(values, noise[here], decay)
            else:
                Y[:, here] = values
        if not np.any(noise > 0):
            raise MovieError(movie.name, "is constant, or changes in all pixels alike")
        pixels = np.arange(size)
        if large:
            pixels = np.sort(
                np.argpartition(activity, size - self.most_pixels)[-self.most_pixels :]
            )
            Y = self._chosen(movie, background, pixels, baseline, knots, progress)
        scale = self._scale(noise)
        Y *= np.divide(1, scale, out=np.zeros_like(scale), where=scale > 0)[pixels]
        if np.isfinite(self.floor):
            np.maximum(Y, np.float32(-self.floor), out=Y)
        return PreparedMovie(
            Y, pixels, movie.shape, knots, baseline, scale, mean.reshape(height, width)
        )

    def _chosen(
        self,
        movie: Movie,
        background: Background | None,
        pixels: np.ndarray,
        baseline: np.ndarray,
        knots: np.ndarray,
        progress: StageProgress,
    ) -> np.ndarray:
        """Some pixels of the smoothed movie, less their baselines, read again."""
        frames, height, width = movie.shape
        Y = np.empty((frames, len(pixels)), dtype=np.float32)
        for block in self._blocks(movie, background):
            progress(0.5 + 0.5 * block.pixels.start / (height * width))
            first, last = np.searchsorted(pixels, (block.pixels.start, block.pixels.stop))
            Y[:, first:last] = block.values[:, pixels[first:last] - block.pixels.start]
        Y -= interpolated(baseline[:, pixels], knots, frames)
        return Y

    def _blocks(self, movie: Movie, background: Background | None) -> Iterator[_Block]:
        """Smoothed lines of all frames; what borders on them is read too, for the filter."""
        frames, height, width = movie.shape
        halo = int(_CUT * self.smoothing + 0.5)
        lines = max(_BLOCK_ENTRIES // (frames * width), 4 * halo, 1)
        for first in range(0, height, lines):
            last = min(first + lines, height)
            above = min(halo, first)
            block = movie.lines(first - above, min(last + halo, height))
            inner = block[:, above : above + last - first]
            mean = inner.mean(axis=0, dtype=np.float64).ravel()
            dead = (inner == inner[0]).all(axis=0).ravel()
            if self.smoothing > 0:
                kernel = smoothing_kernel(self.smoothing)
                for axis in (1, 2):
                    correlate1d(block, kernel, axis, output=block, mode="nearest")
            if background is not None:
                background.subtract(inner, first)
            values = np.ascontiguousarray(inner).reshape(frames, -1)
            values[:, dead] = mean[dead]  # the filters lend it the changes of its neighbours
            yield _Block(slice(first * width, last * width), values, mean)

    def _knots(self, frames: int) -> np.ndarray:
        """Middles of the windows; a single one for a baseline that does not change."""
        window = min(self.window, frames)
        if self.baseline != "percentile" or window == frames:
            return np.array([frames // 2])
        starts = np.linspace(0, frames - window, max(2, round(2 * frames / window) - 1))
        return np.round(starts).astype(int) + window // 2

    def _without_baseline(
        self, values: np.ndarray, knots: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """The baseline at the knots, and the values less the baseline (in place)."""
        frames = len(values)
        if self.baseline == "none":
            return np.zeros((1, values.shape[1]), dtype=np.float32), values
        by_pixel = np.ascontiguousarray(values.T)  # in which a pixel's frames lie together
        if self.baseline == "median":
            levels = np.median(by_pixel, axis=1, overwrite_input=True)[None]
        else:
            half = min(self.window, frames) // 2
            spans = [slice(max(k - half, 0), k - half + min(self.window, frames)) for k in knots]
            levels = np.stack(
                [np.percentile(by_pixel[:, s], self.percentile, axis=1) for s in spans]
            )
        levels = levels.astype(np.float32)
        values -= interpolated(levels, knots, frames)
        if self.baseline == "percentile":
            # noise itself has its percentile below, or above, its middle
            shift = _noise(values) * np.float32(ndtri(self.percentile / 100))
            values += shift
            levels -= shift
        return levels, values

    def _scale(self, noise: np.ndarray) -> np.ndarray:
        """What each pixel is divided by."""
        typical = np.float32(np.median(noise[noise > 0]))
        scale = np.maximum(noise, _LEAST_NOISE * typical) if self.noise_scaling else typical
        return np.where(noise > 0, scale, np.float32(0)).astype(np.float32)


@dataclass(frozen=True)
class _Block:
    """Some lines of all frames: flat pixels, smoothed values (T, pixels), raw means."""

    pixels: slice
    values: np.ndarray
    mean: np.ndarray


def smoothing_kernel(smoothing: float) -> np.ndarray:
    """Weights of a Gaussian filter, cut off at three standard deviations; they sum to 1."""
    reach = int(_CUT * smoothing + 0.5)
    weights = np.exp(-0.5 * (np.arange(-reach, reach + 1) / smoothing) ** 2)
    return weights / weights.sum()


def interpolated(levels: np.ndarray, knots: np.ndarray, frames: int) -> np.ndarray:
    """Levels at the knots as levels at all frames: (K, m) becomes (T, m), or (1, m) for K = 1."""
    if len(knots) == 1:
        return levels
    times = np.clip(np.arange(frames), knots[0], knots[-1])
    left = np.clip(np.searchsorted(knots, times, side="right") - 1, 0, len(knots) - 2)
    share = (times - knots[left]) / (knots[left + 1] - knots[left])
    share = share.astype(np.float32)[:, None]
    return levels[left] * (1 - share) + levels[left + 1] * share


def _noise(values: np.ndarray) -> np.ndarray:
    """Standard deviation of the noise of each pixel, from differences of successive frames.

    Their mean size, unlike their median, is not zero for the counts of a few photons, and unlike
    their mean square it hardly notices a few spikes.
    """
    total = np.zeros(values.shape[1], dtype=np.float64)
    for before, after in pairwise(values):
        total += np.abs(after - before)
    return (total / (len(values) - 1) * _FROM_MEAN_DIFFERENCE).astype(np.float32)


def _activity(values: np.ndarray, noise: np.ndarray, decay: float) -> np.ndarray:
    """How much a pixel's matched-filter output exceeds the noise, summed over the frames."""
    design = RecursiveFilter(decay, len(values), np.float32)
    matched = design.transposed_product(values)
    matched *= np.divide(1, noise, out=np.zeros_like(noise), where=noise > 0)
    matched /= design.column_norms()[:, None]
    matched -= np.float32(_ACTIVE)
    np.maximum(matched, 0, out=matched)
    return np.einsum("ij,ij->j", matched, matched)
