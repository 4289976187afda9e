"""Every study: its jobs, and the fields of its records, on its smallest job."""

import json
import pkgutil
from importlib import import_module

import numpy as np
import pytest

from thinrank import paper
from thinrank.paper import find_study, noise, norway, study_names
from thinrank.paper.convergence import log_linear, thinned
from thinrank.paper.high_dimension.study import lasso_in_blocks
from thinrank.paper.tables import study as tables
from thinrank.paper.timing import study as timing
from thinrank.studies import run_study
from thinrank.studies.executors import run_job

SCORES = {"method", "seed", "spectral", "frobenius", "prediction", "same_rows", "rows", "columns"}
SCORES |= {"rank", "seconds", "exact", "host", "versions", "started", "study"}


def first_records(name, index=0):
    study = find_study(name)
    records = run_job(study, study.jobs(True)[index])
    json.dumps(records, allow_nan=False)
    return records


def test_the_registry_names_the_module_of_each_study():
    """Every experiment in the package is registered, and under its own name."""
    modules = {module.name for module in pkgutil.iter_modules(paper.__path__)}
    found = [import_module(f"thinrank.paper.{name}") for name in sorted(modules)]
    studies = [s.name for module in found for s in getattr(module, "STUDIES", ())]
    assert sorted(studies) == sorted(study_names())
    assert all(find_study(name).name == name for name in study_names())


def test_unknown_name():
    with pytest.raises(ValueError, match="no study 'table9'; choose from table1"):
        find_study("table9")


@pytest.mark.parametrize("name", study_names())
def test_jobs_are_distinct_and_their_own(name):
    study = find_study(name)
    assert study.title
    assert study.claim
    for quick in (True, False):
        jobs = study.jobs(quick)
        assert len({job.key for job in jobs}) == len(jobs) > 0
        assert {job.study for job in jobs} == {name}
    assert len(study.jobs(True)) <= len(study.jobs(False))


def test_sizes_are_those_of_the_paper():
    assert all(len(find_study(f"table{i}").jobs(False)) == 50 for i in range(1, 5))
    assert {job.cell["zeta"] for job in find_study("table5").jobs(False)} == {1, 5, 10, 20, 50, 100}
    assert len(find_study("norway").jobs(False)) == 51
    assert {job.cell["n"] for job in find_study("figure-high-dimension").jobs(False)} == {
        500,
        1000,
        2000,
    }


def test_table(monkeypatch):
    monkeypatch.setattr(tables, "METHODS", ("GDT", "pursuit", "JRRS", "oracle", "null"))
    records = {record["method"]: record for record in first_records("table3")}
    assert list(records) == ["GDT", "pursuit", "JRRS", "oracle", "null"]
    assert all(record.keys() >= SCORES | {"setting"} for record in records.values())
    assert records["GDT"]["spectral"] < 0.4
    assert records["GDT"]["columns"] == 50
    assert records["null"]["spectral"] == 1


def test_sensitivity():
    records = first_records("sensitivity", 3)
    assert [record["method"] for record in records] == ["GDT", "pursuit"]
    for record in records:
        assert record.keys() >= SCORES | {"factor"}
        assert (record["factor"], record["rows"], record["columns"]) == (1.5, 15, 15)


def test_noise(monkeypatch):
    monkeypatch.setattr(noise, "_METHODS", ("pursuit", "MTL"))
    records = first_records("noise", 4)
    assert all(record.keys() >= SCORES | {"distribution", "setting"} for record in records)
    assert records[0]["distribution"] == "uniform"
    assert records[0]["spectral"] < records[1]["spectral"]


@pytest.mark.parametrize("name", ["figure-no-error", "figure-no-sparsity"])
def test_convergence(name):
    (record,) = first_records(name)
    assert record["reference"] == ("truth" if name.endswith("error") else "global minimum")
    assert record["iterations"][0] == 0
    assert len(record["iterations"]) == len(record["errors"]) <= 300
    assert record["errors"][-1] < 1e-8 < record["errors"][0]
    assert 0 < record["rate"] < 1
    assert record["straightness"] > 0.95
    assert record["n"] == 200


def test_high_dimension():
    (record,) = first_records("figure-high-dimension", 2)
    assert record["n"] == 100
    assert len(record["iterations"]) == len(record["errors"]) == len(record["objectives"]) == 201
    assert record["errors"][-1] < 0.5 * record["errors"][0]
    assert record["objectives"][-1] < record["objectives"][0]
    assert record["best_error"] == record["errors"][record["best_iteration"]]
    assert record["last_error"] == record["errors"][-1]
    assert record["lasso_error"] < 1
    assert min(record["seconds_start"], record["seconds_solver"], record["tolerance"]) > 0


def test_lasso_in_blocks_meets_its_tolerance(rng):
    X, Y = rng.standard_normal((60, 40)), rng.standard_normal((60, 30))
    Y[:, :5] += 3 * X[:, :5]
    penalty, tolerance = 0.2, 0.03
    theta = lasso_in_blocks(X, Y, penalty, tolerance, block=7).astype(float)
    gradient = X.T @ (X @ theta - Y) / 60
    away = np.where(
        theta != 0, np.abs(gradient + penalty * np.sign(theta)), np.abs(gradient) - penalty
    )
    smooth = np.linalg.norm(X, 2) ** 2 / 60
    assert 0 < np.mean(theta != 0) < 0.5
    assert away.max() < 2 * tolerance * penalty * smooth
    assert not lasso_in_blocks(X, Y, 100.0, tolerance).any()


def test_log_linear_and_thinned():
    rate, straightness = log_linear([0.5**i for i in range(10)])
    assert rate == pytest.approx(0.5)
    assert straightness == pytest.approx(1)
    assert thinned(5) == [0, 1, 2, 3, 4]
    kept = thinned(10_000, 100)
    assert len(kept) == 100
    assert (kept[0], kept[-1]) == (0, 9999)


def test_timing_records():
    (record,) = first_records("table5", 2)
    assert (record["method"], record["zeta"], record["status"]) == ("pursuit", 1, "ok")
    parts = record["seconds_start"] + record["seconds_solver"]
    assert 0 < record["seconds"] == pytest.approx(parts)
    assert record["limit"] == 10


def test_time_limit_and_what_follows_from_it(tmp_path, monkeypatch):
    """One cell that takes too long, and the larger one that is then not tried."""
    monkeypatch.setattr(timing, "_METHODS", ("EEA",))
    records = run_study(find_study("table5"), tmp_path, quick=True, limit=0.001)
    assert [record["status"] for record in records] == ["> limit", "> limit"]
    assert [record["tried"] for record in records] == [True, False]
    assert [record["limit"] for record in records] == [0.001, 0.001]
    assert all(record["seconds"] is record["seconds_solver"] is None for record in records)


def test_norway_selection_is_that_of_the_paper():
    records = {record["method"]: record for record in first_records("norway", -1)}
    for method in ("pursuit", "exhaustive search", "GDT, spectral start"):
        assert records[method]["discarded"] == ["X1^2", "X1*X2", "X2*X3"]
        assert records[method]["rss"] == pytest.approx(195.962, abs=1e-3)
    assert len(records["GDT"]["kept"]) == 6


def test_norway_errors(monkeypatch):
    monkeypatch.setattr(norway, "_METHODS", ("pursuit", "MTL", "null"))
    records = first_records("norway")
    assert [record["method"] for record in records] == ["pursuit", "MTL", "null"]
    assert all(record["kind"] == "error" for record in records)
    assert all(0.5 < record["rmse"] < 2 for record in records)
