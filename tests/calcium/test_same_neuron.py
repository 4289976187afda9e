"""Which components of the local search are the same neuron, and which are no neurons."""

import numpy as np
import pytest

from thinrank.calcium.binning import bin_length
from thinrank.calcium.local_fit import fit_jointly, is_body, merged
from thinrank.calcium.seeds import LocalNeuron

RADIUS = 5.0


def disc(row, column, radius=RADIUS, side=40):
    """A neuron with a bright disc, in a window that is the whole frame."""
    rows, columns = np.indices((side, side))
    inside = (rows - row) ** 2 + (columns - column) ** 2 <= radius**2
    return inside.astype(np.float32)


def neuron(footprint, seed, size=1.0):
    rng = np.random.default_rng(seed)
    trace = (size * np.maximum(rng.standard_normal(200), 0)).astype(np.float32)
    whole = slice(0, footprint.shape[0]), slice(0, footprint.shape[1])
    return LocalNeuron(*whole, footprint, trace, np.ones(footprint.shape, bool), trace)


def test_footprints_alike_are_one_neuron_whatever_their_traces():
    one, other = neuron(disc(20, 20), 0, size=2.0), neuron(disc(20, 22.5), 1)
    assert abs(np.corrcoef(one.trace, other.trace)[0, 1]) < 0.2
    assert merged([other, one], RADIUS) == [one]  # the brighter one is kept


def test_neighbours_that_overlap_a_little_are_two_neurons():
    pair = [neuron(disc(20, 16), 0), neuron(disc(20, 23), 1)]
    assert len(merged(pair, RADIUS)) == 2


def test_neighbours_with_one_trace_are_one_neuron():
    pair = [neuron(disc(20, 17), 0), neuron(disc(20, 22), 0)]
    assert len(merged(pair, RADIUS)) == 1


@pytest.mark.parametrize(
    ("footprint", "expected"),
    [
        (disc(20, 20), True),
        (disc(20, 20, radius=1.0), False),
        (disc(20, 20, radius=16.0), False),
        (disc(20, 8, radius=2.0) + disc(20, 32, radius=2.0), False),
    ],
    ids=["neuron", "spot", "wide", "two spots"],
)
def test_size_and_shape(footprint, expected):
    assert is_body(footprint, RADIUS) == expected


def test_long_movies_have_longer_bins():
    """One decay time if that leaves 300 bins, half of it otherwise."""
    assert bin_length(0.9, (3000, 60, 80)) == 2 * bin_length(0.9, (2500, 60, 80)) + 1


def test_the_joint_fit_leaves_the_movie_minus_the_neurons():
    """The movie is updated by changes of the neurons alone, without adding them first."""
    rng = np.random.default_rng(2)
    found = [neuron(disc(14, 14), 0), neuron(disc(18, 20), 1)]
    movie = sum(n.footprint[..., None] * (20 * n.trace) for n in found)
    movie = (movie + rng.standard_normal((40, 40, 200))).astype(np.float32)
    rest = movie - sum(n.footprint[..., None] * n.trace for n in found)
    fit_jointly(rest, found, rounds=10)
    expected = movie - sum(n.footprint[..., None] * n.trace for n in found)
    np.testing.assert_allclose(rest, expected, atol=1e-3)
    assert np.std(rest) < 1.1
