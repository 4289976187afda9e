"""Traces and spikes of known footprints in every frame of a movie."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from thinrank.calcium.deconvolution import deconvolve
from thinrank.calcium.local_background import LocalBackground
from thinrank.calcium.movie import Movie
from thinrank.calcium.stages import StageProgress

__all__ = ["FrameTraces", "extract_targets", "spikes_of"]

# Number of entries that are read at a time: 16 MiB in single precision.
_BLOCK_ENTRIES = 1 << 22
# Passes over all neurons with traces at least 0, and with spikes at least 0. Rules of thumb.
_PASSES, _SPIKE_PASSES = 10, 2


@dataclass(frozen=True)
class FrameTraces:
    """What the movie says about each neuron in each frame.

    Attributes
    ----------
    seen : ndarray of shape (n_neurons, n_frames)
        Inner products of the footprints and the frames without background.
    overlap : ndarray of shape (n_neurons, n_neurons)
        The same inner products for the footprints themselves.
    """

    seen: np.ndarray
    overlap: np.ndarray


def extract_targets(
    movie: Movie,
    footprints: csr_array,
    weights: np.ndarray,
    background: LocalBackground | None,
    progress: StageProgress,
) -> FrameTraces:
    """Read a movie once and collect the inner products of its frames with the footprints.

    Parameters
    ----------
    movie : Movie
    footprints : csr_array of shape (n_neurons, height * width)
        In the units of the movie.
    weights : ndarray of shape (height * width,)
        Weight of each pixel, the inverse of the variance of its noise.
    background : LocalBackground or None
        Its time course is computed from the frames; what the footprints add to it is accounted for
        in ``overlap``.
    progress : callable
        Called with the fraction of the work that is done.

    Returns
    -------
    FrameTraces
    """
    frames, height, width = movie.shape
    weighted = csr_array(footprints * weights[None, :])
    seen = np.zeros((frames, footprints.shape[0]))
    cell = 1 if background is None else background.grid.cell
    wide = None if background is None else np.empty((*background.grid.cells, frames), np.float32)
    lines = cell * max(_BLOCK_ENTRIES // (frames * width * cell), 1)
    by_pixel = csr_array(weighted.T.astype(np.float32))
    for first in range(0, height, lines):
        progress(first / height)
        block = movie.lines(first, min(first + lines, height))
        flat = block.reshape(frames, -1)
        here = by_pixel[first * width : first * width + flat.shape[1]]
        used = np.flatnonzero(np.diff(here.indptr))
        seen += flat[:, used] @ here[used].toarray()
        if background is not None and wide is not None:
            means = background.grid.means(np.moveaxis(block, 0, 2), first)
            wide[first // cell : first // cell + len(means)] = means
    overlap = (weighted @ footprints.T).toarray()
    if background is not None and wide is not None:
        grid = background.grid
        spread = csr_array(weighted * background.gain.ravel()[None, :]) @ grid.interpolation()
        smooth = grid.smoothed(wide).reshape(-1, frames)
        seen -= (spread @ smooth).T
        own = np.stack(
            [grid.means(image.toarray().reshape(height, width)) for image in footprints], axis=2
        )
        overlap -= spread @ grid.smoothed(own).reshape(-1, footprints.shape[0])
    return FrameTraces(np.ascontiguousarray(seen.T), overlap)


def spikes_of(
    traces: FrameTraces, decay: float, progress: StageProgress
) -> tuple[np.ndarray, np.ndarray]:
    """Separate the traces of overlapping neurons and find their spikes.

    Parameters
    ----------
    traces : FrameTraces
    decay : float
        γ, the fraction of the fluorescence that is left after one frame.
    progress : callable
        Called with the fraction of the work that is done.

    Returns
    -------
    spikes, denoised : ndarray of shape (n_neurons, n_frames)
        At least 0.
    """
    size = np.diag(traces.overlap).copy()
    seen = traces.seen - np.median(traces.seen, axis=1, keepdims=True)
    C = np.maximum(seen / size[:, None], 0)
    for turn in range(_PASSES):
        for n in range(len(C)):
            C[n] = np.maximum(_target(traces.overlap, size, seen, C, n), 0)
        progress((turn + 1) / (_PASSES + _SPIKE_PASSES))
    spikes = np.zeros_like(C)
    for turn in range(_SPIKE_PASSES):
        targets = np.stack([_target(traces.overlap, size, seen, C, n) for n in range(len(C))])
        spikes, C = deconvolve(targets, decay)
        progress((_PASSES + turn + 1) / (_PASSES + _SPIKE_PASSES))
    return spikes, C


def _target(
    overlap: np.ndarray, size: np.ndarray, seen: np.ndarray, C: np.ndarray, n: int
) -> np.ndarray:
    """What the movie shows of a neuron if all other traces are right; its median is 0."""
    target = C[n] + (seen[n] - overlap[n] @ C) / size[n]
    return np.asarray(target - np.median(target))
