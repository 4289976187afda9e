"""The study of a family of tasks, on a small one, and the baselines made for it."""

import numpy as np
import pytest
from sklearn.linear_model import Ridge

from thinrank.baselines import SeparateRidges
from thinrank.baselines.refitted import RefittedGroupLasso, RefittedLassos
from thinrank.paper import find_study
from thinrank.paper.rl_sparse_family import study as rl_sparse_family
from thinrank.studies import Job
from thinrank.studies.executors import run_job

LITERAL = {"fit_intercept": False, "standardize": False}


@pytest.fixture
def small(monkeypatch):
    sizes = {"n_tasks": 5, "n_features": 12, "n_actions": 3, "row_sparsity": 9, "rank": 2}
    monkeypatch.setattr(rl_sparse_family, "_SIZES", sizes)
    monkeypatch.setattr(rl_sparse_family, "_ITERATIONS", 5)
    monkeypatch.setattr(rl_sparse_family, "_TUNE_AT", (1, 3))


def test_jobs():
    study = find_study("rl-sparse-family")
    full = study.jobs(False)
    linear = [job for job in full if job.cell["family"] == "linear"]
    assert {job.cell["states"] for job in linear} == {20, 40, 80, 160, 320}
    assert {job.seed for job in linear} == set(range(71_000, 71_020))
    assert {job.cell["method"] for job in full} == set(rl_sparse_family.METHODS)
    assert {job.cell["states"] for job in study.jobs(True)} == {40, 80}


@pytest.mark.parametrize("family", ["linear", pytest.param("constructed", marks=pytest.mark.slow)])
def test_every_method_on_a_small_family(small, family):
    study, errors = find_study("rl-sparse-family"), {}
    for method in rl_sparse_family.METHODS:
        cell = {"family": family, "states": 60, "method": method}
        (record,) = run_job(study, Job(study.name, cell, 70_000))
        assert record["method"] == method
        assert record["tasks"] == 5
        assert 0 <= record["found"] <= min(record["active"], record["rows_true"])
        errors[method] = record["value_error"]
    assert all(np.isfinite(error) and error >= 0 for error in errors.values())
    if family == "linear":
        assert max(errors["GDT"], errors["pursuit"]) < errors["pooled"]


def data():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 12))
    theta = np.zeros((12, 4))
    theta[[2, 5]] = rng.standard_normal((2, 4))
    return X, X @ theta + 0.1 * rng.standard_normal((40, 4)), theta


def test_refits_are_least_squares_on_what_was_picked():
    X, Y, _ = data()
    for model in (RefittedGroupLasso, RefittedLassos):
        est = model(0.2, **LITERAL).fit(X, Y)
        assert 0 < len(est.row_support_) < 12
        for j, coefficients in enumerate(est.coef_):
            rows = np.flatnonzero(np.abs(coefficients) > 1e-9)
            expected = np.linalg.lstsq(X[:, rows], Y[:, j], rcond=None)[0]
            np.testing.assert_allclose(coefficients[rows], expected, atol=1e-8)
    tuned = RefittedGroupLasso(n_penalties=8, cv=5, **LITERAL).fit(X, Y)
    assert set(tuned.row_support_) >= {2, 5}


def test_ridges_are_those_of_scikit_learn():
    X, Y, _ = data()
    est = SeparateRidges(0.3, **LITERAL).fit(X, Y)
    expected = Ridge(40 * 0.3, fit_intercept=False).fit(X, Y).coef_
    np.testing.assert_allclose(est.coef_, expected, atol=1e-10)
    tuned = SeparateRidges(n_penalties=8, cv=5, **LITERAL).fit(X, Y)
    assert len(tuned.cv_results_["params"]) == 8
