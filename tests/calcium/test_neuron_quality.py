"""Neurons and what is none have different quality."""

import numpy as np
import pytest
from scipy.signal import lfilter

from thinrank.calcium import Fluorescence
from thinrank.calcium.fluorescence import measure_quality, neuropil_shares


@pytest.fixture
def activity(rng):
    return lfilter([1.0], [1.0, -0.9], rng.random((1, 2000)) < 0.02, axis=1)


def quality(trace, raw, neuropil):
    level = np.zeros_like(raw)
    light = Fluorescence(raw, neuropil, level, level, neuropil_shares(raw, neuropil))
    return measure_quality(trace, light, [(0.9, "too small")])


def test_height_and_correlation_of_a_neuron(rng, activity):
    background = 3 * lfilter([1.0], [1.0, -0.99], rng.standard_normal((1, 2000)), axis=1)
    noise = rng.standard_normal((1, 2000))
    measured = quality(activity, 50 + 5 * activity + 0.8 * background + noise, background)
    assert measured.snr[0] == pytest.approx(5 * activity.max(), rel=0.15)
    expected = np.corrcoef(activity[0], (5 * activity + noise)[0])[0, 1]
    assert measured.correlation[0] == pytest.approx(expected, abs=0.05)
    assert measured.score[0] > 0.5


@pytest.mark.parametrize("gain", [0.5, 1.5])
def test_a_pixel_with_another_gain_of_the_background_is_no_neuron(rng, activity, gain):
    """The background minus itself with gain 1 is a trace, with either sign, but no neuron."""
    raw = 50 + gain * 10 * activity + rng.standard_normal((1, 2000))
    trace = np.maximum((gain - 1) * (activity - np.median(activity)), 0)
    measured = quality(trace, raw, 10 * activity + 0.1 * rng.standard_normal((1, 2000)))
    assert abs(measured.correlation[0]) < 0.1
    assert measured.score[0] < 0.5
    assert measured.fault[0] in ("unlike its light", "too faint")


def test_light_that_is_dark_where_the_trace_is_high_and_no_light(rng, activity):
    raw = 50 - 5 * activity + rng.standard_normal((1, 2000))
    measured = quality(activity, raw, np.zeros_like(raw))
    assert measured.snr[0] < -5
    assert measured.correlation[0] < -0.5
    assert measured.score[0] == 0
    measured = quality(0 * activity, activity, activity)
    assert measured.snr.tolist() == measured.correlation.tolist() == [0]
