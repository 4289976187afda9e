"""The study of blackjack, on few hands, and the lassos made for it."""

import numpy as np
import pytest

from thinrank.baselines import MultiTaskGroupLasso, SeparateLassos
from thinrank.baselines.compact_lassos import CompactGroupLasso, CompactLassos
from thinrank.paper import find_study, rl_blackjack
from thinrank.studies import Job
from thinrank.studies.executors import run_job


def test_jobs():
    study = find_study("rl-blackjack")
    full = study.jobs(False)
    assert {job.cell["states"] for job in full} == {250, 1000, 4000}
    assert {job.seed for job in full} == set(range(72_000, 72_010))
    assert {job.cell["hands"] for job in full} == {200_000}
    assert all(job.cell["methods"] == list(rl_blackjack.REGRESSORS) for job in full)


def test_records_of_a_small_run():
    study = find_study("rl-blackjack")
    methods = ["pursuit", "lasso", "group lasso", "ridge", "pooled"]
    cell = {"decks": [2, None], "dealer_stays": [17], "hands": 5000, "states": 120}
    job = Job(study.name, {**cell, "methods": methods}, 70_220)
    records = run_job(study, job)
    assert [record["method"] for record in records] == ["optimum", *methods]
    best = records[0]
    assert best["edge_standard"] == pytest.approx(0.02421, abs=5e-5)
    assert len(best["edges_exact"]) == len(best["edges_played"]) == 2
    for record in records[1:]:
        assert record["edge_exact"] > best["edge_exact"]
        assert abs(record["edge_played"] - record["edge_exact"]) < 0.1
        assert 0.005 < record["edge_played_error"] < 0.015
        assert record["tasks"] == 4
        assert record["features"] == 292
    again = run_job(study, job.with_cell(methods=["ridge"]))
    assert again[1]["edges_exact"] == records[4]["edges_exact"]


@pytest.mark.parametrize(
    ("compact", "usual", "penalty"),
    [(CompactLassos, SeparateLassos, 0.1), (CompactGroupLasso, MultiTaskGroupLasso, 0.2)],
)
@pytest.mark.parametrize("rows", [100, 5])
def test_compact_data_have_the_same_solution(compact, usual, penalty, rows):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((rows, 8))
    Y = X[:, :2] @ rng.standard_normal((2, 3)) + 0.1 * rng.standard_normal((rows, 3))
    found = [model(penalty, tol=1e-12).fit(X, Y) for model in (compact, usual)]
    np.testing.assert_allclose(found[0].coef_, found[1].coef_, atol=1e-5)
    assert found[0].coef_.any()
