"""Searches by a criterion whose fits take long: few fits, few ridges, small tables."""

import numpy as np
import pytest

import thinrank as tr
from thinrank.core.sizes import Sizes
from thinrank.losses import LeastSquares
from thinrank.selection.automatic import automatic_ridges, by_criterion
from thinrank.selection.criteria import Criterion
from thinrank.selection.criterion_sample import CriterionSample
from thinrank.selection.evaluation import Evaluation
from thinrank.selection.long_search import LongSearch
from thinrank.selection.space import make_space
from thinrank.selection.tables import directions
from thinrank.starts import Auto

N, P, K = 150, 100, 90


def data(seed=0, rank=3, **change):
    options = {"signal": 1.0, "random_state": seed} | change
    X, Y, _ = tr.datasets.make_two_way_sparse(N, P, K, rank, 20, 60, **options)
    return X - X.mean(axis=0), Y - Y.mean(axis=0)


def sample_of(X, Y, **options):
    form = LeastSquares(X, Y).quadratic()
    return CriterionSample(form, lambda: 1.0, Criterion(), True, True, **options)


def space_of(X, ridges=None):
    ridges = automatic_ridges(np.mean(X**2, axis=0)) if ridges is None else ridges
    return make_space((P, K), N, ranks=None, rows=None, columns=None, ridges=ridges)


@pytest.fixture
def every_search_is_long(monkeypatch):
    monkeypatch.setattr("thinrank.selection.search._LONG", 0)


# --------------------------------------------------------------------------- tables


def test_tables_near_a_row_space_are_those_of_all_directions():
    sample = sample_of(*data())
    fit = sample.eliminated(80, 0.0)
    whole = sample.table(fit, 0.1, 40)
    right = np.linalg.svd(fit.whitened)[2][:3].T
    guess = right + 0.05 * np.random.default_rng(0).standard_normal((K, 3))
    few = sample.table(fit, 0.1, 40, guess)
    assert whole.shape == (40, K)
    assert few.shape == (11, K)
    np.testing.assert_allclose(few[:3], whole[:3], rtol=1e-5)
    np.testing.assert_allclose(few[3:, -1], whole[3:11, -1], rtol=1e-3)
    assert sample.table(fit, 0.1, 2, right).shape == (2, K)


def test_a_table_of_likely_ranks():
    """As many ranks as are asked for, given the best rank for all columns."""
    sample = sample_of(*data(rank=4))
    fit = sample.eliminated(40, 0.0)
    whole = sample.table(fit, 0.0, 40)
    asked = []
    table, space = sample.likely_table(fit, 0.0, lambda best: asked.append(best) or best + 2)
    assert asked == [int(np.argmin(whole[:, -1])) + 1]
    assert asked[0] in (3, 4)
    np.testing.assert_allclose(table, whole[: asked[0] + 2], rtol=1e-9)
    known = directions(fit.root, fit.whitened, asked[0] + 2)
    np.testing.assert_allclose(space, known.weights.T)


def test_all_ranks_are_likely_near_saturation():
    sample = sample_of(*data())
    fit = sample.eliminated(P, 0.0)
    asked = []
    sample._criterion = Criterion(per_degree=1000.0)
    table, _ = sample.likely_table(fit, 0.0, lambda best: asked.append(best) or best)
    assert asked == [K]
    assert np.isposinf(table[:, -1]).all()


@pytest.mark.parametrize("correlation", [0.0, 0.9])
def test_the_forecast_without_penalty_is_rather_too_low(correlation):
    sample = sample_of(*data(correlation=correlation))
    fit = sample.eliminated(40, 0.0)
    scores = [sample.unpenalised(sample.eliminated(rows, 0.0)) for rows in (40, 20, 10, 5)]
    forecasts = [sample.unpenalised(fit, rows) for rows in (40, 20, 10, 5)]
    assert forecasts[0] == pytest.approx(scores[0])
    assert (np.diff(forecasts) > 0).all()
    assert (np.array(forecasts[1:]) < scores[1:]).all()


# --------------------------------------------------------------------------- ridges


class Valley(LongSearch):
    """Predictions of ridges from a function of their positions."""

    def __init__(self, space, height):
        X, Y = data()
        super().__init__([sample_of(X, Y)], space)
        self.height, self.asked = height, []

    def _predicted(self, near, ridges):
        places = [self._space.ridges.index(ridge) for ridge in ridges]
        self.asked += places
        return [
            (self.height(place), near.sizes._replace(ridge=ridge))
            for place, ridge in zip(places, ridges, strict=True)
        ]


@pytest.mark.parametrize(
    ("here", "least", "asked"),
    [
        (0, 0.0, {0, 6, 3, 1}),
        (0, 2.9, {0, 6, 3, 4, 2}),
        (0, 6.2, {0, 6, 9, 7, 5}),
        (0, 6.9, {0, 6, 9, 7, 8}),
        (0, 5.0, {0, 6, 9, 7, 5, 4}),
        (0, 15.0, {0, 6, 9, 12, 15, 14}),
        (6, 6.2, {6, 7, 5}),
        (6, 8.0, {6, 7, 8, 9}),
        (6, 4.0, {6, 7, 5, 4, 3}),
        (15, 15.0, {15, 14}),
        (1, 0.0, {1, 2, 0}),
    ],
)
def test_ridges_are_compared_in_steps(here, least, asked):
    X, _ = data()
    space = space_of(X)
    search = Valley(space, lambda place: (place - least) ** 2)
    near = Evaluation(Sizes(2, 10, 20, space.ridges[here]), 0.0, (0.0,), (), np.zeros((1, K)), 0.0)
    predicted = search._compared(near)
    assert set(predicted) == asked
    assert sorted(search.asked) == sorted(asked)  # each once
    _, best = min(predicted.values())
    assert abs(space.ridges.index(best.ridge) - least) <= 0.5


def test_one_ridge_needs_no_comparison():
    X, _ = data()
    search = Valley(space_of(X, [0.3]), lambda place: 0.0)
    near = Evaluation(Sizes(2, 10, 20, 0.3), 0.0, (0.0,), (), np.zeros((1, K)), 0.0)
    assert set(search._compared(near)) == {0}


@pytest.mark.parametrize(("rows", "compared"), [(105, False), (96, False), (85, True), (120, True)])
def test_ridges_are_not_compared_again_with_about_as_many_rows(rows, compared):
    X, _ = data()
    search = Valley(space_of(X), lambda place: (place - 6) ** 2)
    ridge = search._space.ridges[6]
    search._compared_at.add(Sizes(2, 100, 20, ridge))
    best = Evaluation(Sizes(2, rows, 20, ridge), 0.0, (0.0,), (), np.zeros((1, K)), 0.0)
    assert search._over_ridges(best) is best
    assert bool(search.asked) == compared
    # another ridge was not compared with any
    best = Evaluation(Sizes(2, 100, 20, search._space.ridges[7]), 0.0, (0.0,), (), best.table, 0.0)
    asked = len(search.asked)
    search._known[best.sizes._replace(ridge=ridge)] = best
    search._over_ridges(best)
    assert len(search.asked) > asked


# --------------------------------------------------------------------------- searches


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("correlation", [0.0, 0.8])
def test_long_searches_find_about_the_same(seed, correlation, every_search_is_long, monkeypatch):
    X, Y = data(seed, correlation=correlation)
    loss, space = LeastSquares(X, Y), space_of(X)
    quick = by_criterion(loss, space, Criterion())
    assert isinstance(quick, LongSearch)
    monkeypatch.undo()
    usual = by_criterion(loss, space, Criterion())
    assert not isinstance(usual, LongSearch)
    assert quick.best.sizes.rank == usual.best.sizes.rank
    assert quick.best.score < 0.995 * usual.best.score  # scores are negative
    # every point was fitted with a ridge, which tables without fits found
    assert all(e.sizes.ridge > 0 for e in quick.evaluations if e.sizes.rank > 0)


def test_a_given_start_is_used(every_search_is_long):
    X, Y = data()
    asked = []

    def start(loss, *sizes):
        asked.append(sizes)
        return Auto(exchanges_rows=True)(loss, *sizes)

    by_criterion(LeastSquares(X, Y), space_of(X), Criterion(), start=start)
    grid = set(space_of(X).row_grid())
    assert asked[0][1] in grid


def test_where_every_model_is_near_saturation(every_search_is_long):
    """The fewest rows are tried, and the zero matrix is chosen."""
    X, Y = data()
    search = by_criterion(LeastSquares(X, Y), space_of(X), Criterion(per_degree=1e5))
    assert search.best.sizes.rank == 0
    assert max(e.sizes.rows for e in search.evaluations) <= 2


def test_searches_in_other_units_begin_from_the_last_fit(every_search_is_long, monkeypatch):
    X, Y, _ = tr.datasets.make_two_way_sparse(N, P, K, 3, 20, 60, signal=1.0, random_state=3)
    Y = Y + np.random.default_rng(3).standard_normal(Y.shape) * np.geomspace(0.1, 6, K)
    begun = []

    def recorded(*args, begin=None, near=None, **options):
        begun.append((begin, near))
        return by_criterion(*args, begin=begin, near=near, **options)

    monkeypatch.setattr("thinrank.estimators.sizes.by_criterion", recorded)
    tr.SparseReducedRankRegressor(criterion="pic").fit(X, Y)
    assert len(begun) > 1
    assert begun[0] == (None, None)
    for begin, near in begun[1:]:
        assert begin.rank == near.rank
        assert len(begin.row_support) == near.rows
        assert len(begin.column_support) == near.columns


def test_a_given_rank_far_above_the_best_one(every_search_is_long):
    X, Y = data(rank=1)
    est = tr.SparseReducedRankRegressor(rank=30, criterion="bic").fit(X, Y)
    assert est.best_params_["rank"] == 30
