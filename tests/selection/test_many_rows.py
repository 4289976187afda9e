"""Searches whose models have many rows: forecasts in one order, and points that are ruled out."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.model_selection import KFold

import thinrank as tr
from thinrank.core.sizes import Sizes
from thinrank.losses import LeastSquares
from thinrank.selection.automatic import automatic_ridges, by_criterion, by_held_out
from thinrank.selection.criteria import Criterion
from thinrank.selection.criterion_sample import CriterionSample
from thinrank.selection.elimination import forecasts, removal, removal_in_order
from thinrank.selection.held_out_search import HeldOutSearch
from thinrank.selection.space import make_space
from thinrank.selection.splits import held_out_samples
from thinrank.solvers.pursuit import Pursuit

N, P, K = 60, 20, 10
SPLITS = list(KFold(4, shuffle=True, random_state=0).split(np.zeros(N)))


def data(seed=0, **change):
    sizes = {"rank": 2, "row_sparsity": 8, "column_sparsity": 6, "random_state": seed}
    X, Y, _ = tr.datasets.make_two_way_sparse(N, P, K, **(sizes | change))
    return X - X.mean(axis=0), Y - Y.mean(axis=0)


def space_of(X, rows=None):
    ridges = automatic_ridges(np.mean(X**2, axis=0))
    return make_space((P, K), 45, ranks=None, rows=rows, columns=None, ridges=ridges)


# --------------------------------------------------------------------------- forecasts


def fitted(ridge, rows=9, seed=0):
    X, Y = data(seed)
    loss = LeastSquares(X, Y, ridge=ridge)
    U = np.random.default_rng(seed).standard_normal((P, 2))
    V = np.random.default_rng(seed + 1).standard_normal((K, 2))
    return X, Y, loss.quadratic(), Pursuit().sized(2, rows, 6).init(loss, tr.Factors(U, V))


@pytest.mark.parametrize("ridge", [0.0, 0.3])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_forecasts_in_order_are_refits_with_the_row_space_fixed(ridge, seed, monkeypatch):
    X, Y, form, fit = fitted(ridge, seed=seed)
    A, B = data(seed + 10)
    monkeypatch.setattr("thinrank.selection.elimination.MOST_FORECAST", 5)
    many = removal_in_order(form, fit.without_root(), A[:, fit.rows], B, 2.0, B.size)
    (forecast,) = forecasts([many], np.arange(1, P + 1))
    order = np.asarray(fit.rows)[np.argsort(-fit.costs)]
    for count in range(1, 10):
        rows = order[:count]
        H = X[:, rows].T @ X[:, rows] / N + ridge * np.eye(count)
        U = np.linalg.solve(H, X[:, rows].T @ Y @ fit.Q / N)
        error = np.sum((B - A[:, rows] @ U @ fit.Q.T) ** 2) - np.sum(B**2)
        assert forecast[count - 1] == pytest.approx(2.0 + error / B.size, rel=1e-9)
    assert np.isposinf(forecast[9:]).all()


def test_forecasts_of_fits_with_few_and_many_rows_together():
    X, Y, _, fit = fitted(0.1, rows=4)
    _, _, other_form, other = fitted(0.1, rows=9)
    few = removal(fit, X[:, fit.rows], Y, 1.0, Y.size)
    many = removal_in_order(other_form, other, X[:, other.rows], Y, 1.5, Y.size)
    counts = np.arange(1, P + 1)
    together = forecasts([many, None, few], counts)
    assert np.isinf(together[1]).all()
    np.testing.assert_array_equal(together[0], forecasts([many], counts)[0])
    np.testing.assert_array_equal(together[2], forecasts([few], counts)[0])
    # with all its rows a fit has its own error, whichever way it is computed
    one_by_one = removal(other, X[:, other.rows], Y, 1.5, Y.size)
    assert together[0, 8] == pytest.approx(forecasts([one_by_one], counts)[0, 8], rel=1e-12)


def test_there_are_no_forecasts_with_more_rows_than_samples():
    X, Y, _, fit = fitted(0.1)

    class Thick:
        def inverse_root(self, rows):
            return fit.root[:3], False

    assert removal_in_order(Thick(), fit, X[:, fit.rows], Y, 1.0, Y.size) is None
    (sample, *_) = held_out_samples(LeastSquares(X, Y), SPLITS, center=True, scale=True)
    thick = replace(fit, root=fit.root[:3]).without_root()
    assert sample.removal(thick, 0.1) is None


@pytest.mark.parametrize("ridge", [0.0, 0.2])
def test_samples_forecast_many_rows_from_fits_without_root(ridge, monkeypatch):
    X, Y = data()
    sizes = Sizes(2, 9, 6, ridge)
    (sample, *_) = held_out_samples(LeastSquares(X, Y), SPLITS, center=True, scale=True)
    fit = sample.fit(sizes, Pursuit().sized(*sizes[:3]))
    monkeypatch.setattr("thinrank.selection.elimination.MOST_FORECAST", 5)
    forecast = sample.rows_forecast(fit.without_root(), sizes, np.arange(1, P + 1))
    assert forecast[8] == pytest.approx(sample.score(fit, sizes), rel=1e-9)
    assert np.isfinite(forecast[:9]).all()
    assert np.isposinf(forecast[9:]).all()


# --------------------------------------------------------------------------- ruled out


def search_of(X, Y, space):
    samples = held_out_samples(LeastSquares(X, Y), SPLITS, center=True, scale=True)
    return HeldOutSearch(samples, space, rule="best", rows=N)


def test_what_rows_do_not_explain():
    """The residual variance of least squares on the rows that are left."""
    X, Y = data()
    (sample, *_) = held_out_samples(LeastSquares(X, Y), SPLITS, center=True, scale=True)
    left = sample.eliminated(6, 0.0).rows
    train = SPLITS[0][0]
    A = X[train][:, left] - X[train][:, left].mean(axis=0)
    B = Y[train] - Y[train].mean(axis=0)
    residual = B - A @ np.linalg.lstsq(A, B, rcond=None)[0]
    expected = np.sum(residual**2) / K / (len(train) - 6)
    assert sample.unexplained(6) == pytest.approx(expected, rel=1e-9)


def test_what_dependent_rows_do_not_explain_is_not_estimated():
    X, Y = data()
    X = np.hstack([X, X])
    (sample, *_) = held_out_samples(LeastSquares(X, Y), SPLITS, center=True, scale=True)
    assert sample.unexplained(P + 10) == 0.0


def test_numbers_of_rows_are_ruled_out_if_fits_are_not_small(monkeypatch):
    X, Y = data(signal=3.0)
    search = search_of(X, Y, space_of(X))
    unexplained = np.mean([sample.unexplained(4) for sample in search._samples])
    assert not search.rules_out(4, unexplained / 1.16)  # small fits
    monkeypatch.setattr("thinrank.selection.search._SMALL_GROUP", 0)
    assert search.rules_out(4, unexplained / 1.16)
    assert not search.rules_out(4, unexplained / 1.14)
    assert not search.rules_out(45, 0.0)  # as many rows as samples: nothing is unexplained


def test_the_coarse_grid_ends_where_fewer_rows_are_ruled_out(monkeypatch):
    X, Y = data()
    whole = search_of(X, Y, space_of(X)).coarse()
    monkeypatch.setattr("thinrank.selection.search._SMALL_GROUP", 0)
    short = search_of(X, Y, space_of(X)).coarse()
    assert {sizes.rows for sizes in whole.points} == {1, 2, 4, 8, 16, 20}
    assert {sizes.rows for sizes in short.points} == {8, 16, 20}
    assert short.starts == whole.starts
    assert short.score == whole.score


def test_the_guide_is_not_asked_where_its_models_are_ruled_out(monkeypatch):
    X, Y = data()
    asked = []
    monkeypatch.setattr(
        "thinrank.selection.automatic._guide", lambda *_, **options: asked.append(options) or []
    )
    monkeypatch.setattr("thinrank.selection.search._SMALL_GROUP", 0)
    for rows in ([4, 8, 16], [2, 4, 16]):
        space = space_of(X, rows)
        space = replace(space, most_unshrunk=3 * rows[1])
        by_held_out(LeastSquares(X, Y), space, SPLITS, center=True, scale=True)
    (options,) = asked  # the true model has 8 rows
    assert options["space"].rows.tolist() == [4, 8, 16]


def test_fits_with_many_rows_end_early_in_a_search():
    X, Y = data()
    search = search_of(X, Y, space_of(X))
    assert search._solver(Sizes(2, 129, 6, 0.0)).max_iter == 8
    assert search._solver(Sizes(2, 128, 6, 0.0)).max_iter == 100
    grid = make_space((P, K), 45, ranks=[2], rows=[4], columns=[6], ridges=[0.0])
    assert search_of(X, Y, grid)._solver(Sizes(2, 129, 6, 0.0)).max_iter == 100
    search._pursuit = Pursuit(max_iter=3)
    assert search._solver(Sizes(2, 129, 6, 0.0)).max_iter == 3


# --------------------------------------------------------------------------- criteria


def test_criterion_without_penalty():
    X, Y = data()
    sample = CriterionSample(LeastSquares(X, Y).quadratic(), lambda: 1.0, Criterion(), True, True)
    fit = sample.eliminated(6, 0.0)
    A = X[:, fit.rows]
    residual = Y - A @ np.linalg.lstsq(A, Y, rcond=None)[0]
    expected = N * K * np.log(np.sum(residual**2) / np.sum(Y**2))
    assert sample.unpenalised(fit) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_long_searches_begin_with_the_best_point_of_tables(seed, monkeypatch):
    X, Y = data(seed, signal=3.0)
    loss, space = LeastSquares(X, Y), space_of(X)
    usual = by_criterion(loss, space, Criterion())
    assert not usual.is_long
    monkeypatch.setattr("thinrank.selection.search._LONG", 0)
    quick = by_criterion(loss, space, Criterion())
    assert quick.is_long
    assert quick.best.score == usual.best.score
    assert len(quick.evaluations) < len(usual.evaluations)
    grid = set(space.row_grid())
    first = next(e.sizes for e in quick.evaluations if e.sizes.rank > 0)
    assert first.rows in grid


def test_models_with_many_rows_have_no_neighbours(monkeypatch):
    X, Y = data()
    asked = []
    monkeypatch.setattr(
        "thinrank.selection.search.Search._neighbours", lambda _, best: asked.append(1) or best
    )
    by_criterion(LeastSquares(X, Y), space_of(X), Criterion("aic"))
    assert asked
    asked.clear()
    monkeypatch.setattr("thinrank.selection.criterion_search.MANY_ROWS", 0)
    by_criterion(LeastSquares(X, Y), space_of(X), Criterion("aic"))
    assert not asked


def test_long_searches_by_a_criterion_go_on_in_other_units(monkeypatch):
    """The second search begins with the choice of the first, if the first was long."""
    rng = np.random.default_rng(3)
    X, Y, _ = tr.datasets.make_two_way_sparse(120, 30, 8, 2, 6, 8, signal=3.0, random_state=3)
    Y = Y + rng.standard_normal(Y.shape) * np.geomspace(0.1, 6, 8)
    began = []

    def recorded(*args, near=None, **options):
        search = by_criterion(*args, near=near, **options)
        began.append((near, search.best.sizes))
        return search

    monkeypatch.setattr("thinrank.estimators.sizes.by_criterion", recorded)
    tr.SparseReducedRankRegressor(criterion="pic").fit(X, Y)
    assert len(began) > 1
    assert {near for near, _ in began} == {None}
    began.clear()
    monkeypatch.setattr("thinrank.selection.search._LONG", 0)
    tr.SparseReducedRankRegressor(criterion="pic").fit(X, Y)
    assert len(began) > 1
    assert [near for near, _ in began] == [None, *(best for _, best in began[:-1])]
