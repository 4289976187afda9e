"""Which points searches try on landscapes that are given by a formula."""

import json

import numpy as np
import pytest
from searched_landscapes import FILE, RUNS, criterion, held_out

from thinrank.selection import search as search_module

RECORD = json.loads(FILE.read_text(encoding="utf-8"))


def assert_same(found, expected):
    assert [step[:4] for step in found["steps"]] == [step[:4] for step in expected["steps"]]
    np.testing.assert_allclose(found["steps"], expected["steps"], rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(found["chosen"], expected["chosen"], rtol=1e-6)
    for part in ("first", "before", "parts"):
        assert found.get(part) == expected.get(part)


def test_the_record_is_of_these_landscapes():
    assert list(RECORD) == list(RUNS), "python tests/selection/searched_landscapes.py writes it"


@pytest.mark.parametrize("name", list(RUNS))
def test_a_search_tries_the_points_on_record(name):
    run, number = RUNS[name]
    assert_same(run(number), RECORD[name])


@pytest.mark.parametrize("jobs", [1, 2])
@pytest.mark.parametrize("together", [0, 10**9])
def test_groups_and_threads_change_nothing(monkeypatch, jobs, together):
    """Samples one by one or together, in one thread or two."""
    monkeypatch.setattr(search_module, "_SMALL_GROUP", together)
    for run, name in ((held_out, "held out 2"), (criterion, "criterion 2")):
        assert_same(run(2, n_jobs=jobs), RECORD[name])


@pytest.mark.parametrize("name", list(RUNS))
def test_the_best_of_the_points_is_returned(name):
    """No point is tried twice in a search, and a criterion's choice is the least score."""
    steps, chosen = RECORD[name]["steps"], RECORD[name]["chosen"]
    points = [tuple(step[:4]) for step in steps]
    assert len(set(points)) == len(points)
    if name.startswith("criterion"):
        assert chosen[-1] == min(step[-1] for step in steps)
