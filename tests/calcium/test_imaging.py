"""Neurons from movies: simulated ones, and the labelled one."""

import numpy as np
import pytest
from scipy.ndimage import binary_fill_holes
from scipy.ndimage import label as connected
from scipy.signal import lfilter
from sklearn.exceptions import ConvergenceWarning

from thinrank.calcium import CalciumImaging, MovieError, make_movie, match_regions


@pytest.fixture(scope="module")
def simulated():
    return make_movie(200, (48, 48), 4, n_close_pairs=1, random_state=80000)


@pytest.fixture(scope="module")
def fitted(simulated):
    return CalciumImaging(frame_rate=7).fit(simulated[0])


@pytest.fixture(scope="module")
def low_rank(simulated):
    """The paper's model, with automatic sizes."""
    return CalciumImaging(frame_rate=7, detection="low_rank").fit(simulated[0])


def test_neurons_of_a_simulated_movie(simulated, fitted, low_rank):
    _, truth = simulated
    for imaging in (fitted, low_rank):
        assert imaging.score(truth.regions).combined == 1.0
        pairs = match_regions(imaging.region_coordinates_, truth.regions)
        found = [np.corrcoef(imaging.traces_[i], truth.traces[j])[0, 1] for i, j in pairs]
        assert min(found) > 0.9
        assert imaging.decay_ == pytest.approx(truth.decay)
        assert str(imaging.status_)


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
    assert footprints.dtype == fitted.traces_.dtype == np.float32
    np.testing.assert_allclose(footprints.max(axis=(1, 2)), 1, rtol=1e-6)
    assert footprints.min() == 0
    assert fitted.spike_trains_.min() >= 0
    assert set(np.flatnonzero(fitted.spike_trains_.any(axis=0))) <= set(
        fitted.spike_frames_.tolist()
    )
    filtered = lfilter([1.0], [1.0, -fitted.decay_], fitted.spike_trains_, axis=1)
    np.testing.assert_allclose(fitted.traces_, filtered, atol=1e-4)
    assert set(np.unique(fitted.regions_)) <= set(range(N + 1))
    energy = np.linalg.norm(fitted.factors_.theta, axis=0).reshape(height, width)
    np.testing.assert_allclose(fitted.pixel_energy_, energy, rtol=1e-3, atol=1e-3)
    np.testing.assert_allclose(fitted.mean_image_, movie.mean(axis=0), rtol=1e-5)


def test_regions_are_connected_and_without_holes(fitted, low_rank):
    for imaging in (fitted, low_rank):
        for n, region in enumerate(imaging.region_coordinates_):
            mask = np.zeros(imaging.regions_.shape, dtype=bool)
            mask[tuple(region.T)] = True
            assert connected(mask, np.ones((3, 3)))[1] == 1
            np.testing.assert_array_equal(binary_fill_holes(mask), mask)
            own = imaging.regions_ == n + 1
            assert own.any()
            assert not np.any(own & ~mask)


def test_traces_and_footprints_are_nearer_to_the_truth(simulated, low_rank):
    movie, truth = simulated
    signal = np.tensordot(truth.traces.T, truth.footprints, axes=1)
    rest = movie - signal
    quiet = np.median(rest, axis=0)
    smooth = CalciumImaging(frame_rate=7, smoothing=1.0).fit(movie)
    for imaging in (smooth, low_rank):
        above = (imaging.traces_.T @ imaging.sparse_footprints_).reshape(movie.shape)
        assert np.mean((above - signal) ** 2) < 0.1 * np.mean((rest - quiet) ** 2)


def test_a_file_in_other_units_gives_the_same_neurons(simulated, fitted, tmp_path):
    movie, _ = simulated
    np.save(tmp_path / "movie.npy", 200 * movie - 3000)
    stages = []
    other = CalciumImaging(frame_rate=7, verbose=0).fit(
        tmp_path / "movie.npy", progress=lambda stage, part: stages.append((stage, part))
    )
    np.testing.assert_array_equal(other.regions_, fitted.regions_)
    np.testing.assert_allclose(other.traces_, 200 * fitted.traces_, rtol=0.02, atol=2)
    assert len({stage for stage, _ in stages}) >= 3
    assert all(0 <= part <= 1 for _, part in stages)


def test_sizes_that_are_given_are_kept_to(simulated, low_rank):
    movie, truth = simulated
    imaging = CalciumImaging(7, rank=6, row_sparsity=25, column_sparsity=500).fit(movie)
    assert imaging.rank_ <= 6
    assert len(imaging.spike_frames_) <= 25
    assert len(imaging.active_pixels_) == 500
    assert imaging.score(truth.regions).combined > 0.8
    # automatic ones are of the order of the true ones
    covered = np.count_nonzero(truth.footprints.max(axis=0) > 0.2)
    frames = np.count_nonzero(truth.spikes.any(axis=0))
    assert 4 <= low_rank.rank_ <= 15
    assert 0.5 * frames <= len(low_rank.spike_frames_) <= 4 * frames
    assert 0.5 * covered <= len(low_rank.active_pixels_) <= 2.5 * covered


@pytest.mark.parametrize(
    "settings", [{}, {"baseline": "percentile"}, {"baseline": "none"}, {"row_sparsity": 60}]
)
def test_noise_has_no_neurons_whatever_the_settings(rng, settings):
    noise = rng.standard_normal((100, 30, 30)).astype(np.float32)
    imaging = CalciumImaging(7, **settings).fit(noise)
    assert imaging.n_neurons_ == 0
    assert imaging.footprints_.shape == (0, 30, 30)
    assert imaging.traces_.shape == imaging.spike_trains_.shape == (0, 100)
    assert imaging.region_coordinates_ == []
    assert not imaging.regions_.any()
    light = imaging.fluorescence_
    for values in (light.raw, light.neuropil, light.baseline, light.dff, light.deconvolved):
        assert values.shape == (0, 100)


def test_estimated_decay(simulated):
    movie, truth = simulated
    imaging = CalciumImaging(frame_rate=7, decay="estimate").fit(movie)
    assert imaging.decay_ == pytest.approx(truth.decay, abs=0.06)
    assert imaging.score(truth.regions).combined > 0.8


def test_gradient_descent_running_percentile_and_a_flicker(simulated):
    movie, truth = simulated
    course = np.linspace(0, 30, len(movie)) + 5 * np.random.default_rng(0).standard_normal(
        len(movie)
    )
    light = movie + course[:, None, None].astype(np.float32)
    settings = {"baseline": "percentile", "percentile": 40, "detection": "low_rank"}
    imaging = CalciumImaging(7, **settings).fit(light)
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
        {"decay": "auto"},
        {"solver": "newton"},
        {"max_iter": 0},
        {"rank": 0},
        {"rank": 101, "row_sparsity": 100},
        {"row_sparsity": 10**6},
        {"column_sparsity": "many"},
        {"detection": "greedy"},
        {"detection": "local", "rank": 5},
        {"register": "rigid"},
    ],
)
def test_settings_that_make_no_sense(setting, simulated):
    name = next(iter(setting))
    with pytest.raises(ValueError, match=name):
        CalciumImaging(**({"frame_rate": 7.0} | setting)).fit(simulated[0])


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


def test_a_neuron_that_fills_the_picture():
    movie, _ = make_movie(200, (13, 13), 1, n_close_pairs=0, amplitude=10.0, random_state=0)
    assert CalciumImaging(7).fit(movie).n_neurons_ == 1


def test_faint_neurons_of_a_busy_movie():
    movie, truth = make_movie(400, (64, 64), 6, n_close_pairs=2, amplitude=1.0, random_state=30011)
    scores = CalciumImaging(7).fit(movie).score(truth.regions)
    assert scores.combined > 0.9
    assert scores.exclusion > 0.7


def test_dead_pixels_and_margins_of_nan_are_not_active(simulated):
    movie, truth = simulated
    holed = np.pad(movie, ((0, 0), (3, 0), (4, 2)), constant_values=np.nan)
    holed[7, :, 6] = holed[7, :, 5] = holed[7, :, 4] = np.nan  # a frame that was shifted further
    holed[:, 10, 40] = 7
    for detection in ("local", "low_rank"):
        imaging = CalciumImaging(7, detection=detection).fit(holed)
        shifted = [region + np.array([3, 4]) for region in truth.regions]
        assert imaging.score(shifted).recall == 1.0
        rows, columns = np.divmod(imaging.active_pixels_, holed.shape[2])
        assert not np.any((rows < 3) | (columns < 7) | (columns >= 52))
        assert not np.any((rows == 10) & (columns == 40))
    holed[3, 20, 20] = np.nan
    with pytest.raises(MovieError, match="row 20, column 20"):
        CalciumImaging(7).fit(holed)
