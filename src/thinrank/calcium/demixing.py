"""Separation of overlapping neurons by non-negative matrix factorization."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from thinrank.calcium.segments import Segments


@dataclass(frozen=True)
class Components:
    """Footprints and traces of neurons; traces in the orthonormal coordinates of segments."""

    footprints: np.ndarray  # (n_neurons, n_pixels) at least 0
    # (n_segments, n_neurons) level at the beginning of each segment, times the square root of the
    # segment's energy
    traces: np.ndarray
    masks: np.ndarray  # (n_neurons, n_pixels) where each footprint may differ from zero

    def take(self, index: np.ndarray) -> Components:
        """The neurons with the given indices."""
        return Components(self.footprints[index], self.traces[:, index], self.masks[index])


def demix(W: np.ndarray, start: Components, segments: Segments, rounds: int) -> Components:
    """Minimise ‖W − traces @ footprints‖² with footprints ≥ 0 and spikes ≥ 0.

    Traces and footprints are updated alternately, one neuron at a time.

    Shapes: ``W`` (n_segments, n_pixels).
    """
    A, C = start.footprints.copy(), start.traces.copy()
    for _ in range(rounds):
        overlap, seen = A @ A.T, W @ A.T
        for n in range(len(A)):
            if overlap[n, n] > 0:
                target = C[:, n] + (seen[:, n] - C @ overlap[:, n]) / overlap[n, n]
                C[:, n] = rising_levels(target, segments)
        overlap, seen = C.T @ C, C.T @ W
        for n in range(len(A)):
            if overlap[n, n] > 0:
                A[n] += (seen[n] - overlap[n] @ A) / overlap[n, n]
                np.maximum(A[n], 0, out=A[n])
                A[n] *= start.masks[n]
            else:
                A[n] = 0
    return Components(A, C, start.masks)


def rising_levels(target: np.ndarray, segments: Segments) -> np.ndarray:
    """The trace nearest to a target among those whose spikes are all at least 0.

    A level must not be below what is left of the level before. Consecutive segments that violate
    this are pooled, as in isotonic regression; one pass gives the exact solution. Friedrich, Zhou &
    Paninski (2017) use the same algorithm with frames in place of segments.

    Shapes: result (n_segments,).
    """
    roots = np.sqrt(segments.energies)
    starts = segments.frames.tolist()
    pools: list[tuple[float, float, int]] = []  # level, weight and first segment of each pool
    for i, (value, root) in enumerate(zip(target.tolist(), roots.tolist(), strict=True)):
        level, weight, first = value / root, root * root, i
        while pools:
            before, mass, earlier = pools[-1]
            left = segments.decay ** (starts[first] - starts[earlier])
            if level >= left * before:
                break
            pools.pop()
            total = mass + left * left * weight
            level, weight, first = (mass * before + left * weight * level) / total, total, earlier
        pools.append((level, weight, first))
    levels = np.empty(len(starts))
    ends = [pool[2] for pool in pools[1:]] + [len(starts)]
    for (level, _, first), end in zip(pools, ends, strict=True):
        since = segments.frames[first:end] - starts[first]
        levels[first:end] = max(level, 0.0) * segments.decay**since
    return levels * roots
