"""The search: honest scores on held-out rows, and never worse than what it has seen."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse
from sklearn.model_selection import KFold

import thinrank as tr
from thinrank.core.sizes import Sizes
from thinrank.designs import as_design
from thinrank.estimators.problem import Problem
from thinrank.forms import Moments
from thinrank.losses import LeastSquares
from thinrank.selection.automatic import automatic_ridges, by_criterion, by_held_out
from thinrank.selection.criteria import Criterion
from thinrank.selection.criterion_sample import CriterionSample
from thinrank.selection.criterion_search import CriterionSearch
from thinrank.selection.evaluation import ResponseErrors
from thinrank.selection.space import make_space
from thinrank.selection.splits import held_out_samples
from thinrank.selection.stacks import Stack
from thinrank.solvers.pursuit import Pursuit

N, P, K = 48, 20, 10


def data(seed=0, **change):
    sizes = {"n_samples": N, "n_features": P, "n_targets": K, "rank": 2}
    X, Y, truth = tr.datasets.make_two_way_sparse(
        **(sizes | {"row_sparsity": 4, "column_sparsity": 5, "random_state": seed} | change)
    )
    rng = np.random.default_rng(seed)
    return X * rng.uniform(0.2, 5, P) + 3, Y - 7, truth


def problem(X, Y, weight=None, intercept=True, standardize=True):
    return Problem.prepare(
        as_design(X),
        Y,
        weight,
        fit_intercept=intercept,
        standardize_columns=standardize,
        scale_targets=standardize,
    )


SPLITS = list(KFold(4, shuffle=True, random_state=0).split(np.zeros(N)))


def by_hand(X, weight=None, intercept=True):
    """Root mean squares of the columns about their means, or about zero."""
    mean = np.average(X, axis=0, weights=weight) if intercept else 0.0
    return np.sqrt(np.average((X - mean) ** 2, axis=0, weights=weight))


# --------------------------------------------------------------------------- held-out rows


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("standardize", [True, False])
@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("wrap", [np.asarray, sparse.csr_array])
def test_scores_are_those_of_the_estimator_on_the_training_rows(
    intercept, standardize, weighted, wrap
):
    """Nothing of the held-out rows, not even their means or units, enters the fit."""
    X, Y, _ = data(signal=2.0)
    if intercept:
        X[SPLITS[0][1]] *= 3  # the folds differ in means and units
        Y[SPLITS[0][1]] += 20
    else:  # the model is right about zero
        X, Y = X - X.mean(axis=0), Y - Y.mean(axis=0)
    weight = np.random.default_rng(1).uniform(0.5, 3, N) if weighted else None
    whole = problem(wrap(X), Y, weight, intercept, standardize)
    unit = 1.0 if whole.target_scale is None else whole.target_scale
    samples = held_out_samples(whole.loss, SPLITS, center=intercept, scale=standardize)
    for sizes in (Sizes(2, 4, 5, 0.0), Sizes(3, 6, K, 0.1)):
        for sample, (train, test) in list(zip(samples, SPLITS, strict=True))[:2]:
            fit = sample.fit(sizes, Pursuit().sized(*sizes[:3]))
            score = sample.score(fit, sizes)
            (table,) = Stack([sample], [fit]).tables(6)
            assert table[sizes.rank - 1, sizes.columns - 1] <= score * (1 + 1e-9)
            est = tr.SparseReducedRankRegressor(
                *sizes[:3], ridge=sizes.ridge, fit_intercept=intercept, standardize=False
            )
            part = None if weight is None else weight[train]
            scale = by_hand(X[train], part, intercept) if standardize else 1.0
            est.fit(wrap(X / scale)[train], Y[train] / unit, part)
            errors = np.mean((Y[test] / unit - est.predict(X[test] / scale)) ** 2, axis=1)
            mse = np.average(errors, weights=None if weight is None else weight[test])
            # weights have mean 1 over all rows here and over the training rows there, which moves
            # the margin of pursuit's exchanges
            assert score == pytest.approx(mse, rel=0.1 if weighted else 1e-7)


@pytest.mark.parametrize("intercept", [True, False])
def test_the_null_score_is_that_of_the_training_means(intercept):
    X, Y, _ = data()
    whole = problem(X, Y, intercept=intercept)
    samples = held_out_samples(whole.loss, SPLITS, center=intercept, scale=True)
    for sample, (train, test) in zip(samples, SPLITS, strict=True):
        mean = Y[train].mean(axis=0) if intercept else 0.0
        mse = np.mean(((Y[test] - mean) / whole.target_scale) ** 2)
        assert sample.null() == pytest.approx(mse)


def test_rows_may_be_on_neither_side():
    """A training set that is smaller than the complement of the held-out rows."""
    X, Y, _ = data(signal=2.0)
    train, test = np.arange(5, 40), np.array([47, 41, 42, 0])
    whole = problem(X, Y)
    (sample,) = held_out_samples(whole.loss, [(train, test)], center=True, scale=True)
    sizes = Sizes(2, 4, 5, 0.0)
    score = sample.score(sample.fit(sizes, Pursuit().sized(2, 4, 5)), sizes)
    Y = Y / whole.target_scale
    X = X / by_hand(X[train])
    est = tr.SparseReducedRankRegressor(2, 4, 5, standardize=False).fit(X[train], Y[train])
    assert score == pytest.approx(np.mean((Y[test] - est.predict(X[test])) ** 2), rel=1e-7)


def test_without_memory_for_copies_the_scores_are_the_same(monkeypatch):
    X, Y, _ = data()
    expected = held_out_samples(problem(X, Y).loss, SPLITS, center=True, scale=True)
    monkeypatch.setattr("thinrank.selection.splits._PART_OF_BUDGET", 1e18)
    monkeypatch.setattr(Moments, "_gram_is_cheaper", lambda _: False)
    monkeypatch.setattr(Moments, "_gram_is_quick", lambda _: False)
    lean = held_out_samples(problem(sparse.csr_array(X), Y).loss, SPLITS, center=True, scale=True)
    for a, b in zip(expected, lean, strict=True):
        assert type(a.form) is not type(b.form)
        fits = (each.fit(Sizes(2, 4, 5, 0.1), Pursuit().sized(2, 4, 5)) for each in (a, b))
        tables = [Stack([each], [fit]).tables(4) for each, fit in zip((a, b), fits, strict=True)]
        np.testing.assert_allclose(tables[0], tables[1], rtol=1e-8)


def test_forecasts_are_right_for_the_rows_at_hand():
    X, Y, _ = data(signal=2.0)
    whole = problem(X, Y)
    sizes = Sizes(2, 6, 5, 0.0)
    (sample, *_) = held_out_samples(whole.loss, SPLITS, center=True, scale=True)
    fit = sample.fit(sizes, Pursuit().sized(*sizes[:3]))
    forecast = sample.rows_forecast(fit, sizes, np.arange(1, P + 1))
    assert forecast[5] == pytest.approx(sample.score(fit, sizes), rel=1e-9)
    assert np.isfinite(forecast[:6]).all()
    assert np.isposinf(forecast[6:]).all()
    all_rows = CriterionSample(whole.loss.quadratic(), lambda: 1.0, Criterion(), True, True)
    fit = all_rows.fit(sizes, Pursuit().sized(*sizes[:3]))
    forecast = all_rows.rows_forecast(fit, sizes, np.arange(1, P + 1))
    assert forecast[5] == pytest.approx(all_rows.score(fit, sizes), rel=1e-9)
    assert np.argmin(forecast) + 1 <= 4


def test_forecasts_of_a_criterion_do_not_count_the_ridge_as_residual():
    """At the rows at hand: the residual sum of squares, and the degrees of freedom of the sizes."""
    X, Y, _ = data()
    whole = problem(X, Y)
    loss, Y = whole.loss, (Y - Y.mean(axis=0)) / whole.target_scale
    sizes = Sizes(2, 6, 5, 0.3)
    sample = CriterionSample(loss.quadratic(), lambda: 1.0, Criterion("aic"), True, True)
    fit = sample.fit(sizes, Pursuit().sized(*sizes[:3]))
    residual = 2 * N * loss.value_and_gradient(fit.factors)[0]
    expected = N * K * np.log(residual / np.sum(Y**2)) + 2 * (6 + 5 - 2) * 2
    assert sample.rows_forecast(fit, sizes, np.array([6]))[0] == pytest.approx(expected)


@pytest.mark.parametrize(
    ("split", "message"),
    [
        ((np.arange(0), np.arange(5)), r"training and held-out rows.*0 training and 5 held-out"),
        ((np.arange(5), np.arange(0)), r"training and held-out rows.*5 training and 0 held-out"),
        ((np.array([0, 1, 1, 2]), np.array([4])), r"must not repeat a row"),
        ((np.array([0, 1, 2]), np.array([4, 4])), r"must not repeat a row"),
        ((np.array([0, 1, 2]), np.array([4, -1])), r"rows from 0 to \d+, got -1\.\.4"),
        ((np.array([0, 1, 2]), np.array([4, 10**6])), r"rows from 0 to \d+, got 4\.\.1000000"),
    ],
)
def test_bad_splits(split, message):
    X, Y, _ = data()
    with pytest.raises(ValueError, match=message):
        held_out_samples(problem(X, Y).loss, [SPLITS[0], split], center=True, scale=True)


@pytest.mark.parametrize("side", ["training", "held-out"])
@pytest.mark.parametrize("whole", [True, False])
def test_splits_without_weight(side, whole, monkeypatch):
    if not whole:
        monkeypatch.setattr(Moments, "_gram_is_cheaper", lambda _: False)
        monkeypatch.setattr(Moments, "_gram_is_quick", lambda _: False)
    X, Y, _ = data()
    train, test = SPLITS[0]
    weight = np.ones(N)
    weight[train if side == "training" else test] = 0.0
    with pytest.raises(ValueError, match=f"cv leaves no {side} rows of positive weight"):
        held_out_samples(problem(X, Y, weight).loss, SPLITS[:1], center=True, scale=True)


@pytest.mark.parametrize("whole", [True, False])
def test_small_weights_are_weights(whole, monkeypatch):
    """Only zero takes a row out of its side, whether or not XᵀX of all rows is kept."""
    if not whole:
        monkeypatch.setattr(Moments, "_gram_is_cheaper", lambda _: False)
        monkeypatch.setattr(Moments, "_gram_is_quick", lambda _: False)
    X, Y, _ = data()
    scores = []
    for weight in (1.0, 0.25):
        loss = problem(X, Y, np.full(N, weight)).loss
        (sample,) = held_out_samples(loss, SPLITS[:1], center=True, scale=True)
        assert loss.moments.gram_is_held is whole
        scores.append(sample.null())
    assert scores[0] == pytest.approx(scores[1])


# --------------------------------------------------------------------------- space


def space(ranks=None, rows=None, columns=None, ridges=(0.0,), shape=(P, K), samples=N):
    return make_space(shape, samples, ranks=ranks, rows=rows, columns=columns, ridges=ridges)


def test_everything_that_makes_sense():
    free = space()
    np.testing.assert_array_equal(free.rows, np.arange(1, P + 1))
    np.testing.assert_array_equal(free.columns, np.arange(1, K + 1))
    np.testing.assert_array_equal(free.ranks, np.arange(1, K + 1))
    assert free.null
    assert free.exhaustive is None
    few = space(samples=8)  # eight rows of data are fitted perfectly by eight predictors
    assert few.rows[-1] == 7
    assert few.ranks[-1] == 7


def test_given_axes_are_sorted_distinct_and_tried_in_full():
    given = space([3, 1, 3], [8, 2], [None, 4], [0.5, 0.0])
    np.testing.assert_array_equal(given.ranks, [1, 3])
    np.testing.assert_array_equal(given.rows, [2, 8])
    np.testing.assert_array_equal(given.columns, [4, K])
    assert given.ridges == (0.0, 0.5)
    assert not given.null
    points = given.exhaustive
    assert len(points) == len(set(points)) == 12
    assert all(point.rank <= min(point.rows, point.columns) for point in points)
    assert space([1, 2], range(1, 21), [None], [0.0, 0.1, 0.2]).exhaustive is None  # 120 points


def test_parameters_of_a_point():
    given = space([2], [None], [4], [0.5])
    assert given.params(Sizes(2, P, 4, 0.5)) == {
        "rank": 2,
        "row_sparsity": None,
        "column_sparsity": 4,
        "ridge": 0.5,
    }
    # a limit that was found to be all is still a limit
    assert space().params(Sizes(2, P, K, 0.0))["row_sparsity"] == P


@pytest.mark.parametrize(
    ("axes", "message"),
    [
        ({"ranks": []}, "rank must have at least one value"),
        ({"rows": []}, "row_sparsity must have at least one value"),
        ({"columns": []}, "column_sparsity must have at least one value"),
        ({"ranks": [0]}, r"rank must be an integer from 1 to 10 .*got 0"),
        ({"ranks": [4], "rows": [3]}, r"rank must be an integer from 1 to 3 .*got 4"),
        ({"rows": [P + 1]}, r"row_sparsity .*from 1 to 20 .*got 21"),
        ({"columns": [2.5]}, r"column_sparsity .*got 2.5"),
        ({"columns": [True]}, r"column_sparsity .*got True"),
    ],
)
def test_bad_axes(axes, message):
    with pytest.raises(ValueError, match=message):
        space(**axes)


def test_grid_and_neighbours():
    free = space(shape=(100, 50), samples=1000)
    assert free.row_grid() == [1, 4, 16, 64, 100]
    assert free.next_to(1) == [2]
    assert free.next_to(50) == [49, 51]
    assert free.next_to(100) == [99]
    given = space([2], [1, 3, 9, 30], None, shape=(100, 50), samples=1000)
    assert given.row_grid() == [9, 30]  # one row cannot have rank 2
    assert given.next_to(3) == [9]
    assert given.above(9) == 30
    assert given.above(30) is None


def test_a_point_with_fewer_rows_has_the_largest_rank_that_fits():
    near = Sizes(4, 8, 6, 0.0)
    assert space().like(3, near) == Sizes(3, 3, 6, 0.0)
    assert space().like(9, near) == Sizes(4, 9, 6, 0.0)
    assert space(columns=[2, 5]).like(7, near) == Sizes(4, 7, 5, 0.0)
    assert space(columns=[3]).like(7, near) == Sizes(3, 7, 3, 0.0)
    assert space().like(5, None) == Sizes(1, 5, K, 0.0)


@pytest.mark.parametrize(
    ("low", "high", "expected"), [(2, 18, 6), (0, 18, 3), (4, 5, None), (9, 16, 12), (1, 3, 2)]
)
def test_between_two_numbers_of_rows(low, high, expected):
    """Close to the geometric mean; one half stands for no rows at all."""
    assert space().between(low, high) == expected


# --------------------------------------------------------------------------- search


def held_out_search(X, Y, chosen, **options):
    whole = problem(X, Y)
    options = {"solver": Pursuit()} | options
    return by_held_out(whole.loss, chosen, SPLITS, center=True, scale=True, **options), whole


def test_one_split_is_enough():
    """And its search is about a matrix of the shape of the data."""
    X, Y, _ = data(signal=2.0)
    whole = problem(X, Y)
    search = by_held_out(whole.loss, space(), SPLITS[:1], center=True, scale=True, solver=Pursuit())
    assert search.shape == (P, K)
    assert search.best.sizes.rows == 4
    assert search.best.score < search.null_score


def test_errors_of_responses_add_up():
    first = ResponseErrors(np.array([1.0, 2.0]), np.array([3.0, 4.0]))
    both = first.and_those_of(ResponseErrors(np.array([10.0, 20.0]), np.array([30.0, 40.0])))
    np.testing.assert_array_equal(both.errors, [11, 22])
    np.testing.assert_array_equal(both.totals, [33, 44])


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("signal", [0.2, 1.0])
def test_the_best_of_all_that_was_seen(seed, signal):
    X, Y, _ = data(seed, signal=signal)
    loss = problem(X, Y).loss
    ridges = automatic_ridges(loss.quadratic().diagonal())
    for search in (
        by_criterion(loss, space(ridges=ridges), Criterion()),
        held_out_search(X, Y, space(ridges=ridges))[0],
    ):
        scores = [e.score for e in search.evaluations]
        assert search.best.score == min(scores)
        assert search.best.score <= search.evaluations[0].score  # the zero matrix
        assert search.evaluations[0].sizes.rank == 0
        assert len({e.sizes for e in search.evaluations}) == len(scores)
        assert [r.iteration for r in search.records] == list(range(1, len(scores) + 1))
        assert [r.objective for r in search.records] == scores
        np.testing.assert_allclose([r.best for r in search.records], np.minimum.accumulate(scores))
        assert f"is complete after {len(scores)} models" in search.message


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("signal", "slack"), [(1.0, 1e-3), (0.5, 10.0)])
def test_the_criterion_search_is_about_as_good_as_all_fits(seed, signal, slack):
    """Against every number of rows, each with every rank and number of columns.

    A weak signal leaves it in a neighbouring optimum now and then.
    """
    X, Y, _ = data(seed, signal=signal)
    loss = problem(X, Y).loss
    search = by_criterion(loss, space(), Criterion())
    sample = CriterionSample(loss.quadratic(), loss.noise, Criterion(), True, True)
    best = 0.0
    for rows in range(1, P + 1):
        for rank in range(1, min(rows, 4) + 1):
            fit = sample.fit(Sizes(rank, rows, K, 0.0), Pursuit().sized(rank, rows, K))
            table = sample.table(fit, 0.0, rank)
            best = min(best, table[rank - 1, rank - 1 :].min())
    assert search.best.score <= best + slack


@pytest.mark.parametrize("columns", [4, K])
@pytest.mark.parametrize("ridge", [0.0, 0.3])
def test_a_score_is_the_same_with_and_without_its_table(ridge, columns):
    X, Y, _ = data(signal=2.0)
    loss = problem(X, Y).loss
    sizes, scores = Sizes(3, 6, columns, ridge), []
    for most in (None, 3, 9):
        sample = CriterionSample(loss.quadratic(), loss.noise, Criterion(), True, True)
        fit = sample.fit(sizes, Pursuit().sized(3, 6, columns))
        if most is not None:
            sample.table(fit, ridge, most)
        scores.append(sample.score(fit, sizes))
        other = sample.fit(Sizes(2, 5, columns, ridge), Pursuit().sized(2, 5, columns))
        assert sample.score(other, Sizes(2, 5, columns, ridge)) != scores[-1]
    np.testing.assert_allclose(scores, scores[0], rtol=1e-12)


def test_the_next_number_of_rows_is_the_one_with_the_least_forecast():
    X, Y, _ = data(signal=2.0)
    loss = problem(X, Y).loss
    search = by_criterion(loss, space(ranks=[3]), Criterion(), rough=True)
    sample = CriterionSample(loss.quadratic(), loss.noise, Criterion(), True, True)
    near = search._evaluate([Sizes(3, 9, 5, 0.0)])[0]
    expected = sample.rows_forecast(near.fits[0], near.sizes, np.arange(1, P + 1))
    expected[:2] = np.inf  # fewer rows than the rank
    assert search._forecast(near) == np.argmin(expected) + 1
    nothing = replace(near, sizes=Sizes(3, 8, 5, 0.0), fits=(None,))
    assert search._forecast(nothing) is None


@pytest.mark.parametrize("seed", range(3))
def test_a_rough_search_looks_at_fewer_models(seed):
    X, Y, _ = data(seed, signal=0.5)
    loss = problem(X, Y).loss
    rough, full = (by_criterion(loss, space(), Criterion(), rough=rough) for rough in (True, False))
    assert len(rough.evaluations) < len(full.evaluations)
    assert full.best.score <= rough.best.score
    assert rough.best.score < 0


def test_a_small_grid_is_tried_in_full_and_equals_brute_force():
    X, Y, _ = data()
    axes = {"ranks": [1, 3], "rows": [2, 4, 7], "columns": [3, None], "ridges": [0.0, 0.1]}
    search, whole = held_out_search(X, Y, space(**axes))
    columns = [3, K]
    points = [
        Sizes(*point)
        for point in itertools.product(axes["ranks"], axes["rows"], columns, axes["ridges"])
        if point[0] <= min(point[1:3])
    ]
    assert {e.sizes for e in search.evaluations} == set(points)
    assert len(search.evaluations) == len(points)
    scores = {}
    for sizes in points:
        errors = []
        for train, test in SPLITS:
            est = tr.SparseReducedRankRegressor(*sizes[:3], ridge=sizes.ridge, standardize=False)
            scale, unit = by_hand(X[train]), whole.target_scale
            est.fit(X[train] / scale, Y[train] / unit)
            errors.append(np.mean((Y[test] / unit - est.predict(X[test] / scale)) ** 2))
        scores[sizes] = np.mean(errors)
    for e in search.evaluations:
        assert e.score == pytest.approx(scores[e.sizes], rel=1e-6)
    best = min(scores, key=scores.get)
    assert search.best.sizes == best
    assert search.best.score == pytest.approx(scores[best], rel=1e-8)


def test_rank_zero_does_not_compete_when_ranks_are_given():
    rng = np.random.default_rng(0)
    X, Y = rng.standard_normal((N, P)), rng.standard_normal((N, K))
    loss = problem(X, Y).loss
    assert by_criterion(loss, space(), Criterion()).best.sizes.rank == 0
    given = by_criterion(loss, space(ranks=[1, 2]), Criterion())
    assert given.best.sizes.rank == 1
    assert all(e.sizes.rank in (1, 2) for e in given.evaluations)


@pytest.mark.parametrize("axes", [{}, {"ranks": [1, 2], "rows": [2, 4], "columns": [3, None]}])
def test_threads_do_not_change_the_answer(axes):
    X, Y, _ = data()
    chosen = space(ridges=(0.0, 0.1), **axes)
    one, two = (held_out_search(X, Y, chosen, n_jobs=jobs)[0] for jobs in (1, 2))
    assert [e.sizes for e in one.evaluations] == [e.sizes for e in two.evaluations]
    np.testing.assert_array_equal(
        [e.parts for e in one.evaluations], [e.parts for e in two.evaluations]
    )


@pytest.mark.parametrize("jobs", [1, 2])
@pytest.mark.parametrize("how", ["returns True", "is interrupted"])
@pytest.mark.parametrize("axes", [{}, {"ranks": [1, 2], "rows": [2, 4], "columns": [3, None]}])
def test_stopping_keeps_the_best_so_far(jobs, how, axes):
    X, Y, _ = data()
    seen = []

    def watch(record):
        seen.append(record)
        if len(seen) == 3:
            if how == "is interrupted":
                raise KeyboardInterrupt
            return True
        return None

    search, _ = held_out_search(X, Y, space(**axes), callback=watch, n_jobs=jobs)
    assert search.stopped
    assert len(seen) == len(search.evaluations) == len(search.records) == 3
    assert search.best.score == min(r.objective for r in seen)
    assert "was stopped after 3 models" in search.message


def test_an_interruption_before_anything_is_known_is_passed_on(monkeypatch):
    X, Y, _ = data()
    loss = problem(X, Y).loss
    sample = CriterionSample(loss.quadratic(), lambda: 1.0, Criterion(), True, True)

    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(sample, "fit", interrupt)
    with pytest.raises(KeyboardInterrupt):
        CriterionSearch([sample], space(ranks=[1])).run()


def test_every_library(library, dtype):
    X, Y, _ = data(signal=2.0)
    answers = []
    for a, b in ((X, Y), (library.array(X, dtype), library.array(Y, dtype))):
        whole = problem(a, b)
        found = by_held_out(whole.loss, space(), SPLITS, center=True, scale=True, solver=Pursuit())
        answers.append(found.best)
    assert answers[0].sizes == answers[1].sizes
    assert answers[1].score == pytest.approx(
        answers[0].score, rel=1e-3 if dtype == "float32" else 1e-9
    )
    library.check(answers[1].fits[0].U, dtype=dtype)


def test_ridges_span_the_curvature():
    X, Y, _ = data()
    loss = LeastSquares(X, Y)
    ridges = automatic_ridges(loss.quadratic().diagonal())
    mean = np.mean(np.sum(X**2, axis=0) / N)
    assert ridges[0] == 0
    assert len(ridges) == 16
    assert ridges[1] == pytest.approx(1e-4 * mean)
    assert ridges[-1] == pytest.approx(1e3 * mean)
    assert ridges == sorted(ridges)
