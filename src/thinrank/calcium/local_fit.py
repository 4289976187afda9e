"""Joint fit of footprints and traces of many neurons, each in its own window."""

from __future__ import annotations

import numpy as np
from scipy.ndimage import gaussian_filter, label

from thinrank.calcium.deconvolution import trace_noise
from thinrank.calcium.seeds import LocalNeuron, matched

__all__ = ["body_of", "fit_jointly", "merged", "pruned", "subtract"]

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
# Two components are the same neuron if their centres are nearer than the first distance, in radii,
# or if the correlation of their traces exceeds the first value within the second distance or the
# second value within the third distance. Rules of thumb.
_SAME_PLACE, _NEAR, _FAR = 0.5, 1.2, 4.0
_SAME_NEAR, _SAME_TRACE = 0.4, 0.6
# Standard errors below which a pixel of a footprint is taken for zero.
_CERTAIN = 1.5


def subtract(values: np.ndarray, neurons: list[LocalNeuron], sign: int = 1) -> None:
    """Subtract neurons from a movie of shape (height, width, n_bins), or add them, in place."""
    for neuron in neurons:
        neuron.window(values)[...] -= neuron.footprint[..., None] * (sign * neuron.trace)


def fit_jointly(rest: np.ndarray, neurons: list[LocalNeuron], rounds: int) -> None:
    """Improve footprints and traces, one neuron at a time, in place.

    Parameters
    ----------
    rest : ndarray of shape (height, width, n_bins)
        The movie minus all neurons, with noise of variance 1; updated.
    neurons : list of LocalNeuron
        Updated.
    rounds : int
        Number of passes over all neurons.
    """
    for _ in range(rounds):
        for neuron in neurons:
            here = neuron.window(rest)
            here += neuron.footprint[..., None] * neuron.trace
            _update(neuron, here)
            here -= neuron.footprint[..., None] * neuron.trace


def _update(neuron: LocalNeuron, here: np.ndarray) -> None:
    footprint = neuron.footprint
    size = float(np.vdot(footprint, footprint))
    if size == 0:
        return
    target = np.tensordot(footprint, here, axes=2) / np.float32(size)
    level = float(np.median(np.abs(target - np.median(target)))) / _NORMAL_MEDIAN
    strong = np.where(target > _ACTIVE * level, target, 0)
    energy = float(strong @ strong)
    if energy == 0:
        neuron.footprint = np.zeros_like(footprint)
        neuron.trace = np.zeros_like(neuron.trace)
        return
    raw = here @ strong / np.float32(energy)
    raw[raw < _CERTAIN / energy**0.5] = 0
    neuron.footprint = _connected(raw * neuron.mask)
    neuron.trace = np.maximum(target, 0)
    neuron.target = target


def _connected(footprint: np.ndarray) -> np.ndarray:
    """The connected part of a footprint that contains the maximum of the smoothed footprint."""
    smooth = gaussian_filter(footprint, 1.0)
    pieces, count = label(smooth > 0.1 * smooth.max())
    if count <= 1:
        return footprint * (pieces > 0)
    return footprint * (pieces == pieces[np.unravel_index(int(smooth.argmax()), smooth.shape)])


def pruned(
    neurons: list[LocalNeuron], radius: float | None, decay: float, spread: np.ndarray
) -> list[LocalNeuron]:
    """Leave out components that are too small, too large, too elongated or too faint.

    Parameters
    ----------
    neurons : list of LocalNeuron
    radius : float or None
        Radius of a neuron, in pixels; None if any size and shape is right.
    decay : float
        Fraction of the fluorescence that is left after one bin.
    spread : ndarray of shape (height, width)
        From :func:`~thinrank.calcium.seeds.local_spread`.

    Returns
    -------
    list of LocalNeuron
    """
    return [
        neuron
        for neuron in neurons
        if neuron.footprint.any()
        and (radius is None or _is_body(neuron.footprint, radius))
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


def _is_body(footprint: np.ndarray, radius: float) -> bool:
    bright = np.count_nonzero(body_of(footprint, radius)) / (np.pi * radius**2)
    area, ratio = _shape_of(footprint, radius)
    right_size = bright >= _LEAST_BRIGHT_AREA and _LEAST_AREA <= area <= _LARGEST_AREA
    return bool(right_size) and ratio <= _LONGEST


def merged(neurons: list[LocalNeuron], radius: float) -> list[LocalNeuron]:
    """Drop the fainter of two components that are the same neuron."""
    order = sorted(neurons, key=lambda n: -float((n.footprint**2).sum() * (n.trace @ n.trace)))
    kept: list[LocalNeuron] = []
    for neuron in order:
        if not any(_same(neuron, other, radius) for other in kept):
            kept.append(neuron)
    return kept


def _same(first: LocalNeuron, second: LocalNeuron, radius: float) -> bool:
    distance = np.linalg.norm(first.centre - second.centre)
    if distance > _FAR * radius:
        return False
    if distance < _SAME_PLACE * radius:
        return True
    together = np.corrcoef(first.trace, second.trace)[0, 1]
    return bool(together > (_SAME_NEAR if distance < _NEAR * radius else _SAME_TRACE))
