"""The radius of the neurons of a movie, from the width of the filter that shows them best."""

from __future__ import annotations

import numpy as np
from scipy.ndimage import gaussian_filter, maximum_filter

from thinrank.calcium.binning import BinnedMovie, noise_level

__all__ = ["estimate_radius"]

# Standard deviations of the filters, in pixels: neurons with radii from 1.5 to 13 pixels.
_WIDTHS = tuple(2 ** (k / 2) for k in range(0, 7))
# Width of the filter of the background, relative to the filter.
_BACKGROUND = 3.0
# Radius of a neuron for a best filter with standard deviation 1. The best filter of a Gaussian
# footprint has its standard deviation, and the footprint is half its maximum at 1.18 of them; that
# of a disc of radius r has a standard deviation of about r/1.6. In between.
_RADIUS = 1.4
# Radius if no neuron is seen: the usual one.
_USUAL = 5.0
# Smallest height of a neuron, in standard deviations of the noise.
_LEAST = 6.0
# Largest number of bins and largest side of the frame in use. Rules of thumb.
_MOST_BINS, _LARGEST_SIDE = 300, 128
# Number of the highest peaks in use.
_MOST_PEAKS = 100


def estimate_radius(movie: BinnedMovie) -> float:
    """Estimate the radius of the neurons of a movie.

    The movie is smoothed by filters of different widths, relative to the noise that each of them
    leaves. The filter that shows a neuron best is about as wide as the neuron.

    Parameters
    ----------
    movie : BinnedMovie

    Returns
    -------
    float
        In pixels: the median over the neurons; 5.0 if none is seen.
    """
    values, rough = (_central(part) for part in (movie.values, movie.rough))
    values = _shortened(values - np.median(values, axis=2, keepdims=True))
    noise = noise_level(rough)
    typical = float(np.median(noise[noise > 0])) if np.any(noise > 0) else 1.0
    inverse = 1 / np.maximum(noise, 0.1 * typical)[..., None]
    values *= inverse
    rough = rough * inverse
    heights = np.stack([_heights(values, rough, width) for width in _WIDTHS])
    best = heights.max(axis=0)
    least = _LEAST
    peaks = np.argwhere((best >= least) & (best == maximum_filter(best, 7)))
    if len(peaks) == 0:
        return _USUAL
    order = np.argsort(-best[tuple(peaks.T)], kind="stable")[:_MOST_PEAKS]
    widths = [_best_width(heights[:, row, column]) for row, column in peaks[order]]
    return float(_RADIUS * np.median(widths))


def _central(values: np.ndarray) -> np.ndarray:
    """The middle of large frames."""
    height, width = values.shape[:2]
    top, left = (max(0, (side - _LARGEST_SIDE) // 2) for side in (height, width))
    return values[top : top + _LARGEST_SIDE, left : left + _LARGEST_SIDE]


def _shortened(values: np.ndarray) -> np.ndarray:
    """Means of successive bins, with noise of the same variance as before."""
    group = max(1, values.shape[2] // _MOST_BINS)
    bins = values.shape[2] // group
    parts = values[..., : bins * group].reshape(*values.shape[:2], bins, group)
    return np.asarray(parts.mean(axis=3) * np.float32(group**0.5))


def _heights(values: np.ndarray, rough: np.ndarray, width: float) -> np.ndarray:
    """The highest value of each pixel in the filtered movie, in standard deviations of noise."""
    level = noise_level(_band(rough, width))
    smooth = _band(values, width)
    smooth -= np.median(smooth, axis=2, keepdims=True)
    return np.asarray(smooth.max(axis=2) / np.maximum(level, 1e-12))


def _band(values: np.ndarray, width: float) -> np.ndarray:
    """A Gaussian filter minus a wider one, which takes out the background."""
    narrow = gaussian_filter(values, (width, width, 0), mode="nearest", truncate=3.0)
    around = _BACKGROUND * width
    return np.asarray(
        narrow - gaussian_filter(narrow, (around, around, 0), mode="nearest", truncate=2.0)
    )


def _best_width(heights: np.ndarray) -> float:
    """The width at which the height is largest, by a parabola in the logarithm of the width."""
    k = int(np.clip(heights.argmax(), 1, len(heights) - 2))
    before, here, after = heights[k - 1 : k + 2]
    curve = before - 2 * here + after
    shift = 0.5 * (before - after) / curve if curve < 0 else 0.0
    step = np.log(_WIDTHS[1] / _WIDTHS[0])
    return float(_WIDTHS[k] * np.exp(step * np.clip(shift, -1, 1)))
