"""Exact segmentation of a movie: it decays between two spike frames.

The columns of X = G⁻¹ that belong to the frames t₁ < t₂ < … span the signals that are zero
before t₁ and decay by the factor γ per frame within every segment [tᵢ, tᵢ₊₁), each from its own
level. Least squares therefore separates into the segments, and dynamic programming over the last
spike frame finds the best set of frames exactly. Jewell & Witten (2018) use this idea for the ℓ₀
deconvolution of one trace; here it is applied to all directions of a movie at once.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

# Bisections of the penalty of a spike. 40 reduce the interval by a factor of 10¹².
_BISECTIONS = 40
# A segment is truncated where its decay is below this fraction: it explains nothing after that.
_FADED = 1e-4


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

    @property
    def carried(self) -> np.ndarray:
        """Fraction of a segment's level that is left at the beginning of the next segment."""
        return self.decay ** self.lengths[:-1]

    def basis(self, dtype: type = np.float32) -> csr_array:
        """Orthonormal basis of the signals that decay within each segment.

        Shapes: result (n_segments, n_frames).
        """
        lengths = self.lengths
        columns = np.arange(self.frames[0] if len(self.frames) else self.total, self.total)
        since = columns - np.repeat(self.frames, lengths)
        values = self.decay**since / np.sqrt(np.repeat(self.energies, lengths))
        rows = np.repeat(np.arange(len(self.frames)), lengths)
        shape = (len(self.frames), self.total)
        return csr_array((values.astype(dtype), (rows, columns)), shape=shape)

    def spikes(self, levels: np.ndarray) -> np.ndarray:
        """Convert levels to spikes: each level minus what is left of the level before.

        Shapes: ``levels`` (n_segments, n_columns), result (n_segments, n_columns).
        """
        jumps = np.array(levels)
        jumps[1:] -= self.carried[:, None] * levels[:-1]
        return jumps


def segment_gains(Z: np.ndarray, decay: float) -> np.ndarray:
    """Sum of squares of Z that a segment explains, for all segments [a, b).

    g(a, b) = ‖Σ_{a≤t<b} γ^{t−a} z_t‖² / Σ_{a≤t<b} γ^{2(t−a)}, where z_t are the rows of Z. After L
    frames almost nothing is left of a decay, so that longer segments explain as much as their
    first L frames.

    Shapes: ``Z`` (n_frames, n_directions), result (n_frames, L).
    """
    frames = len(Z)
    longest = 1
    if decay > 0:
        longest = min(frames, int(np.ceil(np.log(_FADED) / np.log(decay))) + 1)
    gains = np.zeros((frames, longest))
    sums = np.zeros_like(Z)  # Σ γ^{t−a} z_t over the segments that end at each frame
    energy = 0.0
    for lag in range(longest):
        weight = decay**lag
        energy += weight**2
        sums[lag:] = (sums[lag - 1 : -1] if lag else 0) + weight * Z[lag:]
        gains[lag:, lag] = np.einsum("ij,ij->i", sums[lag:], sums[lag:]) / energy
    return gains


def best_frames(gains: np.ndarray, count: int | None, penalty: float) -> np.ndarray:
    """The spike frames whose segments explain the most.

    Shapes: ``gains`` (n_frames, L).
    """
    if count is None:
        return _penalized_frames(gains, penalty)
    low, high = 0.0, float(gains.max(initial=0.0)) * 1.01 + 1e-300
    best = np.empty(0, dtype=int)
    for _ in range(_BISECTIONS):
        middle = 0.5 * (low + high)
        found = _penalized_frames(gains, middle)
        if len(found) <= count:
            best, high = (found if len(found) >= len(best) else best), middle
            if len(found) == count:
                break
        else:
            low = middle
    return best


def _penalized_frames(gains: np.ndarray, penalty: float) -> np.ndarray:
    """Maximise the sum of the gains minus a penalty per segment; exact, in T·L operations."""
    frames, longest = gains.shape
    best = np.zeros(frames + 1)  # optimum over the frames before each frame; 0 without segments
    came = np.full(frames + 1, -1)
    faded, faded_from = -np.inf, -1  # the best segment so far that has decayed completely
    for t in range(frames):
        if t >= longest:
            a = t - longest
            if best[a] + gains[t - 1, -1] > faded:
                faded, faded_from = best[a] + gains[t - 1, -1], a
        recent = best[max(t - longest + 1, 0) : t + 1][::-1]
        totals = recent + gains[t, : len(recent)]
        lag = int(np.argmax(totals))
        value, a = (totals[lag], t - lag) if totals[lag] >= faded else (faded, faded_from)
        if value > penalty:
            best[t + 1], came[t + 1] = value - penalty, a
    chosen = []
    end = frames
    while came[end] >= 0:
        end = int(came[end])
        chosen.append(end)
    return np.array(chosen[::-1], dtype=int)
