"""Rigid motion correction: every frame is shifted to fit a reference image."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from thinrank.calcium.motion import PhaseCorrelation, sampled_frames
from thinrank.calcium.movie import Movie, open_movie
from thinrank.calcium.stages import StageProgress
from thinrank.core.imports import import_optional

# Number of frames of which the reference is made, and of those that are averaged first, the most
# alike. Rules of thumb, half of suite2p's nimg_init and its 20.
_SAMPLE, _ALIKE = 100, 20
# Largest number of entries of the frames of the reference, unless they are the fewest: 64 MiB.
_SAMPLE_ENTRIES = 1 << 24
# Number of times that the frames of the reference are shifted and averaged again.
_ROUNDS = 3
# Shifts are computed to 1/20 pixel.
_UPSAMPLING = 20
# The interpolation has three pixels on either side: Lanczos' windowed sinc.
_TAPS = 3
# Number of entries that are read at a time: 16 MiB in single precision.
_BLOCK_ENTRIES = 1 << 22
# Percentiles of the shifts that determine the margin; the few frames with larger shifts do not, in
# which the outermost pixels are repeated.
_USUAL = (5.0, 95.0)


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

    Shifts are estimated to a twentieth of a pixel and at most a tenth of each side, by
    :func:`skimage.registration.phase_cross_correlation`. Frames without enough structure for an
    estimate get shifts interpolated from those before and after. Pixels are interpolated by a
    windowed sinc (Lanczos). Rotations and deformations are not corrected.

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
        The movie is in memory; ``CalciumImaging(register=True)`` shifts frames as they are read.

    Raises
    ------
    ImportError
        If scikit-image is not installed.

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
        shifts, reference = find_shifts(source, progress or (lambda fraction: None))
        registered = RegisteredMovie(source, shifts, reference)
        return Registration(registered.lines(0, source.shape[1]), shifts, reference)


def find_shifts(movie: Movie, progress: StageProgress) -> tuple[np.ndarray, np.ndarray]:
    """Displacements of all frames, and the reference.

    Shapes: ``shifts`` (n_frames, 2), ``reference`` (height, width).
    """
    refine = import_optional("skimage.registration").phase_cross_correlation
    frames, height, width = movie.shape
    correlation = PhaseCorrelation((height, width))
    sample = min(_SAMPLE, max(_ALIKE, _SAMPLE_ENTRIES // (height * width)))
    reference = _reference(sampled_frames(movie, sample), correlation)
    spectrum = correlation.spectrum(reference)
    shifts = np.empty((frames, 2))
    step = max(1, _BLOCK_ENTRIES // (height * width))
    for first in range(0, frames, step):
        progress(first / frames)
        block = movie.lines(0, height, slice(first, first + step))
        for number, frame in enumerate(block, start=first):
            own = correlation.spectrum(frame)
            shifts[number] = coarse = correlation.shift(spectrum, own)
            if np.isnan(coarse).any():
                continue
            fine = -refine(
                spectrum, own, space="fourier", upsample_factor=_UPSAMPLING, normalization=None
            )[0]
            if np.all(np.abs(fine - coarse) < 1):  # otherwise beyond the largest shift
                shifts[number] = fine
    return _filled(shifts), reference


def _filled(shifts: np.ndarray) -> np.ndarray:
    """Shifts with those that are not known interpolated between frames; 0 if none is known."""
    known = np.flatnonzero(np.isfinite(shifts).all(axis=1))
    if len(known) == 0:
        return np.zeros_like(shifts)
    frames = np.arange(len(shifts))
    return np.column_stack([np.interp(frames, known, shifts[known, axis]) for axis in (0, 1)])


class RegisteredMovie(Movie):
    """A movie whose frames are shifted when they are read.

    Shapes: ``shifts`` (n_frames, 2), ``reference`` (height, width).
    """

    def __init__(self, movie: Movie, shifts: np.ndarray, reference: np.ndarray) -> None:
        super().__init__(movie.frames, movie.name)
        self._shifts, self._reference = shifts, reference
        low, high = np.percentile(shifts, _USUAL, axis=0)
        shape = np.array(movie.shape[1:])
        self._first = np.clip(np.round(-low), 0, shape).astype(int)
        self._last = shape - np.clip(np.round(high), 0, shape).astype(int)

    def lines(self, first: int, last: int, frames: slice = slice(None)) -> np.ndarray:
        """Lines ``first`` to ``last`` − 1 of all frames or of some, shifted, as a new array."""
        count, _, width = self.shape
        chosen = range(count)[frames]
        result = np.empty((len(chosen), last - first, width), dtype=np.float32)
        step = max(1, _BLOCK_ENTRIES // ((last - first + 2 * _TAPS) * width))
        for begin in range(0, len(chosen), step):
            some = chosen[begin : begin + step]
            self._shift(slice(some.start, some.stop), first, last, result[begin : begin + step])
        rows = np.arange(first, last)
        outside = np.ones((last - first, width), dtype=bool)
        shown = (rows >= self._first[0]) & (rows < self._last[0])
        outside[shown, self._first[1] : self._last[1]] = False
        result[:, outside] = self._reference[first:last][outside]
        return result

    def _shift(self, frames: slice, first: int, last: int, result: np.ndarray) -> None:
        """Write shifted lines of successive frames."""
        _, height, width = self.shape
        shifts = self._shifts[frames]
        low = int(np.clip(first + np.floor(shifts[:, 0].min()) - _TAPS, 0, height - 1))
        high = int(np.clip(last + np.ceil(shifts[:, 0].max()) + _TAPS, low + 1, height))
        block = super().lines(low, high, frames)
        rows, columns = np.arange(first, last) - low, np.arange(width)
        for frame, (down, right), shifted in zip(block, shifts, result, strict=True):
            shifted[:] = _resampled(_resampled(frame, rows, down, 0), columns, right, 1)


def _reference(images: np.ndarray, correlation: PhaseCorrelation) -> np.ndarray:
    """Mean of images after they were shifted to fit it."""
    flat = images.reshape(len(images), -1)
    flat = flat - flat.mean(axis=1, keepdims=True, dtype=np.float64)  # squares may be large
    norms = np.linalg.norm(flat, axis=1, keepdims=True)
    flat = np.divide(flat, norms, out=np.zeros_like(flat), where=norms > 0)
    likeness = flat @ flat.T
    alike = np.sort(likeness, axis=1)[:, -_ALIKE:].mean(axis=1)
    nearest = np.argsort(-likeness[np.argmax(alike)], kind="stable")[:_ALIKE]
    reference = images[nearest].mean(axis=0)
    spectra = [correlation.spectrum(image) for image in images]
    rows, columns = (np.arange(side) for side in reference.shape)
    for _ in range(_ROUNDS):
        spectrum = correlation.spectrum(reference)
        shifts = _filled(np.array([correlation.shift(spectrum, own) for own in spectra]))
        shifts -= np.median(shifts, axis=0)  # the middle of the field stays where it is
        reference = np.mean(
            [
                _resampled(_resampled(image, rows, down, 0), columns, right, 1)
                for image, (down, right) in zip(images, shifts, strict=True)
            ],
            axis=0,
        )
    return reference.astype(np.float32)


def _resampled(image: np.ndarray, places: np.ndarray, shift: float, axis: int) -> np.ndarray:
    """Values of an image at places plus a shift along an axis, by Lanczos interpolation.

    Beyond the edges the outermost pixels are repeated.
    """
    whole = int(np.floor(shift))
    taps = np.arange(1 - _TAPS, 1 + _TAPS)
    distances = taps - (shift - whole)
    weights = np.sinc(distances) * np.sinc(distances / _TAPS)
    weights /= weights.sum()
    result: np.ndarray = np.zeros(1, dtype=np.float32)
    for tap, weight in zip(taps.tolist(), weights.astype(np.float32), strict=True):
        if abs(weight) > np.finfo(np.float32).eps:
            result = result + weight * np.take(image, places + (whole + tap), axis, mode="clip")
    return result
