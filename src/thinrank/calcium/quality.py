"""How far each neuron can be trusted: its signal-to-noise ratio, and its trace against raw light."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from thinrank.calcium.fluorescence import Fluorescence, RestingLevel, noise_of

__all__ = ["LEAST_CORRELATION", "LEAST_SNR", "Quality", "measure_quality"]

LEAST_CORRELATION = 0.1
"""Neurons whose traces correlate less with their raw light are doubtful."""
LEAST_SNR = 2.0
"""Neurons whose largest transients are less, in standard deviations of the noise, are doubtful."""


@dataclass(frozen=True)
class Quality:
    """Measures of each neuron.

    Attributes
    ----------
    snr : ndarray of shape (n_neurons,)
        Height of the largest transient in the raw light minus neuropil, divided by the standard
        deviation of the noise of that light. The height is that of the trace, scaled to the light
        by least squares; it is negative if the light becomes darker where the trace is high.
    correlation : ndarray of shape (n_neurons,)
        Correlation of the trace with the raw light of the region minus its resting level.
    """

    snr: np.ndarray
    correlation: np.ndarray

    @property
    def doubtful(self) -> np.ndarray:
        """Whether a correlation is below 0.1 or a signal-to-noise ratio below 2."""
        return (self.correlation < LEAST_CORRELATION) | (self.snr < LEAST_SNR)

    def of(self, neurons: np.ndarray) -> Quality:
        """The same for some of the neurons, given by their indices."""
        return Quality(self.snr[neurons], self.correlation[neurons])


def measure_quality(
    traces: np.ndarray, fluorescence: Fluorescence, resting: RestingLevel
) -> Quality:
    """Compare traces with the light from which they were estimated.

    Parameters
    ----------
    traces : ndarray of shape (n_neurons, n_frames)
        The traces of the fit.
    fluorescence : Fluorescence
        The light of the same neurons.
    resting : RestingLevel
        The resting level that is subtracted from the raw light.

    Returns
    -------
    Quality
    """
    centred = traces - traces.mean(axis=1, keepdims=True)
    energy = np.einsum("ij,ij->i", centred, centred)
    light = fluorescence.raw - resting.of(fluorescence.raw)
    change = fluorescence.corrected - fluorescence.baseline
    slope = _ratio(np.einsum("ij,ij->i", centred, change), energy)
    height = slope * traces.max(axis=1, initial=0.0)
    light = light - light.mean(axis=1, keepdims=True)
    spread = np.sqrt(energy * np.einsum("ij,ij->i", light, light))
    return Quality(
        snr=_ratio(height, noise_of(fluorescence.corrected)),
        correlation=_ratio(np.einsum("ij,ij->i", centred, light), spread),
    )


def _ratio(above: np.ndarray, below: np.ndarray) -> np.ndarray:
    """The quotient, and 0 where the divisor is 0."""
    above, below = np.asarray(above, dtype=np.float64), np.asarray(below, dtype=np.float64)
    return np.divide(above, below, out=np.zeros_like(above), where=below > 0)
