"""Neurons from movies: simulated ones, and the labelled one."""

import numpy as np
import pytest
from scipy.signal import lfilter
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from thinrank.calcium import CalciumImaging, make_movie, match_regions
from thinrank.calcium.regions import connected_regions, label_image, region_of


@pytest.fixture(scope="module")
def simulated():
    return make_movie(300, (56, 60), 5, n_close_pairs=1, random_state=80000)


@pytest.fixture(scope="module")
def fitted(simulated):
    return CalciumImaging(frame_rate=7).fit(simulated[0])


def correlations(imaging, truth):
    pairs = match_regions(imaging.region_coordinates_, truth.regions)
    return [np.corrcoef(imaging.traces_[i], truth.traces[j])[0, 1] for i, j in pairs]


def test_neurons_of_a_simulated_movie(simulated, fitted):
    _, truth = simulated
    assert fitted.score(truth.regions).combined == 1.0
    assert min(correlations(fitted, truth)) > 0.9
    assert fitted.decay_ == pytest.approx(truth.decay)
    assert str(fitted.status_)


def test_attributes_agree_with_one_another(simulated, fitted):
    movie, _ = simulated
    frames, height, width = fitted.shape_
    N = fitted.n_neurons_
    assert movie.shape == fitted.shape_
    assert fitted.factors_.shape == (frames, height * width)
    assert fitted.rank_ == fitted.factors_.rank
    np.testing.assert_array_equal(fitted.spike_frames_, fitted.factors_.row_support)
    np.testing.assert_array_equal(fitted.active_pixels_, fitted.factors_.column_support)
    footprints = fitted.footprints_
    assert footprints.shape == (N, height, width)
    assert footprints.dtype == fitted.traces_.dtype == fitted.denoised_.dtype == np.float32
    np.testing.assert_allclose(footprints.max(axis=(1, 2)), 1, rtol=1e-6)
    assert footprints.min() == 0
    assert fitted.spike_trains_.min() >= 0
    assert set(np.flatnonzero(fitted.spike_trains_.any(axis=0))) <= set(
        fitted.spike_frames_.tolist()
    )
    filtered = lfilter([1.0], [1.0, -fitted.decay_], fitted.spike_trains_, axis=1)
    np.testing.assert_allclose(fitted.traces_, filtered, atol=1e-4)
    assert set(np.unique(fitted.regions_)) <= set(range(N + 1))
    for n, region in enumerate(fitted.region_coordinates_):
        own = np.argwhere(fitted.regions_ == n + 1)
        assert len(own) > 0
        assert set(map(tuple, own.tolist())) <= set(map(tuple, region.tolist()))
        assert (footprints[n][tuple(region.T)] >= 0).all()
    energy = np.linalg.norm(fitted.factors_.theta, axis=0).reshape(height, width)
    np.testing.assert_allclose(fitted.pixel_energy_, energy, rtol=1e-3, atol=1e-3)
    np.testing.assert_allclose(fitted.mean_image_, movie.mean(axis=0), rtol=1e-5)


def test_denoised_movie_is_nearer_to_the_truth(simulated):
    movie, truth = simulated
    signal = np.tensordot(truth.traces.T, truth.footprints, axes=1)
    rest = movie - signal
    quiet = np.median(rest, axis=0)
    imaging = CalciumImaging(frame_rate=7, smoothing=1.0).fit(movie)
    error = imaging.denoised_ - signal - quiet
    assert np.mean(error**2) < 0.1 * np.mean((rest - quiet) ** 2)


def test_the_same_from_a_file_and_from_an_array(simulated, fitted, tmp_path):
    movie, _ = simulated
    np.save(tmp_path / "movie.npy", movie)
    stages = []
    again = CalciumImaging(frame_rate=7, verbose=0).fit(
        tmp_path / "movie.npy", progress=lambda stage, part: stages.append((stage, part))
    )
    np.testing.assert_array_equal(again.traces_, fitted.traces_)
    np.testing.assert_array_equal(again.regions_, fitted.regions_)
    assert len({stage for stage, _ in stages}) >= 3
    assert all(0 <= part <= 1 for _, part in stages)


def test_the_units_of_the_movie_do_not_matter(simulated, fitted):
    movie, _ = simulated
    other = CalciumImaging(frame_rate=7).fit(200 * movie - 3000)
    np.testing.assert_array_equal(other.regions_, fitted.regions_)
    np.testing.assert_allclose(other.traces_, 200 * fitted.traces_, rtol=0.02, atol=2)


def test_sizes_that_are_given_are_kept_to(simulated):
    movie, truth = simulated
    imaging = CalciumImaging(7, rank=8, row_sparsity=30, column_sparsity=700).fit(movie)
    assert imaging.rank_ <= 8
    assert len(imaging.spike_frames_) <= 30
    assert len(imaging.active_pixels_) == 700
    assert imaging.score(truth.regions).combined > 0.8


def test_automatic_sizes_make_sense(simulated, fitted):
    _, truth = simulated
    covered = np.count_nonzero(truth.footprints.max(axis=0) > 0.2)
    assert 5 <= fitted.rank_ <= 15
    assert np.count_nonzero(truth.spikes.any(axis=0)) * 0.7 <= len(fitted.spike_frames_) <= 60
    assert 0.5 * covered <= len(fitted.active_pixels_) <= 2.5 * covered


def test_noise_alone_has_no_neurons(rng):
    movie = 100 + rng.standard_normal((200, 30, 30))
    imaging = CalciumImaging(frame_rate=7).fit(movie)
    assert imaging.n_neurons_ == 0
    assert imaging.footprints_.shape == (0, 30, 30)
    assert imaging.traces_.shape == imaging.spike_trains_.shape == (0, 200)
    assert imaging.region_coordinates_ == []
    assert not imaging.regions_.any()
    assert imaging.denoised_.shape == (200, 30, 30)


def test_estimated_decay(simulated):
    movie, truth = simulated
    imaging = CalciumImaging(frame_rate=7, decay="estimate").fit(movie)
    assert imaging.decay_ == pytest.approx(truth.decay, abs=0.06)
    assert imaging.score(truth.regions).combined > 0.8


def test_gradient_descent_and_running_percentile(simulated):
    movie, truth = simulated
    drift = np.linspace(0, 30, len(movie), dtype=np.float32)[:, None, None]
    imaging = CalciumImaging(7, baseline="percentile", percentile=40).fit(movie + drift)
    assert imaging.score(truth.regions).combined > 0.8
    imaging = CalciumImaging(7, solver="gdt").fit(movie)
    assert imaging.score(truth.regions).combined > 0.8


def test_an_iteration_limit_is_told(simulated):
    with pytest.warns(ConvergenceWarning, match="iteration"):
        CalciumImaging(7, row_sparsity=100, max_iter=1).fit(simulated[0])


@pytest.mark.parametrize(
    "setting",
    [
        {"frame_rate": 0.0},
        {"frame_rate": "7"},
        {"baseline": "mean"},
        {"percentile": 100.0},
        {"window": -1.0},
        {"smoothing": -1.0},
        {"neuron_radius": 0.0},
        {"region_threshold": 1.0},
        {"decay": 1.5},
        {"solver": "newton"},
        {"max_iter": 0},
        {"rank": 0},
        {"rank": 101, "row_sparsity": 100},
        {"row_sparsity": 10**6},
        {"column_sparsity": 0},
        {"column_sparsity": "many"},
    ],
)
def test_settings_that_make_no_sense(setting, simulated):
    name = next(iter(setting))
    with pytest.raises(ValueError, match=name):
        CalciumImaging(**({"frame_rate": 7.0} | setting)).fit(simulated[0])


def test_it_is_an_estimator(fitted):
    copy = clone(fitted)
    assert copy.get_params() == fitted.get_params()
    with pytest.raises(AttributeError, match="traces_"):
        _ = copy.traces_
    for name in ("footprints_", "rank_", "spike_frames_", "denoised_", "n_neurons_"):
        with pytest.raises((ValueError, AttributeError)):
            getattr(copy, name)


def test_regions_of_footprints():
    footprint = np.zeros((7, 9))
    footprint[1:6, 1:6] = 0.5
    footprint[2, 2], footprint[3, 3], footprint[6, 8] = 1.0, 0.1, 0.9
    region = region_of(footprint, 0.4)
    assert len(region) == 25  # the hole is filled, what is apart is left out
    other = np.zeros((7, 9))
    other[4:7, 4:9] = 0.8
    other[5, 6] = 1.0
    labels = label_image([footprint, other], [region, region_of(other, 0.4)], (7, 9))
    assert labels[2, 2] == 1
    assert labels[5, 5] == labels[6, 8] == 2
    assert labels[0, 0] == 0


def test_connected_regions():
    mask = np.zeros((6, 6), dtype=bool)
    mask[0, :3] = mask[1, 3] = mask[5, 5] = True
    pieces = connected_regions(np.flatnonzero(mask), (6, 6), 2)
    assert [len(piece) for piece in pieces] == [4]


def test_the_labelled_movie(data_dir):
    """72 % of the pixels of the 17 clear regions, with the paper's sizes and no look at labels."""
    with np.load(data_dir / "calcium" / "neurofinder0000_crop_559x135x131.npz") as stored:
        movie, masks, snr = stored["movie"], stored["masks"], stored["peak_snr"]
    imaging = CalciumImaging(7, rank=50, row_sparsity=100, column_sparsity=3000).fit(movie)
    clear = masks[snr > 8].any(axis=0)
    assert clear.sum() == 1281
    kept = np.zeros(clear.size, dtype=bool)
    kept[imaging.active_pixels_] = True
    assert len(imaging.active_pixels_) == 3000
    assert (kept & clear.ravel()).sum() / clear.sum() >= 0.72


@pytest.mark.parametrize(
    "settings", [{"baseline": "percentile"}, {"baseline": "none"}, {"row_sparsity": 60}]
)
def test_noise_has_no_neurons_whatever_the_settings(rng, settings):
    noise = rng.standard_normal((100, 32, 32)).astype(np.float32)
    assert CalciumImaging(7, **settings).fit(noise).n_neurons_ == 0


def test_a_neuron_that_fills_the_picture():
    movie, _ = make_movie(200, (13, 13), 1, n_close_pairs=0, amplitude=10.0, random_state=0)
    assert CalciumImaging(7).fit(movie).n_neurons_ == 1


def test_a_running_percentile_is_no_offset():
    settings = {"n_close_pairs": 1, "amplitude": 1.5, "random_state": 2}
    movie, truth = make_movie(300, (48, 48), 4, **settings)
    median, running = (
        CalciumImaging(7, baseline=baseline).fit(movie) for baseline in ("median", "percentile")
    )
    assert running.score(truth.regions).combined == 1.0
    assert len(running.active_pixels_) > 0.8 * len(median.active_pixels_)
    assert np.median(running.denoised_) == pytest.approx(np.median(median.denoised_), abs=0.05)


def test_dead_pixels_are_not_active():
    movie, _ = make_movie(300, (48, 48), 4, n_close_pairs=1, amplitude=1.5, random_state=3)
    movie[:, :, :5] = 0
    movie[:, 20, 20] = 7
    imaging = CalciumImaging(7).fit(movie)
    rows, columns = np.divmod(imaging.active_pixels_, 48)
    assert not np.any(columns < 5)
    assert not np.any((rows == 20) & (columns == 20))


def test_holes_that_were_filled_are_in_the_label_image():
    footprint = np.zeros((9, 9), dtype=np.float32)
    footprint[2:7, 2:7] = 1
    footprint[4, 4] = 0
    region = region_of(footprint, 0.4)
    labels = label_image([footprint], [region], (9, 9))
    assert len(region) == np.count_nonzero(labels) == 25
