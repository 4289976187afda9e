"""Spike frames by exact segmentation: between two spikes a movie decays.

The columns of X = G⁻¹ that belong to the frames t₁ < t₂ < … span the signals that are zero
before t₁ and decay by γ a frame within every segment [tᵢ, tᵢ₊₁), each from a level of its own.
Least squares therefore falls apart into the segments, and the best set of frames for a signal of
a few columns is found exactly by dynamic programming over the last frame of it, the idea of the
ℓ₀ deconvolution of Jewell & Witten (2018) for one trace, here for all directions of a movie at
once.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

__all__ = ["Segments", "best_frames", "segment_gains"]

# Halvings of the price of a spike until the wanted number is met as well as it can be.
_BISECTIONS = 40
# What is left of a decay when it counts as gone.
_FADED = 1e-4


@dataclass(frozen=True)
class Segments:
    """The segments that begin at some frames.

    Parameters
    ----------
    frames : ndarray of int
        Sorted first frames t₁ < t₂ < ….
    decay : float
        γ.
    total : int
        T.
    """

    frames: np.ndarray
    decay: float
    total: int

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
        """What is left of the level before at the beginning of each segment but the first."""
        return self.decay ** self.lengths[:-1]

    def basis(self, dtype: type = np.float32) -> csr_array:
        """Orthonormal rows B of shape (|S|, T): the decay within each segment, of unit norm.

        BᵀB projects on the columns of X that belong to the frames.
        """
        lengths = self.lengths
        columns = np.arange(self.frames[0] if len(self.frames) else self.total, self.total)
        since = columns - np.repeat(self.frames, lengths)
        values = self.decay**since / np.sqrt(np.repeat(self.energies, lengths))
        rows = np.repeat(np.arange(len(self.frames)), lengths)
        shape = (len(self.frames), self.total)
        return csr_array((values.astype(dtype), (rows, columns)), shape=shape)

    def spikes(self, levels: np.ndarray) -> np.ndarray:
        """What each segment's level adds to what is left of the one before; levels (|S|, any)."""
        jumps = np.array(levels)
        jumps[1:] -= self.carried[:, None] * levels[:-1]
        return jumps


def segment_gains(Z: np.ndarray, decay: float) -> np.ndarray:
    """What a segment explains of Z, for all segments [a, b).

    g(a, b) = ‖Σ_{a≤t<b} γ^{t−a} z_t‖² / Σ_{a≤t<b} γ^{2(t−a)}, the z_t being rows of Z. After L
    frames next to nothing is left of a decay, and longer segments explain what their first L
    frames do.

    Parameters
    ----------
    Z : ndarray of shape (T, q)
    decay : float

    Returns
    -------
    ndarray of shape (T, L)
        Entry (t, l) is g(t − l, t + 1); zero where t < l.
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


def best_frames(gains: np.ndarray, count: int | None, price: float) -> np.ndarray:
    """The frames whose segments explain the most.

    Parameters
    ----------
    gains : ndarray of shape (T, L)
        From :func:`segment_gains`.
    count : int or None
        At most so many frames. The price of a spike is raised until no more are chosen; what is
        found is best for its number, which may fall a little short of ``count``.
    price : float
        What a spike must explain at least, when ``count`` is None.

    Returns
    -------
    ndarray of int
        Sorted.
    """
    if count is None:
        return _priced(gains, price)
    low, high = 0.0, float(gains.max(initial=0.0)) * 1.01 + 1e-300
    best = np.empty(0, dtype=int)
    for _ in range(_BISECTIONS):
        middle = 0.5 * (low + high)
        found = _priced(gains, middle)
        if len(found) <= count:
            best, high = (found if len(found) >= len(best) else best), middle
            if len(found) == count:
                break
        else:
            low = middle
    return best


def _priced(gains: np.ndarray, price: float) -> np.ndarray:
    """Maximise the sum of gains less the price of every segment; exact, T·L operations."""
    frames, longest = gains.shape
    best = np.zeros(frames + 1)  # of what comes before a frame; nothing explained is worth 0
    came = np.full(frames + 1, -1)
    faded, faded_from = -np.inf, -1  # the best segment so far of which nothing is left
    for t in range(frames):
        if t >= longest:
            a = t - longest
            if best[a] + gains[t - 1, -1] > faded:
                faded, faded_from = best[a] + gains[t - 1, -1], a
        recent = best[max(t - longest + 1, 0) : t + 1][::-1]
        worth = recent + gains[t, : len(recent)]
        lag = int(np.argmax(worth))
        value, a = (worth[lag], t - lag) if worth[lag] >= faded else (faded, faded_from)
        if value > price:
            best[t + 1], came[t + 1] = value - price, a
    chosen = []
    end = frames
    while came[end] >= 0:
        end = int(came[end])
        chosen.append(end)
    return np.array(chosen[::-1], dtype=int)
