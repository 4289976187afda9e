"""Spikes of single traces: exact ℓ₀ deconvolution of each neuron."""

from __future__ import annotations

import numpy as np

from thinrank.calcium.demixing import rising_levels
from thinrank.calcium.segments import Segments

# The median of |z| of a standard normal variable z.
_NORMAL_MEDIAN = 0.6745
# A spike must explain this many times log(n_frames) variances of the noise. Rule of thumb: 2 is
# about what the largest of n_frames squared normal variables reaches.
_PENALTY = 2.0
# A segment is truncated where its decay is below this fraction: what it explains after that is
# below 10⁻⁴ of the whole.
_FADED = 1e-2
# Number of entries of the gains of all traces that are computed at once: 64 MiB.
_MOST_ENTRIES = 1 << 24


def trace_noise(traces: np.ndarray) -> np.ndarray:
    """Standard deviation of the noise of traces, from differences of successive frames.

    Shapes: ``traces`` (…, n_frames), result (…).
    """
    differences = np.abs(np.diff(traces, axis=-1))
    return np.asarray(np.median(differences, axis=-1) / (_NORMAL_MEDIAN * 2**0.5))


def exact_spikes(traces: np.ndarray, decay: float) -> tuple[np.ndarray, np.ndarray]:
    """The spikes of traces, and the traces without noise.

    Among all sets of spike frames, the one is chosen for which the sum of squares that is left,
    plus a penalty for each spike, is smallest (Jewell & Witten 2018). The spikes are then fitted
    with the condition that they are at least 0.

    Shapes: ``traces`` (n_neurons, n_frames), ``spikes`` (n_neurons, n_frames), ``denoised``
    (n_neurons, n_frames).
    """
    total = traces.shape[1]
    spikes, denoised = np.zeros(traces.shape), np.zeros(traces.shape)
    penalties = _PENALTY * float(np.log(total)) * trace_noise(traces) ** 2
    longest = 1
    if decay > 0:
        longest = min(total, int(np.ceil(np.log(_FADED) / np.log(decay))) + 1)
    at_once = max(1, _MOST_ENTRIES // (total * longest))
    for first in range(0, len(traces), at_once):
        here = slice(first, first + at_once)
        chosen = _spike_frames(traces[here], decay, longest, penalties[here])
        for n, frames in enumerate(chosen, start=first):
            if len(frames) == 0:
                continue
            segments = Segments(frames, decay, total)
            basis = segments.basis(np.float64)
            levels = rising_levels(basis @ traces[n], segments)
            denoised[n] = basis.T @ levels
            heights = levels / np.sqrt(segments.energies)
            spikes[n, frames] = np.maximum(segments.spikes(heights[:, None])[:, 0], 0)
    return spikes, denoised


def _spike_frames(
    traces: np.ndarray, decay: float, longest: int, penalties: np.ndarray
) -> list[np.ndarray]:
    """The best spike frames of each trace, by dynamic programming over the last spike frame.

    The loop over the frames keeps the optima only. Where segments begin is found afterwards, for
    the few that are chosen.
    """
    count, total = traces.shape
    gains = _gains(traces, decay, longest)
    # best[longest + t] is the optimum over the frames before t; before the movie it is −∞
    best = np.full((longest + total + 1, count), -np.inf)
    best[longest] = 0
    faded = np.full(count, -np.inf)  # the best segment so far that has decayed completely
    totals, value = np.empty((longest, count)), np.empty(count)
    for t in range(total):
        if t >= longest:
            np.add(best[t], gains[-1, t - 1], out=value)
            np.maximum(faded, value, out=faded)
        np.add(best[t + longest : t : -1], gains[:, t], out=totals)
        totals.max(axis=0, out=value)
        np.maximum(value, faded, out=value)
        value -= penalties
        np.maximum(value, best[longest + t], out=best[longest + t + 1])
    return [
        _traced_back(np.ascontiguousarray(best[:, n]), gains[:, :, n], longest)
        for n in range(count)
    ]


def _traced_back(best: np.ndarray, gains: np.ndarray, longest: int) -> np.ndarray:
    """First frames of the segments of one trace, from the optima of all beginnings of it."""
    rises = np.flatnonzero(best[longest + 1 :] > best[longest:-1])
    whole = best[longest:-longest] + gains[-1, longest - 1 :]  # segments that decay completely
    chosen: list[int] = []
    while len(rises):
        t = int(rises[-1])  # the last frame of a segment
        totals = best[t + longest : t : -1] + gains[:, t]
        lag = int(totals.argmax())
        begin = t - lag
        if t >= longest:
            oldest = int(whole[: t - longest + 1].argmax())
            begin = oldest if whole[oldest] > totals[lag] else begin
        chosen.append(begin)
        rises = rises[: np.searchsorted(rises, begin)]
    return np.array(chosen[::-1], dtype=int)


def _gains(traces: np.ndarray, decay: float, longest: int) -> np.ndarray:
    """What the segments explain: entry (l, t, n) is for the segment from t − l to t of trace n."""
    count, total = traces.shape
    columns = np.ascontiguousarray(traces.T, dtype=np.float32)
    gains = np.zeros((longest, total, count), dtype=np.float32)
    sums = np.zeros_like(columns)
    energy = 0.0
    for lag in range(longest):
        weight = decay**lag
        energy += weight**2
        sums[lag:] = (sums[lag - 1 : -1] if lag else 0) + weight * columns[lag:]
        here = gains[lag, lag:]
        np.maximum(sums[lag:], 0, out=here)
        here *= here
        here /= energy
    return gains
