"""Deconvolution: against non-negative least squares, and against a search without shortcuts."""

from itertools import combinations

import numpy as np
import pytest
from scipy.optimize import nnls
from scipy.signal import lfilter

from thinrank.calcium import deconvolve
from thinrank.calcium.deconvolution import best_frames
from thinrank.designs import RecursiveFilter


@pytest.mark.parametrize("decay", [0.3, 0.99])
@pytest.mark.parametrize("frames", [120, 700])
def test_the_same_as_non_negative_least_squares(rng, decay, frames):
    spikes = 4.0 * (rng.random(frames) < 0.05)
    trace = lfilter([1.0], [1.0, -decay], spikes) + rng.standard_normal(frames)
    lags = np.subtract.outer(np.arange(frames), np.arange(frames))
    design = np.where(lags >= 0, decay ** np.maximum(lags, 0), 0.0)
    expected = nnls(design, trace)[0]
    np.testing.assert_allclose(deconvolve(trace[None], decay)[0], expected, atol=1e-5)


def test_without_decay_and_without_neurons():
    assert deconvolve([[-1, 2]], 0.0).tolist() == [[0, 2]]
    assert deconvolve(np.zeros((0, 7)), 0.9).shape == (0, 7)


@pytest.mark.parametrize(
    ("values", "decay", "fault"),
    [
        ([[1.0, 2.0]], 1.0, "decay must be"),
        ([1.0, 2.0], 0.9, r"values must have the shape .* got shape \(2,\)"),
        ([[1.0, np.nan]], 0.9, "NaN"),
    ],
)
def test_bad_input(values, decay, fault):
    with pytest.raises(ValueError, match=fault):
        deconvolve(values, decay)


def test_spikes_that_are_known_are_found(rng):
    spikes = np.zeros((2, 300))
    spikes[0, [20, 90, 95, 200]] = 3.0
    spikes[1, [0, 150]] = 5.0
    clean = lfilter([1.0], [1.0, -0.9], spikes, axis=1)
    traces = clean + 0.2 * rng.standard_normal(clean.shape)
    found = deconvolve(traces, 0.9, penalty=2)
    for true, estimated in zip(spikes, found, strict=True):
        np.testing.assert_array_equal(np.flatnonzero(estimated), np.flatnonzero(true))
    np.testing.assert_allclose(found[spikes > 0], spikes[spikes > 0], atol=0.5)


def explained(Z, frames, decay):
    """What spikes of all pixels in these frames explain, by least squares."""
    if not len(frames):
        return 0.0
    X = RecursiveFilter(decay, len(Z)).columns(np.array(frames))
    coefficients, *_ = np.linalg.lstsq(X, Z, rcond=None)
    return float(np.sum((X @ coefficients) ** 2))


@pytest.mark.parametrize("decay", [0.0, 0.9])
@pytest.mark.parametrize("penalty", [0.5, 8.0])
def test_the_best_common_frames_against_all_sets(decay, penalty, rng):
    Z = rng.standard_normal((8, 2))
    found = best_frames(Z[:, None], decay, np.array([penalty]), gaps=False)[0]
    best = max(
        explained(Z, frames, decay) - penalty * size
        for size in range(9)
        for frames in combinations(range(8), size)
    )
    assert explained(Z, found, decay) - penalty * len(found) == pytest.approx(best, abs=1e-4)
