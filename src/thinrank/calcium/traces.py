"""Traces and spikes of known footprints in every frame of a movie."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from thinrank.calcium.deconvolution import exact_spikes
from thinrank.calcium.local_background import LocalBackground
from thinrank.calcium.movie import Movie
from thinrank.calcium.preprocessing import interpolated
from thinrank.calcium.stages import StageProgress

# Passes over all neurons with traces at least 0, and with spikes at least 0. Rules of thumb.
_PASSES, _SPIKE_PASSES = 10, 2


@dataclass(frozen=True)
class FrameTraces:
    """What the movie says about each neuron in each frame."""

    # (n_neurons, n_frames) inner products of the footprints and the frames, without baseline and
    # background
    seen: np.ndarray
    # (n_neurons, n_neurons) the same inner products for the footprints themselves
    overlap: np.ndarray

    def targets(self) -> np.ndarray:
        """Traces with noise, at least 0 where neurons overlap; of shape (n_neurons, n_frames)."""
        return self.without_others(self.separated(lambda _: None))

    def without_others(self, traces: np.ndarray) -> np.ndarray:
        """What the movie shows of each neuron if the other traces are right; medians are 0."""
        size = np.diag(self.overlap)[:, None]
        targets = traces + (self.seen - self.overlap @ traces) / size
        return np.asarray(targets - np.median(targets, axis=1, keepdims=True))

    def separated(self, progress: StageProgress) -> np.ndarray:
        """Traces at least 0, one neuron after another until they hardly change."""
        size = np.diag(self.overlap)
        seen = self.seen - np.median(self.seen, axis=1, keepdims=True)
        traces = np.maximum(seen / size[:, None], 0)
        near = [np.flatnonzero(row) for row in self.overlap]
        for turn in range(_PASSES):
            progress(turn / _PASSES)
            for n, others in enumerate(near):
                rest = seen[n] - self.overlap[n, others] @ traces[others]
                traces[n] = np.maximum(traces[n] + rest / size[n], 0)
        return traces


def extract_targets(
    movie: Movie,
    footprints: csr_array,
    weights: np.ndarray,
    background: LocalBackground | None,
    baseline: tuple[np.ndarray, np.ndarray],
    progress: StageProgress,
) -> FrameTraces:
    """Read a movie once and collect the inner products of its frames with the footprints.

    Shapes: ``footprints`` (n_neurons, height * width), ``weights`` (height * width,),
    ``baseline`` (n_knots,).
    """
    frames, height, width = movie.shape
    weighted = csr_array(footprints.multiply(weights[None, :]))
    seen = np.zeros((frames, footprints.shape[0]))
    cell = 1 if background is None else background.grid.cell
    wide = None if background is None else np.empty((*background.grid.cells, frames), np.float32)
    by_pixel = csr_array(weighted.T.astype(np.float32))
    for first, block in movie.blocks(cell):
        progress(first / height)
        flat = block.reshape(frames, -1)
        here = by_pixel[first * width : first * width + flat.shape[1]]
        near = np.unique(here.indices)
        seen[:, near] += flat @ here[:, near].toarray()
        if background is not None and wide is not None:
            means = background.grid.means(np.moveaxis(block, 0, 2), first)
            wide[first // cell : first // cell + len(means)] = means
    knots, levels = baseline
    overlap = (weighted @ footprints.T).toarray()
    rest = (weighted @ levels.T).T
    if background is not None and wide is not None:
        grid = background.grid
        spread = csr_array(weighted.multiply(background.gain.ravel()[None, :]))
        spread = spread @ grid.interpolation()
        seen -= (spread @ grid.smoothed(wide).reshape(-1, frames)).T
        own = np.stack(
            [grid.means(row.toarray().reshape(height, width)) for row in _rows(footprints)], axis=2
        )
        overlap -= spread @ grid.smoothed(own).reshape(-1, footprints.shape[0])
        flat_levels = levels.reshape(-1, height, width).transpose(1, 2, 0)
        rest -= (spread @ grid.smoothed(grid.means(flat_levels)).reshape(-1, len(knots))).T
    seen -= interpolated(rest, knots, frames)
    return FrameTraces(np.ascontiguousarray(seen.T), overlap)


def _rows(matrix: csr_array) -> list[csr_array]:
    return [matrix[[n]] for n in range(matrix.shape[0])]


def spikes_of(traces: FrameTraces, decay: float, progress: StageProgress) -> np.ndarray:
    """Separate the traces of overlapping neurons and find their spikes.

    Shapes: result (n_neurons, n_frames).
    """
    clean = traces.separated(lambda share: progress(share / 2))
    spikes = np.zeros_like(clean)
    for turn in range(_SPIKE_PASSES):
        progress((1 + turn / _SPIKE_PASSES) / 2)
        spikes, clean = exact_spikes(traces.without_others(clean), decay)
    return spikes
