"""Deconvolution against non-negative least squares."""

import numpy as np
import pytest
from scipy.optimize import nnls
from scipy.signal import lfilter

from thinrank.calcium import nonnegative_deconvolution as module
from thinrank.calcium.nonnegative_deconvolution import deconvolve


def noisy(rng, frames, decay):
    spikes = 4.0 * (rng.random((2, frames)) < 0.05)
    return lfilter([1.0], [1.0, -decay], spikes, axis=1) + rng.standard_normal((2, frames))


@pytest.mark.parametrize("decay", [0.3, 0.9, 0.99])
def test_the_same_as_non_negative_least_squares(rng, decay):
    values = noisy(rng, 120, decay)
    lags = np.subtract.outer(np.arange(120), np.arange(120))
    design = np.where(lags >= 0, decay ** np.maximum(lags, 0), 0.0)
    expected = np.stack([nnls(design, trace)[0] for trace in values])
    np.testing.assert_allclose(deconvolve(values, decay), expected, atol=1e-5)


def test_stretches_make_no_difference(rng, monkeypatch):
    values = noisy(rng, 900, 0.8)
    monkeypatch.setattr(module, "_SPAN", 1e-18)  # 92 frames of influence instead of 309
    short = deconvolve(values, 0.8)
    monkeypatch.setattr(module, "_SPAN", 1e-150)  # one stretch
    np.testing.assert_allclose(short, deconvolve(values, 0.8), atol=1e-6)


def test_without_decay_and_without_neurons():
    assert deconvolve([[-1, 2]], 0.0).tolist() == [[0, 2]]
    assert deconvolve(np.zeros((0, 7)), 0.9).shape == (0, 7)


@pytest.mark.parametrize(
    ("values", "decay", "fault"),
    [
        ([[1.0, 2.0]], 1.0, "decay must be"),
        ([[1.0, 2.0]], "fast", "decay must be"),
        ([1.0, 2.0], 0.9, r"values must have the shape .* got shape \(2,\)"),
        ([[1.0, np.nan]], 0.9, "NaN"),
    ],
)
def test_bad_input(values, decay, fault):
    with pytest.raises(ValueError, match=fault):
        deconvolve(values, decay)
