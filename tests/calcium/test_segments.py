"""Exact segmentation against exhaustive search, and non-negative spikes against another solver."""

from itertools import combinations

import numpy as np
import pytest
from scipy.optimize import nnls

from thinrank.calcium.demixing import rising_levels
from thinrank.calcium.segments import Segments, best_frames, segment_gains
from thinrank.designs import RecursiveFilter


def explained(Z, frames, decay):
    """By least squares on the columns of X."""
    if not len(frames):
        return 0.0
    X = RecursiveFilter(decay, len(Z)).columns(np.array(frames))
    coefficients, *_ = np.linalg.lstsq(X, Z, rcond=None)
    return float(np.sum((X @ coefficients) ** 2))


@pytest.mark.parametrize("decay", [0.0, 0.4, 0.9])
def test_gains_are_what_segments_explain(decay, rng):
    Z = rng.standard_normal((9, 3))
    gains = segment_gains(Z, decay)
    for frames in ([0], [4], [2, 3], [0, 5, 8]):
        segments = Segments(np.array(frames), decay, 9)
        basis = segments.basis(np.float64).toarray()
        np.testing.assert_allclose(basis @ basis.T, np.eye(len(frames)), atol=1e-12)
        assert np.sum((basis @ Z) ** 2) == pytest.approx(explained(Z, frames, decay))
        if decay == 0.9:  # nothing has faded after nine frames
            ends = [*frames[1:], 9]
            total = sum(gains[b - 1, b - 1 - a] for a, b in zip(frames, ends, strict=True))
            assert total == pytest.approx(explained(Z, frames, decay))


@pytest.mark.parametrize("decay", [0.0, 0.3, 0.9])
@pytest.mark.parametrize("penalty", [0.5, 3.0, 8.0, 1e3])
def test_the_best_frames_at_a_penalty_against_all_sets(decay, penalty, rng):
    Z = rng.standard_normal((8, 2))
    found = best_frames(segment_gains(Z, decay), None, penalty)
    best = max(
        explained(Z, frames, decay) - penalty * size
        for size in range(9)
        for frames in combinations(range(8), size)
    )
    assert explained(Z, found, decay) - penalty * len(found) == pytest.approx(best, abs=1e-6)


def test_the_best_frames_of_a_number(rng):
    Z = rng.standard_normal((10, 2))
    gains = segment_gains(Z, 0.8)
    for count in range(1, 11):
        found = best_frames(gains, count, 0.0)
        assert len(found) <= count
        best = max(explained(Z, frames, 0.8) for frames in combinations(range(10), len(found)))
        assert explained(Z, found, 0.8) == pytest.approx(best)


def test_long_silence_costs_nothing():
    Z = np.zeros((400, 1))
    Z[20:, 0] = 0.5 ** np.arange(380)
    np.testing.assert_array_equal(best_frames(segment_gains(Z, 0.5), None, 0.1), [20])
    assert len(best_frames(segment_gains(np.zeros((50, 2)), 0.5), None, 0.1)) == 0


@pytest.mark.parametrize("decay", [0.3, 0.9])
def test_levels_with_non_negative_spikes_against_nnls(decay, rng):
    segments = Segments(np.array([0, 1, 2, 5, 9, 10, 15]), decay, 20)
    basis = segments.basis(np.float64).toarray()
    X = RecursiveFilter(decay, 20).columns(segments.frames)
    for _ in range(20):
        trace = rng.standard_normal(20) + 0.3
        spikes, _ = nnls(X, trace)
        ours = basis.T @ rising_levels(basis @ trace, segments)
        np.testing.assert_allclose(ours, X @ spikes, atol=1e-8)


def test_spikes_and_levels_are_one_another():
    segments = Segments(np.array([1, 4, 6]), 0.5, 9)
    spikes = np.array([[1.0], [2.0], [0.5]])
    trace = RecursiveFilter(0.5, 9).columns(segments.frames) @ spikes
    np.testing.assert_allclose(segments.spikes(trace[segments.frames]), spikes)
