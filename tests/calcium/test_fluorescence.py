"""Raw fluorescence, neuropil, resting level and ΔF/F of a fit, against direct computations."""

import numpy as np
import pytest

from thinrank.calcium import CalciumImaging, Fluorescence, make_movie, select_neurons

FLICKER = 2 * np.sin(np.arange(150) / 9)


@pytest.fixture(scope="module")
def movie():
    """Three neurons, and light that comes and goes everywhere."""
    movie = make_movie(150, (40, 44), 3, n_close_pairs=1, random_state=30040)[0]
    return movie + FLICKER[:, None, None].astype(np.float32)


@pytest.fixture(scope="module")
def imaging(movie):
    return CalciumImaging(frame_rate=7, neuropil=0.9).fit(movie)


def test_raw_light_is_the_weighted_mean_of_the_region(movie, imaging):
    assert imaging.n_neurons_ == 3
    for n, region in enumerate(imaging.region_coordinates_):
        rows, columns = region.T
        weights = imaging.footprints_[n, rows, columns]
        expected = np.average(movie[:, rows, columns], axis=1, weights=weights)
        np.testing.assert_allclose(imaging.fluorescence_.raw[n], expected, rtol=1e-5)


def test_neuropil_is_the_light_around_without_that_of_neurons(imaging):
    light = imaging.fluorescence_
    for around, trace in zip(light.neuropil, imaging.traces_, strict=True):
        assert np.corrcoef(around, FLICKER)[0, 1] > 0.99
        assert np.ptp(around - FLICKER) < 0.2 * trace.max()
    np.testing.assert_allclose(light.corrected, light.raw - 0.9 * light.neuropil, rtol=1e-6)


@pytest.mark.parametrize("share", [0.5, 1.0])
def test_the_share_of_neuropil_in_each_neuron_is_estimated(movie, imaging, share):
    inside = imaging.regions_ > 0
    flicker = np.where(inside, share - 1, 0) * FLICKER[:, None, None]
    light = CalciumImaging(7).fit(movie + flicker.astype(np.float32)).fluorescence_
    assert light.coefficient == pytest.approx(share, abs=0.15)


def test_ratio_to_the_resting_level(imaging):
    light = imaging.fluorescence_
    expected = (light.corrected - light.baseline) / light.baseline
    np.testing.assert_allclose(light.dff, expected, rtol=1e-5)
    assert np.median(np.abs(np.median(light.dff, axis=1))) < 0.15  # what is left of the flicker
    assert np.all(light.deconvolved >= 0)
    # the deconvolved activity is where the spikes are
    for spikes, activity in zip(imaging.spike_trains_, light.deconvolved, strict=True):
        assert np.corrcoef(spikes, activity)[0, 1] > 0.7
    assert imaging.quality_.snr.min() > 4


def test_the_resting_level_follows_a_drift(movie):
    drift = np.linspace(0, 8, 150, dtype=np.float32)
    imaging = CalciumImaging(7, window=3.0, neuropil=0.7).fit(movie + drift[:, None, None])
    rise = imaging.fluorescence_.baseline[:, 120] - imaging.fluorescence_.baseline[:, 30]
    np.testing.assert_allclose(rise, 0.3 * (drift[120] - drift[30]), atol=1.0)


def test_no_ratio_to_a_level_below_zero():
    values = np.array([[1.0, 2.0]], dtype=np.float32)
    light = Fluorescence(values, 0 * values, np.array([[-1.0, 1.0]], np.float32), values, 0.7)
    assert np.isnan(light.dff[0, 0])
    assert light.dff[0, 1] == 1


@pytest.mark.parametrize("share", [-0.1, 2.5, "much"])
def test_shares_of_neuropil_that_make_no_sense(movie, share):
    with pytest.raises(ValueError, match="neuropil must be"):
        CalciumImaging(frame_rate=7, neuropil=share).fit(movie)


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
    for wrong in ([0, 0], [3], [-1], [0.5], [[0]]):
        with pytest.raises(ValueError, match="neurons"):
            select_neurons(imaging, wrong)
