"""Shifts of frames are found and undone, and told if they are not undone."""

import warnings

import numpy as np
import pytest
from scipy.ndimage import gaussian_filter, shift

from thinrank.calcium import CalciumImaging, make_movie, register


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


def test_a_fit_with_registration(scene, jitter):
    movie, truth = scene
    with pytest.warns(UserWarning, match=r"shift by about 0\.[789] pixels.*register=True"):
        blurred = CalciumImaging(7).fit(jitter[0])
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
    rest = np.random.default_rng(30052).uniform(-0.5, 0.5, (80, 2))
    moved = [shift(f, by, order=3, mode="nearest") for f, by in zip(scene[0], rest, strict=False)]
    whole_pixels = np.stack(moved)  # what registration to whole pixels leaves
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for movie in (scene[0], whole_pixels, rng.standard_normal((60, 24, 90))):
            CalciumImaging(7).fit(movie)


def test_frames_without_structure_take_the_shifts_of_their_neighbours(scene):
    frames = np.roll(scene[0][:40], 2, axis=1)
    frames[20:] = scene[0][20:40]
    frames[10], frames[30] = 0, 0  # the light was off
    shifts = register(frames).shifts
    assert np.ptp(shifts[:20], axis=0).max() < 0.5
    assert np.ptp(shifts[20:], axis=0).max() < 0.5
    assert shifts[5, 0] - shifts[35, 0] == pytest.approx(2, abs=0.3)


@pytest.mark.parametrize("shape", [(20, 1, 1), (20, 1, 30), (40, 24, 24)])
def test_noise_is_hardly_moved(rng, shape):
    noise = rng.standard_normal(shape).astype(np.float32)
    result = register(noise)
    assert np.mean(np.abs(result.shifts)) < 0.2
    assert np.isfinite(result.movie).all()
