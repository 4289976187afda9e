"""The default fit: neurons found one by one around their own places, then fitted jointly."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.ndimage import gaussian_filter
from scipy.signal import lfilter
from scipy.sparse import csr_array

from thinrank.calcium.binning import BinnedMovie, bin_length, bin_movie
from thinrank.calcium.decay import estimate_decay
from thinrank.calcium.local import LocalDetection, LocalResult, unit_noise
from thinrank.calcium.local_fit import body_of, is_body
from thinrank.calcium.movie import Movie
from thinrank.calcium.movie_fit import MovieFit
from thinrank.calcium.neurons import Neurons, as_neurons
from thinrank.calcium.seeds import LocalNeuron
from thinrank.calcium.settings import as_preprocessing, given_radius, in_radii, smoothing_width
from thinrank.calcium.stages import StageProgress, Stages
from thinrank.calcium.traces import extract_targets, spikes_of
from thinrank.core.checks import is_auto
from thinrank.core.factors import Factors
from thinrank.core.result import Outcome, Status

# Decay that the length of the bins is chosen for if it is estimated, which happens later. The
# paper's 1 − 1/frame_rate at 10 frames per second.
_USUAL_DECAY = 0.9
# Radius of a neuron that the search uses, in pixels, unless it is told or sees otherwise.
_USUAL_RADIUS = 5.0
# Radii that differ by less than this factor are not told apart. If the bodies that the search finds
# differ by more from its radius, it begins again with theirs, at most this many times in all.
_TOLERANCE, _MOST_TRIALS = 1.5, 3
# Radius of a neuron relative to its body, which ends at half the maximum. Rule of thumb.
_BODY = 1.2
# Smallest and largest radius that is estimated, in pixels, and the smallest number of neurons.
_RADII, _FEWEST = (1.5, 15.0), 3
# A neuron is taken for a part of another one if it is nearer than this, in radii, its largest
# transient is below this fraction of the other one's, and its trace has at least this correlation.
_SATELLITE_DISTANCE, _SATELLITE_PEAK, _SATELLITE_LIKENESS = 5.0, 0.4, 0.5
# Standard deviation of the Gaussian filter of the final footprints, in radii: single pixels of a
# faint neuron are noisy.
_FOOTPRINT_WIDTH = 0.2
# Final footprints end where they are below this fraction of their maximum.
_EDGE = 0.05


def fit_locally(imaging: Any, movie: Movie, decay: float | None, stages: Stages) -> MovieFit:
    """Find neurons in the binned movie, and their traces in all frames.

    ``decay``: None to estimate it.
    """
    frames, height, width = movie.shape
    usual = _USUAL_DECAY if decay is None else decay
    length = bin_length(usual, movie.shape)
    binned = bin_movie(movie, length, stages.begin("reading"))
    stages.begin("baseline")
    knots, baseline = _baseline(imaging, binned)
    noise = unit_noise(binned, bool(imaging.noise_scaling))
    radius, found = _detected(imaging, binned, noise, usual**length, stages.begin("neurons"))
    footprints = _footprints(found, noise, radius)
    scale = (noise * np.float32(length**0.5)).ravel()
    weights = np.divide(1, scale**2, out=np.zeros_like(scale), where=scale > 0)
    image, live = binned.mean_image, len(found.neurons)
    del binned
    spikes = np.zeros((live, frames))
    if live:
        traces = extract_targets(
            movie, footprints, weights, found.background, (knots, baseline), stages.begin("traces")
        )
        if decay is None:
            decay = estimate_decay(traces.targets().T.astype(np.float32))
        spikes = spikes_of(traces, decay, stages.begin("spikes"))
    decay = usual if decay is None else decay
    bodies = _not_satellites(footprints, spikes, decay, (height, width), radius)
    bodies = bodies[np.array(_bodies(found, noise, radius), dtype=bool)[bodies]]
    threshold = float(imaging.region_threshold)
    neurons = as_neurons(
        csr_array(footprints[bodies]), spikes[bodies], decay, (height, width), threshold
    )
    theta = _theta(neurons, scale, movie.shape)
    return MovieFit(theta, _status(neurons), decay, radius, image, knots, baseline, scale, neurons)


def _detected(
    imaging: Any, binned: BinnedMovie, noise: np.ndarray, decay: float, progress: StageProgress
) -> tuple[float, LocalResult]:
    """The radius of the neurons, and the neurons. The binned movie is divided by its noise."""
    inverse = np.divide(1, noise, out=np.zeros_like(noise), where=noise > 0)[..., None]
    binned.values[...] *= inverse
    binned.rough[...] *= inverse
    radius = given_radius(imaging)
    if _USUAL_RADIUS / _TOLERANCE <= radius <= _USUAL_RADIUS * _TOLERANCE:
        radius = _USUAL_RADIUS
    neurons: list[LocalNeuron] = []
    for _ in range(_MOST_TRIALS):
        search = _detection(imaging, radius, decay)
        level = search.noise_after_smoothing(binned.rough)
        first = search.run(
            binned.values, level, lambda part: progress(0.3 * part), last=1, any_shape=True
        )
        neurons = first.neurons
        seen = _radius_of(neurons, radius)
        right = radius / _TOLERANCE <= seen <= radius * _TOLERANCE
        if right or not is_auto(imaging.neuron_radius):
            break
        radius, neurons = seen, []
    else:
        search = _detection(imaging, radius, decay)
        level = search.noise_after_smoothing(binned.rough)
    found = search.run(
        binned.values,
        level,
        lambda part: progress(0.3 + 0.7 * part) if neurons else progress(part),
        first=1 if neurons else 0,
        neurons=neurons,
    )
    return radius, found


def _detection(imaging: Any, radius: float, decay: float) -> LocalDetection:
    smoothing = smoothing_width(imaging, radius)
    return LocalDetection(radius, smoothing, in_radii(imaging.background, 3.0, radius), decay)


def _radius_of(neurons: list[LocalNeuron], radius: float) -> float:
    """Radius of a disc with the median area of the bodies; the given one if there are few."""
    if len(neurons) < _FEWEST:
        return radius
    areas = [np.count_nonzero(body_of(neuron.footprint, radius)) for neuron in neurons]
    return float(np.clip(_BODY * np.sqrt(np.median(areas) / np.pi), *_RADII))


def _baseline(imaging: Any, binned: BinnedMovie) -> tuple[np.ndarray, np.ndarray]:
    """Subtract the baseline of each pixel, in place; the knots in frames, and the levels."""
    height, width, bins = binned.values.shape
    settings = as_preprocessing(imaging, height * width, 1.0).in_bins(binned.length)
    knots = settings.knots(bins)
    levels = np.empty((len(knots), height, width), dtype=np.float32)
    for row, line in enumerate(binned.values):
        levels[:, row], _ = settings.without_baseline(line.T, knots)
    frames = knots * binned.length + binned.length // 2
    return frames, levels.reshape(len(knots), -1)


def _footprints(found: LocalResult, noise: np.ndarray, radius: float) -> csr_array:
    """Footprints in the units of the movie, 1 at the brightest pixel."""
    shape = noise.shape
    data, index, starts = [], [], [0]
    for neuron in found.neurons:
        image = neuron.footprint * neuron.window(noise)
        image = gaussian_filter(image, _FOOTPRINT_WIDTH * radius)
        image /= image.max()
        rows, columns = np.nonzero(image > _EDGE)
        data.append(image[rows, columns])
        index.append((rows + neuron.rows.start) * shape[1] + columns + neuron.columns.start)
        starts.append(starts[-1] + len(rows))
    if not data:
        return csr_array((0, shape[0] * shape[1]), dtype=np.float32)
    parts = (np.concatenate(data), np.concatenate(index), np.array(starts))
    return csr_array(parts, shape=(len(data), shape[0] * shape[1]))


def _bodies(found: LocalResult, noise: np.ndarray, radius: float) -> list[bool]:
    """Whether each footprint has the size and shape of a neuron in the units of the movie.

    The search sees it in units of the noise, in which bright pixels count less: a few of them can
    hold most of the light.
    """
    return [is_body(neuron.footprint * neuron.window(noise), radius) for neuron in found.neurons]


def _not_satellites(
    footprints: csr_array,
    spikes: np.ndarray,
    decay: float,
    shape: tuple[int, int],
    radius: float,
) -> np.ndarray:
    """Indices of the neurons that are not a faint part, such as a dendrite, of a brighter one.

    The trace of such a part is that of its neuron.
    """
    traces = lfilter([1.0], [1.0, -decay], spikes, axis=1)
    peaks = traces.max(axis=1, initial=0.0)
    places = np.stack(np.divmod(np.arange(shape[0] * shape[1]), shape[1]), axis=1)
    centres = (footprints @ places) / np.maximum(footprints.sum(axis=1), 1e-30)[:, None]
    centred = traces - traces.mean(axis=1, keepdims=True)
    norms = np.maximum(np.linalg.norm(centred, axis=1), 1e-30)
    kept = []
    for n, (centre, peak) in enumerate(zip(centres, peaks, strict=True)):
        near = np.linalg.norm(centres - centre, axis=1) < _SATELLITE_DISTANCE * radius
        owners = np.flatnonzero(near & (peak < _SATELLITE_PEAK * peaks))
        alike = centred[owners] @ centred[n] / (norms[owners] * norms[n])
        if peak > 0 and not np.any(alike > _SATELLITE_LIKENESS):
            kept.append(n)
    return np.array(kept, dtype=int)


def _theta(neurons: Neurons, scale: np.ndarray, shape: tuple[int, int, int]) -> Factors:
    """Θ = SA in units of the noise."""
    inverse = np.divide(1, scale, out=np.zeros_like(scale), where=scale > 0)
    V = neurons.footprints.toarray().T * inverse[:, None]
    return Factors(np.ascontiguousarray(neurons.spikes.T), np.ascontiguousarray(V))


def _status(neurons: Neurons) -> Status:
    count = len(neurons.traces)
    if count == 0:
        return Status(Outcome.ZERO, "No place is more active than noise would be: Θ has rank 0.")
    return Status(Outcome.CONVERGED, f"The local search found {count} neurons.")
