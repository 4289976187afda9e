"""A movie in bins of a few frames, and what is taken from it: baseline, background and noise.

The background is light that changes on a scale wider than any neuron. The means of coarse cells are
smoothed by a Gaussian filter G, twice over: 2G − G² has a much smaller bias than G where the
background is curved, and neurons pass it almost as little. What is subtracted from a pixel is this
background times the pixel's gain, its regression coefficient. Without a gain, dark pixels would
show the background upside down.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.ndimage import gaussian_filter
from scipy.sparse import csr_array
from scipy.special import ndtri

from thinrank.calcium.deconvolution import NORMAL_MEDIAN
from thinrank.calcium.readers import Movie, MovieError
from thinrank.core import resources

# Smallest number of bins, unless the movie is large: shorter movies have shorter bins.
_FEWEST_BINS = 250
# Numbers of bins that noise levels and medians are computed from. With 150 bins the standard error
# of a noise level is 7 %.
_SOME_BINS = 150
# Smallest noise level of a pixel, relative to the median. Without it, pixels at the margin of a
# registered movie, which hardly have any noise, would be scaled up. Rule of thumb.
_LEAST_NOISE = 0.1
# Largest gain of the background. Neurons that are not subtracted yet raise it: without a limit,
# close pairs in simulated movies without any other background are lost.
_LARGEST_GAIN = 1.2


@dataclass(frozen=True)
class BinnedMovie:
    """Means of successive frames, pixel by pixel."""

    values: np.ndarray  # (height, width, n_bins) means of the frames of each bin
    length: int  # number of frames of a bin
    mean_image: np.ndarray  # (height, width) mean of all frames
    live: np.ndarray  # (height, width) false for pixels that never change

    def unit_noise(self, own: bool) -> np.ndarray:
        """Unit of each pixel: its noise level, or the median noise level; 0 for dead pixels."""
        noise = noise_level(roughness(self.values))
        alive = self.live & (noise > 0)
        typical = np.float32(np.median(noise[alive])) if alive.any() else np.float32(1)
        noise = np.maximum(noise, _LEAST_NOISE * typical) if own else np.full_like(noise, typical)
        return np.where(self.live, noise, 0).astype(np.float32)


def bin_length(decay: float, shape: tuple[int, int, int]) -> int:
    """Number of frames of a bin: the decay time, unless the movie is short or large.

    The binned movie takes at most an eighth of the memory budget: 512 MiB by default.
    """
    frames, height, width = shape
    wanted = min(int(-1 / np.log(decay)) if decay > 0 else 0, frames // _FEWEST_BINS)
    least = int(np.ceil(4 * frames * height * width / (resources.budget_bytes() / 8)))
    return min(max(wanted, least), frames // 3)  # three bins for the noise


def bin_movie(movie: Movie, length: int, progress: Callable[[float], None]) -> BinnedMovie:
    """Read a movie once and bin it."""
    frames, height, width = movie.shape
    bins = frames // length
    values = np.empty((height, width, bins), dtype=np.float32)
    mean, live = np.empty((height, width), dtype=np.float32), np.empty((height, width), dtype=bool)
    for first, block in movie.blocks():
        progress(first / height)
        here = slice(first, first + block.shape[1])
        live[here] = (block != block[0]).any(axis=0)
        mean[here] = block.mean(axis=0, dtype=np.float64)
        parts = block[: bins * length].reshape(bins, length, *block.shape[1:])
        values[here] = np.moveaxis(parts.mean(axis=1), 0, 2)
    if not live.any():
        raise MovieError(movie.name, "is constant, or all pixels are NaN in some frame")
    largest = float(np.abs(values).max())
    if not 1e-12 < largest < 1e12:  # squares are computed in single precision
        raise MovieError(movie.name, f"has values up to {largest:.1g}; change their unit")
    return BinnedMovie(values, length, mean, live)


def roughness(values: np.ndarray) -> np.ndarray:
    """Second differences of some bins, in which slow signals cancel, with the variance of noise."""
    bins = values.shape[2]
    middle = np.arange(1, bins - 1, max(1, bins // _SOME_BINS))
    differences = values[..., middle - 1] - 2 * values[..., middle] + values[..., middle + 1]
    return np.asarray(differences / np.float32(6**0.5))


def noise_level(rough: np.ndarray) -> np.ndarray:
    """Standard deviation of the noise of each pixel; of shape (height, width)."""
    return middle(np.abs(rough)) / np.float32(NORMAL_MEDIAN)


def middle(values: np.ndarray) -> np.ndarray:
    """Median over the bins, from some of them if there are many; of shape (height, width)."""
    some = values[..., :: max(1, values.shape[2] // _SOME_BINS)]
    half = some.shape[2] // 2
    return np.asarray(np.partition(some, half, axis=2)[..., half])


@dataclass(frozen=True)
class RestingLevel:
    """The level of traces or pixels at rest."""

    percentile: float  # above 0 and below 100
    # number of frames of a window. Windows overlap by half, and the level is interpolated between
    # their centers
    window: int
    # "median", "percentile" (running, raised to the median of the noise) or "none"
    kind: str = "percentile"

    def knots(self, frames: int) -> tuple[np.ndarray, int]:
        """Centers of the windows and their length; a single knot for a constant level."""
        window = min(self.window, frames)
        if self.kind != "percentile" or window == frames:
            return np.array([frames // 2]), frames
        starts = np.linspace(0, frames - window, max(2, round(2 * frames / window) - 1))
        return np.round(starts).astype(int) + window // 2, window

    def levels(self, values: np.ndarray) -> np.ndarray:
        """The levels of signals of shape (n_signals, n_frames); of shape (n_knots, n_signals)."""
        knots, window = self.knots(values.shape[1])
        if self.kind == "none":
            return np.zeros((1, len(values)), dtype=np.float32)
        if self.kind == "median":
            return np.median(values, axis=1)[None].astype(np.float32)
        spans = [values[:, max(k - window // 2, 0) : k - window // 2 + window] for k in knots]
        levels = np.stack([np.percentile(span, self.percentile, axis=1) for span in spans])
        # for independent standard normal a and b, E|a − b| = 2/√π. The mean is used because the
        # median is zero for counts of few photons
        noise = np.abs(np.diff(values, axis=1)).mean(axis=1) * (np.pi**0.5 / 2)
        return np.asarray(levels - noise * ndtri(self.percentile / 100), dtype=np.float32)

    def of(self, values: np.ndarray) -> np.ndarray:
        """The level of signals of shape (n_signals, n_frames) in each frame."""
        running = interpolated(self.levels(values), self.knots(values.shape[1])[0], values.shape[1])
        return np.ascontiguousarray(np.broadcast_to(running, values.shape[::-1]).T)


def interpolated(levels: np.ndarray, knots: np.ndarray, frames: int) -> np.ndarray:
    """Levels, (n_knots, n_pixels), in all frames, or in a single one if there is a single knot."""
    if len(knots) == 1:
        return levels
    times = np.clip(np.arange(frames), knots[0], knots[-1])
    left = np.clip(np.searchsorted(knots, times, side="right") - 1, 0, len(knots) - 2)
    share = (times - knots[left]) / (knots[left + 1] - knots[left])
    share = share.astype(np.float32)[:, None]
    return levels[left] * (1 - share) + levels[left + 1] * share


def smooth_frames(values: np.ndarray, width: float) -> np.ndarray:
    """A Gaussian filter of each frame, (height, width, n_frames), that ends at the edges."""
    total, weight = (
        gaussian_filter(each, width, axes=(0, 1), mode="constant", truncate=3)
        for each in (values, np.ones_like(values[..., :1]))
    )
    total /= weight
    return np.asarray(total)


@dataclass(frozen=True)
class Background:
    """The background of a binned movie, in square cells that cover a frame."""

    width: float  # standard deviation of the filter, in pixels
    gain: np.ndarray  # (height, width) factor of each pixel

    @property
    def cell(self) -> int:
        """Side length of a cell, in pixels: linear interpolation between them is accurate."""
        return max(1, round(self.width / 3))

    def smoothed(self, grid: np.ndarray) -> np.ndarray:
        """The filter 2G − G² of a grid of shape (n_cell_rows, n_cell_columns, n_frames)."""
        once = smooth_frames(grid, self.width / self.cell)
        return 2 * once - smooth_frames(once, self.width / self.cell)

    def means(self) -> list[csr_array]:
        """Means over the cells, down and across, of shape (n_cells, side)."""
        matrices = []
        for side in self.gain.shape:
            of = np.arange(side) // self.cell
            entries = (1 / np.bincount(of)[of]).astype(np.float32)
            matrices.append(csr_array((entries, (of, np.arange(side)))))
        return matrices

    def interpolation(self) -> list[csr_array]:
        """Linear interpolation between cells, down and across, of shape (side, n_cells)."""
        matrices = []
        for side, means in zip(self.gain.shape, self.means(), strict=True):
            middles = means @ np.arange(side)
            units = np.eye(len(middles), dtype=np.float32)
            weights = np.array([np.interp(np.arange(side), middles, unit) for unit in units])
            matrices.append(csr_array(weights.T.astype(np.float32)))
        return matrices


def fit_background(rest: np.ndarray, width: float) -> Background:
    """Fit the background of a movie without neurons, and subtract it in place."""
    gain = np.zeros(rest.shape[:2], dtype=np.float32)
    background = Background(width, gain)
    down, across = background.means()
    cells = _lines(down, rest)
    grid = background.smoothed(np.stack([across @ line for line in cells]))
    grid -= np.median(grid, axis=2, keepdims=True)
    down, across = background.interpolation()
    lines = _lines(down, grid)
    for row, line in enumerate(rest):
        wide = across @ lines[row]
        shared, own = np.vecdot(line, wide), np.vecdot(wide, wide)
        np.divide(shared, own, out=gain[row], where=own > 0)
        np.clip(gain[row], 0, _LARGEST_GAIN, out=gain[row])
        line -= gain[row][:, None] * wide
    return background


def _lines(down: csr_array, values: np.ndarray) -> np.ndarray:
    """A matrix times the lines of an array of shape (height, width, n_frames)."""
    return np.asarray((down @ values.reshape(len(values), -1)).reshape(-1, *values.shape[1:]))
