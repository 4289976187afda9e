"""Shifts between frames by phase correlation, and a warning about movies that move."""

from __future__ import annotations

import warnings

import numpy as np
from scipy.fft import fft2, fftfreq, ifft2

from thinrank.calcium.movie import Movie

# Standard deviation in pixels of the Gaussian filter of phase correlations, without which noise at
# high frequencies dominates; suite2p's smooth_sigma.
_SMOOTHING = 1.15
# Fraction of each side over which images fade out to the edge, so that opposite edges, which the
# Fourier transform joins, do not count as structure.
_FADE = 0.1
# Largest shift, as a fraction of the side (suite2p's maxregshift), and its smallest value in
# pixels.
_LARGEST, _LEAST = 0.1, 2
# A peak of the correlation is significant if it is higher than this many standard deviations of
# the rest. Noise has about 650 independent values in a tenth of 512 × 512 pixels in either
# direction, of which one is higher in 1 of 5000 frames.
_SIGNIFICANT = 5.0
# The median of |z| of a standard normal variable z.
_NORMAL_MEDIAN = 0.6745
# For the warning: number of frames that are read, largest side of their central part in use,
# smallest side of one of its halves, and fewest frames with known shifts.
_SAMPLE, _SIDE, _NARROWEST, _FEWEST = 100, 256, 12, 10
# Shifts with a larger standard deviation, in pixels, are told: they hide most neurons of a movie.
# Movies that were registered to whole pixels have 0.29 and are no reason for a warning.
_TOLD = 1 / 3
# Correlation between the shifts of two halves of the frames below which they are not the same
# motion but noise. Of 100 independent pairs 0.1 % correlate more.
_AGREEMENT = 0.3


class PhaseCorrelation:
    """Shifts of images against a reference."""

    def __init__(self, shape: tuple[int, int]) -> None:
        self._window = np.outer(*(_faded(side) for side in shape)).astype(np.float32)
        squares = fftfreq(shape[0])[:, None] ** 2 + fftfreq(shape[1]) ** 2
        # the square root, since the product of two spectra is filtered
        self._filter = np.exp(-((np.pi * _SMOOTHING) ** 2) * squares).astype(np.float32)
        self.largest = tuple(
            min(max(_LEAST, int(_LARGEST * side)), (side - 1) // 2) for side in shape
        )

    def spectrum(self, image: np.ndarray) -> np.ndarray:
        """The phases of an image at each frequency, filtered.

        Shapes: ``image`` (height, width), result (height, width).
        """
        seen = np.isfinite(image)  # margins may be missing
        change = np.where(seen, image - np.mean(image, where=seen), 0)
        values = fft2(change * self._window)
        size = np.abs(values)
        return values * np.divide(
            self._filter, size, out=np.zeros_like(self._filter), where=size > 0
        )

    def shift(self, reference: np.ndarray, spectrum: np.ndarray) -> np.ndarray:
        """How far an image is displaced from the reference.

        Shapes: ``reference``, ``spectrum`` (height, width), result (2,).
        """
        surface = np.real(ifft2(spectrum * reference.conj()))
        (down, right) = self.largest
        near = np.roll(surface, (down, right), axis=(0, 1))[: 2 * down + 1, : 2 * right + 1]
        row, column = np.unravel_index(int(np.argmax(near)), near.shape)
        if not near[row, column] > _SIGNIFICANT * np.median(np.abs(surface)) / _NORMAL_MEDIAN:
            return np.full(2, np.nan)
        peak = np.array([row - down, column - right])
        around = np.array([-1, 0, 1])
        height, width = surface.shape
        below = _vertex(surface[(peak[0] + around) % height, peak[1]])
        beside = _vertex(surface[peak[0], (peak[1] + around) % width])
        return peak + np.array([below, beside])


def sampled_frames(movie: Movie, most: int, side: int | None = None) -> np.ndarray:
    """Some frames of a movie at equal intervals.

    Shapes: result (n_sampled, height, width). ``side``: None for all of it.
    """
    frames, *sides = movie.shape
    chosen = np.unique(np.linspace(0, frames - 1, min(most, frames)).round().astype(int))
    first = [0 if side is None else max(0, (length - side) // 2) for length in sides]
    last = [
        length if side is None else min(length, begin + side)
        for length, begin in zip(sides, first, strict=True)
    ]
    return np.concatenate(
        [
            movie.lines(first[0], last[0], slice(i, i + 1))[:, :, first[1] : last[1]]
            for i in chosen.tolist()
        ]
    )


def typical_shift(images: np.ndarray) -> float:
    """Standard deviation of the shifts of some frames, along the axis where it is larger.

    The shifts of two halves of the frames are estimated separately. Motion moves both, while the
    errors of the estimates are independent, so that their covariance is the variance of the
    motion.

    Shapes: ``images`` (n_images, height, width).
    """
    longer = 1 if images.shape[1] >= images.shape[2] else 2
    parts = np.array_split(images, 2, axis=longer)
    if min(parts[1].shape[1:]) < _NARROWEST:
        return 0.0
    first, second = (_shifts(part) for part in parts)
    known = np.isfinite(first + second).all(axis=1)
    if np.count_nonzero(known) < _FEWEST:
        return 0.0
    first, second = first[known], second[known]
    first, second = first - first.mean(axis=0), second - second.mean(axis=0)
    shared = np.einsum("ij,ij->j", first, second)
    spread = np.linalg.norm(first) * np.linalg.norm(second)
    if shared.sum() <= _AGREEMENT * spread:
        return 0.0
    return float(np.sqrt(max(shared.max(), 0.0) / len(first)))


def warn_of_motion(movie: Movie) -> None:
    """Warn if the frames of a movie shift by more than a third of a pixel."""
    shift = typical_shift(sampled_frames(movie, _SAMPLE, _SIDE))
    if shift > _TOLD:
        warnings.warn(
            f"The frames of the movie shift by about {shift:.1f} pixels (standard deviation), more "
            "than a third of a pixel, so that neurons will be missed; register it first "
            "(register=True; --register on the command line)",
            stacklevel=4,  # the call of fit
        )


def _shifts(images: np.ndarray) -> np.ndarray:
    """Shifts of images against their mean; of shape (n_images, 2)."""
    correlation = PhaseCorrelation(images.shape[1:])
    reference = correlation.spectrum(images.mean(axis=0))
    return np.array([correlation.shift(reference, correlation.spectrum(f)) for f in images])


def _faded(side: int) -> np.ndarray:
    """1 in the middle, down to 0 at both ends."""
    from_end = np.minimum(np.arange(side), np.arange(side)[::-1]) + 1.0
    return np.sin(np.pi / 2 * np.minimum(from_end / (_FADE * side + 1), 1))


def _vertex(values: np.ndarray) -> float:
    """Position of the maximum of the parabola through values at −1, 0 and 1."""
    left, middle, right = values
    bend = left - 2 * middle + right
    return float(np.clip(0.5 * (left - right) / bend, -0.5, 0.5)) if bend < 0 else 0.0
