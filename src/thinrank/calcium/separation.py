"""Separation of the product XΘ into neurons."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from thinrank.calcium.demixing import Components, demix
from thinrank.calcium.events import Event, find_events, vote
from thinrank.calcium.segments import Segments

# All values are rules of thumb; benchmarks/calcium.py shows the scores that they give.
# Largest distance of a pixel of a footprint from the location of its neuron, in radii.
_REACH = 2.0
# Passes of the factorization between two rounds of pruning and merging.
_ROUNDS = 10
# Two components are the same neuron if the cosines of their footprints and of their traces exceed
# these values. If their centers are less than a radius apart, where two cell bodies hardly fit, it
# suffices that the cosine of their traces exceeds the last value.
_SAME_FOOTPRINT, _SAME_TRACE = 0.6, 0.8
_SAME_TRACE_NEAR = 0.5
# The body of a neuron is where its footprint is at least this fraction of its maximum. Next, the
# smallest area of the body, relative to a disc of the given radius, and the largest ratio of its
# length to its width. Smaller or longer components are taken for dendrites.
_BODY = 0.4
_LEAST_AREA = 0.4
_LONGEST = 2.0
# Smallest size of a neuron's largest spike, averaged over its footprint, in standard deviations of
# the noise.
_LEAST_SPIKE = 3.0


@dataclass(frozen=True)
class Separation:
    """Separates the product XΘ into neurons."""

    shape: tuple[int, int]  # shape of a frame
    radius: float  # approximate radius of a neuron, in pixels

    def split(
        self, levels: np.ndarray, V: np.ndarray, pixels: np.ndarray, segments: Segments
    ) -> Components:
        """Separate the movie ``levels @ V.T`` into neurons.

        Shapes: ``levels`` (n_segments, rank), ``V`` (n_pixels, rank), ``pixels``
        (n_pixels,).
        """
        spikes = segments.spikes(levels)
        spikes /= _spike_noise(segments)[:, None]
        images = spikes @ V.T
        events = find_events(images, pixels, self.shape, self.radius)
        groups = vote(events, self.shape, self.radius)
        first = self._first(groups, images, pixels, len(segments.frames))
        W = (levels * np.sqrt(segments.energies)[:, None]) @ V.T
        return self.refined(W, first, pixels, segments)

    def refined(
        self, W: np.ndarray, first: Components, pixels: np.ndarray, segments: Segments
    ) -> Components:
        """Fit footprints and traces, drop components that are not neurons, and merge duplicates.

        Shapes: ``W`` (n_segments, n_pixels), ``pixels`` (n_pixels,).
        """
        components = demix(W, first, segments, _ROUNDS)
        while True:
            count = len(components.footprints)
            components = self._merged(self._pruned(components, pixels, segments), pixels)
            if len(components.footprints) == count:
                return self._ordered(components)
            components = demix(W, components, segments, _ROUNDS)

    def _first(
        self, groups: list[list[Event]], images: np.ndarray, pixels: np.ndarray, spikes: int
    ) -> Components:
        """Footprints to start from: means of the images of each location's events, around it."""
        rows, columns = np.divmod(pixels, self.shape[1])
        footprints = np.zeros((len(groups), len(pixels)), dtype=np.float64)
        masks = np.zeros((len(groups), len(pixels)), dtype=bool)
        for n, group in enumerate(groups):
            heights = np.array([event.height for event in group])
            place = np.array([(event.row, event.column) for event in group])
            row, column = heights @ place / heights.sum()
            near = np.hypot(rows - row, columns - column) <= _REACH * self.radius
            image = heights @ images[np.ix_([event.spike for event in group], near)]
            footprints[n, near] = np.maximum(image / heights.sum(), 0)
            masks[n] = near
        return Components(footprints, np.zeros((spikes, len(groups))), masks)

    def _pruned(self, components: Components, pixels: np.ndarray, segments: Segments) -> Components:
        """Drop components that are too small, too elongated or too faint."""
        A, C = components.footprints, components.traces
        peaks = A.max(axis=1, initial=0.0)
        bodies = (_BODY * peaks[:, None] <= A) & (A > 0)
        area = np.count_nonzero(bodies, axis=1)
        levels = C / np.sqrt(segments.energies)[:, None]
        spikes = segments.spikes(levels) / _spike_noise(segments)[:, None]
        weight = (A**2).sum(axis=1) / np.maximum(A.sum(axis=1), 1e-300)
        largest = spikes.max(axis=0, initial=0.0) * weight
        good = (area >= _LEAST_AREA * np.pi * self.radius**2) & (largest >= _LEAST_SPIKE)
        good &= self._elongations(bodies, pixels) <= _LONGEST
        return components.take(np.flatnonzero(good & (peaks > 0)))

    def _elongations(self, bodies: np.ndarray, pixels: np.ndarray) -> np.ndarray:
        """Ratio of the longest to the shortest standard deviation of each set of pixels."""
        places = np.stack(np.divmod(pixels, self.shape[1]), axis=1)
        ratios = np.full(len(bodies), np.inf)
        for n, body in enumerate(bodies):
            if np.count_nonzero(body) > 2:
                short, long = np.linalg.eigvalsh(np.cov(places[body].T))
                ratios[n] = (long / max(short, 1e-12)) ** 0.5
        return ratios

    def _merged(self, components: Components, pixels: np.ndarray) -> Components:
        """Merge components that are the same neuron, one pair at a time."""
        while True:
            pair = self._same(components, pixels)
            if pair is None:
                return components
            first, second = pair
            A, masks = components.footprints, components.masks
            A[first] = np.maximum(A[first], A[second])
            masks = masks.copy()
            masks[first] |= masks[second]
            others = np.delete(np.arange(len(A)), second)
            components = replace(components, footprints=A, masks=masks).take(others)

    def _same(self, components: Components, pixels: np.ndarray) -> tuple[int, int] | None:
        A, C = components.footprints, components.traces
        if len(A) < 2:
            return None
        rows, columns = np.divmod(pixels, self.shape[1])
        mass = A.sum(axis=1)
        centres = np.stack([A @ rows / mass, A @ columns / mass], axis=1)
        near = np.linalg.norm(centres[:, None] - centres[None], axis=2) < self.radius
        alike, together = _cosines(A) > _SAME_FOOTPRINT, _cosines(C.T)
        same = (alike & (together > _SAME_TRACE)) | (near & (together > _SAME_TRACE_NEAR))
        pairs = np.argwhere(np.triu(same, 1))
        return (int(pairs[0, 0]), int(pairs[0, 1])) if len(pairs) else None

    def _ordered(self, components: Components) -> Components:
        """Sort the components: those that explain the most come first."""
        A, C = components.footprints, components.traces
        energy = (A**2).sum(axis=1) * (C**2).sum(axis=0)
        return components.take(np.argsort(-energy, kind="stable"))


def _spike_noise(segments: Segments) -> np.ndarray:
    """Standard deviation of each spike if the noise of a pixel has standard deviation 1."""
    variances = 1 / segments.energies
    variances[1:] += segments.carried**2 * (1 / segments.energies[:-1])
    return np.sqrt(variances)


def _cosines(rows: np.ndarray) -> np.ndarray:
    norms = np.maximum(np.linalg.norm(rows, axis=1), 1e-300)
    unit = rows / norms[:, None]
    return unit @ unit.T
