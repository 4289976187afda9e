"""The search by held-out error: its coarse grid, thinner models, and the race of the finalists."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.model_selection import KFold

import thinrank as tr
from thinrank.core.sizes import Sizes
from thinrank.designs import as_design
from thinrank.estimators.problem import Problem
from thinrank.selection.coarse_grid import CoarseGrid
from thinrank.selection.held_out_descent import _falls_then_rises
from thinrank.selection.held_out_search import HeldOutSearch
from thinrank.selection.space import make_space
from thinrank.selection.splits import held_out_samples
from thinrank.selection.stacks import Stack
from thinrank.solvers.pursuit import Pursuit

N, P, K = 48, 20, 10
PARTITIONS = [list(KFold(4, shuffle=True, random_state=i).split(np.zeros(N))) for i in range(7)]
FEW = {"ranks": [1, 2], "rows": [2, 3, 4, 6], "columns": [5]}


def data(seed=0, signal=1.0):
    X, Y, _ = tr.datasets.make_two_way_sparse(N, P, K, 2, 4, 5, signal=signal, random_state=seed)
    return X, Y


def prepared(X, Y):
    return Problem.prepare(
        as_design(X),
        Y,
        None,
        fit_intercept=True,
        standardize_columns=True,
        scale_targets=True,
    ).loss


def samples_of(loss, splits=PARTITIONS[0]):
    return held_out_samples(loss, splits, center=True, scale=True)


def space(ranks=None, rows=None, columns=None, ridges=(0.0,)):
    return make_space((P, K), 36, ranks=ranks, rows=rows, columns=columns, ridges=ridges)


def search_of(samples, chosen, rule="best"):
    return HeldOutSearch(samples, chosen, rule=rule, rows=N)


# --------------------------------------------------------------------------- tables


def test_a_sample_with_nothing_to_fit_counts_as_the_zero_matrix():
    """Predictors that are zero in one training part."""
    X, Y = data()
    X[PARTITIONS[0][0][0]] = 0.0
    samples = samples_of(prepared(X, Y))
    found = search_of(samples, space([2], [4], [5])).run()
    assert [fit is None for fit in found.fits] == [True, False, False, False]
    assert found.parts[0] == pytest.approx(samples[0].null())
    rest = [
        Stack([s], [fit]).tables(2)[0] for s, fit in zip(samples[1:], found.fits[1:], strict=True)
    ]
    expected = np.mean([np.full((2, K), samples[0].null()), *rest], axis=0)
    np.testing.assert_allclose(found.table, expected, rtol=1e-7)


# --------------------------------------------------------------------------- further starts


def test_further_starts_have_few_and_many_rows_and_a_ridge_between_those_of_the_coarse_grid():
    ridges = (0.0, *np.geomspace(1e-4, 1e3, 15))
    chosen = make_space((40, 10), 36, ranks=None, rows=None, columns=None, ridges=ridges)
    found = chosen.further_starts(100)
    assert [sizes[:3] for sizes in found] == [(7, 7, 10), (10, 23, 10)]
    assert {sizes.ridge for sizes in found} == {ridges[9]}
    assert ridges[9] == pytest.approx(1.0)
    assert ridges[9] not in {ridge for _, few in chosen.coarse_grid() for ridge in few}
    assert [sizes.rows for sizes in chosen.further_starts(22)] == [7]


@pytest.mark.parametrize(
    "axes", [{"rows": [5]}, {"ranks": [3, 4], "rows": [2, 30]}, {"ridges": (2.0,)}]
)
def test_further_starts_are_allowed_points(axes):
    chosen = make_space(
        (40, 10), 36, **({"ranks": None, "rows": None, "columns": None, "ridges": (0.0,)} | axes)
    )
    found = chosen.further_starts(100)
    assert found
    for sizes in found:
        assert sizes.rank in chosen.ranks
        assert sizes.rows in chosen.rows
        assert sizes.columns in chosen.columns
        assert sizes.ridge in chosen.ridges
        assert sizes.rank <= min(sizes.rows, sizes.columns)


def dense_signal(strength):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((N, P))
    return X, strength * X @ rng.standard_normal((P, K)) + rng.standard_normal((N, K))


@pytest.mark.parametrize(("strength", "looks"), [(0.15, True), (2.0, False)])
def test_further_starts_are_used_if_the_best_model_explains_less_than_half(strength, looks):
    samples = samples_of(prepared(*dense_signal(strength)))
    search = search_of(samples, space(ridges=(0.0, 0.01, 0.1, 1.0, 10.0)))
    search.run_from([Sizes(1, 1, K, 0.0)])
    assert (search.best.score > 0.5 * search.null_score) == looks
    before = {e.sizes for e in search.evaluations}
    search.look_elsewhere()
    new = {e.sizes for e in search.evaluations} - before
    assert bool(new) == looks


def test_the_search_continues_from_a_further_start_that_is_better():
    """From one row without ridge, all else held fixed, a dense model is out of reach."""
    search = search_of(samples_of(prepared(*dense_signal(0.15))), space(ridges=(0.0, 1.0)))
    search._evaluate([Sizes(1, 1, K, 0.0)])
    before = search.best.score
    search.look_elsewhere()
    assert search.best.score < 0.97 * before
    assert search.best.sizes.rows > 1
    assert search.best.sizes.ridge == 1.0
    # and from there to more points than the starts
    assert len(search.evaluations) > 1 + len(search._space.further_starts(100))


def test_no_further_starts_beside_a_grid_that_was_tried_in_full():
    search = search_of(samples_of(prepared(*dense_signal(0.15))), space(**FEW))
    search.run()
    count = len(search.evaluations)
    search.look_elsewhere()
    assert len(search.evaluations) == count


# --------------------------------------------------------------------------- coarse grid


@pytest.mark.parametrize("ridges", [(0.0,), (0.0, 0.01, 0.1, 1.0)])
def test_the_coarse_grid_is_that_of_the_rows_that_elimination_leaves(ridges):
    X, Y = data()
    samples, chosen = samples_of(prepared(X, Y)), space(ridges=ridges)
    found = search_of(samples, chosen).coarse()
    promises, squares = [], [sum(sample.null_errors() for sample in samples)]
    for rows, ridge in ((rows, ridge) for rows, few in chosen.coarse_grid() for ridge in few):
        fits = [sample.eliminated(rows, ridge) for sample in samples]
        stack = Stack(samples, fits)
        table = np.mean(stack.tables(min(rows, K), of_all=True), axis=0)
        for i in range(1, len(table)):
            table[i, :i] = np.inf  # a rank needs as many columns
        rank, columns = np.unravel_index(np.argmin(table), table.shape)
        promises.append((table.min(), Sizes(rank + 1, rows, columns + 1, ridge)))
        squares.append(sum(stack.response_errors()))
    assert found.points == [sizes for _, sizes in sorted(promises, key=lambda each: each[0])]
    np.testing.assert_allclose(found.noise, np.sqrt(np.min(squares, axis=0) / N), rtol=1e-8)
    assert np.any(found.noise < 0.5 * np.sqrt(squares[0] / N))


def test_starts_are_the_best_of_different_numbers_of_rows():
    points = [Sizes(1, rows, 5, ridge) for rows, ridge in ((8, 0.1), (8, 0.0), (2, 0.0), (4, 0.0))]
    assert CoarseGrid(points, np.ones(K), 0.5).starts == [points[0], points[2]]
    assert CoarseGrid(points[:2], np.ones(K), 0.5).starts == points[:1]


# --------------------------------------------------------------------------- thinner models


def searched(rule, signal=1.0, seed=0, **axes):
    X, Y = data(seed, signal)
    search = search_of(samples_of(prepared(X, Y)), space(**axes), rule)
    search.run_from(search.coarse().starts)
    return search


@pytest.mark.parametrize("rule", ["best", "thinnest"])
def test_fewer_rows_are_looked_for_where_the_rule_would_take_them(rule):
    """Up to a quarter as many predictors as samples, and no fewer, are enough for "best"."""
    search = searched(rule, signal=0.3, seed=2, columns=[None])
    assert 0 < search.best.sizes.rows <= N // 4
    before, best = search.evaluations, search.best
    search.look_thinner()
    new = search.evaluations[len(before) :]
    assert search.evaluations[: len(before)] == before
    assert len(new) == 0 if rule == "best" else len(new) > 0
    assert all(e.sizes.rows < best.sizes.rows for e in new)
    assert search.chosen.sizes.rows <= best.sizes.rows


def test_nothing_is_looked_for_next_to_a_grid_that_was_tried_in_full():
    X, Y = data()
    search = search_of(samples_of(prepared(X, Y)), space(**FEW), "thinnest")
    search.run_from([])
    count = len(search.evaluations)
    search.look_thinner()
    assert len(search.evaluations) == count


@pytest.mark.parametrize("rule", ["best", "one_se", "thinnest"])
def test_rank_zero_may_be_the_choice_though_it_is_not_the_best(rule):
    rng = np.random.default_rng(4)
    X, Y = rng.standard_normal((N, P)), rng.standard_normal((N, K))
    search = search_of(samples_of(prepared(X, Y)), space(ridges=(0.0, 0.1)), rule)
    search.run_from(search.coarse().starts)
    assert search.best.sizes.rank > 0
    assert search.chosen.sizes.rank == 0
    search.look_thinner()
    assert not search.stopped
    assert search.chosen.sizes.rank == 0


# --------------------------------------------------------------------------- finalists


class Race:
    """A search that is confirmed on six further partitions.

    Attributes
    ----------
    asked : int
        Partitions that were asked for.
    fitted : list of list of Sizes
        For every partition asked for, what was fitted to its first sample.
    """

    def __init__(self, seed, signal, rule="best"):
        self.loss = prepared(*data(seed, signal))
        self.search = search_of(samples_of(self.loss), space(**FEW), rule)
        self.search.run_from([])
        self.asked, self.fitted = 0, []

    def confirm(self):
        self.search.confirm(self._partitions())
        return self.search.chosen

    def _partitions(self):
        for splits in PARTITIONS[1:]:
            self.asked += 1
            samples = samples_of(self.loss, splits)
            self.fitted.append([])
            samples[0].fit = self._noted(samples[0].fit)
            yield samples

    def _noted(self, fit):
        def noted(sizes, solver):
            self.fitted[-1].append(sizes)
            return fit(sizes, solver)

        return noted


def test_a_clear_winner_is_not_judged_again():
    race = Race(seed=2, signal=1.0)
    best = race.search.best
    assert race.confirm() is best
    assert race.asked <= 1
    assert all(sizes == [] for sizes in race.fitted)


def test_the_race_ends_when_one_is_left():
    race = Race(seed=5, signal=0.6)
    chosen = race.confirm()
    judged = [sizes for sizes in race.fitted if sizes]
    assert len(judged) == 2
    assert race.asked <= 3
    assert all(len(sizes) == 2 and chosen.sizes in sizes for sizes in judged)
    assert len(chosen.parts) == 4 * 3


def test_losers_leave_the_race():
    race = Race(seed=1, signal=0.3)
    chosen = race.confirm()
    counts = [len(sizes) for sizes in race.fitted]
    assert counts[0] == 4
    assert counts[-1] < counts[0]
    assert counts == sorted(counts, reverse=True)
    for before, after in zip(race.fitted, race.fitted[1:], strict=False):
        assert set(after) <= set(before)
    assert chosen.sizes in race.fitted[-1]


def test_the_finalists_are_judged_on_all_partitions_together():
    race = Race(seed=2, signal=0.6)
    chosen = race.confirm()
    assert race.asked == len(race.fitted) == 6
    first = next(e for e in race.search.evaluations if e.sizes == chosen.sizes)
    assert chosen.parts[:4] == first.parts
    parts, errors = [], np.zeros((7, N))
    for i, splits in enumerate(PARTITIONS):
        for sample, (_, test) in zip(samples_of(race.loss, splits), splits, strict=True):
            fit = sample.fit(chosen.sizes, Pursuit().sized(*chosen.sizes[:3]))
            parts.append(sample.score(fit, chosen.sizes))
            errors[i, test] = sample.row_errors(fit) / K
    np.testing.assert_allclose(chosen.parts, parts, rtol=1e-9)
    assert chosen.score == pytest.approx(np.mean(parts), rel=1e-7)
    np.testing.assert_allclose(chosen.row_errors, errors.mean(axis=0), rtol=1e-9)


def test_rank_zero_is_among_the_finalists_though_many_models_are_better():
    loss = prepared(*data(3, 0.3))
    search = search_of(samples_of(loss), space(ridges=(0.0, 0.1)))
    search.run_from(search.coarse().starts)
    assert max(search.evaluations, key=lambda e: e.score).sizes.rank == 0
    assert len(search.evaluations) > 10
    search.confirm(samples_of(loss, splits) for splits in PARTITIONS[1:])
    zero = next(record for record in search.records if record.sizes.rank == 0)
    assert len(zero.split_scores) > 4


def test_without_further_partitions_the_choice_stands():
    race = Race(seed=2, signal=0.6)
    before = race.search.chosen
    race.search.confirm([])
    assert race.search.chosen is before


# --------------------------------------------------------------------------- gaps and columns


@pytest.mark.parametrize(
    ("scores", "expected"),
    [
        ([3.0, 2.0, 1.0, 1.5, 4.0], True),
        ([1.0, 1.0, 2.0], True),
        ([2.0], True),
        ([3.0, 3.5, 1.0, 2.0], False),
        ([3.0, 1.0, 2.0, 1.5], False),
    ],
)
def test_scores_that_fall_then_rise(scores, expected):
    assert _falls_then_rises(scores) == expected


def test_gaps_are_filled_only_where_scores_go_up_and_down():
    X, Y = data()
    search = search_of(samples_of(prepared(X, Y)), space(rows=[1, 2, 3, 4, 6, 8, 12]))
    best = search._evaluate([search._space.like(rows, None) for rows in (2, 12)])[0]
    smooth = {e.sizes.rows: e.score for e in search.evaluations}
    assert _falls_then_rises([smooth[rows] for rows in sorted(smooth)])
    search._fill_gaps(best)
    assert len(search.evaluations) == 2
    for sizes, e in list(search._known.items()):  # as if a number between them were worse
        search._known[sizes] = replace(e, score=1.0)
    between = search._evaluate([search._space.like(4, None)])[0]
    search._known[between.sizes] = replace(between, score=2.0)
    search._fill_gaps(search._known[best.sizes])
    assert {e.sizes.rows for e in search.evaluations} > {2, 4, 12}


def test_the_fewest_columns_within_a_limit():
    chosen = space(columns=[2, 3, 5, 7])
    table = np.array([[9.0, 4.0, 3.0, 2.0, 1.5, 1.2, 1.0], [9.0, 9.0, 2.5, 2.0, 1.1, 1.0, 0.9]])
    here = Sizes(2, 4, 7, 0.0)
    assert chosen.fewest_columns(table, here, 0.95) == here
    assert chosen.fewest_columns(table, here, 1.1).columns == 5
    assert chosen.fewest_columns(table, here, 2.5).columns == 3
    assert chosen.fewest_columns(table, here._replace(rank=3), 9.0).columns == 3  # not below it
