"""Validation of the parameters of a fit."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np

from thinrank.calcium.preprocessing import Preprocessing
from thinrank.calcium.sizes import MovieSizes
from thinrank.core.checks import is_auto
from thinrank.minimize import as_solver, check_size

# Names of the baselines of the fluorescence, see Preprocessing.
_BASELINES = ("median", "percentile", "none")
# Ways of finding neurons, see CalciumImaging.
_DETECTIONS = ("auto", "local", "low_rank")
# Radius of a neuron in the fit of the whole movie if none is given, in pixels.
_USUAL_RADIUS = 5.0
# Frames per second, far above any camera. With more, the decay of one frame is 1 in floating point.
_MOST_FRAMES = 1e9
# Widths of filters, in sides of the frames: far wider than makes a difference.
_WIDEST = 10
# Seconds: a century, so that the number of frames of a window is a number.
_LONGEST = 3e9


def check_settings(imaging: Any) -> None:
    """Raise a ValueError for parameters that are invalid for every movie."""
    if imaging.baseline not in _BASELINES:
        raise ValueError(f"baseline must be one of {_BASELINES}, got {imaging.baseline!r}")
    as_solver(imaging.solver, imaging.max_iter)
    for name, most in (
        ("frame_rate", _MOST_FRAMES),
        ("percentile", 100.0),
        ("window", _LONGEST),
        ("region_threshold", 1.0),
    ):
        value = getattr(imaging, name)
        if not _is_number(value) or not 0 < value < most:
            raise ValueError(f"{name} must be above 0 and below {most:g}, got {value!r}")
    if imaging.detection not in _DETECTIONS:
        raise ValueError(f"detection must be one of {_DETECTIONS}, got {imaging.detection!r}")
    radius = imaging.neuron_radius
    if not is_auto(radius) and not (_is_number(radius) and 0 < radius < np.inf):
        raise ValueError(f'neuron_radius must be a number above 0 or "auto", got {radius!r}')
    if not _is_number(imaging.floor) or not imaging.floor >= 0:
        raise ValueError(f"floor must be a number at least 0, got {imaging.floor!r}")
    for name in ("smoothing", "background"):
        value = getattr(imaging, name)
        if not is_auto(value) and not (_is_number(value) and 0 <= value < np.inf):
            raise ValueError(f'{name} must be a number at least 0 or "auto", got {value!r}')


def check_widths(imaging: Any, shape: tuple[int, int, int]) -> None:
    """Raise a ValueError for widths far beyond the frames, whose filters would need much memory."""
    most = _WIDEST * max(shape[1:])
    for name in ("neuron_radius", "smoothing", "background"):
        value = getattr(imaging, name)
        if not is_auto(value) and value > most:
            raise ValueError(
                f"{name} must be at most {most} pixels, {_WIDEST} times the larger side of the "
                f"frames, got {value!r}"
            )


def in_radii(value: Any, radii: float, radius: float) -> float:
    """A width in pixels."""
    return radii * radius if is_auto(value) else float(value)


def smoothing_width(imaging: Any, radius: float) -> float:
    """Standard deviation of the Gaussian filter of the frames, in pixels.

    The local search, whose footprints are not smoothed, can afford a wider filter.
    """
    return in_radii(imaging.smoothing, 0.4 if fits_low_rank(imaging) else 0.45, radius)


def given_radius(imaging: Any) -> float:
    """Radius of a neuron in pixels: the one that was given, or the usual one for "auto"."""
    return _USUAL_RADIUS if is_auto(imaging.neuron_radius) else float(imaging.neuron_radius)


def fits_low_rank(imaging: Any) -> bool:
    """Whether Θ is fitted to the whole movie: if asked for, or if one of its parameters is."""
    sizes = (imaging.rank, imaging.row_sparsity, imaging.column_sparsity)
    given = not all(map(is_auto, sizes))
    if imaging.detection == "local" and given:
        raise ValueError(
            'detection must be "auto" or "low_rank" if rank, row_sparsity or column_sparsity is '
            'given, got "local"'
        )
    other = imaging.solver != "pursuit" or imaging.max_iter is not None
    return imaging.detection == "low_rank" or (imaging.detection == "auto" and (given or other))


def as_preprocessing(imaging: Any, most_pixels: int, radius: float) -> Preprocessing:
    """The preprocessing that the parameters describe."""
    return Preprocessing(
        baseline=imaging.baseline,
        percentile=float(imaging.percentile),
        window=max(2, round(imaging.window * imaging.frame_rate)),
        smoothing=smoothing_width(imaging, radius),
        background=in_radii(imaging.background, 3.0, radius),
        noise_scaling=bool(imaging.noise_scaling),
        floor=float(imaging.floor),
        most_pixels=most_pixels,
    )


def given_sizes(imaging: Any, shape: tuple[int, int, int], most_pixels: int) -> MovieSizes:
    """The sizes that were given, checked against the shape of the movie.

    None in place of "auto".
    """
    frames, height, width = shape
    rank, rows, columns = (
        None if is_auto(value) else value
        for value in (imaging.rank, imaging.row_sparsity, imaging.column_sparsity)
    )
    pixels = min(height * width, most_pixels)
    if rows is not None:
        check_size("row_sparsity", rows, frames, "the number of frames")
    if columns is not None:
        check_size("column_sparsity", columns, pixels, "the number of pixels in use")
    if rank is not None:
        limit = min(frames if rows is None else rows, pixels if columns is None else columns)
        check_size("rank", rank, limit, "the smaller of row_sparsity and column_sparsity")
    return MovieSizes(rank, rows, columns)


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, (bool, np.bool_))
