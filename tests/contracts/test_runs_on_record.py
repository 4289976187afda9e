"""Every step of a fit is the one on record: models tried, scores, objectives, supports, work."""

import json

import numpy as np
import pytest
import work_of_runs
from runs_on_record import FILE, RUNS, carried_out

RECORD = json.loads(FILE.read_text(encoding="utf-8"))
WORK = work_of_runs.read()
AGAIN = "after a change on purpose write the record again: python tests/contracts/runs_on_record.py"


def assert_close(found, expected, atol=1e-9):
    """Equal but for rounding errors, which differ between machines."""
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6, atol=atol)


def test_the_record_is_of_these_runs():
    assert list(RECORD) == list(RUNS), AGAIN
    assert list(WORK) == [name for name in RUNS if name not in work_of_runs.RUNS_LEFT_OUT], AGAIN


def test_what_is_left_out_of_the_count_exists():
    assert set(work_of_runs.RUNS_LEFT_OUT) <= set(RUNS)
    for name in work_of_runs.FILES_LEFT_OUT:
        assert (work_of_runs.PACKAGE / f"{name}.py").exists() or (
            work_of_runs.PACKAGE / name
        ).is_dir()
    for name in work_of_runs.FUNCTIONS_LEFT_OUT:
        module, function = name.rsplit(".", 1)
        assert f"def {function}(" in (work_of_runs.PACKAGE / f"{module}.py").read_text("utf-8")


def test_a_difference_names_the_functions():
    found = work_of_runs.difference({"a": 2, "b": 1, "c": 5}, {"b": 3, "c": 5, "d": 1})
    assert found.splitlines() == [
        "a is called 2 times, on record 0 times",
        "b is called 1 times, on record 3 times",
        "d is called 0 times, on record 1 times",
    ]


@pytest.mark.parametrize("name", list(RUNS))
def test_a_run_is_the_one_on_record(name):
    (run, work), expected = carried_out(name), RECORD[name]
    assert run.keys() == expected.keys()
    assert [step[:3] for step in run.get("search", ())] == [
        step[:3] for step in expected.get("search", ())
    ]
    assert_close(run.get("search", ()), expected.get("search", ()))
    for part in ("rows", "columns"):
        assert run[part] == expected[part]
    assert_close(run["fit"], expected["fit"])
    # differences of objectives, which have fewer digits
    assert_close(run.get("changes", ()), expected.get("changes", ()), atol=1e-7)
    for part in ("strength", "intercept"):
        assert run.get(part, 0.0) == pytest.approx(expected.get(part, 0.0), rel=1e-5)
    if work is not None:
        assert not (changed := work_of_runs.difference(work, WORK[name])), f"{changed}\n{AGAIN}"
