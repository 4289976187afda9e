"""Movies with labelled regions: public ones if they are available, simulated ones otherwise."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from thinrank.calcium import make_movie

FRAME_RATE = 7.0
"""Frames per second of the public movies, and of the simulated ones."""

_FILES = {
    "NeuroFinder 00.00, crop": "calcium/neurofinder0000_crop_559x135x131.npz",
    "NeuroFinder 00.00, small crop": "calcium/neurofinder0000_tiny_300x48x48.npz",
}
# Simulated movies of the same sizes: name, (frames, (height, width), neurons, close pairs).
_SIMULATED = {
    "NeuroFinder 00.00, crop": ("simulated", (559, (135, 131), 24, 4)),
    "NeuroFinder 00.00, small crop": ("simulated, small", (300, (48, 48), 4, 1)),
}
_SEED = 81_000
_STRONG = 8.0  # peak signal-to-noise ratio from which a region counts as strong


@dataclass(frozen=True)
class LabelledMovie:
    """A movie and its labelled regions."""

    movie: np.ndarray  # (n_frames, height, width) the movie
    # (n_pixels, 2) row and column of each pixel, for each labelled region
    regions: list[np.ndarray]
    significance: np.ndarray  # (n_regions,) peak signal-to-noise ratio of each region
    bound: float  # regions of at least this significance count as strong

    @property
    def strong(self) -> np.ndarray:
        """Indices of the strong regions."""
        return np.flatnonzero(self.significance >= self.bound)

    @property
    def order(self) -> np.ndarray:
        """Indices of all regions, the most significant first."""
        return np.argsort(-self.significance, kind="stable")


def available(quick: bool) -> str:
    """Return the name of the movie of the study: the public one if it is available."""
    public = list(_FILES)[quick]
    return public if _path(public) is not None else _SIMULATED[public][0]


def load(name: str) -> LabelledMovie:
    """Load a movie by a name from :func:`available`."""
    if name in _FILES:
        path = _path(name)
        if path is None:
            raise FileNotFoundError(f"{_FILES[name]} is not in the folder that THINRANK_DATA names")
        with np.load(path) as content:
            regions = [np.argwhere(mask) for mask in content["masks"]]
            return LabelledMovie(content["movie"], regions, content["peak_snr"], _STRONG)
    frames, shape, count, pairs = dict(_SIMULATED.values())[name]
    movie, truth = make_movie(
        frames, shape, count, n_close_pairs=pairs, frame_rate=FRAME_RATE, random_state=_SEED
    )
    peaks = truth.traces.max(axis=1)  # the noise has standard deviation 1
    return LabelledMovie(movie, truth.regions, peaks, float(np.median(peaks)))


def _path(name: str) -> Path | None:
    folder = os.environ.get("THINRANK_DATA")
    path = Path(folder) / _FILES[name] if folder else None
    return path if path is not None and path.is_file() else None
