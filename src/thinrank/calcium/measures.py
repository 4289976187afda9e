"""What is measured in the raw frames after a fit: fluorescence and quality of the neurons."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np

from thinrank.calcium.fluorescence import Fluorescence, RestingLevel, measure_fluorescence
from thinrank.calcium.motion import warn_of_motion
from thinrank.calcium.movie import Movie
from thinrank.calcium.quality import Quality, measure_quality
from thinrank.calcium.registration import RegisteredMovie, find_shifts
from thinrank.calcium.stages import Stages
from thinrank.core.imports import import_optional

# Largest fraction of the neuropil that can be subtracted: more than any tissue has.
_MOST_NEUROPIL = 2.0


def check_measures(imaging: Any) -> None:
    """Raise an error for parameters that cannot be used, before the fit, which takes long."""
    share = imaging.neuropil
    if not isinstance(share, Real) or isinstance(share, (bool, np.bool_)):
        raise ValueError(f"neuropil must be a number, got {share!r}")
    if not 0 <= float(share) <= _MOST_NEUROPIL:
        raise ValueError(f"neuropil must be from 0 to {_MOST_NEUROPIL:g}, got {share!r}")
    if not isinstance(imaging.register, (bool, np.bool_)):
        raise ValueError(f"register must be True or False, got {imaging.register!r}")
    if imaging.register:
        import_optional("skimage.registration")


def steady(imaging: Any, movie: Movie, stages: Stages) -> Movie:
    """The movie as it is fitted: registered if that was asked for.

    Sets ``shifts_``. A movie that moves and is not registered gets a warning.
    """
    if not imaging.register:
        imaging.shifts_ = None
        warn_of_motion(movie)
        return movie
    imaging.shifts_, reference = find_shifts(movie, stages.begin("registration"))
    return RegisteredMovie(movie, imaging.shifts_, reference)


def measured(imaging: Any, movie: Movie, stages: Stages) -> tuple[Fluorescence, Quality]:
    """Fluorescence and quality of the neurons of a fit."""
    resting = RestingLevel(
        float(imaging.percentile), max(2, round(imaging.window * imaging.frame_rate))
    )
    fluorescence = measure_fluorescence(
        movie,
        imaging.sparse_footprints_,
        imaging.region_coordinates_,
        (imaging._scale > 0).reshape(movie.shape[1:]),
        coefficient=float(imaging.neuropil),
        resting=resting,
        decay=imaging.decay_,
        progress=stages.begin("fluorescence"),
    )
    return fluorescence, measure_quality(imaging.traces_, fluorescence, resting)
