"""Places of neurons by votes, and sizes found in noise."""

import numpy as np

from thinrank.calcium.events import find_events, vote
from thinrank.calcium.sizes import active_pixel_count, leading_directions
from thinrank.leading_vectors import leading_left_vectors


def picture(centres, shape=(40, 40), height=10.0):
    rows, columns = np.mgrid[: shape[0], : shape[1]]
    spots = [np.exp(-((rows - y) ** 2 + (columns - x) ** 2) / 18) for y, x in centres]
    return height * np.sum(spots, axis=0).ravel()


def test_neurons_that_overlap_vote_for_places_of_their_own():
    first, second = (20, 16), (20, 22)  # their sum has a single peak, in between
    pictures = np.array([picture([first]), picture([second]), picture([first]), picture([second])])
    events = find_events(pictures, np.arange(1600), (40, 40), 5.0)
    places = {(group[0].row, group[0].column) for group in vote(events, (40, 40), 5.0)}
    assert places == {first, second}
    together = find_events(picture([first, second])[None], np.arange(1600), (40, 40), 5.0)
    assert len(together) == 1


def test_faint_peaks_do_not_vote():
    assert find_events(picture([(9, 9)], height=3.0)[None], np.arange(1600), (40, 40), 5.0) == []
    assert vote([], (40, 40), 5.0) == []


def test_directions_and_pixels_of_noise_and_of_a_signal(rng):
    noise = rng.standard_normal((200, 900)).astype(np.float32)
    assert leading_directions(noise, None, 0).visible(0.0) <= 1
    signal = rng.standard_normal((200, 3)) @ rng.standard_normal((3, 900))
    assert leading_directions(noise + 2 * signal.astype(np.float32), None, 0).visible(0.0) == 3
    energies = rng.chisquare(10, 5000)
    assert active_pixel_count(energies, 10) < 25
    energies[:700] += 100
    assert 700 <= active_pixel_count(energies, 10) < 725
    assert active_pixel_count(np.zeros(5), 3) == 0


def test_left_vectors_of_wide_single_precision_matrices(rng):
    low_rank = rng.standard_normal((80, 6)) @ rng.standard_normal((6, 500))
    matrix = (low_rank + 0.01 * rng.standard_normal((80, 500))).astype(np.float32)
    left = leading_left_vectors(matrix, 6, guess=matrix.T[:, :6])
    exact = np.linalg.svd(matrix.astype(float))[0][:, :6]
    assert left.dtype == np.float32
    np.testing.assert_allclose(np.linalg.svd(exact.T @ left)[1], 1, atol=1e-5)
