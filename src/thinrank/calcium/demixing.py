"""Footprints and traces that overlap, told apart: a factorisation with both non-negative."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from thinrank.calcium.segments import Segments

__all__ = ["Components", "demix", "rising_levels"]


@dataclass(frozen=True)
class Components:
    """N neurons, by footprints and by levels in the orthonormal coordinates of segments.

    Attributes
    ----------
    footprints : ndarray of shape (N, m)
        At least 0.
    traces : ndarray of shape (|S|, N)
        Level at the beginning of each segment, times the root of the segment's energy.
    masks : boolean ndarray of shape (N, m)
        Where each footprint may differ from zero.
    """

    footprints: np.ndarray
    traces: np.ndarray
    masks: np.ndarray

    def take(self, index: np.ndarray) -> Components:
        """Some of the neurons."""
        return Components(self.footprints[index], self.traces[:, index], self.masks[index])


def demix(W: np.ndarray, start: Components, segments: Segments, rounds: int) -> Components:
    """Minimise ‖W − traces @ footprints‖² with footprints ≥ 0, spikes ≥ 0, by turns.

    Parameters
    ----------
    W : ndarray of shape (|S|, m)
        The movie projected on the segments.
    start : Components
        Its footprints; its traces are found first.
    segments : Segments
    rounds : int
        Passes over all traces and all footprints.
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
    """The nearest trace whose every spike is at least 0; both in the coordinates of segments.

    A level may not be below what is left of the one before. Segments that violate this decay
    together, as pools do in isotonic regression: exact in one pass, as in Friedrich, Zhou &
    Paninski (2017) for frames.
    """
    roots = np.sqrt(segments.energies)
    starts = segments.frames.tolist()
    pools: list[tuple[float, float, int]] = []  # level, weight and first segment of each
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
