"""The exact choice of spike frames, against a search without shortcuts."""

import numpy as np
import pytest
from scipy.signal import lfilter

from thinrank.calcium.deconvolution import exact_spikes, trace_noise


def chosen(trace, decay, penalty):
    """First frames of the best segments, from all pairs of first and last frames."""
    total = len(trace)
    best, begins = [0.0], []
    for last in range(total):
        options = [(best[last], None)]
        for first in range(last + 1):
            shape = decay ** np.arange(last - first + 1)
            height = max(float(shape @ trace[first : last + 1]), 0.0)
            options.append((best[first] + height**2 / float(shape @ shape) - penalty, first))
        value, begin = max(options, key=lambda option: option[0])
        best.append(value)
        begins.append(begin)
    frames, end = [], total
    while end > 0:
        begin = begins[end - 1]
        if begin is not None:
            frames.append(begin)
        end = end - 1 if begin is None else begin
    return frames[::-1]


@pytest.mark.parametrize("decay", [0.2, 0.5, 0.8])
def test_spike_frames_are_the_best_ones(decay, rng):
    # segments of all lengths, also far longer than what is left of a spike at 1 %
    jumps = (rng.random((12, 120)) < 0.05) * rng.uniform(0.5, 3, (12, 120))
    traces = lfilter([1], [1, -decay], jumps, axis=1) + 0.2 * rng.standard_normal((12, 120))
    spikes, denoised = exact_spikes(traces, decay)
    assert np.allclose(lfilter([1], [1, -decay], spikes, axis=1), denoised, atol=0.02)
    found = 0
    for trace, own in zip(traces, spikes, strict=True):
        penalty = 2 * np.log(120) * float(trace_noise(trace)) ** 2
        expected = chosen(trace, decay, penalty)
        # a spike that would be negative is set to 0 afterwards
        assert set(np.flatnonzero(own)) <= set(expected)
        assert len(np.flatnonzero(own)) >= len(expected) - 1
        found += len(expected)
    assert found > 24


def test_a_trace_without_light_has_no_spikes():
    spikes, denoised = exact_spikes(np.zeros((2, 30)), 0.9)
    assert not spikes.any()
    assert not denoised.any()
