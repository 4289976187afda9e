"""Shifts of frames are found and undone, and told if they are not undone."""

import sys
import warnings

import numpy as np
import pytest
from scipy.ndimage import gaussian_filter, shift

from thinrank.calcium import CalciumImaging, make_movie, registration
from thinrank.calcium.motion import PhaseCorrelation, sampled_frames, typical_shift
from thinrank.calcium.movie import Movie
from thinrank.calcium.registration import RegisteredMovie, register


@pytest.fixture(scope="module")
def scene():
    """A movie with neurons on a texture, as tissue has one."""
    rng = np.random.default_rng(30050)
    movie, truth = make_movie(160, (48, 56), 4, n_close_pairs=0, random_state=30050)
    texture = gaussian_filter(rng.standard_normal((48, 56)), 1.5)
    return movie + 4 * (texture / texture.std()).astype(np.float32), truth


@pytest.fixture(scope="module")
def jitter(scene):
    moves = np.random.default_rng(30051).normal(0, 0.8, (len(scene[0]), 2))
    moved = [shift(f, by, order=3, mode="nearest") for f, by in zip(scene[0], moves, strict=True)]
    return np.stack(moved), moves


@pytest.fixture(scope="module")
def registered(jitter):
    return register(jitter[0])


def test_shifts_are_found(jitter, registered):
    error = registered.shifts - jitter[1]
    assert np.all((error - np.median(error, axis=0)).std(axis=0) < 0.08)
    assert registered.movie.dtype == np.float32


def test_frames_are_alike_afterwards(scene, jitter, registered):
    def unrest(movie):
        inner = movie[:, 6:-6, 6:-6]
        return np.mean(np.var(inner, axis=0))

    still = unrest(scene[0])
    assert unrest(jitter[0]) > 2 * still
    assert unrest(registered.movie) < 1.1 * still


def test_blocks_of_frames_make_no_difference(jitter, registered, monkeypatch):
    monkeypatch.setattr(registration, "_BLOCK_ENTRIES", 2000)
    movie = RegisteredMovie(Movie(jitter[0], "movie"), registered.shifts, registered.reference)
    np.testing.assert_array_equal(movie.lines(10, 17), registered.movie[:, 10:17])
    np.testing.assert_array_equal(movie.lines(3, 9, slice(5, 8)), registered.movie[5:8, 3:9])


def test_margins_that_some_frames_do_not_show_are_constant(registered):
    low, high = np.percentile(registered.shifts, [5, 95], axis=0)
    assert np.all(registered.movie[:, 0] == registered.movie[0, 0]) == (low[0] < -0.5)
    constant = np.all(registered.movie == registered.movie[0], axis=0)
    assert np.all(high > 0.5)
    assert constant[-1].all()
    assert constant[:, -1].all()
    assert not constant[5:-5, 5:-5].any()


def test_whole_pixels_are_exact(scene):
    frames = scene[0][:6]
    moves = np.array([[0, 0], [1, 0], [0, -2], [2, 1], [-1, -1], [0, 0]])
    moved = np.stack([np.roll(f, by, (0, 1)) for f, by in zip(frames, moves, strict=True)])
    back = RegisteredMovie(Movie(moved, "movie"), moves.astype(float), frames[0])
    np.testing.assert_allclose(back.lines(5, 40)[:, :, 5:-5], frames[:, 5:40, 5:-5], rtol=1e-6)


def test_a_fit_with_registration(scene, jitter):
    movie, truth = scene
    with pytest.warns(UserWarning, match=r"shift by about 0\.[789] pixels.*register=True"):
        blurred = CalciumImaging(frame_rate=7).fit(jitter[0])
    stages = []
    imaging = CalciumImaging(frame_rate=7, register=True).fit(
        jitter[0], progress=lambda stage, _: stages.append(stage)
    )
    assert imaging.score(truth.regions).combined > 0.85
    assert imaging.score(truth.regions).combined > blurred.score(truth.regions).combined
    assert imaging.shifts_.shape == (160, 2)
    assert blurred.shifts_ is None
    assert {"registration", "fluorescence"} <= set(stages)
    # the light is measured in the registered frames
    np.testing.assert_array_less(0.5, imaging.quality_.correlation)
    assert len(movie) == imaging.fluorescence_.raw.shape[1]


def test_still_movies_and_noise_are_not_said_to_move(scene, rng):
    assert typical_shift(scene[0][:100]) < 0.2
    for shape in ((80, 40, 40), (60, 24, 90)):
        assert typical_shift(rng.standard_normal(shape)) == 0
    assert typical_shift(rng.standard_normal((50, 20, 20))) == 0  # too small to tell
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        CalciumImaging(frame_rate=7).fit(scene[0])


def test_movies_that_were_registered_to_whole_pixels_are_not_said_to_move(scene):
    rest = np.random.default_rng(30052).uniform(-0.5, 0.5, (80, 2))
    moved = [shift(f, by, order=3, mode="nearest") for f, by in zip(scene[0], rest, strict=False)]
    assert 0.2 < typical_shift(np.stack(moved)) < 1 / 3


def test_shifts_are_limited(scene):
    correlation = PhaseCorrelation((48, 56))
    far = np.roll(scene[0][0], 20, axis=0)
    found = correlation.shift(correlation.spectrum(scene[0][0]), correlation.spectrum(far))
    assert np.isnan(found).all()
    assert correlation.largest == (4, 5)


def test_frames_without_structure_take_the_shifts_of_their_neighbours(scene):
    frames = np.roll(scene[0][:40], 2, axis=1)
    frames[20:] = scene[0][20:40]
    frames[10], frames[30] = 0, 0  # the light was off
    shifts = register(frames).shifts
    assert np.ptp(shifts[:20], axis=0).max() < 0.5
    assert np.ptp(shifts[20:], axis=0).max() < 0.5
    assert shifts[5, 0] - shifts[35, 0] == pytest.approx(2, abs=0.3)


@pytest.mark.parametrize("shape", [(20, 1, 1), (20, 1, 30), (9, 3, 3), (40, 24, 24)])
def test_noise_is_hardly_moved(rng, shape):
    noise = rng.standard_normal(shape).astype(np.float32)
    result = register(noise)
    assert np.mean(np.abs(result.shifts)) < 0.2
    assert np.isfinite(result.movie).all()


def test_large_frames_are_sampled_in_the_middle(rng):
    movie = Movie(rng.standard_normal((9, 20, 30)).astype(np.float32), "movie")
    images = sampled_frames(movie, 3, 12)
    np.testing.assert_array_equal(images, movie.frames[[0, 4, 8], 4:16, 9:21])


def test_the_extra_is_named_before_any_work(scene, monkeypatch):
    monkeypatch.setitem(sys.modules, "skimage.registration", None)
    with pytest.raises(ImportError, match=r"scikit-image|thinrank\[register\]"):
        CalciumImaging(frame_rate=7, register=True).fit(scene[0])
    CalciumImaging(frame_rate=7).fit(scene[0])  # the warning does not need it


def test_register_is_yes_or_no(scene):
    with pytest.raises(ValueError, match="register must be True or False"):
        CalciumImaging(frame_rate=7, register="rigid").fit(scene[0])
