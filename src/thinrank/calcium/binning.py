"""A movie in bins of a few frames, for finding neurons: short enough to see every transient."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from thinrank.calcium.errors import MovieError
from thinrank.calcium.movie import Movie
from thinrank.calcium.stages import StageProgress
from thinrank.core.resources import threads_in_use

# Bins are one decay time long if the movie then has this many of them, and half as long otherwise.
# A long movie shows as much in longer bins, in less time.
_ENOUGH_BINS = 300
# Bins are still shorter in movies that would have fewer than this many of them.
_FEWEST_BINS = 200
# Largest number of entries of the binned movie: 512 MiB in single precision. Longer bins are used
# in larger movies.
_MOST_ENTRIES = 1 << 27
# Numbers of bins that noise levels and medians are computed from. With 150 bins the standard error
# of a noise level is 7 %.
_NOISE_BINS = _MEDIAN_BINS = 150
# Number of entries from which medians are computed in several threads: some milliseconds.
_WORTH_THREADS = 1 << 19
# The median of |z| of a standard normal variable z.
_NORMAL_MEDIAN = 0.6745


@dataclass(frozen=True)
class BinnedMovie:
    """Means of successive frames, pixel by pixel."""

    values: np.ndarray  # (height, width, n_bins) means of the frames of each bin
    # (height, width, n_noise_bins) for some of the bins, half the difference between the means of
    # even and of odd frames, in which slow signals cancel: noise with the variance of ``values``.
    # For bins of one frame, differences of successive frames divided by √2
    rough: np.ndarray
    length: int  # number of frames of a bin
    mean_image: np.ndarray  # (height, width) mean of all frames
    live: np.ndarray  # (height, width) false for pixels that never change


def bin_length(decay: float, shape: tuple[int, int, int]) -> int:
    """Number of frames of a bin: the decay time, or half of it, unless the movie is short or large.

    Examples
    --------
    >>> from thinrank.calcium.binning import bin_length
    >>> bin_length(0.9, (3000, 170, 170)), bin_length(0.9, (2000, 170, 170))
    (9, 4)
    """
    frames, height, width = shape
    time = -1 / np.log(decay) if decay > 0 else 0.0
    wanted = int(time)
    if frames < _ENOUGH_BINS * wanted:
        wanted = min(int(time / 2), frames // _FEWEST_BINS)
    least = -(-frames * height * width // _MOST_ENTRIES)
    return int(max(wanted, least, 1))


def bin_movie(movie: Movie, length: int, progress: StageProgress) -> BinnedMovie:
    """Read a movie once and bin it."""
    frames, height, width = movie.shape
    bins = frames // length
    values = np.empty((height, width, bins), dtype=np.float32)
    every = max(1, bins // _NOISE_BINS)
    rough = np.empty((height, width, -(-bins // every)), dtype=np.float32)
    mean, live = np.empty((height, width), dtype=np.float32), np.empty((height, width), dtype=bool)
    for first, block in movie.blocks():
        progress(first / height)
        here = slice(first, first + block.shape[1])
        live[here] = (block != block[0]).any(axis=0)
        parts = block[: bins * length].reshape(bins, length, *block.shape[1:])
        means = parts.mean(axis=1)
        values[here] = np.moveaxis(means, 0, 2)
        total = length * means.sum(axis=0, dtype=np.float64)
        mean[here] = (total + block[bins * length :].sum(axis=0, dtype=np.float64)) / frames
        if length == 1:
            difference = np.diff(block[:bins], axis=0, append=block[bins - 2 : bins - 1])[::every]
            rough[here] = np.moveaxis(difference, 0, 2) / np.float32(2**0.5)
        else:
            even = length // 2 * 2  # as many even as odd frames
            some = parts[::every]
            difference = some[:, 0:even:2].mean(axis=1) - some[:, 1:even:2].mean(axis=1)
            difference *= np.float32(0.5 * (even / length) ** 0.5)
            rough[here] = np.moveaxis(difference, 0, 2)
    if not live.any():
        raise MovieError(movie.name, "is constant")
    return BinnedMovie(values, rough, length, mean, live)


def noise_level(rough: np.ndarray) -> np.ndarray:
    """Standard deviation of the noise of each pixel.

    Shapes: ``rough`` (height, width, n_noise_bins), result (height, width).
    """
    return middle(np.abs(rough)) / np.float32(_NORMAL_MEDIAN)


def middle(values: np.ndarray) -> np.ndarray:
    """Median over the bins, from some of them if there are many.

    Shapes: result (height, width).
    """
    every = max(1, values.shape[2] // _MEDIAN_BINS)
    some = values[..., ::every]
    if some.shape[2] % 2 == 0:
        some = some[..., 1:]  # of an odd number, the median is a single value, which is faster
    half = some.shape[2] // 2

    def medians(part: np.ndarray) -> np.ndarray:
        return np.asarray(np.partition(part, half, axis=2)[..., half])

    threads = threads_in_use() if some.size >= _WORTH_THREADS else 1
    if threads == 1:
        return medians(some)
    with ThreadPoolExecutor(threads) as pool:
        return np.concatenate(list(pool.map(medians, np.array_split(some, threads))))
