"""Preprocessing: smoothing, baseline, background and noise level, a few lines at a time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from scipy.ndimage import correlate1d
from scipy.special import ndtri

from thinrank.calcium.background import Background, find_background
from thinrank.calcium.errors import MovieError
from thinrank.calcium.movie import Movie
from thinrank.calcium.stages import StageProgress
from thinrank.designs import RecursiveFilter

# Number of entries of a block of lines: 16 MiB in single precision. The memory in use is a few
# times this.
_BLOCK_ENTRIES = 1 << 22
# The Gaussian filter is truncated at this many standard deviations, where it is 1 % of its maximum.
_CUT = 3.0
# Smallest noise level of a pixel, relative to the median. Without it, pixels at the margin of a
# registered movie, which hardly have any noise, would be scaled up. Rule of thumb.
_LEAST_NOISE = 0.1
# For independent standard normal a and b, E|a − b| = 2/√π; this is its inverse.
_FROM_MEAN_DIFFERENCE = np.pi**0.5 / 2
# Matched-filter outputs below this many standard deviations do not count as activity. Noise exceeds
# it in 2 % of the frames.
_ACTIVE = 2.0


@dataclass(frozen=True)
class PreparedMovie:
    """A movie as the matrix Y that the model is fitted to, and how to convert back."""

    # (n_frames, n_pixels) the smoothed movie minus the baseline, divided by the scale, at the
    # pixels ``pixels``
    Y: np.ndarray
    pixels: np.ndarray  # (n_pixels,) sorted flat indices row * width + column
    shape: tuple[int, int, int]  # shape of the movie
    # (n_knots,) frames at which the baseline is computed; in between it is interpolated linearly
    knots: np.ndarray
    baseline: np.ndarray  # (n_knots, height * width) baseline of all pixels at the knots
    scale: np.ndarray  # (height * width,) divisors of all pixels; 0 for a pixel that never changes
    mean_image: np.ndarray  # (height, width) mean of the raw frames


@dataclass(frozen=True)
class Preprocessing:
    """The steps that turn frames into the matrix Y."""

    # what is subtracted from each pixel: its median; a percentile in windows that overlap by half,
    # interpolated between their centers; or nothing
    baseline: str
    percentile: float  # the percentile for ``baseline="percentile"``
    window: int  # number of frames of a window
    # standard deviation of a Gaussian filter of each frame, in pixels; 0 for no smoothing
    smoothing: float
    # standard deviation of the wider filter whose changes over time are subtracted, in pixels; 0
    # for none
    background: float
    # whether each pixel is divided by the standard deviation of its own noise. If False, all pixels
    # are divided by the median noise level
    noise_scaling: bool
    # values more than this many standard deviations of the noise below the baseline are replaced by
    # that bound; infinity for no bound
    floor: float
    # in larger frames only this many pixels are used, those with the most activity
    most_pixels: int

    def in_bins(self, length: int) -> Preprocessing:
        """The same steps for a movie in bins of ``length`` frames."""
        return replace(self, window=max(2, round(self.window / length)))

    def prepare(self, movie: Movie, decay: float, progress: StageProgress) -> PreparedMovie:
        """Prepare a movie."""
        frames, height, width = movie.shape
        size = height * width
        large = size > self.most_pixels
        knots = self.knots(frames)
        Y = np.empty((frames, 0 if large else size), dtype=np.float32)
        baseline = np.empty((len(knots), size), dtype=np.float32)
        noise, mean = np.empty(size, dtype=np.float32), np.empty(size, dtype=np.float32)
        activity = np.zeros(size, dtype=np.float32)
        background = find_background(movie, self.background) if self.background else None
        for block in self._blocks(movie, background):
            here = block.pixels
            progress(here.start / size / (2 if large else 1))
            mean[here] = block.mean
            baseline[:, here], values = self.without_baseline(block.values, knots)
            noise[here] = _noise(values)
            if large:
                activity[here] = _activity(values, noise[here], decay)
            else:
                Y[:, here] = values
        if not np.any(noise > 0):
            raise MovieError(movie.name, "is constant, or all its pixels change in the same way")
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
        """Some pixels of the smoothed movie minus their baselines, in a second pass."""
        frames, height, width = movie.shape
        Y = np.empty((frames, len(pixels)), dtype=np.float32)
        for block in self._blocks(movie, background):
            progress(0.5 + 0.5 * block.pixels.start / (height * width))
            first, last = np.searchsorted(pixels, (block.pixels.start, block.pixels.stop))
            Y[:, first:last] = block.values[:, pixels[first:last] - block.pixels.start]
        Y -= interpolated(baseline[:, pixels], knots, frames)
        return Y

    def _blocks(self, movie: Movie, background: Background | None) -> Iterator[_Lines]:
        """Smoothed lines of all frames. Neighboring lines are read too, for the filter."""
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
            values[:, dead] = mean[dead]  # the filters mix in the changes of its neighbors
            yield _Lines(slice(first * width, last * width), values, mean)

    def knots(self, frames: int) -> np.ndarray:
        """Centres of the windows; a single knot for a constant baseline."""
        window = min(self.window, frames)
        if self.baseline != "percentile" or window == frames:
            return np.array([frames // 2])
        starts = np.linspace(0, frames - window, max(2, round(2 * frames / window) - 1))
        return np.round(starts).astype(int) + window // 2

    def without_baseline(
        self, values: np.ndarray, knots: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """The baseline at the knots, and the values minus the baseline (in place)."""
        frames = len(values)
        if self.baseline == "none":
            return np.zeros((1, values.shape[1]), dtype=np.float32), values
        by_pixel = np.array(values.T, order="C")  # contiguous in time; the median reorders it
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
            # move the baseline from the percentile of the noise to its median
            shift = _noise(values) * np.float32(ndtri(self.percentile / 100))
            values += shift
            levels -= shift
        return levels, values

    def _scale(self, noise: np.ndarray) -> np.ndarray:
        """The divisor of each pixel."""
        typical = np.float32(np.median(noise[noise > 0]))
        scale = np.maximum(noise, _LEAST_NOISE * typical) if self.noise_scaling else typical
        return np.where(noise > 0, scale, np.float32(0)).astype(np.float32)


@dataclass(frozen=True)
class _Lines:
    """Some lines of all frames."""

    pixels: slice  # flat indices of the pixels
    values: np.ndarray  # (n_frames, n_pixels) smoothed values
    mean: np.ndarray  # (n_pixels,) means of the raw values


def smoothing_kernel(smoothing: float) -> np.ndarray:
    """Weights of a Gaussian filter, truncated at three standard deviations; they sum to 1."""
    reach = int(_CUT * smoothing + 0.5)
    weights = np.exp(-0.5 * (np.arange(-reach, reach + 1) / smoothing) ** 2)
    return weights / weights.sum()


def interpolated(levels: np.ndarray, knots: np.ndarray, frames: int) -> np.ndarray:
    """Interpolate levels between knots.

    Shapes: ``levels`` (n_knots, n_pixels), ``knots`` (n_knots,), result (n_frames, n_pixels).
    """
    if len(knots) == 1:
        return levels
    times = np.clip(np.arange(frames), knots[0], knots[-1])
    left = np.clip(np.searchsorted(knots, times, side="right") - 1, 0, len(knots) - 2)
    share = (times - knots[left]) / (knots[left + 1] - knots[left])
    share = share.astype(np.float32)[:, None]
    return levels[left] * (1 - share) + levels[left + 1] * share


def _noise(values: np.ndarray) -> np.ndarray:
    """Standard deviation of the noise of each pixel, from differences of successive frames.

    The mean absolute difference is used because the median is zero for counts of few photons, and
    because the mean square is sensitive to spikes.
    """
    total = np.zeros(values.shape[1], dtype=np.float64)
    for before, after in pairwise(values):
        total += np.abs(after - before)
    return (total / (len(values) - 1) * _FROM_MEAN_DIFFERENCE).astype(np.float32)


def _activity(values: np.ndarray, noise: np.ndarray, decay: float) -> np.ndarray:
    """Squared excess of each pixel's matched-filter output over the noise, summed over frames."""
    design = RecursiveFilter(decay, len(values), np.float32)
    matched = design.transposed_product(values)
    matched *= np.divide(1, noise, out=np.zeros_like(noise), where=noise > 0)
    matched /= design.column_norms()[:, None]
    matched -= np.float32(_ACTIVE)
    np.maximum(matched, 0, out=matched)
    return np.einsum("ij,ij->j", matched, matched)
