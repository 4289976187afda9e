"""Neurons in the units of the movie, computed from Θ."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from scipy.sparse import csr_array

from thinrank.calcium.regions import label_image, region_of
from thinrank.calcium.segments import Segments
from thinrank.calcium.separation import Separation
from thinrank.core.factors import Factors
from thinrank.designs import RecursiveFilter


@dataclass(frozen=True)
class Neurons:
    """The neurons of a movie."""

    # (n_neurons, height * width) brightness of each pixel, 1 at the brightest one
    footprints: csr_array
    spikes: np.ndarray  # (n_neurons, n_frames) increase of the fluorescence by spikes
    traces: np.ndarray  # (n_neurons, n_frames) the filtered spikes: fluorescence above the baseline
    regions: list[np.ndarray]  # (n_pixels, 2) rows and columns of the pixels of each neuron
    labels: np.ndarray  # (height, width) 0, or 1 plus the index of the neuron


def find_neurons(
    theta: Factors,
    decay: float,
    scale: np.ndarray,
    shape: tuple[int, int, int],
    radius: float,
    threshold: float,
) -> Neurons:
    """Split XΘ into neurons.

    Shapes: ``scale`` (height * width,).
    """
    frames, height, width = shape
    rows, pixels = theta.row_support, theta.column_support
    design = RecursiveFilter(decay, frames, np.float32)
    segments = Segments(rows, decay, frames)
    split = Separation((height, width), radius).split(
        (design @ theta.U)[rows], theta.V[pixels], pixels, segments
    )
    A = split.footprints * scale[pixels]
    peaks = A.max(axis=1, initial=0.0)  # scaled to 1 in the units of the movie
    levels = split.traces / np.sqrt(segments.energies)[:, None] * peaks
    spikes = np.zeros((len(A), frames), dtype=np.float32)
    spikes[:, rows] = np.maximum(segments.spikes(levels), 0).T
    footprints = _spread(A / peaks[:, None], pixels, height * width)
    return _neurons(footprints, spikes, decay, (height, width), threshold)


def as_neurons(
    footprints: csr_array,
    spikes: np.ndarray,
    decay: float,
    shape: tuple[int, int],
    threshold: float,
) -> Neurons:
    """Neurons from footprints and spikes; those that explain the most come first.

    Shapes: ``footprints`` (n_neurons, height * width), ``spikes`` (n_neurons, n_frames).
    """
    design = RecursiveFilter(decay, spikes.shape[1], np.float32)
    traces = design @ np.ascontiguousarray(spikes.T, dtype=np.float32)
    energy = footprints.multiply(footprints).sum(axis=1) * (traces**2).sum(axis=0)
    order = np.argsort(-energy, kind="stable")
    order = order[energy[order] > 0]
    chosen = spikes[order].astype(np.float32)
    return _neurons(csr_array(footprints[order]), chosen, decay, shape, threshold)


def _neurons(
    footprints: csr_array,
    spikes: np.ndarray,
    decay: float,
    shape: tuple[int, int],
    threshold: float,
) -> Neurons:
    """Traces and regions of known footprints and spikes."""
    design = RecursiveFilter(decay, spikes.shape[1], np.float32)
    traces = np.ascontiguousarray((design @ np.ascontiguousarray(spikes.T)).T)
    images = [row.reshape(shape) for row in _rows(footprints)]
    regions = [region_of(image, threshold) for image in images]
    labels = label_image(images, regions, shape)
    return Neurons(footprints, spikes, traces, regions, labels)


def _spread(rows: np.ndarray, pixels: np.ndarray, size: int) -> csr_array:
    """Values at some pixels as sparse rows over all pixels."""
    neuron, place = np.nonzero(rows)
    values = rows[neuron, place].astype(np.float32)
    return csr_array((values, (neuron, pixels[place])), shape=(len(rows), size))


def _rows(matrix: csr_array) -> Iterator[np.ndarray]:
    for first, last in pairwise(matrix.indptr):
        row = np.zeros(matrix.shape[1], dtype=matrix.dtype)
        row[matrix.indices[first:last]] = matrix.data[first:last]
        yield row
