"""The final fit is repeated until the scales of the responses say nothing new."""

import numpy as np
import pytest

import thinrank as tr
from thinrank.estimators import rounds
from thinrank.minimize import solve
from thinrank.selection.automatic import by_criterion

SIZES = {"rank": 2, "row_sparsity": 12, "column_sparsity": None}  # twice as many rows as the truth


def data(rng, signal):
    X = rng.standard_normal((400, 40))
    theta = np.zeros((40, 8))
    theta[:6] = signal * rng.standard_normal((6, 2)) @ rng.standard_normal((2, 8))
    return X, X @ theta + rng.standard_normal((400, 8))


@pytest.fixture
def fits(monkeypatch):
    made = []
    monkeypatch.setattr(rounds, "solve", lambda *a, **k: made.append(1) or solve(*a, **k))
    return made


def test_strong_signals_need_the_units_of_the_noise(rng, fits, monkeypatch):
    X, Y = data(rng, 0.5)
    tr.SparseReducedRankRegressor(**SIZES).fit(X, Y)
    assert len(fits) > 1
    fits.clear()
    monkeypatch.setattr("thinrank.estimators.problem.Problem.negligible_change", 10.0)
    tr.SparseReducedRankRegressor(**SIZES).fit(X, Y)
    assert len(fits) == 1


def test_a_common_factor_of_the_noise_needs_no_other_fit(rng, fits):
    X, Y = data(rng, 3.0)
    Y = Y[:, :1] * [1.0, -20.0, 0.1]  # equal parts of the responses are noise
    score = tr.SparseReducedRankRegressor(1, 12, None).fit(X, Y).score(X, Y)
    assert len(fits) == 1
    assert 0.5 < score < 1  # so that the units of the noise are others than those of the first fit


def test_a_common_factor_of_the_noise_needs_no_other_search(rng, monkeypatch):
    searches = []

    def counted(*args, **options):
        searches.append(1)
        return by_criterion(*args, **options)

    monkeypatch.setattr("thinrank.estimators.sizes.by_criterion", counted)
    X, Y = data(rng, 3.0)
    tr.SparseReducedRankRegressor(criterion="pic").fit(X, Y[:, :1] * [1.0, -20.0, 0.1])
    assert len(searches) == 1
    Y[:, 0] = rng.standard_normal(len(Y))  # a response of noise alone, beside others
    tr.SparseReducedRankRegressor(criterion="pic").fit(X, Y)
    assert len(searches) > 2


def test_without_standardisation_there_is_one_fit(rng, fits):
    tr.SparseReducedRankRegressor(**SIZES, standardize=False).fit(*data(rng, 0.5))
    assert len(fits) == 1


def test_with_many_rows_the_first_fit_gives_the_noise_only(rng, monkeypatch):
    solvers = []

    def seen(loss, solver, *others, **options):
        solvers.append(solver)
        return solve(loss, solver, *others, **options)

    monkeypatch.setattr(rounds, "solve", seen)
    X = rng.standard_normal((600, 300))
    theta = np.zeros((300, 8))
    theta[:150] = rng.standard_normal((150, 2)) @ rng.standard_normal((2, 8))
    Y = X @ theta + rng.standard_normal((600, 8)) * np.geomspace(1.0, 30.0, 8)
    few = tr.SparseReducedRankRegressor(2, 128, None).fit(X, Y)
    assert all(solver.exchanges for solver in solvers)
    solvers.clear()
    many = tr.SparseReducedRankRegressor(2, 150, None).fit(X, Y)
    assert [solver.exchanges for solver in solvers][:2] == [False, True]
    assert len(np.setdiff1d(many.row_support_, np.arange(150))) < 30
    assert many.score(X, Y) > few.score(X, Y)
    # noise of the same part of all responses needs no other units, but exchanges
    solvers.clear()
    tr.SparseReducedRankRegressor(1, 150, None).fit(X, Y[:, :1] * [1.0, -20.0, 0.1])
    assert [solver.exchanges for solver in solvers] == [False, True]
    # rows that the user gives are not replaced by others before the noise is known
    solvers.clear()
    tr.SparseReducedRankRegressor(2, 150, None, start=many.factors_).fit(X, Y)
    assert solvers[0].exchanges
