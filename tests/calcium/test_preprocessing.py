"""Frames become pixels of unit noise about zero, however they are read."""

import numpy as np
import pytest
from scipy.ndimage import gaussian_filter
from scipy.signal import lfilter

from thinrank.calcium import preprocessing
from thinrank.calcium.decay import estimate_decay, resolve_decay
from thinrank.calcium.movie import Movie
from thinrank.calcium.preprocessing import Preprocessing, interpolated


def settings(**changes):
    usual = {
        "baseline": "median",
        "percentile": 20.0,
        "window": 20,
        "smoothing": 0.0,
        "background": 0.0,
        "floor": np.inf,
        "noise_scaling": True,
        "most_pixels": 10**6,
    }
    return Preprocessing(**(usual | changes))


def prepared(movie, **changes):
    return settings(**changes).prepare(Movie(movie, "movie"), 0.8, lambda part: None)


@pytest.fixture
def movie(rng):
    scale = rng.uniform(1, 5, (11, 8))
    return (100 + scale * rng.standard_normal((300, 11, 8))).astype(np.float32)


def test_median_and_noise(movie):
    out = prepared(movie)
    flat = movie.reshape(300, -1)
    np.testing.assert_allclose(out.baseline[0], np.median(flat, axis=0), rtol=1e-6)
    np.testing.assert_allclose(out.scale, flat.std(axis=0), rtol=0.2)
    np.testing.assert_allclose(out.Y * out.scale + out.baseline, flat, rtol=1e-5)
    np.testing.assert_allclose(out.mean_image, movie.mean(axis=0), rtol=1e-5)
    one = prepared(movie, noise_scaling=False)
    assert len(np.unique(one.scale)) == 1
    np.testing.assert_allclose(one.Y * one.scale + one.baseline, flat, rtol=1e-5)


@pytest.mark.parametrize("smoothing", [0.0, 0.7, 2.0])
def test_blocks_of_lines_make_no_difference(movie, smoothing, monkeypatch):
    whole = prepared(movie, smoothing=smoothing)
    monkeypatch.setattr(preprocessing, "_BLOCK_ENTRIES", 1)
    parts = prepared(movie, smoothing=smoothing)
    np.testing.assert_allclose(parts.Y, whole.Y, atol=1e-4)
    np.testing.assert_allclose(parts.mean_image, whole.mean_image)
    if smoothing:
        smooth = gaussian_filter(movie, (0, smoothing, smoothing), mode="nearest", truncate=3.0)
        smooth = smooth.reshape(300, -1)
        np.testing.assert_allclose(whole.Y * whole.scale + whole.baseline, smooth, rtol=1e-4)


def test_large_frames_keep_their_most_active_pixels(movie):
    active = [3, 40, 41]
    flat = movie.reshape(300, -1)
    flat[:, active] += lfilter([30.0], [1, -0.8], np.arange(300) % 60 == 7)[:, None]
    few = prepared(flat.reshape(movie.shape), most_pixels=10)
    assert set(active) <= set(few.pixels.tolist())
    assert len(few.pixels) == 10
    whole = prepared(movie)
    np.testing.assert_allclose(few.Y, whole.Y[:, few.pixels], atol=1e-5)


def test_running_percentile_follows_a_drift(movie):
    drift = np.linspace(0, 400, 300, dtype=np.float32)[:, None, None]
    still, moving = (
        prepared(m, baseline="percentile", percentile=50) for m in (movie, movie + drift)
    )
    assert len(moving.knots) > 10
    inner = slice(20, -20)  # before the first and after the last knot the baseline is constant
    assert np.abs(moving.Y[inner] - still.Y[inner]).mean() < 0.5
    assert np.abs(prepared(movie + drift).Y).mean() > 20


def test_no_baseline(movie):
    out = prepared(movie, baseline="none", noise_scaling=False)
    assert not out.baseline.any()
    np.testing.assert_allclose(out.Y * out.scale, movie.reshape(300, -1), rtol=1e-5)


def test_dead_pixels_stay_zero(movie):
    movie[:, 4, 4] = 7
    out = prepared(movie)
    assert out.scale[4 * 8 + 4] == 0
    assert not out.Y[:, 4 * 8 + 4].any()
    assert np.isfinite(out.Y).all()


def test_levels_between_knots():
    levels = np.array([[0.0], [10.0], [0.0]])
    out = interpolated(levels, np.array([2, 7, 9]), 12)[:, 0]
    np.testing.assert_allclose(out, [0, 0, 0, 2, 4, 6, 8, 10, 5, 0, 0, 0])


@pytest.mark.parametrize("decay", [0.6, 0.857, 0.95])
def test_decay_from_the_autocovariance(decay, rng):
    spikes = 4 * (rng.uniform(size=(2000, 300)) < 0.02)
    Y = lfilter([1.0], [1, -decay], spikes, axis=0) + rng.standard_normal((2000, 300))
    assert estimate_decay(Y.astype(np.float32)) == pytest.approx(decay, abs=0.02)


def test_decay_of_noise_and_of_nothing(rng):
    assert 0 <= estimate_decay(rng.standard_normal((100, 20))) <= 0.995
    assert estimate_decay(np.zeros((10, 3))) == 0


def test_decay_as_it_is_given():
    assert resolve_decay(None, 8.64) == pytest.approx(1 - 1 / 8.64)
    assert resolve_decay(0.9, 1.0) == 0.9
    assert resolve_decay("estimate", 1.0) is None
    for wrong in (1.0, -0.1, "auto", True, float("nan")):
        with pytest.raises(ValueError, match="decay"):
            resolve_decay(wrong, 7.0)
    with pytest.raises(ValueError, match="frame_rate"):
        resolve_decay(None, 1.0)


def test_a_wide_flicker_is_taken_out_and_a_neuron_stays(rng):
    rows, columns = np.mgrid[:60, :60]
    neuron = np.exp(-((rows - 30) ** 2 + (columns - 30) ** 2) / 18)
    slope = 1 + columns / 60
    flicker, trace = rng.standard_normal(80), np.arange(80) % 20 == 5
    movie = 50 + 5 * flicker[:, None, None] * slope + 9 * trace[:, None, None] * neuron
    movie += 0.1 * rng.standard_normal(movie.shape)
    for background, limit in ((0.0, None), (15.0, 0.5)):
        out = prepared(movie, background=background)
        Y = (out.Y * out.scale).reshape(movie.shape)
        far = np.abs(Y[:, 10, 10]).mean()
        assert far > 3 if limit is None else far < limit
    assert 6 < Y[trace, 30, 30].mean() < 9.5


def test_nothing_is_darker_than_the_floor(movie):
    out = prepared(movie, floor=1.5)
    assert out.Y.min() == pytest.approx(-1.5)
    np.testing.assert_array_equal(out.Y, np.maximum(prepared(movie).Y, np.float32(-1.5)))
