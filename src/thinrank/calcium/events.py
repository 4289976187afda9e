"""Locations of neurons, from the peaks of single spike frames.

A row of Θ is the image of what one frame adds: the footprints of the neurons that spike in it,
usually one or a few. Its peaks are accurate to a fraction of a footprint's width even if two
neurons overlap, since these rarely spike in the same frame. The peaks of all spike frames vote for
locations, and locations with enough votes are taken as neurons.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.ndimage import gaussian_filter, maximum_filter

# All four values are rules of thumb; benchmarks/calcium.py shows the scores that they give.
# Smallest height of a peak, in standard deviations of the noise.
_LEAST_HEIGHT = 4.0
# Smallest number of votes for a location. A vote is the height of a peak.
_LEAST_VOTES = 6.0
# Largest vote of a single event.
_LARGEST_VOTE = 20.0
# Standard deviation of the location of a peak, in pixels.
_VOTE_SD = 1.25


@dataclass(frozen=True)
class Event:
    """A peak in the image of one spike frame."""

    spike: int  # index among the spike frames
    row: int  # the pixel
    column: int
    height: float  # height of the peak, in standard deviations of the noise


def find_events(
    images: np.ndarray, pixels: np.ndarray, shape: tuple[int, int], radius: float
) -> list[Event]:
    """Find the peaks in the images of all spike frames.

    Shapes: ``images`` (n_spike_frames, n_pixels), ``pixels`` (n_pixels,).
    """
    width = 2 * int(radius / 2) + 1
    image = np.zeros(shape, dtype=np.float32)
    events = []
    for spike, values in enumerate(images):
        image.ravel()[pixels] = values
        smooth = gaussian_filter(image, radius / 5)
        peaks = (smooth >= _LEAST_HEIGHT) & (smooth == maximum_filter(smooth, width))
        for row, column in np.argwhere(peaks):
            height = float(smooth[row, column])
            events.append(Event(spike, int(row), int(column), height))
    return events


def vote(events: list[Event], shape: tuple[int, int], radius: float) -> list[list[Event]]:
    """Group events by location.

    Every event votes for its pixel with its height. Locations are the peaks of the smoothed votes.
    An event belongs to the nearest location within half a radius, or to none.
    """
    if not events:
        return []
    votes = np.zeros(shape)
    for event in events:
        votes[event.row, event.column] += min(event.height, _LARGEST_VOTE)
    density = gaussian_filter(votes, _VOTE_SD, mode="constant") * (2 * np.pi * _VOTE_SD**2)
    width = 2 * int(radius / 2) + 1
    peaks = (density >= _LEAST_VOTES) & (density == maximum_filter(density, width))
    places = np.argwhere(peaks)
    if len(places) == 0:
        return []
    places = places[np.argsort(-density[peaks], kind="stable")]
    where = np.array([(event.row, event.column) for event in events])
    distances = np.linalg.norm(where[:, None] - places[None], axis=2)
    nearest = distances.argmin(axis=1)
    near = distances[np.arange(len(events)), nearest] <= max(radius / 2, 1.5)
    groups = [
        [events[i] for i in np.flatnonzero(near & (nearest == place))]
        for place in range(len(places))
    ]
    return [group for group in groups if group]
