"""Rigid motion of a movie: corrected by phase correlation, and told if it is not corrected."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.fft import fft2, ifft2
from scipy.ndimage import fourier_gaussian
from scipy.ndimage import shift as shifted
from scipy.signal.windows import tukey

from thinrank.calcium.deconvolution import NORMAL_MEDIAN
from thinrank.calcium.readers import Movie, open_movie

# Number of frames of which the reference is made, and from which motion is told.
_SAMPLE = 100
# Largest shift, as a fraction of the side (suite2p's maxregshift).
_LARGEST = 0.1
# A peak of the correlation of two images is significant if it is higher than this many standard
# deviations of the rest. Noise has about 650 independent values in a tenth of 512 × 512 pixels in
# either direction, of which one is higher in 1 of 5000 frames.
_SIGNIFICANT = 5.0
# Shifts with a larger standard deviation, in pixels, are told: they hide most neurons of a movie.
# Movies that were registered to whole pixels have 0.29 and are no reason for a warning.
_TOLD = 1 / 3


@dataclass(frozen=True)
class Registration:
    """A registered movie.

    Attributes
    ----------
    movie : ndarray of shape (n_frames, height, width), float32
        The shifted frames. At margins that other frames do not show, all frames have the values of
        the reference.
    shifts : ndarray of shape (n_frames, 2)
        How far each frame was displaced from the reference: rows and columns, in pixels.
    reference : ndarray of shape (height, width), float32
        Mean of some frames after they were shifted.
    """

    movie: np.ndarray
    shifts: np.ndarray
    reference: np.ndarray


def register(
    movie: Any,
    *,
    dataset: str | None = None,
    progress: Callable[[float], None] | None = None,
) -> Registration:
    """Correct the rigid motion of a movie by phase correlation.

    Shifts are at most a tenth of each side. Frames without enough structure for an estimate get
    shifts interpolated from those before and after. Pixels are interpolated by cubic splines.
    Rotations and deformations are not corrected.

    Parameters
    ----------
    movie : array or memmap of shape (n_frames, height, width), or path
        As for :meth:`CalciumImaging.fit`.
    dataset : str, default=None
        Name of the array in a file.
    progress : callable, default=None
        Called with the fraction of the work that is done, from 0 to 1.

    Returns
    -------
    Registration
        The movie, in memory.

    Examples
    --------
    >>> import numpy as np
    >>> from thinrank.calcium import register
    >>> rng = np.random.default_rng(0)
    >>> scene = rng.standard_normal((40, 40)).cumsum(axis=0).cumsum(axis=1)
    >>> movie = np.stack([np.roll(scene, i % 3, axis=0) for i in range(9)])
    >>> result = register(movie)
    >>> np.ptp(result.shifts, axis=0).round().tolist()
    [2.0, 0.0]
    """
    with open_movie(movie, dataset) as source:
        return registered(source, progress or (lambda fraction: None))


def registered(movie: Movie, progress: Callable[[float], None]) -> Registration:
    """A movie with all frames shifted to fit the mean of some of them."""
    frames, height, width = movie.shape
    some = _sampled(movie)
    reference = some.mean(axis=0)
    for _ in range(2):
        shifts = _filled(_shifts(some, reference))
        shifts -= np.median(shifts, axis=0)  # the middle of the field stays where it is
        reference = np.mean([_moved(f, -by) for f, by in zip(some, shifts, strict=True)], axis=0)
    spectrum = _phases(reference)
    result, shifts = np.empty(movie.shape, dtype=np.float32), np.empty((frames, 2))
    for number in range(frames):
        progress(number / frames)
        result[number] = movie.lines(0, height, slice(number, number + 1))[0]
        shifts[number] = _shift(spectrum, _phases(result[number]))
    shifts = _filled(shifts)
    for frame, by in zip(result, shifts, strict=True):
        frame[:] = _moved(frame, -by)
    # the few frames with larger shifts do not determine the margin
    ends = np.percentile(shifts, [5, 95], axis=0) * [[-1], [1]]
    first, last = np.maximum(np.round(ends), 0).astype(int)
    outside = np.ones((height, width), dtype=bool)
    outside[first[0] : height - last[0], first[1] : width - last[1]] = False
    result[:, outside] = reference[outside]
    return Registration(result, shifts, reference.astype(np.float32))


def warn_of_motion(movie: Movie) -> None:
    """Warn if the frames of a movie shift by more than a third of a pixel.

    The shifts of two halves of the frames are estimated separately. Motion moves both, while the
    errors of the estimates are independent, so that their covariance is the variance of the motion.
    """
    images = _sampled(movie, side=256)
    parts = np.array_split(images, 2, axis=1 if images.shape[1] >= images.shape[2] else 2)
    if min(parts[1].shape[1:]) < 12:
        return
    first, second = (_shifts(part, part.mean(axis=0)) for part in parts)
    known = np.isfinite(first + second).all(axis=1)
    if np.count_nonzero(known) < 10:
        return
    first, second = (each[known] - each[known].mean(axis=0) for each in (first, second))
    shared = np.einsum("ij,ij->j", first, second)
    # of 100 independent pairs of shifts 0.1 % correlate more than 0.3
    if shared.sum() <= 0.3 * np.linalg.norm(first) * np.linalg.norm(second):
        return
    shift = float(np.sqrt(max(shared.max(), 0.0) / len(first)))
    if shift > _TOLD:
        warnings.warn(
            f"The frames of the movie shift by about {shift:.1f} pixels (standard deviation), more "
            "than a third of a pixel, so that neurons will be missed; register it first "
            "(register=True; --register on the command line)",
            stacklevel=3,  # the call of fit
        )


def _sampled(movie: Movie, side: int | None = None) -> np.ndarray:
    """Some frames at equal intervals, or squares in the middle of them."""
    frames, height, width = movie.shape
    chosen = np.unique(np.linspace(0, frames - 1, _SAMPLE).round().astype(int))
    top, left = (0 if side is None else max(0, (length - side) // 2) for length in (height, width))
    images = [movie.lines(top, height - top, slice(i, i + 1)) for i in chosen.tolist()]
    return np.concatenate(images)[:, :, left : width - left]


def _shifts(images: np.ndarray, reference: np.ndarray) -> np.ndarray:
    """Shifts of images against a reference, NaN if not significant; of shape (n_images, 2)."""
    spectrum = _phases(reference)
    return np.array([_shift(spectrum, _phases(image)) for image in images])


def _filled(shifts: np.ndarray) -> np.ndarray:
    """Shifts with those that are not known interpolated between frames; 0 if none is known."""
    known = np.flatnonzero(np.isfinite(shifts).all(axis=1))
    if len(known) == 0:
        return np.zeros_like(shifts)
    frames = np.arange(len(shifts))
    return np.column_stack([np.interp(frames, known, shifts[known, axis]) for axis in (0, 1)])


def _moved(image: np.ndarray, by: np.ndarray) -> np.ndarray:
    """An image shifted by cubic splines; beyond the edges the outermost pixels are repeated."""
    return np.asarray(shifted(image, by, order=3, mode="nearest")) if by.any() else image


def _phases(image: np.ndarray) -> np.ndarray:
    """The phases of an image at each frequency.

    The image fades out towards each edge, since the Fourier transform joins opposite ones. Noise at
    high frequencies is filtered: suite2p's smooth_sigma, shared by the two factors of a product.
    """
    fade = np.sqrt(np.multiply.outer(*(tukey(n + 2, 0.3)[1:-1] for n in image.shape)))
    values = fft2((image - image.mean()) * fade)
    unit = np.divide(values, np.abs(values), out=np.zeros_like(values), where=values != 0)
    return np.asarray(fourier_gaussian(unit, 1.15 / 2**0.5))


def _shift(reference: np.ndarray, spectrum: np.ndarray) -> np.ndarray:
    """How far an image is displaced from the reference; NaN if that is not significant."""
    surface = np.real(ifft2(spectrum * reference.conj()))
    down, right = (min(max(2, int(_LARGEST * n)), (n - 1) // 2) for n in surface.shape)
    near = np.roll(surface, (down, right), axis=(0, 1))[: 2 * down + 1, : 2 * right + 1]
    row, column = np.unravel_index(int(np.argmax(near)), near.shape)
    if not near[row, column] > _SIGNIFICANT * np.median(np.abs(surface)) / NORMAL_MEDIAN:
        return np.full(2, np.nan)
    peak = np.array([row - down, column - right])
    lines = np.roll(surface[:, peak[1]], -peak[0]), np.roll(surface[peak[0]], -peak[1])
    return peak + np.array([_vertex(line) for line in lines])


def _vertex(line: np.ndarray) -> float:
    """Position of the maximum of the Gaussian through the values at −1, 0 and 1."""
    if len(line) < 3:
        return 0.0
    left, middle, right = np.log(np.maximum(line[[-1, 0, 1]], np.finfo(float).tiny))
    bend = left - 2 * middle + right
    return float(np.clip(0.5 * (left - right) / bend, -0.5, 0.5)) if bend < 0 else 0.0
