"""Neurons one after another: the most active place of what is left of a binned movie."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.ndimage import label, median_filter
from scipy.signal import lfilter

from thinrank.calcium.binning import middle

# Matched-filter outputs below this many standard deviations of the noise do not count as activity.
_ACTIVE = 3.0
# A neuron must have a bin above √(2 log(number of bins times places)) standard deviations times
# this factor. Noise exceeds the bound itself in about half of the movies.
_MARGIN = 1.15
# Half the side of the window around a seed, in radii.
_REACH = 2.2
# Half the side of the surroundings in which the spread is judged, in radii.
_AROUND = 5.0
# The median of |z| of a standard normal variable z.
_NORMAL_MEDIAN = 0.6745
# Alternations between footprint and trace of a seed.
_ROUNDS = 4
# A footprint ends where it is below this fraction of its maximum.
_EDGE = 0.15
# Bins in which the seed is less bright than this fraction of the brightest pixel nearby belong to
# a neighbor.
_OWN = 0.75
# Smallest and largest area at half maximum, relative to a disc of the given radius.
_LEAST_AREA, _LARGEST_AREA = 0.2, 2.5
# The largest area if the radius is a guess.
_WIDE = 4.0


@dataclass(eq=False)
class LocalNeuron:
    """A neuron in a window of the frame."""

    rows: slice  # the window
    columns: slice
    footprint: np.ndarray  # (window_height, window_width)
    trace: np.ndarray  # (n_bins,)
    mask: np.ndarray  # (window_height, window_width) where the footprint may differ from zero
    # (n_bins,) what the trace approximates, with its noise on both sides of zero
    target: np.ndarray

    def window(self, values: np.ndarray) -> np.ndarray:
        """The window of an array of shape (height, width, …), as a view."""
        return values[self.rows, self.columns]

    @property
    def centre(self) -> np.ndarray:
        """Centre of mass of the footprint: row and column."""
        mass = self.footprint / self.footprint.sum()
        rows = mass.sum(axis=1) @ np.arange(self.rows.start, self.rows.stop)
        columns = mass.sum(axis=0) @ np.arange(self.columns.start, self.columns.stop)
        return np.array([rows, columns])


def matched(values: np.ndarray, decay: float) -> np.ndarray:
    """Matched filter along the last axis, for a jump that decays; noise keeps its variance."""
    forward = lfilter([np.float32((1 - decay**2) ** 0.5)], [1, -decay], values[..., ::-1], axis=-1)
    return np.asarray(forward[..., ::-1], dtype=np.float32)


def local_spread(values: np.ndarray, decay: float, radius: float) -> np.ndarray:
    """Spread of the matched filter around each pixel: 1 for noise, more where background is left.

    Neurons cover the smaller part of their surroundings, so that even one that is always active
    hardly changes the median of the spreads of all pixels there.

    Shapes: result (height, width).
    """
    step = max(1, round(radius / 2))  # the median of a part of the pixels is as good
    some = matched(values[::step, ::step], decay)
    own = middle(np.abs(some)) / np.float32(_NORMAL_MEDIAN)
    coarse = median_filter(own, 2 * int(_AROUND * radius / step) + 1)
    wide = np.repeat(np.repeat(coarse, step, axis=0), step, axis=1)
    return np.maximum(wide[: values.shape[0], : values.shape[1]], 1)


def activity(lines: np.ndarray, decay: float, spread: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Sum of squared excesses of some pixels, and the highest output of the matched filter."""
    output = matched(lines, decay)
    output /= spread[:, None]
    highest = output.max(axis=1)
    output -= np.float32(_ACTIVE)
    np.maximum(output, 0, out=output)
    return np.einsum("ij,ij->i", output, output), highest


@dataclass(frozen=True)
class SeedSearch:
    """Greedy search for neurons."""

    radius: float  # radius of a neuron, in pixels
    decay: float  # fraction of the fluorescence that is left after one bin

    def least_height(self, shape: tuple[int, ...]) -> float:
        """Smallest highest output of the matched filter: what noise of this size hardly reaches."""
        places = max(np.prod(shape, dtype=float) / (self.radius**2), 2.0)
        return _MARGIN * float(np.sqrt(2 * np.log(places)))

    def run(
        self, values: np.ndarray, spread: np.ndarray, *, wide: bool = False
    ) -> list[LocalNeuron]:
        """Find neurons and subtract them from the movie.

        Shapes: ``spread`` (height, width).
        """
        least = self.least_height(values.shape)
        total, highest = np.empty_like(spread), np.empty_like(spread)
        for row, line in enumerate(values):
            total[row], highest[row] = activity(line, self.decay, spread[row])
        open_places = np.ones(total.shape, dtype=bool)
        found: list[LocalNeuron] = []
        while True:
            score = np.where(open_places & (highest >= least), total, 0)
            place = np.unravel_index(int(np.argmax(score)), score.shape)
            if score[place] <= 0:
                break
            seed = (int(place[0]), int(place[1]))
            neuron = self._grown(values, seed, _WIDE if wide else _LARGEST_AREA)
            if neuron is None:
                self._close(open_places, seed, 0.7)
                continue
            self._close(open_places, seed, 0.4)
            found.append(neuron)
            rows, columns = np.nonzero(neuron.footprint)  # no other pixels change
            places = rows + neuron.rows.start, columns + neuron.columns.start
            rest = values[places] - neuron.footprint[rows, columns][:, None] * neuron.trace
            values[places] = rest
            total[places], highest[places] = activity(rest, self.decay, spread[places])
        return found

    def _close(self, open_places: np.ndarray, seed: tuple[int, int], radii: float) -> None:
        """No second seed within some radii."""
        near = max(1, int(self.radius * radii))
        rows, columns = (slice(max(i - near, 0), i + near + 1) for i in seed)
        open_places[rows, columns] = False

    def _grown(
        self, values: np.ndarray, seed: tuple[int, int], largest: float
    ) -> LocalNeuron | None:
        """Footprint and trace around a seed, or None if there is no neuron."""
        reach = int(np.ceil(_REACH * self.radius))
        rows, columns = (
            slice(max(i - reach, 0), min(i + reach + 1, side))
            for i, side in zip(seed, values.shape, strict=False)
        )
        here = values[rows, columns]
        own = (seed[0] - rows.start, seed[1] - columns.start)
        distance = np.hypot(*(np.indices(here.shape[:2]) - np.array(own)[:, None, None]))
        mask = distance <= reach
        close = here[distance <= self.radius]
        output = matched(here[own], self.decay)
        weights = np.maximum(output - np.float32(_ACTIVE), 0)
        weights[here[own] < _OWN * close.max(axis=0)] = 0
        if not weights.any():
            return None
        lines = here.reshape(-1, here.shape[2])  # a copy, which the products below read faster
        footprint = np.maximum((lines @ weights).reshape(mask.shape), 0) * mask
        trace = weights
        for _ in range(_ROUNDS):
            footprint = _body(footprint, own)
            size = float(np.vdot(footprint, footprint))
            if size == 0:
                return None
            trace = footprint.ravel() @ lines / np.float32(size)
            level = 2 * float(np.median(np.abs(trace))) / _NORMAL_MEDIAN
            strong = np.where(trace > level, trace, 0)
            energy = float(strong @ strong)
            if energy == 0:
                return None
            image = (lines @ strong).reshape(mask.shape) / np.float32(energy)
            footprint = np.maximum(image, 0) * mask
        footprint = _body(footprint, own)
        area = np.count_nonzero(footprint >= 0.5 * footprint.max())
        if not _LEAST_AREA <= area / (np.pi * self.radius**2) <= largest:
            return None
        return LocalNeuron(rows, columns, footprint, np.maximum(trace, 0), mask, trace)


def _body(footprint: np.ndarray, own: tuple[int, int]) -> np.ndarray:
    """The connected part of a footprint around a pixel, without its faint edge."""
    pieces, _ = label(footprint > _EDGE * footprint.max(initial=0))
    piece = pieces[own]
    return footprint * (pieces == piece) if piece else np.zeros_like(footprint)
