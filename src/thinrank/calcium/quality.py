"""How far each neuron can be trusted: signal-to-noise ratio, and its trace against raw light."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from thinrank.calcium.binning import RestingLevel
from thinrank.calcium.deconvolution import trace_noise
from thinrank.calcium.fluorescence import Fluorescence

LEAST_CORRELATION = 0.2
"""Neurons whose traces correlate less with their raw light are doubtful. Rule of thumb: on movies
that were made for it, wide changes of the light that are no neurons have correlations around 0,
and neurons whose traces are right have more than 0.3."""
LEAST_SNR = 2.0
"""Neurons whose largest transients are less, in standard deviations of the noise, are doubtful.
Rule of thumb: noise exceeds it in 2 % of the frames."""
# Largest gain of the neuropil in a region. More would remove a neuron's own light, a little of
# which reaches its surroundings.
_LARGEST_GAIN = 2.0


@dataclass(frozen=True)
class Quality:
    """Measures of each neuron.

    Both compare its trace with its raw light, from which the neuropil was regressed out, with a
    gain between 0 and 2, and the resting level subtracted.

    Attributes
    ----------
    snr : ndarray of shape (n_neurons,)
        Signal-to-noise ratio: height of the largest transient in the light, divided by the
        standard deviation of the light's noise. The height is that of the trace, scaled to the
        light by least squares; it is negative if the light is darker where the trace is high.
    correlation : ndarray of shape (n_neurons,)
        Correlation of the trace with the light.
    score : ndarray of shape (n_neurons,) or None
        How much the footprint looks like a neuron, from 0 to 1; it is rejected below 0.5. None for
        models of earlier versions.
    fault : tuple of str
        What is most unlike a neuron, one for each: "too small", "too large", "too long", "part of
        a brighter neuron" or "no transients".
    """

    snr: np.ndarray
    correlation: np.ndarray
    score: np.ndarray | None = None
    fault: tuple[str, ...] = ()

    @property
    def doubtful(self) -> np.ndarray:
        """Boolean array: whether the correlation is below 0.2 or the ratio below 2."""
        return (self.correlation < LEAST_CORRELATION) | (self.snr < LEAST_SNR)

    def reasons(self, n_accepted: int | None = None) -> list[str]:
        """Why each was rejected, if it comes after the accepted ones; otherwise empty."""
        count = len(self.snr) if n_accepted is None else n_accepted
        fault = self.fault or ("",) * len(self.snr)
        return ["" if i < count else why for i, why in enumerate(fault)]

    def of(self, neurons: np.ndarray) -> Quality:
        """The same for some of the neurons, given by their indices."""
        score = None if self.score is None else self.score[neurons]
        fault = tuple(self.fault[i] for i in neurons) if self.fault else ()
        return Quality(self.snr[neurons], self.correlation[neurons], score, fault)


def measure_quality(
    traces: np.ndarray,
    fluorescence: Fluorescence,
    resting: RestingLevel,
    score: np.ndarray | None = None,
    fault: tuple[str, ...] = (),
) -> Quality:
    """Compare traces with the light from which they were estimated.

    Shapes: ``traces`` (n_neurons, n_frames).
    """
    light = _without_neuropil(fluorescence)
    noise = trace_noise(light)
    trace, light = _centred(traces), _centred(light - resting.of(light))
    shared, energy = _products(trace, light), _products(trace, trace)
    height = _ratio(shared, energy) * np.max(traces, axis=1, initial=0.0)
    return Quality(
        snr=_ratio(height, noise),
        correlation=_ratio(shared, np.sqrt(energy * _products(light, light))),
        score=score,
        fault=fault,
    )


def _without_neuropil(fluorescence: Fluorescence) -> np.ndarray:
    """Raw light minus the neuropil times its gain in each region, which is estimated."""
    raw, neuropil = _centred(fluorescence.raw), _centred(fluorescence.neuropil)
    gain = _ratio(_products(raw, neuropil), _products(neuropil, neuropil))
    return raw - np.clip(gain, 0.0, _LARGEST_GAIN)[:, None] * neuropil


def _centred(values: np.ndarray) -> np.ndarray:
    values = np.asarray(values, dtype=np.float64)
    return values - values.mean(axis=1, keepdims=True)


def _products(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    return np.einsum("ij,ij->i", first, second)


def _ratio(above: np.ndarray, below: np.ndarray) -> np.ndarray:
    """The quotient, and 0 where the divisor is 0."""
    return np.divide(above, below, out=np.zeros_like(above), where=below > 0)
