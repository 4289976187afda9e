"""Neurons one after another, each in its own window, then all of them jointly.

The place with the largest transients, relative to the noise and to what is left of the background
around it, is the start of a neuron. Its footprint and trace are fitted and subtracted, until no
place exceeds what noise would reach. Then all footprints and traces, at least 0, are fitted to the
movie without smoothing, the background is computed again without them, and both are repeated.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.ndimage import center_of_mass, gaussian_filter, label, median_filter
from scipy.signal import lfilter
from scipy.sparse import csr_array

from thinrank.calcium.binning import Background, fit_background, middle, noise_level, smooth_frames
from thinrank.calcium.deconvolution import NORMAL_MEDIAN

# Outputs of the matched filter below this many standard deviations of the noise do not count as
# activity in the search.
_ACTIVE = 3.0
# A neuron must have a bin above √(2 log(number of bins times places)) standard deviations times
# this factor. Noise exceeds the bound itself in about half of the movies.
_MARGIN = 1.15
# Half the side of the window around a seed, in radii.
_REACH = 2.2
# Alternations between footprint and trace of a seed, and passes of the joint fit.
_PASSES = 4
# A seed's footprint ends where it is below this fraction of its maximum.
_EDGE = 0.15


@dataclass(eq=False)
class LocalNeuron:
    """A neuron in a window of the frame."""

    rows: slice  # the window
    columns: slice
    footprint: np.ndarray  # (window_height, window_width)
    trace: np.ndarray  # (n_bins,)

    def window(self, values: np.ndarray) -> np.ndarray:
        """The window of an array of shape (height, width, …), as a view."""
        return values[self.rows, self.columns]

    @property
    def energy(self) -> float:
        """Sum of squares of what the neuron adds to the movie."""
        return float((self.footprint**2).sum() * (self.trace @ self.trace))

    @property
    def centre(self) -> np.ndarray:
        """Centre of mass of the footprint: row and column."""
        return np.add(center_of_mass(self.footprint), (self.rows.start, self.columns.start))


@dataclass(frozen=True)
class Search:
    """Search for neurons in a movie of shape (height, width, n_bins), in units of the noise."""

    radius: float  # radius of a neuron, in pixels
    # standard deviation of the Gaussian filter of the frames for the search, in pixels
    smoothing: float
    background: float  # standard deviation of the filter of the background, in pixels; 0 for none
    decay: float  # fraction of the fluorescence that is left after one bin

    def level(self, rough: np.ndarray) -> np.ndarray:
        """Standard deviation of the noise that the filter of the search leaves in each pixel."""
        level = noise_level(smooth_frames(rough, self.smoothing))
        level[level == 0] = np.inf
        return level

    def run(
        self, values: np.ndarray, level: np.ndarray, neurons: list[LocalNeuron]
    ) -> tuple[list[LocalNeuron], Background | None]:
        """Fit the background and these neurons, and find further ones. ``level``: an image."""
        background = None
        rest = values.copy()
        for neuron in neurons:
            neuron.window(rest)[...] -= neuron.footprint[..., None] * neuron.trace
        if self.background:
            background = fit_background(rest, self.background)
            rest -= middle(rest)[..., None]  # what the baseline and the background have left
        fit_jointly(rest, neurons, 1)
        smooth = smooth_frames(rest, self.smoothing)
        smooth /= level[..., None]
        spread = self._spread(smooth)
        new = self._seeds(smooth, spread)
        del smooth
        for neuron in new:  # found in the smoothed movie: a trace in the movie itself
            here = neuron.window(rest)
            size = np.float32(np.vdot(neuron.footprint, neuron.footprint))
            neuron.trace = np.maximum(np.tensordot(neuron.footprint, here, axes=2) / size, 0)
            here -= neuron.footprint[..., None] * neuron.trace
        neurons = neurons + new
        fit_jointly(rest, neurons, _PASSES)
        neurons = [neuron for neuron in neurons if neuron.footprint.any()]
        return self._merged(neurons, spread.shape), background

    def _merged(self, neurons: list[LocalNeuron], shape: tuple[int, int]) -> list[LocalNeuron]:
        """Drop the fainter of two components that are the same neuron.

        They are if their traces correlate by more than .4 within 1.2 radii or .6 within 4 radii, or
        if the cosine of their footprints exceeds .6, whatever their traces: light that moves within
        a neuron looks like two. Of 2100 neurons in 30 movies 10 have a neighbor with a larger one.
        """
        if len(neurons) < 2:
            return neurons
        order = sorted(neurons, key=lambda neuron: -neuron.energy)
        centres = np.array([neuron.centre for neuron in order])
        apart = np.linalg.norm(centres[:, None] - centres, axis=2) / self.radius
        traces = np.array([neuron.trace for neuron in order])
        chance = np.tanh(3 / max(traces.shape[1] - 3, 1) ** 0.5)  # three standard errors
        alike = np.corrcoef(traces) > np.maximum(np.where(apart < 1.2, 0.4, 0.6), chance)
        images = [gaussian_filter(n.footprint, 0.2 * self.radius) for n in order]
        smooth = stacked(order, images, shape)  # noise makes cosines small
        products = (smooth @ smooth.T).toarray()
        norms = np.sqrt(np.diag(products))
        same = (alike | (products > 0.6 * np.outer(norms, norms))) & (apart <= 4)
        kept: list[int] = []
        for n in range(len(order)):
            if not same[n, kept].any():
                kept.append(n)
        return [order[n] for n in kept]

    def _spread(self, values: np.ndarray) -> np.ndarray:
        """Spread of the matched filter around each pixel: 1 for noise, more for background.

        Even a neuron that is always active hardly changes the median within five radii.
        """
        step = max(1, round(self.radius / 2))  # the median of a part of the pixels is as good
        own = middle(np.abs(matched(values[::step, ::step], self.decay))) / np.float32(
            NORMAL_MEDIAN
        )
        coarse = median_filter(own, 2 * int(5 * self.radius / step) + 1)
        wide = np.repeat(np.repeat(coarse, step, axis=0), step, axis=1)
        return np.maximum(wide[: values.shape[0], : values.shape[1]], 1)

    def _activity(self, lines: np.ndarray, spread: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Sum of squared excesses of some pixels, and the highest output of the matched filter."""
        output = matched(lines, self.decay)
        output /= spread[:, None]
        highest = output.max(axis=1)
        output -= np.float32(_ACTIVE)
        np.maximum(output, 0, out=output)
        return np.einsum("ij,ij->i", output, output), highest

    def _seeds(self, values: np.ndarray, spread: np.ndarray) -> list[LocalNeuron]:
        """Find neurons and subtract them from the smoothed movie."""
        cells = max(np.prod(values.shape, dtype=float) / self.radius**2, 2.0)
        least = _MARGIN * float(np.sqrt(2 * np.log(cells)))
        total, highest = np.empty_like(spread), np.empty_like(spread)
        for row, line in enumerate(values):
            total[row], highest[row] = self._activity(line, spread[row])
        open_places = np.ones(total.shape, dtype=bool)
        found: list[LocalNeuron] = []
        while True:
            score = np.where(open_places & (highest >= least), total, 0)
            place = np.unravel_index(int(np.argmax(score)), score.shape)
            if score[place] <= 0:
                return found
            seed = (int(place[0]), int(place[1]))
            neuron = self._grown(values, seed)
            near = max(1, int(self.radius / 2))  # no second seed
            open_places[tuple(slice(max(i - near, 0), i + near + 1) for i in seed)] = False
            if neuron is None:
                continue
            found.append(neuron)
            rows, columns = np.nonzero(neuron.footprint)  # no other pixels change
            places = rows + neuron.rows.start, columns + neuron.columns.start
            rest = values[places] - neuron.footprint[rows, columns][:, None] * neuron.trace
            values[places] = rest
            total[places], highest[places] = self._activity(rest, spread[places])

    def _grown(self, values: np.ndarray, seed: tuple[int, int]) -> LocalNeuron | None:
        """Footprint and trace around a seed, or None if there is no neuron."""
        reach = int(np.ceil(_REACH * self.radius))
        rows, columns = (
            slice(max(i - reach, 0), min(i + reach + 1, side))
            for i, side in zip(seed, values.shape, strict=False)
        )
        here = values[rows, columns]
        own = (seed[0] - rows.start, seed[1] - columns.start)
        weights = np.maximum(matched(here[own], self.decay) - np.float32(_ACTIVE), 0)
        lines = here.reshape(-1, here.shape[2])  # a copy, which the products below read faster
        energy, trace = float(weights.any()), weights
        for _ in range(_PASSES + 1):
            if energy == 0:
                return None
            image = np.maximum((lines @ weights).reshape(here.shape[:2]) / np.float32(energy), 0)
            footprint = _piece(image, image > _EDGE * image.max(), own)
            size = float(np.vdot(footprint, footprint))
            if size == 0:
                return None
            before = trace
            trace = footprint.ravel() @ lines / np.float32(size)
            weights = np.where(trace > 2 * np.median(np.abs(trace)) / NORMAL_MEDIAN, trace, 0)
            energy = float(weights @ weights)
        return LocalNeuron(rows, columns, footprint, np.maximum(before, 0))


def _piece(image: np.ndarray, bright: np.ndarray, own: tuple[Any, ...]) -> np.ndarray:
    """The connected part of the bright pixels of an image that contains a pixel."""
    pieces, _ = label(bright)
    return image * (pieces == pieces[own]) if pieces[own] else np.zeros_like(image)


def stacked(
    neurons: Sequence[LocalNeuron], images: Sequence[np.ndarray], shape: tuple[int, ...]
) -> csr_array:
    """Images in the windows of neurons, as rows of shape (n_neurons, height * width)."""
    data, index, starts = [np.empty(0, np.float32)], [np.empty(0, np.int64)], [0]
    for neuron, image in zip(neurons, images, strict=True):
        rows, columns = np.nonzero(image)
        data.append(image[rows, columns])
        index.append((rows + neuron.rows.start) * shape[1] + columns + neuron.columns.start)
        starts.append(starts[-1] + len(rows))
    parts = (np.concatenate(data), np.concatenate(index), np.array(starts))
    return csr_array(parts, shape=(len(neurons), shape[0] * shape[1]))


def matched(values: np.ndarray, decay: float) -> np.ndarray:
    """Matched filter along the last axis, for a jump that decays; noise keeps its variance."""
    forward = lfilter([np.float32((1 - decay**2) ** 0.5)], [1, -decay], values[..., ::-1], axis=-1)
    return np.asarray(forward[..., ::-1], dtype=np.float32)


def fit_jointly(rest: np.ndarray, neurons: list[LocalNeuron], rounds: int) -> None:
    """Improve footprints and traces, one neuron at a time, in place."""
    for _ in range(rounds):
        for neuron in neurons:
            _update(neuron, neuron.window(rest))


def _update(neuron: LocalNeuron, rest: np.ndarray) -> None:
    """Fit one neuron to what the others leave in its window, and subtract the change there."""
    before, trace = neuron.footprint, neuron.trace
    size = float(np.vdot(before, before))
    if size == 0:
        return
    lines = rest.reshape(-1, rest.shape[2])
    # the neuron is not added to the movie: what it contributes to the inner products is known
    target = before.ravel() @ lines / np.float32(size) + trace
    level = float(np.median(np.abs(target - np.median(target)))) / NORMAL_MEDIAN
    strong = np.where(target > 2 * level, target, 0)  # bins of noise are not used
    energy = float(strong @ strong)
    if energy == 0:
        neuron.footprint = np.zeros_like(before)
        neuron.trace = np.zeros_like(trace)
    else:
        image = (lines @ strong).reshape(before.shape) + before * (trace @ strong)
        image /= np.float32(energy)
        image[image < 1.5 / energy**0.5] = 0  # below 1.5 standard errors
        smooth = gaussian_filter(image, 1.0)
        brightest = np.unravel_index(int(smooth.argmax()), smooth.shape)
        neuron.footprint = _piece(image, smooth > 0.1 * smooth.max(), brightest)
        neuron.trace = np.maximum(target, 0)
    changed = np.nonzero((before != 0) | (neuron.footprint != 0))
    parts = np.column_stack([before[changed], -neuron.footprint[changed]])
    rest[changed] += parts @ np.stack([trace, neuron.trace])
