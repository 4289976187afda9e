"""Spikes of single traces: exact ℓ₀ deconvolution, one neuron at a time."""

from __future__ import annotations

import numpy as np

from thinrank.calcium.demixing import rising_levels
from thinrank.calcium.segments import Segments, best_frames, segment_gains

__all__ = ["deconvolved", "trace_noise"]

# The median of |z| of a standard normal variable z.
_NORMAL_MEDIAN = 0.6745
# A spike must explain this many times log(n_frames) variances of the noise. 2 is the bound that
# noise of n_frames frames reaches; the rest is a margin.
_PENALTY = 2.0


def trace_noise(trace: np.ndarray) -> float:
    """Standard deviation of the noise of a trace, from differences of successive frames."""
    differences = np.abs(np.diff(trace))
    return float(np.median(differences)) / _NORMAL_MEDIAN / 2**0.5


def deconvolved(trace: np.ndarray, decay: float) -> tuple[np.ndarray, np.ndarray]:
    """The spikes of a trace, and the trace without noise.

    Parameters
    ----------
    trace : ndarray of shape (n_frames,)
        Fluorescence above the baseline, with noise.
    decay : float
        γ, the fraction of the fluorescence that is left after one frame.

    Returns
    -------
    spikes : ndarray of shape (n_frames,)
        At least 0; the sum of squares that is left, plus a penalty for each spike, is minimal
        among the spike frames.
    denoised : ndarray of shape (n_frames,)
        The filtered spikes.
    """
    total = len(trace)
    spikes, denoised = np.zeros(total), np.zeros(total)
    penalty = _PENALTY * float(np.log(total)) * trace_noise(trace) ** 2
    gains = segment_gains(np.asarray(trace, dtype=float)[:, None], decay, positive=True)
    frames = best_frames(gains, None, penalty)
    if len(frames) == 0:
        return spikes, denoised
    segments = Segments(frames, decay, total)
    basis = segments.basis(np.float64)
    levels = rising_levels(basis @ trace, segments)
    denoised = basis.T @ levels
    heights = levels / np.sqrt(segments.energies)
    spikes[frames] = np.maximum(segments.spikes(heights[:, None])[:, 0], 0)
    return spikes, denoised
