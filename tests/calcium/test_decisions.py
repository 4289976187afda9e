"""Decisions are read back, checked, and matched with neurons by place."""

import json

import numpy as np
import pytest

from thinrank.calcium import accepted_neurons, read_decisions

SHAPE = (50, 30, 40)
REGIONS = [np.array([[3, 4], [3, 5]]), np.array([[10, 10]]), np.array([[20, 30], [22, 30]])]
NEURONS = [
    {"id": 1, "row": 3.0, "column": 4.5, "accepted": True},
    {"id": 2, "row": 10, "column": 10, "accepted": False},
    {"id": 3, "row": 21.2, "column": 30.1, "accepted": True},
]
WHOLE = {
    "format": "thinrank decisions",
    "movie": "film.tif",
    "frames": 50,
    "height": 30,
    "width": 40,
    "neurons": NEURONS,
}


def read(folder, content):
    path = folder / "decisions.json"
    text = content if isinstance(content, str) else json.dumps(content)
    path.write_text(text, encoding="utf-8")
    return read_decisions(path)


def test_accepted_neurons_whatever_their_order(tmp_path):
    decisions = read(tmp_path, WHOLE)
    assert accepted_neurons(decisions, REGIONS, SHAPE).tolist() == [0, 2]
    assert accepted_neurons(decisions, REGIONS[::-1], SHAPE).tolist() == [0, 2]


def test_another_movie_or_another_fit(tmp_path):
    decisions = read(tmp_path, WHOLE)
    with pytest.raises(ValueError, match=r"decisions\.json: made for a movie of 50 frames of 30"):
        accepted_neurons(decisions, REGIONS, (50, 30, 41))
    for regions in (REGIONS[:2], [], [*REGIONS[:2], np.array([[23, 30]])]):
        with pytest.raises(ValueError, match="there is no neuron"):
            accepted_neurons(decisions, regions, SHAPE)
    double = read(tmp_path, WHOLE | {"neurons": [NEURONS[0], NEURONS[0] | {"id": 2}]})
    with pytest.raises(ValueError, match="there is no neuron 2"):
        accepted_neurons(double, REGIONS, SHAPE)


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        ("{", "not JSON"),
        ([], "expected the decisions"),
        (WHOLE | {"frames": 0}, "frames must be a whole number"),
        (WHOLE | {"neurons": {}}, "neurons must be a list"),
        (WHOLE | {"neurons": [7]}, r"neurons\[0\]: expected an object"),
        (WHOLE | {"neurons": [NEURONS[0] | {"row": None}]}, "row must be a number"),
        (WHOLE | {"neurons": [NEURONS[0] | {"column": 10**400}]}, "column must be a number"),
        (WHOLE | {"neurons": [NEURONS[0] | {"accepted": 1}]}, "accepted must be true or false"),
        (WHOLE | {"neurons": [NEURONS[0], NEURONS[0]]}, "neuron 1 has more than one decision"),
    ],
)
def test_bad_files_are_named(tmp_path, content, fault):
    with pytest.raises(ValueError, match=rf"decisions\.json: .*{fault}|decisions\.json: {fault}"):
        read(tmp_path, content)
