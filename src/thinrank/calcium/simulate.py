"""Movies with known neurons, for tests, demonstrations and studies."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np
from scipy.signal import lfilter

__all__ = ["MovieTruth", "make_movie"]

# Centres of neurons that are no close pair: at this distance two Gaussians overlap by 0.2 %.
_APART = 5.0  # standard deviations of a footprint
_MARGIN = 2.0  # the same, from a centre to the edge of the frame
_REGION = 0.5  # of its peak: where the region of a footprint ends
_GLOW = 0.5  # of the baseline: how much brighter a neuron at rest is than what surrounds it
_LAYOUTS, _DARTS = 20, 500


@dataclass(frozen=True)
class MovieTruth:
    """What is in a simulated movie of T frames, H × W pixels and N neurons.

    Attributes
    ----------
    footprints : ndarray of shape (N, H, W)
        Light of each neuron, Gaussian, 1 at its brightest pixel.
    traces : ndarray of shape (N, T)
        Fluorescence of each neuron at its brightest pixel, above the baseline.
    spikes : ndarray of shape (N, T)
        Number of spikes of each neuron in each frame.
    centres : ndarray of shape (N, 2)
        Row and column, not rounded to pixels.
    regions : list of ndarray of shape (m, 2)
        Rows and columns of the pixels in which a footprint is at least half its peak.
    labels : ndarray of shape (H, W)
        The same as an image: 0, or 1 + the neuron that is the brightest there.
    decay : float
        γ of the traces.
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

    The number of spikes S of a neuron in a frame is Poisson; a neuron that would be silent
    throughout gets one spike, for nobody could find it otherwise. Each spike lifts the
    fluorescence, which then decays by the factor γ a frame (G⁻¹, a first-order filter). The
    footprints A are Gaussian, the errors E normal and independent, and B, the fluorescence at
    rest, is half as bright again at the centre of a neuron as elsewhere.

    Neurons 0 and 1, 2 and 3, … are the close pairs. Any other two centres are at least 5 standard
    deviations of a footprint apart, and each is at least 2 from the edge of the frame.

    Parameters
    ----------
    n_frames : int
        T.
    shape : (int, int)
        H and W, in pixels.
    n_neurons : int
        N.
    footprint_sd : float
        Standard deviation of a footprint, in pixels.
    n_close_pairs : int
        How many pairs of neurons are close to each other.
    pair_distance : (float, float)
        Least and greatest distance in such a pair, in pixels.
    amplitude : float
        What a spike adds at the brightest pixel of its neuron; 3 is three standard deviations of
        the default noise.
    rate : float
        Expected spikes in a frame, of each neuron.
    frame_rate : float
        Frames a second; gives the decay.
    decay : float, optional
        γ in [0, 1). None for 1 − 1/frame_rate, as in the paper.
    noise : float
        Standard deviation of the errors in a pixel.
    baseline : float
        Fluorescence at rest, away from the neurons.
    random_state : int, Generator or None
        Seed; None draws afresh.

    Returns
    -------
    movie : ndarray of shape (T, H, W), float32
    truth : MovieTruth

    Raises
    ------
    ValueError
        For an argument that makes no sense, and when so many neurons do not fit into the frame.

    Examples
    --------
    >>> from thinrank.calcium import make_movie
    >>> movie, truth = make_movie(n_frames=50, shape=(40, 48), n_neurons=3, n_close_pairs=1)
    >>> movie.shape, truth.traces.shape, len(truth.regions)
    ((50, 40, 48), (3, 50), 3)
    """
    _check(n_frames, shape, n_neurons, n_close_pairs)
    for name, value, least in (
        ("footprint_sd", footprint_sd, 0.5),
        ("amplitude", amplitude, 0.0),
        ("rate", rate, 0.0),
        ("noise", noise, 0.0),
        ("baseline", baseline, 0.0),
        ("frame_rate", frame_rate, 1.0),
    ):
        if not isinstance(value, Real) or not np.isfinite(value) or value < least:
            raise ValueError(f"{name} must be a number of at least {least:g}, got {value!r}")
    gamma = 1 - 1 / frame_rate if decay is None else decay
    if not 0 <= gamma < 1:
        raise ValueError(f"decay must be at least 0 and below 1, got {decay!r}")
    if len(pair_distance) != 2 or not 0 < pair_distance[0] <= pair_distance[1]:
        raise ValueError(f"pair_distance must be two increasing numbers, got {pair_distance!r}")

    rng = np.random.default_rng(random_state)
    centres = _place(rng, shape, n_neurons, n_close_pairs, pair_distance, footprint_sd)
    footprints = _footprints(centres, shape, footprint_sd)
    spikes = _spikes(rng, n_neurons, n_frames, rate)
    traces = amplitude * lfilter([1.0], [1.0, -gamma], spikes, axis=1)

    rest = baseline * (1 + _GLOW * np.max(footprints, axis=0))
    movie = rng.standard_normal((n_frames, *shape), dtype=np.float32)
    movie *= np.float32(noise)
    movie += np.tensordot(traces.T, footprints, axes=1).astype(np.float32)
    movie += rest.astype(np.float32)

    inside = footprints >= _REGION
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


def _check(n_frames: int, shape: tuple[int, int], n_neurons: int, n_close_pairs: int) -> None:
    if len(shape) != 2 or not all(isinstance(side, Integral) and side >= 1 for side in shape):
        raise ValueError(f"shape must be two positive integers (height, width), got {shape!r}")
    for name, value, least in (
        ("n_frames", n_frames, 2),
        ("n_neurons", n_neurons, 1),
        ("n_close_pairs", n_close_pairs, 0),
    ):
        if not isinstance(value, Integral) or value < least:
            raise ValueError(f"{name} must be an integer of at least {least}, got {value!r}")
    if 2 * n_close_pairs > n_neurons:
        raise ValueError(
            f"n_close_pairs={n_close_pairs} needs {2 * n_close_pairs} neurons, "
            f"but n_neurons={n_neurons}"
        )


def _place(
    rng: np.random.Generator,
    shape: tuple[int, int],
    count: int,
    pairs: int,
    distance: tuple[float, float],
    sd: float,
) -> np.ndarray:
    """Centres, by throwing darts; begins afresh when a layout leaves no room for the next one."""
    lowest = np.full(2, _MARGIN * sd)
    highest = np.array(shape) - 1 - _MARGIN * sd
    if np.all(lowest <= highest):
        for _ in range(_LAYOUTS):
            centres = _layout(rng, lowest, highest, count, pairs, distance, _APART * sd)
            if centres is not None:
                return centres
    raise ValueError(
        f"{count} neurons, {pairs} pairs of them close, do not fit into {shape[0]} × {shape[1]} "
        f"pixels with footprint_sd={sd:g}: others are {_APART:g} sd apart and {_MARGIN:g} sd from "
        "the edge"
    )


def _layout(
    rng: np.random.Generator,
    lowest: np.ndarray,
    highest: np.ndarray,
    count: int,
    pairs: int,
    distance: tuple[float, float],
    apart: float,
) -> np.ndarray | None:
    centres = np.empty((0, 2))
    for member in range(count - pairs):
        for _ in range(_DARTS):
            dart = rng.uniform(lowest, highest)[None]
            if member < pairs:
                angle = rng.uniform(0, 2 * np.pi)
                partner = dart + rng.uniform(*distance) * np.array([np.sin(angle), np.cos(angle)])
                dart = np.concatenate([dart, partner])
            inside = np.all((dart >= lowest) & (dart <= highest))
            gaps = np.linalg.norm(centres[:, None] - dart[None], axis=2)
            if inside and np.all(gaps >= apart):
                centres = np.concatenate([centres, dart])
                break
        else:
            return None
    return centres


def _footprints(centres: np.ndarray, shape: tuple[int, int], sd: float) -> np.ndarray:
    rows = np.exp(-((np.arange(shape[0]) - centres[:, :1]) ** 2) / (2 * sd**2))
    columns = np.exp(-((np.arange(shape[1]) - centres[:, 1:]) ** 2) / (2 * sd**2))
    footprints = rows[:, :, None] * columns[:, None, :]
    return footprints / footprints.max(axis=(1, 2), keepdims=True)


def _spikes(rng: np.random.Generator, count: int, n_frames: int, rate: float) -> np.ndarray:
    spikes = rng.poisson(rate, (count, n_frames))
    silent = np.flatnonzero(~spikes.any(axis=1))
    spikes[silent, rng.integers(n_frames, size=len(silent))] = 1
    return spikes
