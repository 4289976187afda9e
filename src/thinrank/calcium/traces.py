"""Traces and spikes of known footprints in every frame of a movie, and how fast they decay."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Real
from typing import Any

import numpy as np
from scipy.sparse import csr_array, kron, vstack

from thinrank.calcium.binning import Background, interpolated
from thinrank.calcium.deconvolution import Segments, deconvolve
from thinrank.calcium.readers import Movie

# Penalty of a spike, in units of log(n_frames) variances of the noise.
_PENALTY = 2.0
# Largest estimate of the decay, a decay time of 200 frames; slow changes of the baseline give
# larger ones.
_LARGEST_DECAY = 0.995


def resolve_decay(decay: Any, frame_rate: float) -> float | None:
    """Turn the ``decay`` parameter into a number; None if the decay is to be estimated."""
    if decay is None:
        if not frame_rate > 1:
            raise ValueError(
                f"frame_rate must be above 1 for the decay 1 − 1/frame_rate, got {frame_rate!r}; "
                'give the decay, or decay="estimate"'
            )
        return 1 - 1 / frame_rate
    if isinstance(decay, str) and decay == "estimate":
        return None
    if isinstance(decay, Real) and not isinstance(decay, bool) and 0 <= float(decay) < 1:
        return float(decay)
    raise ValueError(
        f'decay must be None, "estimate" or a number at least 0 and below 1, got {decay!r}'
    )


def estimate_decay(Y: np.ndarray) -> float:
    """γ from the autocovariance of the 2000 most active signals.

    That at lag l ≥ 1 is proportional to γ^l and does not depend on white noise. γ is the regression
    coefficient of each lag on the lag before, for lags 1 to 5. Shapes: ``Y`` (n_frames, n_signals).
    """
    frames = len(Y)
    square = Y.mean(axis=0, dtype=np.float64) ** 2
    covariances = np.array(
        [
            np.einsum("ij,ij->j", Y[: frames - lag], Y[lag:]) / (frames - lag) - square
            for lag in range(1, min(5, frames - 2) + 1)
        ]
    )
    # chosen by the sum over all lags, so that the choice does not favour any lag
    active = np.argsort(covariances.sum(axis=0))[-2000:]
    covariance = covariances[:, active].sum(axis=1)
    before, after = covariance[:-1], covariance[1:]
    energy = float(before @ before)
    return float(np.clip(before @ after / energy, 0.0, _LARGEST_DECAY)) if energy > 0 else 0.0


def extract_traces(
    movie: Movie,
    footprints: csr_array,
    weights: np.ndarray,
    background: Background | None,
    baseline: tuple[np.ndarray, np.ndarray],
    progress: Callable[[float], None],
) -> np.ndarray:
    """The trace of each neuron without the others, with noise, from one reading of a movie.

    ``weights``: inverse variances of the pixels. ``baseline``: its knots and levels there.
    """
    weighted = csr_array(footprints.multiply(weights[None, :]))
    knots, levels = baseline
    overlap = (weighted @ footprints.T).toarray()
    rest = weighted @ levels.T
    if background is None:
        seen = weighted_sums(movie, weighted, progress)
    else:
        means = csr_array(kron(*background.means()))
        sums = weighted_sums(movie, csr_array(vstack([weighted, means])), progress)
        seen, cells = sums[: len(overlap)], sums[len(overlap) :]
        spread = csr_array(weighted.multiply(background.gain.ravel()[None, :]))
        spread = spread @ kron(*background.interpolation())
        sides = [matrix.shape[0] for matrix in background.means()]

        def wide(values: np.ndarray) -> np.ndarray:
            """What the background takes from the inner products, if these are its cells."""
            smooth = background.smoothed(values.reshape(*sides, -1).astype(np.float32))
            return np.asarray(spread @ smooth.reshape(len(values), -1))

        seen -= wide(cells)
        overlap -= wide((means @ footprints.T).toarray())
        rest -= wide(means @ levels.T)
    return _separated(seen - interpolated(rest.T, knots, movie.shape[0]).T, overlap)


def _separated(seen: np.ndarray, overlap: np.ndarray) -> np.ndarray:
    """Traces with noise, at least 0 where neurons overlap, from the inner products."""
    size = np.diag(overlap)[:, None]
    seen = seen - np.median(seen, axis=1, keepdims=True)
    traces = np.maximum(seen / size, 0)
    near = [np.flatnonzero(row) for row in overlap]
    for _ in range(3):  # further passes change nothing
        for n, others in enumerate(near):
            rest = seen[n] - overlap[n, others] @ traces[others]
            traces[n] = np.maximum(traces[n] + rest / size[n], 0)
    targets = traces + (seen - overlap @ traces) / size
    return np.asarray(targets - np.median(targets, axis=1, keepdims=True))


def weighted_sums(
    movie: Movie, weights: csr_array, progress: Callable[[float], None]
) -> np.ndarray:
    """Sums over the pixels of every frame, weighted; of shape (n_rows_of_weights, n_frames)."""
    frames, height, width = movie.shape
    sums = np.zeros((weights.shape[0], frames), dtype=np.float32)
    columns = csr_array(weights.T.astype(np.float32))
    needed = np.diff(columns.indptr).reshape(height, width).any(axis=1)
    for first, block in movie.blocks(needed):
        progress(first / height)
        part = columns[first * width : (first + block.shape[1]) * width]
        near = np.unique(part.indices)
        sums[near] += (block.reshape(frames, -1) @ part[:, near].toarray()).T
    return sums


def spikes_of(targets: np.ndarray, decay: float, frames: np.ndarray | None) -> np.ndarray:
    """Spikes of traces. ``frames``: those that may have any; None to choose them."""
    if frames is None:
        return deconvolve(targets, decay, penalty=_PENALTY)
    segments = Segments(frames, decay, targets.shape[1])
    return np.array([segments.increments(target) for target in targets], dtype=np.float32)
