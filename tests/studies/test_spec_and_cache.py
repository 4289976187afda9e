"""Keys that last, values that JSON holds, and files that are whole or absent."""

import json
import math

import numpy as np
import pytest
from paper.studies import Job, stable
from paper.studies.spec import plain


def test_the_key_of_a_job_is_the_same_for_ever():
    job = Job("table1", {"setting": "row_strong", "n": 50}, 7)
    assert job.key == "3cee61ad6fb1b582f2a1bd17"
    assert Job("table1", {"n": np.int64(50), "setting": "row_strong"}, np.int64(7)).key == job.key


@pytest.mark.parametrize(
    "other",
    [
        Job("table2", {"n": 50}, 7),
        Job("table1", {"n": 51}, 7),
        Job("table1", {"n": 50}, 8),
        Job("table1", {"n": 50}, 7, revision=2),
    ],
)
def test_the_key_depends_on_everything(other):
    assert other.key != Job("table1", {"n": 50}, 7).key


def test_values_become_json():
    value = {"a": np.float64(0.1), "b": np.arange(2), "c": np.bool_(True), "d": math.nan, "e": None}
    expected = {"a": 0.1, "b": [0, 1], "c": True, "d": None, "e": None}
    assert json.loads(json.dumps(plain(value))) == expected
    with pytest.raises(TypeError, match="JSON values only, got object"):
        plain({"x": object()})


def test_stable_leaves_out_what_may_differ():
    record = {"x": 1, "seconds": 2.0, "host": "here", "started": "now", "versions": "1"}
    assert stable(record) == {"x": 1}
