"""Every step of a fit is the one on record: models tried, scores, objectives, supports."""

import json

import numpy as np
import pytest
from runs_on_record import FILE, RUNS

RECORD = json.loads(FILE.read_text(encoding="utf-8"))


def assert_close(found, expected):
    """Equal but for rounding errors, which differ between machines."""
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-9)


def test_the_record_is_of_these_runs():
    assert list(RECORD) == list(RUNS), "python tests/contracts/runs_on_record.py writes it again"


@pytest.mark.parametrize("name", list(RUNS))
def test_a_run_is_the_one_on_record(name):
    run, expected = RUNS[name](), RECORD[name]
    assert run.keys() == expected.keys()
    assert [step[:3] for step in run.get("search", ())] == [
        step[:3] for step in expected.get("search", ())
    ]
    assert_close(run.get("search", ()), expected.get("search", ()))
    for part in ("rows", "columns"):
        assert run[part] == expected[part]
    assert_close(run["fit"], expected["fit"])
    for part in ("strength", "intercept"):
        assert run.get(part, 0.0) == pytest.approx(expected.get(part, 0.0), rel=1e-5)
