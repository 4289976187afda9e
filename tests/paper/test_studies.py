"""Every study: its jobs, and the fields of its records, on its smallest job."""

import dataclasses

import pytest
from paper.study import Job, run_study

from paper import STUDIES

pytestmark = pytest.mark.slow
SCORES = {"method", "seed", "spectral", "frobenius", "prediction", "same_rows", "rows", "columns"}
SCORES |= {"rank", "seconds", "exact", "versions", "day", "study"}


@pytest.fixture
def first_records(tmp_path):
    """The records of one of the quick jobs of a study."""

    def run(name, index=0, **cell):
        study = STUDIES[name]
        job = study.jobs(True)[index]
        job = Job(job.cell | cell, job.seed)
        one = dataclasses.replace(study, jobs=lambda quick: [job])
        return run_study(one, tmp_path, quick=True)

    return run


@pytest.mark.parametrize("name", STUDIES)
def test_jobs_are_distinct_and_their_own(name):
    study = STUDIES[name]
    assert study.title
    for quick in (True, False):
        jobs = study.jobs(quick)
        assert len({job.key(name) for job in jobs}) == len(jobs) > 0
    assert len(study.jobs(True)) <= len(study.jobs(False))


def test_table(first_records):
    records = {record["method"]: record for record in first_records("table3")}
    assert set(records) >= {"GDT", "pursuit", "JRRS", "oracle", "null"}
    assert all(record.keys() >= SCORES | {"setting"} for record in records.values())
    assert records["GDT"]["spectral"] < 0.4
    assert records["GDT"]["columns"] == 50
    assert records["null"]["spectral"] == 1


def test_sensitivity(first_records):
    records = first_records("sensitivity", 1)
    assert [record["method"] for record in records] == ["GDT", "pursuit"]
    for record in records:
        assert record.keys() >= SCORES | {"factor"}
        assert (record["factor"], record["rows"], record["columns"]) == (1.5, 15, 15)


@pytest.mark.parametrize("name", ["figure-no-error", "figure-no-sparsity"])
def test_convergence(name, first_records):
    (record,) = first_records(name)
    assert record["reference"] == ("truth" if name.endswith("error") else "global minimum")
    assert record["iterations"][0] == 0
    assert len(record["iterations"]) == len(record["errors"]) <= 300
    assert record["errors"][-1] < 1e-8 < record["errors"][0]
    assert record["n"] == 200


def test_high_dimension(first_records):
    (record,) = first_records("figure-high-dimension", 2)
    assert record["n"] == 100
    assert len(record["iterations"]) == len(record["errors"]) == len(record["objectives"]) == 201
    assert record["errors"][-1] < 0.5 * record["errors"][0]
    assert record["objectives"][-1] < record["objectives"][0]
    assert record["best_error"] == record["errors"][record["best_iteration"]]
    assert record["last_error"] == record["errors"][-1]
    assert record["lasso_error"] < 1
    assert min(record["seconds_start"], record["seconds_solver"], record["tolerance"]) > 0


def test_timing_records(first_records):
    (record,) = first_records("table5", 1, zetas=[1])
    assert (record["method"], record["zeta"], record["status"]) == ("pursuit", 1, "ok")
    parts = record["seconds_start"] + record["seconds_solver"]
    assert 0 < record["seconds"] == pytest.approx(parts)
    assert record["limit"] == 10
    records = first_records("table5", 1, limit=0.0005)
    assert [r["zeta"] for r in records] == [1, 5]
    assert {(r["status"], r.get("seconds")) for r in records} == {("> limit", None)}


@pytest.mark.parametrize("index", [1, 3])
def test_rl_sparse_family(index, first_records):
    (record,) = first_records("rl-sparse-family", index)
    assert record["method"] == ("pursuit" if index == 1 else "ridge")
    assert 0 <= record["found"] <= min(record["active"], 10)
    assert 0 <= record["value_error"] < 1


def test_rl_blackjack(first_records):
    methods = ["pursuit", "lasso", "group lasso", "ridge", "pooled"]
    cell = {"decks": [2, None], "dealer_stays": [17], "hands": 2000, "states": 120}
    records = first_records("rl-blackjack", **cell, methods=methods)
    assert [record["method"] for record in records] == [*methods, "optimum"]
    best = records.pop()
    assert best["edge_standard"] == pytest.approx(0.02421, abs=5e-5)
    for record in records:
        assert record["edge_exact"] > best["edge_exact"]
        assert abs(record["edge_played"] - record["edge_exact"]) < 0.15
        assert (record["tasks"], record["features"]) == (4, 292)


def test_norway_selection_is_that_of_the_paper(first_records):
    records = {record["method"]: record for record in first_records("norway", -1)}
    for method in ("pursuit", "exhaustive search", "GDT, spectral start"):
        assert records[method]["discarded"] == ["X1^2", "X1*X2", "X2*X3"]
        assert records[method]["rss"] == pytest.approx(195.962, abs=1e-3)
    assert len(records["GDT"]["kept"]) == 6
