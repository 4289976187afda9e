"""Commands on models that ``thinrank fit`` did not write."""

import json
import warnings

import numpy as np
import pytest
from messy_files import run

import thinrank as tr


@pytest.fixture
def baseline(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    X = rng.standard_normal((20, 4))
    Y = X @ np.ones((4, 2)) + rng.standard_normal((20, 2))
    tr.save(tr.baselines.ReducedRankRegression(rank=1).fit(X, Y), tmp_path / "b")
    return tmp_path / "b"


def test_inspect_a_baseline(baseline):
    result = run("inspect", "b", "--json")
    assert result.code == 0
    assert result.json["estimator"] == "ReducedRankRegression"
    assert result.json["status"] is None
    assert "saved by tr.save" in run("inspect", "b").out


def test_stability_is_not_for_baselines(baseline):
    result = run("stability", "b")
    assert result.code == 2
    assert "for a ReducedRankRegression" in result.error


def test_records_that_are_no_records(baseline):
    model = tr.load(baseline)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tr.save(model, baseline, overwrite=True, extra={"thinrank fit": [1, 2]})
    result = run("inspect", "b", "--json")
    assert result.code == 3
    assert "invalid record" in json.loads(result.out)["error"]
    for files in ({"x": {"a": 1}, "y": None}, ["X.csv"]):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            extra = {"thinrank fit": {"version": 1, "data": files}}
            tr.save(model, baseline, overwrite=True, extra=extra)
        result = run("inspect", "b", "--json")
        assert result.code == 3
        assert "invalid record of the files" in json.loads(result.out)["error"]
