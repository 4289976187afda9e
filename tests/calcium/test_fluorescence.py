"""Raw fluorescence, neuropil, resting level and ΔF/F of a fit, against direct computations."""

import numpy as np
import pytest
from scipy.ndimage import binary_dilation

from thinrank.calcium import CalciumImaging, make_movie, select_neurons
from thinrank.calcium import movie as movie_module
from thinrank.calcium.fluorescence import Fluorescence, RestingLevel
from thinrank.calcium.neuropil import surroundings


@pytest.fixture(scope="module")
def movie():
    return make_movie(150, (40, 44), 3, n_close_pairs=1, random_state=30040)[0]


@pytest.fixture(scope="module")
def imaging(movie):
    return CalciumImaging(frame_rate=7).fit(movie)


def test_raw_light_is_the_weighted_mean_of_the_region(movie, imaging):
    for n, region in enumerate(imaging.region_coordinates_):
        rows, columns = region.T
        weights = imaging.footprints_[n, rows, columns]
        expected = np.average(movie[:, rows, columns], axis=1, weights=weights)
        np.testing.assert_allclose(imaging.fluorescence_.raw[n], expected, rtol=1e-5)


def test_surroundings_are_near_and_belong_to_no_neuron(movie, imaging):
    inside = np.zeros((40, 44), dtype=bool)
    for region in imaging.region_coordinates_:
        inside[tuple(region.T)] = True
    usable = np.ones((40, 44), dtype=bool)
    usable[:, :3] = False
    weights = surroundings(imaging.region_coordinates_, (40, 44), usable).toarray()
    for n, region in enumerate(imaging.region_coordinates_):
        around = weights[n].reshape(40, 44) > 0
        assert weights[n].sum() == pytest.approx(1)
        assert 350 <= around.sum() <= 450
        assert not np.any(around & (inside | ~usable))
        own = np.zeros((40, 44), dtype=bool)
        own[tuple(region.T)] = True
        assert not np.any(around & binary_dilation(own, iterations=2))
    weights = surroundings(imaging.region_coordinates_, (40, 44), np.ones((40, 44), bool))
    light = movie.reshape(len(movie), -1) @ weights.toarray().T
    np.testing.assert_allclose(imaging.fluorescence_.neuropil, light.T, rtol=1e-5)


def test_a_region_without_surroundings():
    everything = np.argwhere(np.ones((6, 6), dtype=bool))
    assert surroundings([everything], (6, 6), np.ones((6, 6), bool)).nnz == 0


def test_blocks_of_lines_make_no_difference(movie, imaging, monkeypatch):
    monkeypatch.setattr(movie_module, "_BLOCK_ENTRIES", 1)  # one line at a time
    again = CalciumImaging(frame_rate=7, neuropil=0.5).fit(movie)
    np.testing.assert_allclose(again.fluorescence_.raw, imaging.fluorescence_.raw, rtol=1e-6)
    light = again.fluorescence_
    np.testing.assert_allclose(light.corrected, light.raw - 0.5 * light.neuropil, rtol=1e-6)


def test_ratio_to_the_resting_level(imaging):
    light = imaging.fluorescence_
    expected = (light.corrected - light.baseline) / light.baseline
    np.testing.assert_allclose(light.dff, expected, rtol=1e-5)
    assert np.median(np.abs(np.median(light.dff, axis=1))) < 0.02
    assert np.all(light.deconvolved >= 0)
    # the deconvolved activity is where the spikes are
    for spikes, activity in zip(imaging.spike_trains_, light.deconvolved, strict=True):
        assert np.corrcoef(spikes, activity)[0, 1] > 0.8


def test_no_ratio_to_a_level_below_zero():
    values = np.array([[1.0, 2.0]], dtype=np.float32)
    light = Fluorescence(values, 0 * values, np.array([[-1.0, 1.0]], np.float32), values, 0.7)
    assert np.isnan(light.dff[0, 0])
    assert light.dff[0, 1] == 1


def test_resting_level_follows_drift_and_is_at_the_median_of_the_noise(rng):
    drift = np.linspace(100, 106, 1500)
    values = (drift + rng.standard_normal((2, 1500))).astype(np.float32)
    level = RestingLevel(20.0, 100).of(values)
    inner = slice(60, -60)  # beyond the outermost windows the level is constant
    assert np.abs(np.mean((level - drift)[:, inner])) < 0.1
    assert np.max(np.abs((level - drift)[:, inner])) < 0.8
    assert np.ptp(RestingLevel(20.0, 10_000).of(values), axis=1).max() == 0


@pytest.mark.parametrize("share", [-0.1, 2.5, "much", True, np.nan])
def test_shares_of_neuropil_that_make_no_sense(movie, share):
    with pytest.raises(ValueError, match="neuropil must be"):
        CalciumImaging(frame_rate=7, neuropil=share).fit(movie)


def test_no_neuron_no_light(rng):
    light = CalciumImaging(frame_rate=7).fit(rng.standard_normal((60, 24, 24))).fluorescence_
    for values in (light.raw, light.neuropil, light.baseline, light.dff, light.deconvolved):
        assert values.shape == (0, 60)


def test_some_of_the_neurons(imaging):
    some = select_neurons(imaging, [2, 0])
    assert some.n_neurons_ == 2
    np.testing.assert_array_equal(some.traces_, imaging.traces_[[2, 0]])
    np.testing.assert_array_equal(some.fluorescence_.dff, imaging.fluorescence_.dff[[2, 0]])
    np.testing.assert_array_equal(some.quality_.snr, imaging.quality_.snr[[2, 0]])
    np.testing.assert_array_equal(some.footprints_, imaging.footprints_[[2, 0]])
    assert set(np.unique(some.regions_)) == {0, 1, 2}
    assert imaging.n_neurons_ == 3
    assert select_neurons(imaging, [False] * 3).n_neurons_ == 0


@pytest.mark.parametrize("neurons", [[0, 0], [3], [-1], [0.5], [True], [[0]]])
def test_neurons_that_are_not_there(imaging, neurons):
    with pytest.raises(ValueError, match="neurons"):
        select_neurons(imaging, neurons)
