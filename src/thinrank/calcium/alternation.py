"""A start for the solver: spike frames and factors of a movie, by alternating minimization."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from thinrank.calcium.segments import Segments, best_frames, segment_gains
from thinrank.calcium.sizes import (
    MovieSizes,
    active_pixel_count,
    leading_directions,
    spike_penalty,
)
from thinrank.calcium.stages import StageProgress
from thinrank.core.factors import Factors

# Largest number of rounds over frames and factors, and of changes of the active pixels in a round.
# Rules of thumb: both usually stop earlier, and the solver continues from the result.
_MOST_ROUNDS = 4
_MOST_COLUMN_CHANGES = 4


@dataclass(frozen=True)
class Alternation:
    """Alternating minimization over spike frames, factors and active pixels.

    Given the row space of Θ, dynamic programming finds the best spike frames (see
    :mod:`thinrank.calcium.segments`). Given the frames, the best Θ is a truncated singular value
    decomposition of the movie projected on their segments, on the pixels that it explains best.
    The two steps are repeated until the frames no longer change.
    """

    decay: float  # γ, the fraction of the fluorescence that is left after one frame
    # standard deviation of the Gaussian filter of the frames, in pixels. Smoothing correlates the
    # noise of neighboring pixels
    smoothing: float
    seed: int  # seed of the randomized decomposition of long movies

    def run(
        self, Y: np.ndarray, sizes: MovieSizes, progress: StageProgress
    ) -> tuple[Factors, MovieSizes]:
        """Find factors of Θ."""
        directions = leading_directions(Y, sizes.rank, self.seed)
        rank = directions.visible(self.smoothing) if sizes.rank is None else sizes.rank
        Z = directions.Z[:, :rank]
        frames, columns = np.empty(0, dtype=int), np.arange(Y.shape[1])
        for turn in range(_MOST_ROUNDS):
            progress((turn + 1) / (_MOST_ROUNDS + 1))
            gains = segment_gains(Z, self.decay)
            before, frames = frames, best_frames(gains, sizes.rows, spike_penalty(Z))
            if np.array_equal(before, frames) or len(frames) == 0:
                break
            segments = Segments(frames, self.decay, len(Y))
            levels, V, columns = _fit(segments.basis() @ Y, rank, columns, sizes.columns)
            if len(columns) == 0:
                frames = frames[:0]
                break
            basis, _ = np.linalg.qr(V[columns])
            Z = Y[:, columns] @ basis
        if len(frames) == 0:
            return Factors.zero((len(Y), Y.shape[1]), like=Y), MovieSizes(0, 0, 0)
        levels /= np.sqrt(segments.energies)[:, None]
        U = np.zeros((len(Y), levels.shape[1]), dtype=np.float32)
        U[frames] = segments.spikes(levels)
        kept = np.zeros_like(V)
        kept[columns] = V[columns]
        rows = len(frames) if sizes.rows is None else sizes.rows
        pixels = len(columns) if sizes.columns is None else sizes.columns
        return Factors(U, kept), MovieSizes(min(levels.shape[1], rows, pixels), rows, pixels)


def _fit(
    W: np.ndarray, rank: int, columns: np.ndarray, count: int | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Leading left singular vectors of W on its best columns, Wᵀ times them, and those columns.

    ``columns`` are the columns to begin with. Their final number is ``count``, or found if None.
    """
    rank = min(rank, *W.shape)
    for _ in range(_MOST_COLUMN_CHANGES):
        chosen = W[:, columns]
        _, vectors = np.linalg.eigh((chosen @ chosen.T).astype(np.float64))
        left = vectors[:, : -rank - 1 : -1].astype(W.dtype)
        V = W.T @ left
        energies = np.einsum("ij,ij->i", V, V)
        wanted = active_pixel_count(energies, rank) if count is None else count
        before, columns = columns, _largest(energies, wanted)
        if np.array_equal(before, columns) or len(columns) == 0:
            break
    return left, V, columns


def _largest(values: np.ndarray, count: int) -> np.ndarray:
    """Sorted indices of the ``count`` largest values, without zeros."""
    if count == 0:
        return np.empty(0, dtype=int)
    if count < len(values):
        found = np.argpartition(values, len(values) - count)[len(values) - count :]
    else:
        found = np.arange(len(values))
    return np.sort(found[values[found] > 0])
