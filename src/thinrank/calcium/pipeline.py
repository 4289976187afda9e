"""From a movie to neurons: bins, footprints, traces and spikes, light, and which are accepted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from scipy.ndimage import gaussian_filter
from scipy.signal import lfilter
from scipy.sparse import csr_array, vstack

from thinrank.calcium.binning import (
    Background,
    BinnedMovie,
    RestingLevel,
    bin_length,
    bin_movie,
    fit_background,
    interpolated,
    roughness,
    smooth_frames,
)
from thinrank.calcium.fluorescence import (
    Fluorescence,
    Quality,
    measure_fluorescence,
    measure_quality,
    ratio,
)
from thinrank.calcium.low_rank import fit_low_rank, given_sizes, separable
from thinrank.calcium.readers import Movie
from thinrank.calcium.regions import body_of, region_of, shape_score
from thinrank.calcium.search import LocalNeuron, Search, stacked
from thinrank.calcium.traces import estimate_decay, extract_traces, spikes_of
from thinrank.core.checks import is_auto
from thinrank.core.factors import Factors
from thinrank.core.result import Outcome, Status

Begin = Callable[[str], Callable[[float], None]]
"""Begins a stage of the fit; what it returns is called with the fraction that is done."""

ACCEPTED = 0.5
"""Smallest score of a neuron that is not rejected."""
# Decay that the length of the bins is chosen for if it is estimated, which happens later. The
# paper's 1 − 1/frame_rate at 10 frames per second.
_USUAL_DECAY = 0.9
# Radius of a neuron with which the search begins if none is given, in pixels.
_USUAL_RADIUS = 5.0
# If the radius of what is found differs by more than the first factor from that of the search, or
# is smaller than the given radius by more than the second one, the search begins again with it, at
# most this many times in all.
_TOLERANCE, _TOO_LARGE, _MOST_TRIALS = 1.1, 1.5, 3
# Smallest and largest radius that is estimated, in pixels.
_RADII = (1.5, 15.0)
# Smallest height of the largest transient of a neuron in XΘ, in units of the noise.
_LEAST_PEAK = 5.0
# Standard deviation of the Gaussian filter of the final footprints, in radii: single pixels of a
# faint neuron are noisy.
_FOOTPRINT_WIDTH = 0.2
# Final footprints end where they are below this fraction of their maximum.
_EDGE = 0.05


@dataclass(frozen=True)
class Neurons:
    """Some neurons, or candidates for neurons, with everything that is known of each.

    Attributes
    ----------
    footprints : sparse array of shape (n_neurons, height * width)
    spike_trains, traces : ndarray of shape (n_neurons, n_frames)
    regions : list of ndarray of shape (n_pixels, 2)
    fluorescence : Fluorescence
    quality : Quality
    """

    footprints: csr_array
    spike_trains: np.ndarray
    traces: np.ndarray
    regions: list[np.ndarray]
    fluorescence: Fluorescence
    quality: Quality


def joined(first: Any, second: Any) -> Any:
    """Two groups of neurons, or two values of one field of them, one after the other."""
    if isinstance(first, (Neurons, Fluorescence, Quality)):
        names = [field.name for field in fields(first)]
        pairs = ((getattr(first, name), getattr(second, name)) for name in names)
        return type(first)(*(joined(*pair) for pair in pairs))
    if isinstance(first, csr_array):
        return csr_array(vstack([first, second]))
    if isinstance(first, np.ndarray):
        return np.concatenate([first, second])
    return first + second if isinstance(first, (list, tuple)) else first


def some_of(values: Any, index: np.ndarray) -> Any:
    """Some of a group of neurons, or of the values of one field of them."""
    if isinstance(values, (Neurons, Fluorescence, Quality)):
        parts = (getattr(values, field.name) for field in fields(values))
        return type(values)(*(some_of(part, index) for part in parts))
    if isinstance(values, (list, tuple)):
        return type(values)(values[i] for i in index) if values else values
    return values[index] if isinstance(values, (np.ndarray, csr_array)) else values


@dataclass(frozen=True)
class _Found:
    """Footprints, in units of the noise, and what else the search gives."""

    neurons: list[LocalNeuron]
    background: Background | None
    radius: float
    unit: np.ndarray  # (height, width) unit of each pixel
    decay: float | None  # of one frame, if it is known
    theta: Factors | None = None
    status: Status | None = None


def fit_movie(
    imaging: Any, movie: Movie, decay: float | None, low_rank: bool, begin: Begin
) -> tuple[Neurons, int]:
    """Find neurons and measure them; the accepted ones, whose number is returned, come first.

    What belongs to the whole movie becomes an attribute of ``imaging``.
    """
    frames, height, width = movie.shape
    usual = _USUAL_DECAY if decay is None else decay
    if low_rank:  # the sizes are checked before the movie is read
        given_sizes(imaging, frames, height * width)
    length = 1 if low_rank else bin_length(usual, movie.shape)
    binned = bin_movie(movie, length, begin("reading"))
    begin("baseline")
    baseline = _without_baseline(imaging, binned)
    found = (_by_low_rank if low_rank else _by_search)(imaging, binned, decay, begin)
    scale = found.unit.ravel()
    image, decay = binned.mean_image, found.decay
    del binned
    footprints = _footprints(found, (height, width))
    spikes = np.zeros((len(found.neurons), frames), dtype=np.float32)
    if found.neurons:
        targets = extract_traces(
            movie, footprints, ratio(1, scale) ** 2, found.background, baseline, begin("traces")
        )
        if decay is None:
            decay = estimate_decay(targets.T)
        begin("spikes")
        spikes = spikes_of(targets, decay, None if found.theta is None else found.theta.row_support)
    decay = usual if decay is None else decay
    traces = lfilter([1.0], [1.0, -decay], spikes, axis=1).astype(np.float32)
    regions = [
        region_of(footprints[[n]].toarray().reshape(height, width), imaging.region_threshold)
        for n in range(len(traces))
    ]
    window = max(2, round(imaging.window * imaging.frame_rate))
    resting = RestingLevel(float(imaging.percentile), window)
    light = measure_fluorescence(
        movie,
        footprints,
        regions,
        (scale > 0).reshape(height, width),
        coefficient=None if is_auto(imaging.neuropil) else float(imaging.neuropil),
        resting=resting,
        decay=decay,
        progress=begin("fluorescence"),
    )
    quality = measure_quality(traces, light, _judged(found, traces))
    energy = footprints.multiply(footprints).sum(axis=1) * (traces**2).sum(axis=1)
    bad = np.asarray(quality.score) < ACCEPTED
    neurons = Neurons(footprints, spikes, traces, regions, light, quality)
    neurons, accepted = some_of(neurons, np.lexsort((-energy, bad))), int(np.count_nonzero(~bad))
    if found.theta is not None:
        imaging.factors_, imaging.status_ = found.theta, found.status
    else:
        imaging.factors_ = _theta(neurons, accepted, scale)
        imaging.status_ = Status(Outcome.ZERO, "No neuron was found: Θ has rank 0.")
        if accepted:
            message = f"The local search found {accepted} neurons."
            imaging.status_ = Status(Outcome.CONVERGED, message)
    imaging.decay_, imaging.radius_, imaging.mean_image_ = decay, found.radius, image
    return neurons, accepted


def _without_baseline(imaging: Any, binned: BinnedMovie) -> tuple[np.ndarray, np.ndarray]:
    """Subtract the baseline in place; its knots and levels, (n_knots, height * width), there."""
    height, width, bins = binned.values.shape
    window = imaging.window * imaging.frame_rate / binned.length
    resting = RestingLevel(float(imaging.percentile), max(2, round(window)), imaging.baseline)
    knots, _ = resting.knots(bins)
    levels = np.empty((len(knots), height, width), dtype=np.float32)
    for row, line in enumerate(binned.values):
        levels[:, row] = resting.levels(line)
        line -= interpolated(levels[:, row], knots, bins).T
    return knots * binned.length + binned.length // 2, levels.reshape(len(knots), -1)


def _in_radii(value: Any, radii: float, radius: float) -> float:
    """A width in pixels."""
    return radii * radius if is_auto(value) else float(value)


def _search(imaging: Any, radius: float, decay: float) -> Search:
    smoothing = _in_radii(imaging.smoothing, 0.45, radius)
    background = _in_radii(imaging.background, 3.0, radius)
    return Search(radius, smoothing, background, decay)


def _by_search(imaging: Any, binned: BinnedMovie, decay: float | None, begin: Begin) -> _Found:
    """Find neurons one by one in the binned movie, which is divided by its noise in place."""
    progress = begin("neurons")
    usual = (_USUAL_DECAY if decay is None else decay) ** binned.length
    noise = binned.unit_noise(bool(imaging.noise_scaling))
    values = binned.values
    values *= ratio(1, noise)[..., None]
    rough = roughness(values)
    auto = is_auto(imaging.neuron_radius)
    radius = _USUAL_RADIUS if auto else float(imaging.neuron_radius)
    for _ in range(_MOST_TRIALS):
        search = _search(imaging, radius, usual)
        first, _ = search.run(values, search.level(rough), [])
        progress(0.3)
        # the filter before a body is measured adds about 0.3 of its squared radius, which is r²
        square = (_radius_of(first, noise, radius) ** 2 - 0.3 * radius**2) / 0.7
        seen = float(np.clip(np.sqrt(max(square, 0)), *_RADII))
        if not auto and seen > radius / _TOO_LARGE:
            break  # as given: only one that is far too large would join neighbors
        auto = True
        right = radius / _TOLERANCE < seen < radius * _TOLERANCE
        radius = seen
        if right:
            break
    search = _search(imaging, radius, usual)
    neurons, background = search.run(values, search.level(rough), first)
    unit = noise * np.float32(binned.length**0.5)
    return _Found(neurons, background, radius, unit, decay)


def _by_low_rank(imaging: Any, binned: BinnedMovie, decay: float | None, begin: Begin) -> _Found:
    """Fit Θ to the whole movie, as in the paper, and find neurons in XΘ."""
    height, width, frames = binned.values.shape
    radius = _USUAL_RADIUS if is_auto(imaging.neuron_radius) else float(imaging.neuron_radius)
    smoothing = _in_radii(imaging.smoothing, 0.4, radius)
    wide = _in_radii(imaging.background, 3.0, radius)
    values, background = binned.values, None
    if wide:
        background = fit_background(values, wide)
    values[...] = smooth_frames(values, smoothing)
    values -= np.median(values, axis=2, keepdims=True)
    unit = binned.unit_noise(bool(imaging.noise_scaling))
    values *= ratio(1, unit)[..., None]
    np.maximum(values, np.float32(-imaging.floor), out=values)
    Y = np.ascontiguousarray(values.reshape(-1, frames).T)
    del values
    decay = estimate_decay(Y) if decay is None else decay
    begin("factors")
    # noise of pixels at a distance d has the correlation exp(−d²/4s²) after a filter of width s
    correlated = max(1.0, 2 * np.pi * smoothing**2)  # the sum of its squares
    sizes = given_sizes(imaging, frames, height * width)
    solution = fit_low_rank(imaging, Y, decay, sizes, correlated)
    theta = solution.factors
    neurons: list[LocalNeuron] = []
    if theta.rank:
        W = separable(theta, decay).reshape(height, width, -1)
        search = Search(radius, 0.0, 0.0, 0.0)
        # in units of the inner product of the noise with a footprint of norm 1
        least = _LEAST_PEAK * max(1.0, 4 * np.pi * smoothing**2) ** 0.5
        begin("neurons")
        for _ in range(2):
            found, _ = search.run(W, np.ones((height, width), np.float32), neurons)
            neurons = [n for n in found if n.trace.max() * np.linalg.norm(n.footprint) > least]
    return _Found(neurons, background, radius, unit, decay, theta, solution.status)


def _images(neurons: list[LocalNeuron], unit: np.ndarray) -> list[np.ndarray]:
    """Footprints in the units of the movie, in which their shapes are judged.

    In units of the noise bright pixels count less: a few of them can hold most of the light.
    """
    return [neuron.footprint * neuron.window(unit) for neuron in neurons]


def _radius_of(neurons: list[LocalNeuron], unit: np.ndarray, radius: float) -> float:
    """Radius of a disc with the median area of the bodies; the given one if there are none.

    Weighted by the energies of those that are not long: small pieces are many but faint, and a
    single dendrite can be brighter than all neurons.
    """
    if not neurons:
        return radius
    images = _images(neurons, unit)
    areas = np.array([len(body_of(image, radius)) for image in images])
    verdicts = [shape_score(image, radius) for image in images]
    long = [score < ACCEPTED and fault == "too long" for score, fault in verdicts]
    energies = np.array([neuron.energy for neuron in neurons]) * np.where(long, 1e-9, 1)
    order = np.argsort(areas)
    total = np.cumsum(energies[order])
    median = areas[order][np.searchsorted(total, total[-1] / 2)]
    return float(np.clip(np.sqrt(median / np.pi), *_RADII))


def _footprints(found: _Found, shape: tuple[int, int]) -> csr_array:
    """Footprints in the units of the movie, 1 at the brightest pixel."""
    images = []
    for image in _images(found.neurons, found.unit):
        image = gaussian_filter(image, _FOOTPRINT_WIDTH * found.radius)
        images.append(np.where(image > _EDGE * image.max(), image / image.max(), 0))
    return stacked(found.neurons, images, shape)


def _judged(found: _Found, traces: np.ndarray) -> list[tuple[float, str]]:
    """Scores of the footprints of all candidates, and what is most unlike a neuron."""
    radius = _radius_of(found.neurons, found.unit, found.radius)
    return [
        shape_score(image, radius) if trace.any() else (0.0, "no transients")
        for image, trace in zip(_images(found.neurons, found.unit), traces, strict=True)
    ]


def _theta(neurons: Neurons, accepted: int, scale: np.ndarray) -> Factors:
    """Θ = SA in units of the noise."""
    V = neurons.footprints[:accepted].toarray().T * ratio(1, scale)[:, None]
    return Factors(np.ascontiguousarray(neurons.spike_trains[:accepted].T), np.ascontiguousarray(V))
