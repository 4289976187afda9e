"""Light of each neuron and around it, its resting level and ΔF/F, and how far it can be trusted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.ndimage import distance_transform_edt
from scipy.sparse import csr_array, vstack

from thinrank.calcium.binning import RestingLevel
from thinrank.calcium.deconvolution import deconvolve, trace_noise
from thinrank.calcium.readers import Movie
from thinrank.calcium.traces import weighted_sums

# Pixels between a region and its surroundings, which the light of the neuron still reaches, and
# the number of pixels of the surroundings: suite2p's inner_neuropil_radius and
# min_neuropil_pixels.
_GAP = 2.0
_PIXELS = 350
# Pixels from the edge of a region to that of the window in which its surroundings are searched: a
# ring of this width around a single pixel has 2600 pixels, so that there are enough between
# densely packed neurons too.
_REACH = 28


@dataclass(frozen=True)
class Fluorescence:
    """Light of each neuron in the units of the movie, measured in the raw frames.

    Attributes
    ----------
    raw : ndarray of shape (n_neurons, n_frames), float32
        F, the mean over the pixels of the region, weighted by the footprint.
    neuropil : ndarray of shape (n_neurons, n_frames), float32
        Mean over the pixels around the region that belong to no region; 0 if there are none.
    baseline : ndarray of shape (n_neurons, n_frames), float32
        F0, the resting level of ``corrected``: a running percentile, raised to the median of the
        noise.
    deconvolved : ndarray of shape (n_neurons, n_frames), float32
        Non-negative deconvolution of ``corrected`` − F0; see :func:`deconvolve`. Unlike spike
        trains, it has values in many frames.
    coefficient : ndarray of shape (n_neurons,), or float
        Fraction of the neuropil that is subtracted from each neuron.
    """

    raw: np.ndarray
    neuropil: np.ndarray
    baseline: np.ndarray
    deconvolved: np.ndarray
    coefficient: np.ndarray | float

    @property
    def corrected(self) -> np.ndarray:
        """F − coefficient × neuropil; of shape (n_neurons, n_frames)."""
        fraction = np.reshape(self.coefficient, (-1, 1)).astype(np.float32)
        return self.raw - fraction * self.neuropil

    @property
    def dff(self) -> np.ndarray:
        """ΔF/F = (``corrected`` − F0) / F0; of shape (n_neurons, n_frames).

        NaN where F0 is not positive, for example because an offset was subtracted from the movie:
        a ratio to it has no meaning.
        """
        change, positive = self.corrected - self.baseline, self.baseline > 0
        return np.divide(change, self.baseline, out=np.full_like(change, np.nan), where=positive)


def measure_fluorescence(
    movie: Movie,
    footprints: csr_array,
    regions: list[np.ndarray],
    usable: np.ndarray,
    *,
    coefficient: float | None,
    resting: RestingLevel,
    decay: float,
    progress: Callable[[float], None],
) -> Fluorescence:
    """Measure all neurons. ``usable``: an image. ``coefficient``: None to estimate it."""
    shape = movie.shape[1:]
    pixels = [np.ravel_multi_index(tuple(region.T), shape) for region in regions]
    inside = _means(_in_rows(pixels, shape).multiply(footprints))
    weights = csr_array(vstack([inside, surroundings(regions, shape, usable)]))
    means = weighted_sums(movie, weights, progress)
    raw, neuropil = means[: len(regions)], means[len(regions) :]
    share = (
        neuropil_shares(raw, neuropil) if coefficient is None else np.full(len(raw), coefficient)
    )
    light = Fluorescence(raw, neuropil, np.zeros_like(raw), np.zeros_like(raw), share)
    light = replace(light, baseline=resting.of(light.corrected))
    return replace(light, deconvolved=deconvolve(light.corrected - light.baseline, decay))


def neuropil_shares(raw: np.ndarray, neuropil: np.ndarray) -> np.ndarray:
    """Fraction of the neuropil in each region, by regression over the frames; from 0 to 2."""
    around = neuropil - neuropil.mean(axis=1, keepdims=True, dtype=np.float64)
    return np.clip(np.vecdot(raw, around) / np.maximum(np.vecdot(around, around), 1e-30), 0, 2)


def _in_rows(pixels: list[np.ndarray], shape: tuple[int, int]) -> csr_array:
    """Ones at the given flat indices of each row."""
    bounds = np.cumsum([0, *map(len, pixels)])
    flat = np.concatenate([np.empty(0, dtype=np.int64), *pixels])
    return csr_array((np.ones(len(flat)), flat, bounds), shape=(len(pixels), shape[0] * shape[1]))


def _means(weights: csr_array) -> csr_array:
    """Weights that sum to 1 in each row that is not empty."""
    sums = weights.sum(axis=1)
    return csr_array(weights.multiply(1 / np.where(sums > 0, sums, 1)[:, None]))


def surroundings(
    regions: list[np.ndarray], shape: tuple[int, int], usable: np.ndarray
) -> csr_array:
    """Weights that give the mean over the nearest usable pixels around each region."""
    free = np.array(usable, dtype=bool)
    for region in regions:
        free[tuple(region.T)] = False
    return _means(_in_rows([_around(region, shape, free) for region in regions], shape))


def _around(region: np.ndarray, shape: tuple[int, int], free: np.ndarray) -> np.ndarray:
    """Sorted flat indices of the free pixels around a region."""
    low = np.maximum(region.min(axis=0) - _REACH, 0)
    high = np.minimum(region.max(axis=0) + _REACH + 1, shape)
    outside = np.ones(high - low, dtype=bool)
    outside[tuple((region - low).T)] = False
    distances = distance_transform_edt(outside)
    near = free[low[0] : high[0], low[1] : high[1]] & (distances > _GAP) & (distances <= _REACH)
    rows, columns = np.nonzero(near)
    # all pixels at one distance are taken, or none: a part of them would lie on one side
    order = np.sort(distances[near])
    farthest = order[min(_PIXELS, len(order)) - 1] if len(order) else 0.0
    taken = distances[near] <= farthest
    return (rows[taken] + low[0]) * shape[1] + columns[taken] + low[1]


@dataclass(frozen=True)
class Quality:
    """Measures of each neuron.

    Attributes
    ----------
    snr : ndarray of shape (n_neurons,)
        Signal-to-noise ratio: height of the largest transient of the trace, scaled by least squares
        to the light without neuropil and resting level, divided by the standard deviation of the
        light's noise. It is negative if the light is darker where the trace is high.
    correlation : ndarray of shape (n_neurons,)
        Correlation of the trace with the light.
    score : ndarray of shape (n_neurons,) or None
        How much footprint and trace look like those of a neuron, from 0 to 1; it is rejected below
        0.5. None for models of earlier versions.
    fault : tuple of str
        What is most unlike a neuron, one for each: "too small", "too large", "too long", "no
        transients", "too faint" or "unlike its light".
    """

    snr: np.ndarray
    correlation: np.ndarray
    score: np.ndarray | None = None
    fault: tuple[str, ...] = ()

    def reasons(self, n_accepted: int | None = None) -> list[str]:
        """Why each was rejected, if it comes after the accepted ones; otherwise empty."""
        count = len(self.snr) if n_accepted is None else n_accepted
        fault = self.fault or ("",) * len(self.snr)
        return ["" if i < count else why for i, why in enumerate(fault)]


def measure_quality(
    traces: np.ndarray, fluorescence: Fluorescence, verdicts: list[tuple[float, str]]
) -> Quality:
    """Compare traces, (n_neurons, n_frames), with the light. ``verdicts``: of the footprints.

    The score is 0.5 for a correlation of 0.2 with the light, too: wide changes of the light that
    are no neurons have correlations around 0, and right traces more than 0.3; and for a ratio of 2,
    which noise exceeds in 2 % of the frames.
    """
    light = (fluorescence.corrected - fluorescence.baseline).astype(np.float64)
    noise = trace_noise(light)
    trace = traces - traces.mean(axis=1, keepdims=True)
    light -= light.mean(axis=1, keepdims=True)
    shared = np.vecdot(trace, light)
    size, brightness = np.linalg.norm(trace, axis=1), np.linalg.norm(light, axis=1)
    snr = ratio(shared * traces.max(axis=1, initial=0.0), size**2 * noise)
    correlation = ratio(shared, size * brightness)
    worst = [
        min(
            shape,
            (max(c, 0) / (max(c, 0) + 0.2), "unlike its light"),
            (max(s, 0) / (max(s, 0) + 2), "too faint"),
        )
        for shape, c, s in zip(verdicts, correlation.tolist(), snr.tolist(), strict=True)
    ]
    score, fault = np.array([each for each, _ in worst]), tuple(why for _, why in worst)
    return Quality(snr, correlation, score, fault)


def ratio(above: Any, below: np.ndarray) -> np.ndarray:
    """The quotient, and 0 where the divisor is 0."""
    return np.divide(above, below, out=np.zeros_like(below), where=below > 0)
