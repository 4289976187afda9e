"""Joint fit of footprints and traces of many neurons, each in its own window."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from scipy.ndimage import gaussian_filter, gaussian_filter1d, label

from thinrank.calcium.deconvolution import trace_noise
from thinrank.calcium.seeds import LocalNeuron, matched

# The median of |z| of a standard normal variable z.
_NORMAL_MEDIAN = 0.6745
# Bins below this many standard deviations of a trace's noise are not used for its footprint.
_ACTIVE = 2.0
# Smallest height of the largest transient of a neuron, in units of noise and background.
_LEAST_PEAK = 7.0
# Standard deviation of the Gaussian filter of a footprint before its radius is measured, in radii.
_BODY_WIDTH = 0.2
# The shape of a footprint is that of its pixels above this fraction of its maximum, after a
# Gaussian filter of this width in radii.
_BODY, _SHAPE_WIDTH = 0.4, 0.4
# Smallest and largest area, relative to a disc of the given radius, and largest ratio of length to
# width. Others are taken for dendrites or background.
_LEAST_AREA, _LARGEST_AREA = 0.5, 2.5
_LONGEST = 1.9
# Smallest area above half of the maximum with the weaker filter, likewise. Smaller ones are
# dendrites and spines, or the brightest part of something else.
_LEAST_BRIGHT_AREA = 0.25
# Two components are the same neuron if their centers are nearer than the first distance, in radii,
# or if the correlation of their traces exceeds the first value within the second distance or the
# second value within the third distance. Rules of thumb.
_SAME_PLACE, _NEAR, _FAR = 0.5, 1.2, 4.0
_SAME_NEAR, _SAME_TRACE = 0.4, 0.6
# They are also the same neuron if the cosine of their footprints exceeds this value, whatever their
# traces: light that moves within a neuron, or changes in a part of it, looks like two neurons. Of
# the 2100 neurons in 30 development movies (benchmarks/calcium_movies.py, seeds 30000 to 30029) 10
# have a neighbor with a larger cosine.
_SAME_SHAPE = 0.6
# Standard errors below which a pixel of a footprint is taken for zero.
_CERTAIN = 1.5


def subtract(values: np.ndarray, neurons: list[LocalNeuron], sign: int = 1) -> None:
    """Subtract neurons from a movie of shape (height, width, n_bins), or add them, in place."""
    for neuron in neurons:
        neuron.window(values)[...] -= neuron.footprint[..., None] * (sign * neuron.trace)


def fit_jointly(rest: np.ndarray, neurons: list[LocalNeuron], rounds: int) -> None:
    """Improve footprints and traces, one neuron at a time, in place.

    Shapes: ``rest`` (height, width, n_bins).
    """
    lines = rest.reshape(-1, rest.shape[2])  # a view of a contiguous array: one row per pixel
    places = [_places(neuron, rest.shape[1]) for neuron in neurons]
    for _ in range(rounds):
        for neuron, pixels in zip(neurons, places, strict=True):
            _update(neuron, lines, pixels)


def _places(neuron: LocalNeuron, width: int) -> np.ndarray:
    """Flat indices of the pixels where a footprint may differ from zero."""
    rows, columns = np.nonzero(neuron.mask)
    return (rows + neuron.rows.start) * width + columns + neuron.columns.start


def _update(neuron: LocalNeuron, lines: np.ndarray, pixels: np.ndarray) -> None:
    """Fit one neuron to what the others leave, and subtract the change from the movie.

    The neuron is never added to the movie: what it contributes to the inner products is known.
    """
    before, trace = neuron.footprint[neuron.mask], neuron.trace
    size = float(before @ before)
    if size == 0:
        return
    here = lines[pixels]
    target = before @ here / np.float32(size) + trace
    level = float(np.median(np.abs(target - np.median(target)))) / _NORMAL_MEDIAN
    strong = np.where(target > _ACTIVE * level, target, 0)
    energy = float(strong @ strong)
    if energy == 0:
        neuron.footprint = np.zeros_like(neuron.footprint)
        neuron.trace = np.zeros_like(trace)
    else:
        raw = (here @ strong + before * (trace @ strong)) / np.float32(energy)
        raw[raw < _CERTAIN / energy**0.5] = 0
        image = np.zeros_like(neuron.footprint)
        image[neuron.mask] = raw
        neuron.footprint = _connected(image)
        neuron.trace = np.maximum(target, 0)
        neuron.target = target
    after = neuron.footprint[neuron.mask]
    changed = np.flatnonzero((before != 0) | (after != 0))
    change = np.column_stack([before, -after])[changed] @ np.stack([trace, neuron.trace])
    change += here[changed]
    lines[pixels[changed]] = change


def _connected(footprint: np.ndarray) -> np.ndarray:
    """The connected part of a footprint that contains the maximum of the smoothed footprint."""
    down, across = (_blur(side) for side in footprint.shape)
    smooth = down @ footprint @ across.T
    pieces, count = label(smooth > 0.1 * smooth.max())
    if count <= 1:
        return footprint * (pieces > 0)
    return footprint * (pieces == pieces[np.unravel_index(int(smooth.argmax()), smooth.shape)])


@lru_cache(maxsize=64)
def _blur(side: int) -> np.ndarray:
    """A Gaussian filter with a standard deviation of one pixel, as a matrix."""
    return np.asarray(gaussian_filter1d(np.eye(side, dtype=np.float32), 1.0, axis=0))


def pruned(
    neurons: list[LocalNeuron], radius: float | None, decay: float, spread: np.ndarray
) -> list[LocalNeuron]:
    """Leave out components that are too small, too large, too elongated or too faint.

    Shapes: ``spread`` (height, width). ``radius``: None if any size and shape is right.
    """
    return [
        neuron
        for neuron in neurons
        if neuron.footprint.any()
        and (radius is None or is_body(neuron.footprint, radius))
        and peak_of(neuron, decay, spread) >= _LEAST_PEAK
    ]


def peak_of(neuron: LocalNeuron, decay: float, spread: np.ndarray) -> float:
    """The highest output of the matched filter of a trace, in units of noise and background."""
    output = matched(neuron.target - np.median(neuron.target), decay)
    noise = float(trace_noise(neuron.target))
    row, column = np.round(neuron.centre).astype(int)
    return float(output.max()) / (noise * float(spread[row, column])) if noise > 0 else 0.0


def body_of(footprint: np.ndarray, radius: float) -> np.ndarray:
    """Where the slightly smoothed footprint is at least half its maximum, as a boolean image."""
    smooth = gaussian_filter(footprint, _BODY_WIDTH * radius)
    return np.asarray((smooth >= 0.5 * smooth.max()) & (smooth > 0))


def _shape_of(footprint: np.ndarray, radius: float) -> tuple[float, float]:
    """Area, in discs of the given radius, and ratio of length to width of a smoothed footprint."""
    margin = int(np.ceil(radius))
    smooth = gaussian_filter(np.pad(footprint, margin), _SHAPE_WIDTH * radius)
    body = (smooth >= _BODY * smooth.max()) & (smooth > 0)
    if np.count_nonzero(body) < 3:
        return 0.0, np.inf
    short, long = np.linalg.eigvalsh(np.cov(np.argwhere(body).T))
    area = np.count_nonzero(body) / (np.pi * radius**2)
    return float(area), float((long / max(short, 1e-12)) ** 0.5)


def is_body(footprint: np.ndarray, radius: float) -> bool:
    """Whether a footprint has the size and the shape of a neuron.

    Shapes: ``footprint`` (window_height, window_width).
    """
    smooth = gaussian_filter(footprint, _BODY_WIDTH * radius)
    pieces, _ = label(smooth >= 0.5 * smooth.max(), structure=np.ones((3, 3)))
    own = pieces[np.unravel_index(int(smooth.argmax()), smooth.shape)]
    bright = np.count_nonzero(pieces == own) / (np.pi * radius**2)
    area, ratio = _shape_of(footprint, radius)
    right_size = bright >= _LEAST_BRIGHT_AREA and _LEAST_AREA <= area <= _LARGEST_AREA
    return bool(right_size) and ratio <= _LONGEST


def merged(neurons: list[LocalNeuron], radius: float) -> list[LocalNeuron]:
    """Drop the fainter of two components that are the same neuron."""
    order = sorted(neurons, key=lambda n: -float((n.footprint**2).sum() * (n.trace @ n.trace)))
    centres = np.array([neuron.centre for neuron in order]).reshape(-1, 2)
    kept: list[int] = []
    for n, neuron in enumerate(order):
        distances = np.linalg.norm(centres[kept] - centres[n], axis=1)
        near = [(order[kept[i]], distances[i]) for i in np.flatnonzero(distances <= _FAR * radius)]
        if not any(_same(neuron, other, distance, radius) for other, distance in near):
            kept.append(n)
    return [order[n] for n in kept]


def _same(first: LocalNeuron, second: LocalNeuron, distance: float, radius: float) -> bool:
    if distance < _SAME_PLACE * radius:
        return True
    together = np.corrcoef(first.trace, second.trace)[0, 1]
    if together > (_SAME_NEAR if distance < _NEAR * radius else _SAME_TRACE):
        return True
    return _likeness(first, second, _BODY_WIDTH * radius) > _SAME_SHAPE


def _likeness(first: LocalNeuron, second: LocalNeuron, width: float) -> float:
    """The cosine of two footprints after a Gaussian filter, without which noise makes it small."""
    both = (first, second)
    low = np.min([[n.rows.start, n.columns.start] for n in both], axis=0)
    high = np.max([[n.rows.stop, n.columns.stop] for n in both], axis=0)
    images = np.zeros((2, *(high - low)), dtype=np.float32)
    for image, neuron in zip(images, both, strict=True):
        row, column = neuron.rows.start - low[0], neuron.columns.start - low[1]
        height, across = neuron.footprint.shape
        image[row : row + height, column : column + across] = neuron.footprint
        gaussian_filter(image, width, output=image)
    norms = np.linalg.norm(images, axis=(1, 2))
    return float(np.vdot(*images) / (norms[0] * norms[1]))
