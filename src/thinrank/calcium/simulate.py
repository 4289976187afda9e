"""Simulated movies with known neurons."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np
from scipy.signal import lfilter

# Smallest distances, in standard deviations of a footprint: between the centers of neurons that are
# not a close pair, and from a center to the edge of a frame. At 5 standard deviations the inner
# product of two Gaussian footprints is 0.2 % of their squared norm.
_APART, _MARGIN = 5.0, 2.0


@dataclass(frozen=True)
class MovieTruth:
    """The true neurons of a simulated movie.

    Attributes
    ----------
    footprints : ndarray of shape (n_neurons, height, width)
        Gaussian footprint of each neuron, 1 at its brightest pixel.
    traces : ndarray of shape (n_neurons, n_frames)
        Fluorescence of each neuron at its brightest pixel, above the baseline.
    spikes : ndarray of shape (n_neurons, n_frames)
        Number of spikes of each neuron in each frame.
    centres : ndarray of shape (n_neurons, 2)
        Row and column of each neuron, not rounded to pixels.
    regions : list of ndarray of shape (n_pixels, 2)
        Rows and columns of the pixels at which a footprint is at least half its maximum.
    labels : ndarray of shape (height, width)
        The regions as an image: 0, or 1 plus the index of the neuron that is brightest there.
    decay : float
        γ, the fraction of the fluorescence that is left after one frame.
    """

    footprints: np.ndarray
    traces: np.ndarray
    spikes: np.ndarray
    centres: np.ndarray
    regions: list[np.ndarray]
    labels: np.ndarray
    decay: float


def make_movie(
    n_frames: int = 500,
    shape: tuple[int, int] = (96, 96),
    n_neurons: int = 12,
    *,
    footprint_sd: float = 3.0,
    n_close_pairs: int = 4,
    pair_distance: tuple[float, float] = (6.0, 7.0),
    amplitude: float = 3.0,
    rate: float = 0.01,
    frame_rate: float = 7.0,
    decay: float | None = None,
    noise: float = 1.0,
    baseline: float = 10.0,
    random_state: Any = 0,
) -> tuple[np.ndarray, MovieTruth]:
    """Simulate a fluorescence movie Y = B + G⁻¹SA + E.

    The numbers of spikes S have Poisson distributions; a neuron without any spike gets one. Each
    spike increases the fluorescence, which then decays by the factor γ per frame (G⁻¹). The
    footprints A are Gaussian, the errors E are normal and independent, and B, the fluorescence at
    rest, is 1.5 times as large at the center of a neuron as far away from all neurons.

    Neurons 0 and 1, 2 and 3, … are the close pairs. All other centers are at least 5 standard
    deviations of a footprint apart, and all centers at least 2 away from the edge of the frame.

    Parameters
    ----------
    n_frames : int, default=500
    shape : tuple (height, width), default=(96, 96)
        Shape of a frame, in pixels.
    n_neurons : int, default=12
    footprint_sd : float, default=3.0
        Standard deviation of a footprint, in pixels.
    n_close_pairs : int, default=4
        Number of pairs of neurons that are close to each other.
    pair_distance : tuple (float, float), default=(6.0, 7.0)
        Smallest and largest distance in such a pair, in pixels.
    amplitude : float, default=3.0
        Increase of the fluorescence by a spike at the brightest pixel of its neuron.
    rate : float, default=0.01
        Expected number of spikes of each neuron per frame.
    frame_rate : float, default=7.0
        Frames per second; determines the decay.
    decay : float, default=None
        γ in [0, 1). None for 1 − 1/frame_rate, as in the paper.
    noise : float, default=1.0
        Standard deviation of the errors.
    baseline : float, default=10.0
        Fluorescence at rest, far away from all neurons.
    random_state : int, Generator or None, default=0
        Seed; None for a random one.

    Returns
    -------
    movie : ndarray of shape (n_frames, height, width), float32
    truth : MovieTruth
        Its neurons. It is an error if they do not fit into the frame.

    Examples
    --------
    >>> from thinrank.calcium import make_movie
    >>> movie, truth = make_movie(n_frames=50, shape=(40, 48), n_neurons=3, n_close_pairs=1)
    >>> movie.shape, truth.traces.shape, len(truth.regions)
    ((50, 40, 48), (3, 50), 3)
    """
    if len(shape) != 2 or not all(isinstance(side, Integral) and side >= 1 for side in shape):
        raise ValueError(f"shape must be two positive integers (height, width), got {shape!r}")
    for name, value, kind, least in (
        ("n_frames", n_frames, Integral, 2),
        ("n_neurons", n_neurons, Integral, 1),
        ("n_close_pairs", n_close_pairs, Integral, 0),
        ("footprint_sd", footprint_sd, Real, 0.5),
        ("amplitude", amplitude, Real, 0),
        ("rate", rate, Real, 0),
        ("noise", noise, Real, 0),
        ("baseline", baseline, Real, 0),
        ("frame_rate", frame_rate, Real, 1),
    ):
        if not isinstance(value, kind) or not np.isfinite(value) or value < least:
            noun = "an integer" if kind is Integral else "a number"
            raise ValueError(f"{name} must be {noun} of at least {least:g}, got {value!r}")
    if 2 * n_close_pairs > n_neurons:
        raise ValueError(
            f"n_close_pairs={n_close_pairs} needs {2 * n_close_pairs} neurons, "
            f"but n_neurons={n_neurons}"
        )
    gamma = 1 - 1 / frame_rate if decay is None else decay
    if not 0 <= gamma < 1:
        raise ValueError(f"decay must be at least 0 and below 1, got {decay!r}")
    if len(pair_distance) != 2 or not 0 < pair_distance[0] <= pair_distance[1]:
        raise ValueError(
            f"pair_distance must be two positive numbers in increasing order, got {pair_distance!r}"
        )

    rng = np.random.default_rng(random_state)
    centres = _place(rng, shape, n_neurons, n_close_pairs, pair_distance, footprint_sd)
    rows, columns = (
        np.exp(-((np.arange(side) - place[:, None]) ** 2) / (2 * footprint_sd**2))
        for side, place in zip(shape, centres.T, strict=True)
    )
    footprints = rows[:, :, None] * columns[:, None, :]
    footprints /= footprints.max(axis=(1, 2), keepdims=True)
    spikes = rng.poisson(rate, (n_neurons, n_frames))
    silent = np.flatnonzero(~spikes.any(axis=1))
    spikes[silent, rng.integers(n_frames, size=len(silent))] = 1
    traces = amplitude * lfilter([1.0], [1.0, -gamma], spikes, axis=1)

    movie = rng.standard_normal((n_frames, *shape), dtype=np.float32)
    movie *= np.float32(noise)
    movie += np.tensordot(traces.T, footprints, axes=1).astype(np.float32)
    movie += (baseline * (1 + 0.5 * np.max(footprints, axis=0))).astype(np.float32)

    inside = footprints >= 0.5
    brightest = 1 + np.argmax(footprints, axis=0)
    return movie, MovieTruth(
        footprints=footprints,
        traces=traces,
        spikes=spikes,
        centres=centres,
        regions=[np.argwhere(mask) for mask in inside],
        labels=np.where(inside.any(axis=0), brightest, 0),
        decay=float(gamma),
    )


def _place(
    rng: np.random.Generator,
    shape: tuple[int, int],
    count: int,
    pairs: int,
    distance: tuple[float, float],
    sd: float,
) -> np.ndarray:
    """Random centers by rejection sampling, which starts again if the next one has no space."""
    lowest, highest = np.full(2, _MARGIN * sd), np.array(shape) - 1 - _MARGIN * sd
    # disks around the neurons, or around one of each pair, do not overlap
    disks = (count - pairs) * np.pi * (_APART * sd / 2) ** 2
    fits = np.all(lowest <= highest) and disks <= np.prod(highest - lowest + _APART * sd)
    for _ in range(20 if fits else 0):
        centers = np.empty((0, 2))
        for _ in range(500 * (count - pairs)):
            candidate = rng.uniform(lowest, highest)[None]
            if len(centers) < 2 * pairs:
                angle = rng.uniform(0, 2 * np.pi)
                toward = np.array([np.sin(angle), np.cos(angle)])
                candidate = np.concatenate([candidate, candidate + rng.uniform(*distance) * toward])
            inside = np.all((candidate >= lowest) & (candidate <= highest))
            gaps = np.linalg.norm(centers[:, None] - candidate[None], axis=2)
            if inside and np.all(gaps >= _APART * sd):
                centers = np.concatenate([centers, candidate])
            if len(centers) == count:
                return centers
    raise ValueError(
        f"{count} neurons, including {pairs} close pairs, do not fit into {shape[0]} × {shape[1]} "
        f"pixels with footprint_sd={sd:g}: other neurons must be {_APART:g} sd apart, and all "
        f"neurons {_MARGIN:g} sd from the edge"
    )
