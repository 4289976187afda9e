"""The local search for neurons: its parts, on small problems with a known answer."""

import numpy as np
import pytest
from scipy.signal import lfilter

from thinrank.calcium import CalciumImaging, MovieError, make_movie
from thinrank.calcium.binning import bin_length, bin_movie, noise_level
from thinrank.calcium.deconvolution import exact_spikes, trace_noise
from thinrank.calcium.local_background import CellGrid, fit_background
from thinrank.calcium.movie import Movie
from thinrank.calcium.smoothing import smooth_frames


@pytest.mark.parametrize("length", [1, 3, 4])
def test_bins_and_their_noise(rng, length):
    movie = 5 + 2 * rng.standard_normal((601, 9, 7)).astype(np.float32)
    movie[:, 0, 0] = 3
    binned = bin_movie(Movie(movie, "movie"), length, lambda part: None)
    expected = movie[:length].mean(axis=0)
    np.testing.assert_allclose(binned.values[..., 0], expected, rtol=1e-5)
    assert binned.values.shape == (9, 7, 601 // length)
    level = np.median(noise_level(binned.rough)[binned.live])
    assert level == pytest.approx(2 / length**0.5, rel=0.15)
    assert not binned.live[0, 0]
    assert np.count_nonzero(~binned.live) == 1


def test_longer_bins_for_slower_indicators_and_larger_movies():
    assert bin_length(0.95, (10**4, 50, 50)) > bin_length(0.8, (10**4, 50, 50)) > 1
    assert bin_length(0.5, (4000, 1024, 1024)) > 20
    assert bin_length(0.0, (1000, 20, 20)) == 1


def test_smoothing_keeps_constants_and_noise_falls(rng):
    values = rng.standard_normal((70, 20, 30)).astype(np.float32)
    np.testing.assert_allclose(smooth_frames(np.ones_like(values), 2.0), 1, rtol=1e-5)
    inner = smooth_frames(values, 2.0)[10:-10, 8:-8]
    assert inner.std() == pytest.approx(1 / (2 * np.pi**0.5 * 2), rel=0.15)
    np.testing.assert_array_equal(smooth_frames(values, 0), values)


def test_the_background_has_a_gain_for_each_pixel(rng):
    course = np.cumsum(rng.standard_normal(200)).astype(np.float32)
    course -= np.median(course)
    gain = np.where(np.arange(40) % 7 == 0, 0.2, 1.0).astype(np.float32)[:, None] * np.ones(40)
    rest = (gain[..., None] * course).astype(np.float32)
    rest += 0.1 * rng.standard_normal(rest.shape).astype(np.float32)
    found = fit_background(rest, 8.0, 1.5)
    ratio = found.gain[21].mean() / found.gain[22].mean()
    assert ratio == pytest.approx(0.2, abs=0.03)
    assert rest[10:-10, 10:-10].std() < 0.2


def test_interpolation_of_cells_as_a_matrix(rng):
    grid = CellGrid((13, 11), 9.0)
    cells = rng.standard_normal(grid.cells)
    lines = np.stack([grid.line(cells, row) for row in range(13)])
    flat = grid.interpolation() @ cells.ravel()
    np.testing.assert_allclose(flat.reshape(13, 11), lines, rtol=1e-6)


def test_deconvolution_finds_the_spikes(rng):
    spikes = np.zeros((2, 300))
    spikes[0, [20, 90, 95, 200]] = 3.0
    spikes[1, [0, 150]] = 5.0
    clean = lfilter([1.0], [1.0, -0.9], spikes, axis=1)
    traces = clean + 0.2 * rng.standard_normal(clean.shape)
    found, denoised = exact_spikes(traces, 0.9)
    for true, estimated in zip(spikes, found, strict=True):
        np.testing.assert_array_equal(np.flatnonzero(estimated), np.flatnonzero(true))
    np.testing.assert_allclose(found[spikes > 0], spikes[spikes > 0], atol=0.5)
    np.testing.assert_allclose(lfilter([1.0], [1.0, -0.9], found, axis=1), denoised, atol=1e-9)
    assert np.all(np.abs(trace_noise(traces) - 0.2) < 0.05)
    silent, _ = exact_spikes(0.2 * rng.standard_normal((10, 300)), 0.9)
    assert np.count_nonzero(silent) <= 5


@pytest.fixture(scope="module")
def known():
    return make_movie(300, (48, 48), 4, n_close_pairs=1, random_state=30010)


def test_margins_of_nan_are_dead_pixels(known):
    movie, truth = known
    holed = np.pad(movie, ((0, 0), (3, 0), (4, 2)), constant_values=np.nan)
    holed[7, :, 6] = holed[7, :, 5] = holed[7, :, 4] = np.nan  # a frame that was shifted further
    imaging = CalciumImaging(7).fit(holed)
    shifted = [region + np.array([3, 4]) for region in truth.regions]
    assert imaging.score(shifted).recall == 1.0
    rows, columns = np.divmod(imaging.active_pixels_, holed.shape[2])
    assert not np.any((rows < 3) | (columns < 7) | (columns >= 52))
    holed[3, 20, 20] = np.nan
    with pytest.raises(MovieError, match="row 20, column 20"):
        CalciumImaging(7).fit(holed)


def test_faint_neurons_of_a_busy_movie():
    movie, truth = make_movie(400, (64, 64), 6, n_close_pairs=2, amplitude=1.0, random_state=30011)
    imaging = CalciumImaging(7).fit(movie)
    scores = imaging.score(truth.regions)
    assert scores.combined > 0.9
    assert scores.exclusion > 0.7


def test_small_neurons_change_the_radius():
    settings = {"footprint_sd": 1.2, "n_close_pairs": 0, "amplitude": 6.0}
    movie, truth = make_movie(300, (48, 48), 6, random_state=30012, **settings)
    imaging = CalciumImaging(7).fit(movie)
    assert imaging.radius_ < 3.3
    assert imaging.score(truth.regions).combined > 0.8


def test_the_search_and_sizes_exclude_each_other(known):
    with pytest.raises(ValueError, match="detection"):
        CalciumImaging(7, rank=5, detection="local").fit(known[0])
    with pytest.raises(ValueError, match="detection"):
        CalciumImaging(7, detection="greedy").fit(known[0])
    imaging = CalciumImaging(7, detection="low_rank").fit(known[0])
    assert imaging.score(known[1].regions).combined == 1.0
