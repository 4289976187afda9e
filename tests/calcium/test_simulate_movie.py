"""The movies hold what the truth says, where the rules say."""

import numpy as np
import pytest
from scipy.spatial.distance import pdist, squareform

from thinrank.calcium import make_movie


@pytest.fixture(scope="module")
def simulated():
    return make_movie(200, random_state=80100)


def test_movie_is_baseline_and_neurons_and_noise(simulated):
    movie, truth = simulated
    assert movie.shape == (200, 96, 96)
    assert movie.dtype == np.float32
    assert truth.footprints.shape == (12, 96, 96)
    assert len(truth.regions) == 12
    rest = 10 * (1 + 0.5 * truth.footprints.max(axis=0))
    errors = movie - rest - np.einsum("nt,nhw->thw", truth.traces, truth.footprints)
    assert errors.mean() == pytest.approx(0, abs=0.005)
    assert errors.std() == pytest.approx(1, abs=0.005)
    inside = truth.labels > 0
    assert errors[:, inside].std() == pytest.approx(1, abs=0.02)


def test_traces_are_filtered_spikes(simulated):
    _, truth = simulated
    assert truth.decay == 1 - 1 / 7
    level = np.zeros(12)
    for frame in range(200):
        level = truth.decay * level + 3 * truth.spikes[:, frame]
        assert truth.traces[:, frame] == pytest.approx(level)
    expected = 0.01 * truth.spikes.size
    assert abs(truth.spikes.sum() - expected) < 5 * expected**0.5
    _, silent = make_movie(30, rate=0.0, random_state=80100)
    assert np.array_equal(silent.spikes.sum(axis=1), np.ones(12))  # no neuron is silent


@pytest.mark.parametrize("seed", range(80100, 80104))
def test_places(seed):
    _, truth = make_movie(2, random_state=seed)
    distances = squareform(pdist(truth.centres))
    pairs = np.zeros((12, 12), dtype=bool)
    for first in (0, 2, 4, 6):
        pairs[first, first + 1] = pairs[first + 1, first] = True
    assert np.all((distances[pairs] >= 6) & (distances[pairs] <= 7))
    others = ~pairs & ~np.eye(12, dtype=bool)
    assert distances[others].min() >= 15
    assert np.all((truth.centres >= 6) & (truth.centres <= 95 - 6))


def test_regions_and_labels(simulated):
    _, truth = simulated
    for i, region in enumerate(truth.regions):
        assert len(region) == np.sum(truth.footprints[i] >= 0.5)
        assert np.linalg.norm(region.mean(axis=0) - truth.centres[i]) < 0.5
        labels = truth.labels[tuple(region.T)]
        assert np.mean(labels == i + 1) > 0.7  # a close neighbour may be brighter in some
    assert np.sum(truth.labels > 0) == len({tuple(p) for r in truth.regions for p in r})


def test_without_noise_and_baseline():
    movie, truth = make_movie(40, noise=0.0, baseline=0.0, decay=0.5, rate=0.1, random_state=3)
    assert truth.decay == 0.5
    expected = np.einsum("nt,nhw->thw", truth.traces, truth.footprints)
    np.testing.assert_allclose(movie, expected, atol=1e-5)


def test_too_many_neurons():
    with pytest.raises(ValueError, match="30 neurons, including 0 close pairs, do not fit into 48"):
        make_movie(5, (48, 48), 30, n_close_pairs=0)
    with pytest.raises(ValueError, match=r"1 neurons.*do not fit into 8 × 96"):
        make_movie(5, (8, 96), 1, n_close_pairs=0)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_frames": 1}, "n_frames must be an integer of at least 2, got 1"),
        ({"n_neurons": 2.5}, "n_neurons must be an integer"),
        ({"n_neurons": 7}, "n_close_pairs=4 needs 8 neurons, but n_neurons=7"),
        ({"shape": (96,)}, "shape must be two positive integers"),
        ({"noise": -1}, "noise must be a number of at least 0, got -1"),
        ({"frame_rate": 0.5}, "frame_rate must be a number of at least 1"),
        ({"rate": float("nan")}, "rate must be a number"),
        ({"decay": 1.0}, "decay must be at least 0 and below 1, got 1.0"),
        (
            {"pair_distance": (7, 6)},
            "pair_distance must be two positive numbers",
        ),
    ],
)
def test_bad_arguments(arguments, message):
    with pytest.raises(ValueError, match=message):
        make_movie(**{"n_frames": 5, **arguments})
