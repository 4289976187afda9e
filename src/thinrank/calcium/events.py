"""Where neurons are: the places at which spikes flash up.

A row of Θ is the picture of what one frame adds: the footprints of the neurons that spike in it,
mostly one or few. Its peaks are found to a fraction of a footprint's width even where two
neurons overlap, since these seldom spike in the same frame. Peaks of all spike frames vote for a
place; places with enough votes are neurons.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.ndimage import gaussian_filter, maximum_filter

__all__ = ["Event", "find_events", "vote"]

# Height of a peak, in standard deviations of the noise, and of a place: votes are such heights.
_LEAST_HEIGHT = 4.0
_LEAST_VOTES = 6.0
# No event counts for more than this.
_LARGEST_VOTE = 20.0
# Width of a vote, in pixels: how well a peak is localised.
_VOTE_SD = 1.25


@dataclass(frozen=True)
class Event:
    """A peak in the picture of one spike frame.

    Attributes
    ----------
    spike : int
        Which of the spike frames.
    row, column : int
    height : float
        In standard deviations of the noise.
    """

    spike: int
    row: int
    column: int
    height: float


def find_events(
    pictures: np.ndarray, pixels: np.ndarray, shape: tuple[int, int], radius: float
) -> list[Event]:
    """Peaks of the pictures of all spike frames.

    Parameters
    ----------
    pictures : ndarray of shape (|S|, m)
        Spikes over the standard deviation of their noise, for the active pixels.
    pixels : ndarray of shape (m,)
        Flat indices of the active pixels.
    shape : (H, W)
    radius : float
        Of a neuron, in pixels; nothing within half of it of a peak is another one.
    """
    width = 2 * int(radius / 2) + 1
    image = np.zeros(shape, dtype=np.float32)
    events = []
    for spike, picture in enumerate(pictures):
        image.ravel()[pixels] = picture
        smooth = gaussian_filter(image, radius / 5)
        peaks = (smooth >= _LEAST_HEIGHT) & (smooth == maximum_filter(smooth, width))
        for row, column in np.argwhere(peaks):
            height = float(smooth[row, column])
            events.append(Event(spike, int(row), int(column), height))
    return events


def vote(events: list[Event], shape: tuple[int, int], radius: float) -> list[list[Event]]:
    """Events by place, the places with the most votes first.

    Every event belongs to the nearest place within half a radius, or to none.
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
