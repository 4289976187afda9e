"""Spikes of fluorescence that decays by γ per frame: which frames, and how large.

The signals that begin at the frames t₁ < t₂ < … and decay within every segment [tᵢ, tᵢ₊₁), each
from its own level, are spanned by orthogonal columns, so that least squares separates into the
segments. Dynamic programming over the last spike frame therefore finds the best set of frames
exactly (Jewell & Witten 2018), for one trace or for all directions of a movie together. Sizes that
are at least 0 follow by pooling segments (Friedrich, Zhou & Paninski 2017).
"""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from thinrank.core.checks import check_number

# The median of |z| of a standard normal variable z.
NORMAL_MEDIAN = 0.6745
# A segment is truncated where its decay is below this fraction: what it explains after that is
# below 10⁻⁴ of the whole.
_FADED = 1e-2


def deconvolve(values: Any, decay: float, *, penalty: float = 0.0) -> np.ndarray:
    """Non-negative increments whose decaying sum is nearest to some traces.

    For every trace y, the sum of squares of y − c is minimized over c with the increments
    s_t = c_t − γ c_{t−1} ≥ 0 and c_0 ≥ 0. Without a penalty noise leaves small increments in many
    frames. With one, increments are limited to the frames for which the sum of squares plus a
    penalty for each frame is smallest.

    Parameters
    ----------
    values : array of shape (n_neurons, n_frames)
        Fluorescence above its baseline.
    decay : float
        γ, the fraction of the fluorescence that is left after one frame; at least 0, below 1.
    penalty : float, default=0.0
        What an increment must explain, in units of log(n_frames) variances of the noise. 2 is about
        what the largest of n_frames squared normal variables reaches.

    Returns
    -------
    ndarray of shape (n_neurons, n_frames), float32
        The increments, in the units of the values.

    References
    ----------
    J. Friedrich, P. Zhou and L. Paninski, Fast online deconvolution of calcium imaging data, PLOS
    Computational Biology 13 (2017). S. Jewell and D. Witten, Exact spike train inference via ℓ0
    optimization, Annals of Applied Statistics 12 (2018).

    Examples
    --------
    >>> from thinrank.calcium import deconvolve
    >>> deconvolve([[0, 2, 1, 0.5, 4.25]], 0.5).tolist()
    [[0.0, 2.0, 0.0, 0.0, 4.0]]
    """
    if not isinstance(decay, Real) or isinstance(decay, bool) or not 0 <= decay < 1:
        raise ValueError(f"decay must be a number at least 0 and below 1, got {decay!r}")
    check_number("penalty", penalty, "a number at least 0")
    traces = np.asarray(values, dtype=np.float64)
    if traces.ndim != 2:
        raise ValueError(
            f"values must have the shape (n_neurons, n_frames), got shape {traces.shape}"
        )
    if not np.isfinite(traces).all():
        raise ValueError("values must not contain NaN or infinity")
    count, total = traces.shape
    chosen = [np.arange(total)] * count
    if penalty and total > 1:
        penalties = penalty * float(np.log(total)) * trace_noise(traces) ** 2
        chosen = best_frames(traces.T[..., None], decay, penalties)
    increments = [
        Segments(frames, decay, total).increments(trace)
        for trace, frames in zip(traces, chosen, strict=True)
    ]
    return np.array(increments, dtype=np.float32).reshape(traces.shape)


def trace_noise(traces: np.ndarray) -> np.ndarray:
    """Standard deviation of the noise of traces, from differences of successive frames."""
    differences = np.abs(np.diff(traces, axis=-1))
    return np.asarray(np.median(differences, axis=-1) / (NORMAL_MEDIAN * 2**0.5))


@dataclass(frozen=True)
class Segments:
    """The segments that begin at given frames."""

    frames: np.ndarray  # sorted first frames t₁ < t₂ < …
    decay: float  # γ, the fraction of the fluorescence that is left after one frame
    total: int  # number of frames of the movie

    @property
    def lengths(self) -> np.ndarray:
        """Number of frames of each segment."""
        return np.diff(np.append(self.frames, self.total))

    @property
    def energies(self) -> np.ndarray:
        """Σ γ^{2(t − tᵢ)} over each segment."""
        return (1 - self.decay ** (2 * self.lengths)) / (1 - self.decay**2)

    def basis(self, dtype: type = np.float32) -> csr_array:
        """Orthonormal basis, (n_segments, n_frames), of the signals that decay in each segment."""
        lengths = self.lengths
        columns = np.arange(self.frames[0] if len(self.frames) else self.total, self.total)
        since = columns - np.repeat(self.frames, lengths)
        values = self.decay**since / np.sqrt(np.repeat(self.energies, lengths))
        rows = np.repeat(np.arange(len(self.frames)), lengths)
        shape = (len(self.frames), self.total)
        return csr_array((values.astype(dtype), (rows, columns)), shape=shape)

    def spikes(self, levels: np.ndarray) -> np.ndarray:
        """Levels of shape (n_segments, …), each minus what is left of the level before."""
        left = (self.decay ** self.lengths[:-1]).reshape(-1, *[1] * (levels.ndim - 1))
        jumps = np.array(levels)
        jumps[1:] -= left * levels[:-1]
        return jumps

    def increments(self, trace: np.ndarray) -> np.ndarray:
        """Increments at the first frames, at least 0, whose decaying sum is nearest to a trace.

        Consecutive segments are pooled, as in isotonic regression, where a level is below what is
        left of the level before; one pass gives the exact solution.
        """
        result = np.zeros(self.total)
        if not len(self.frames):
            return result
        energies = self.energies
        fitted = (self.basis(np.float64) @ trace) / np.sqrt(energies)
        pools: list[tuple[float, float, int]] = []  # level, weight and first frame of each pool
        for start in zip(fitted.tolist(), energies.tolist(), self.frames.tolist(), strict=True):
            level, weight, first = start
            while pools:
                before, mass, earlier = pools[-1]
                left = self.decay ** (first - earlier)
                if level >= left * before:
                    break
                pools.pop()
                total = mass + left * left * weight
                level = (mass * before + left * weight * level) / total
                weight, first = total, earlier
            pools.append((level, weight, first))
        frames = np.array([pool[2] for pool in pools])
        levels = np.maximum([pool[0] for pool in pools], 0.0)
        result[frames] = np.maximum(Segments(frames, self.decay, self.total).spikes(levels), 0)
        return result


def best_frames(
    values: np.ndarray, decay: float, penalties: np.ndarray, *, gaps: bool = True
) -> list[np.ndarray]:
    """The spike frames of each signal whose segments explain the most, minus a penalty for each.

    A segment from frame a on explains ‖Σ γ^{t−a} z_t‖² / Σ γ^{2(t−a)}, where z_t is a row of
    directions; nothing with a negative level, if there is a single direction. ``gaps``: whether
    segments may end before the next one begins, as those do whose level would be negative.

    Shapes: ``values`` (n_frames, n_signals, n_directions), ``penalties`` (n_signals,).
    """
    total, count, directions = values.shape
    longest = 1 if decay == 0 else min(total, int(np.ceil(np.log(_FADED) / np.log(decay))) + 1)
    weights = decay ** np.arange(longest)
    energies = np.cumsum(weights**2)[:, None]
    sums = np.zeros((longest, count, directions))  # of the segments of 1, 2, … frames
    gains = np.zeros((longest, count))
    # best[longest + t] is the optimum over the frames before t; before the movie it is −∞
    best = np.full((longest + total + 1, count), -np.inf)
    best[longest] = 0
    # the best segment so far that has decayed completely, and its first frame
    faded, oldest = np.full(count, -np.inf), np.zeros(count, dtype=int)
    begins = np.empty((total, count), dtype=int)  # of the segment that ends there; −1 for none
    for t in range(total):
        if t >= longest:
            whole = best[t] + gains[-1]
            oldest = np.where(whole > faded, t - longest, oldest)
            faded = np.maximum(faded, whole)
        sums[1:] = sums[:-1]
        sums[0] = 0
        sums += weights[:, None, None] * values[t]
        levels = np.maximum(sums, 0) if directions == 1 else sums
        gains = np.vecdot(levels, levels) / energies
        totals = best[t + longest : t : -1] + gains
        lag = totals.argmax(axis=0)
        value = totals[lag, np.arange(count)]
        first = np.where(faded > value, oldest, t - lag)
        value = np.maximum(value, faded) - penalties
        rest = best[longest + t] if gaps else 0
        best[longest + t + 1] = np.maximum(value, rest)
        begins[t] = np.where(value > rest, first, -1)
    return [_traced_back(column, gaps) for column in begins.T.tolist()]


def _traced_back(begins: list[int], gaps: bool) -> np.ndarray:
    """First frames of the segments, from the first frame of the last one for every end."""
    t, chosen = len(begins) - 1, []
    while t >= 0 and (gaps or begins[t] >= 0):
        if begins[t] >= 0:
            chosen.append(begins[t])
            t = begins[t]
        t -= 1
    return np.array(chosen[::-1], dtype=int)
