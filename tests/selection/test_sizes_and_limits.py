"""What decides about sizes: spaces, splits, choices and samples, compared with lists by hand."""

import math
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

import thinrank as tr
from thinrank.core.result import Record
from thinrank.core.sizes import Sizes
from thinrank.losses import GeneralizedLinear, LeastSquares
from thinrank.losses.families import Gaussian, Poisson
from thinrank.selection import cv_splits, predictor_path, space
from thinrank.selection.base_search import BaseSearch
from thinrank.selection.choice import contenders, most_accurate, thinnest
from thinrank.selection.criteria import Criterion
from thinrank.selection.criterion_sample import CriterionSample
from thinrank.selection.evaluation import Evaluation
from thinrank.selection.loss_criterion_sample import LossCriterionSample
from thinrank.selection.loss_sample import LossSample
from thinrank.selection.space import Space, make_space
from thinrank.selection.splits import _as_index, _check_split
from thinrank.selection.stability_table import AxisSummary
from thinrank.selection.stability_words import _bound, _listed, _which
from thinrank.selection.tables import directions, lower_table, to_height
from thinrank.solvers.pursuit import Pursuit
from thinrank.starts import as_start

# --------------------------------------------------------------------------- spaces


def space_of(ranks=(1, 2, 3), rows=(1, 2, 4, 8, 16, 32), columns=(1, 3, 5), ridges=(0.0, 0.1, 1.0),
             **options):  # fmt: skip
    given = {"null": True, "explicit": False, "most_unshrunk": 10} | options
    return Space(*(np.array(axis) for axis in (ranks, rows, columns)), tuple(ridges), **given)


@pytest.mark.parametrize("ranks", [None, [1]])
@pytest.mark.parametrize("rows", [None, [2, None]])
@pytest.mark.parametrize("columns", [None, [None], [3]])
def test_spaces_from_what_is_given(ranks, rows, columns):
    made = make_space((7, 5), 4.0, ranks=ranks, rows=rows, columns=columns, ridges=[1.0, 0.0])
    given = [axis is not None for axis in (ranks, rows, columns)]
    assert made.explicit == all(given)
    assert made.null == (ranks is None)
    assert made.ridges == (0.0, 1.0)
    assert list(made.rows) == ([1, 2, 3] if rows is None else [2, 7])
    assert list(made.columns) == ([1, 2, 3, 4, 5] if columns is None else [columns[0] or 5])
    most = min(made.rows[-1], made.columns[-1], 4)
    assert list(made.ranks) == (list(range(1, most + 1)) if ranks is None else [1])
    assert made.most_unshrunk == (3 if rows is None else 7)
    assert made.unlimited == (None if rows is None else 7, 5 if columns == [None] else None)
    assert (made.exhaustive is None) == (not all(given))


@pytest.mark.parametrize(("samples", "expected"), [(0.5, 1), (1.9, 1), (2.0, 1), (3.0, 2), (9, 7)])
def test_fits_without_ridge_have_fewer_rows_than_samples(samples, expected):
    options = {"ranks": None, "rows": None, "columns": None, "ridges": [0.0]}
    assert make_space((7, 5), samples, **options).most_unshrunk == expected
    assert make_space((7, 5), 100, most_rows=2, **options).most_unshrunk == 2


@pytest.mark.parametrize(("thick", "ridge"), [(True, 0.1), (True, 0.0), (False, 0.1)])
def test_more_rows_than_samples_need_a_ridge(thick, ridge):
    made = make_space(
        (100, 5), 11, ranks=None, rows=None, columns=None, ridges=[0.0, ridge], thick=thick
    )
    assert list(made.rows[:10]) == list(range(1, 11))
    thicker = [12, 17, 25, 35, 50, 100] if thick and ridge else []
    assert list(made.rows[10:]) == thicker
    # a geometric sequence from half of the predictors down
    assert all(1.3 < b / a < 1.5 for a, b in pairwise(thicker[:-1]))


def test_numbers_of_rows_beside_others():
    some = space_of(ranks=(2, 3))
    assert [some.next_to(rows) for rows in (1, 2, 8, 32)] == [[2], [4], [4, 16], [16]]
    assert [some.above(rows) for rows in (1, 2, 4, 5, 16, 21, 32)] == [2, 4, 8, 8, 32, 32, None]
    assert some.between(2, 32) == 8
    assert some.between(0, 32) == 4
    assert some.between(0, 2) is None
    assert some.between(1, 4) == 2
    assert some.between(8, 16) is None
    assert some.row_grid() == [4, 16, 32]
    assert space_of().row_grid() == [1, 4, 16, 32]
    assert space_of(rows=(3, 5, 70)).row_grid() == [3, 5, 70]


def test_the_coarse_grid_and_its_ridges():
    """Powers of two up to the number of samples, of four above; there without ridge 0."""
    grid = space_of(rows=range(1, 101), ridges=(0.0, 0.1, 1.0)).coarse_grid()
    every = [0.0, 0.1, 1.0]
    assert grid == [(1, every), (2, every), (4, every), (8, every), (10, every),
                    (16, every[1:]), (64, every[1:]), (100, every[1:])]  # fmt: skip
    many = tuple(range(9))
    assert space_of(rows=(1, 2), ridges=many).coarse_grid()[0][1] == [0, 2, 4, 6]
    assert [rows for rows, _ in space_of(ranks=(4,)).coarse_grid()] == [4, 8, 16, 32]
    assert space_of(most_unshrunk=20).coarse_grid()[-1] == (32, [0.1, 1.0])
    assert space_of().ridges_for(10) == {0, 1, 2}
    assert space_of().ridges_for(11) == {1, 2}


@pytest.mark.parametrize(
    ("rows", "near", "expected"),
    [
        (8, None, (1, 8, 5, 0.0)),
        (16, None, (1, 16, 5, 0.1)),
        (8, (3, 4, 3, 0.1), (3, 8, 3, 0.1)),
        (2, (3, 4, 4, 0.4), (2, 2, 3, 0.1)),
        (1, (3, 4, 9, 0.9), (1, 1, 5, 1.0)),
        (4, (9, 4, 1, 0.0), (1, 4, 1, 0.0)),
    ],
)
def test_a_point_like_another(rows, near, expected):
    assert space_of().like(rows, None if near is None else Sizes(*near)) == Sizes(*expected)


def test_a_point_with_columns_for_the_least_rank():
    assert space_of(ranks=(2, 3)).like(8, Sizes(2, 4, 1, 0.0)) == Sizes(2, 8, 3, 0.0)


@pytest.mark.parametrize(
    ("rank", "rows", "expected"), [(1, 8, 8), (1, 32, 10), (2, 32, 12), (9, 32, 20)]
)
def test_tables_have_some_ranks_more(rank, rows, expected):
    assert space_of(ranks=range(1, 21)).most_ranks(Sizes(rank, rows, 1, 0.0)) == expected


@pytest.mark.parametrize("rows", [[1, 2], list(range(1, 18)), list(range(1, 19))])
def test_small_grids_are_tried_as_a_whole(monkeypatch, rows):
    monkeypatch.setattr(space, "_SMALL_GRID", 34)
    made = make_space((20, 5), 100, ranks=[2], rows=rows, columns=[1, 3], ridges=[0.5])
    expected = [Sizes(2, r, 3, 0.5) for r in rows if r >= 2]
    assert made.exhaustive == (expected if len(rows) <= 17 else None)


def test_the_best_entries_of_a_table():
    some = space_of(columns=(1, 3))
    table = np.array([[3.0, 0.0, 2.0], [0.5, 0.1, 2.5], [0.2, 0.1, 1.0]])
    sizes = Sizes(1, 32, 1, 0.1)
    assert some.best_of(table, sizes) == Sizes(3, 32, 3, 0.1)
    assert some.best_by_rank(table, sizes) == ((1, 2.0), (2, 2.5), (3, 1.0))
    assert some.best_of(table, sizes._replace(rows=2)) == Sizes(1, 2, 3, 0.1)
    # a table of fewer ranks than the point has goes on with its last row
    assert some.best_by_rank(table[:1], sizes._replace(rank=2)) == ((1, 2.0), (2, 2.0))
    assert some.best_by_rank(table[:1], sizes) == ((1, 2.0),)
    assert some.best_of(np.full((3, 3), np.inf), sizes) == sizes
    assert some.fewest_columns(table, Sizes(1, 8, 3, 0.0), 3.0) == Sizes(1, 8, 1, 0.0)
    assert some.fewest_columns(table, Sizes(1, 8, 3, 0.0), 2.9) == Sizes(1, 8, 3, 0.0)
    assert some.fewest_columns(table, Sizes(2, 8, 3, 0.0), 9.0) == Sizes(2, 8, 3, 0.0)


def test_parameters_of_a_point():
    some = space_of(unlimited=(32, None))
    params = {"rank": 2, "row_sparsity": None, "column_sparsity": 5, "ridge": 0.1}
    assert some.params(Sizes(2, 32, 5, 0.1)) == params
    assert some.params(Sizes(2, 31, 5, 0.1)) == params | {"row_sparsity": 31}
    thin = replace(some, most_unshrunk=13).thin()
    assert (thin.ridges, list(thin.rows)) == ((0.0,), [1, 2, 4])
    assert list(space_of(rows=(5, 9)).thin().rows) == [5]


# --------------------------------------------------------------------------- splits


@pytest.mark.parametrize(
    ("rows", "expected"), [(1, 3), (166, 3), (167, 2), (250, 2), (251, 1), (500, 1), (9999, 1)]
)
def test_number_of_partitions(rows, expected):
    assert cv_splits.partitions_of(rows) == expected


def test_rows_of_splits():
    assert list(_as_index(np.array([False, True, True]), 3)) == [1, 2]
    assert list(_as_index([2, 0], 3)) == [2, 0]
    assert len(_as_index(np.zeros(0, int), 3)) == 0
    for rows in ([0, 3], [-1, 2]):
        with pytest.raises(ValueError, match=rf"from 0 to 2, got {min(rows)}\.\.{max(rows)}$"):
            _as_index(np.array(rows), 3)
    few, none = np.arange(3), np.zeros(0, int)
    _check_split(few, few)
    for train, test in ((few, none), (none, few)):
        with pytest.raises(ValueError, match=f"with {len(train)} training and {len(test)} held"):
            _check_split(train, test)
    for train, test in ((few, np.array([1, 1])), (np.array([1, 1]), few)):
        with pytest.raises(ValueError, match="must not repeat a row"):
            _check_split(train, test)


# --------------------------------------------------------------------------- choices


def model(score, rows, rank=1, columns=5, spread=0.1):
    errors = score * (1 + spread * np.resize([1.0, -1.0], 40))
    sizes = Sizes(rank, rows, columns, 0.0)
    return Evaluation(sizes, score, (score,) * 5, (), np.zeros((1, 1)), 0.0, errors)


@pytest.mark.parametrize("rule", ["best", "one_se", "thinnest"])
@pytest.mark.parametrize("unit", [1e-3, 1.0, 50.0])
def test_choices_do_not_depend_on_the_unit_of_the_errors(rule, unit):
    scores = [(1.0, 150), (1.05, 90), (1.06, 60), (1.099, 40), (1.2, 20), (1.11, 10)]
    models = [model(score * unit, rows) for score, rows in scores]
    assert most_accurate(models, 200).sizes.rows == 90
    assert most_accurate(models[:1] + models[4:], 200).sizes.rows == 150
    assert most_accurate(models, 0).sizes.rows == 150
    same = [model(score, rows) for score, rows in scores]
    for predictors in (0, 200):
        chosen = thinnest(rule, models, predictors).sizes
        assert chosen == thinnest(rule, same, predictors).sizes
        left = [e.sizes for e in contenders(rule, models, predictors)]
        assert left == [e.sizes for e in contenders(rule, same, predictors)]


@pytest.mark.parametrize("count", [1, 2, 4])
def test_a_search_continues_the_clock_and_the_rounds(count):
    class Nothing(BaseSearch):
        def _search(self):
            pass

    records = [
        Record(stage="search", iteration=i + 1, objective=1.0, seconds=100.0 * (i + 1),
               sizes=Sizes(1, 1, 1, 0.0), search_round=i + 1)
        for i in range(count)
    ]  # fmt: skip
    search = Nothing(records=records)
    search._keep(model(2.0, 3))
    last = search.records[-1]
    assert 100.0 * count <= last.seconds < 100.0 * count + 50
    assert (last.iteration, last.search_round, last.best) == (count + 1, count + 1, 2.0)
    fresh = Nothing()
    fresh._keep(model(2.0, 3))
    assert 0 <= fresh.records[0].seconds < 50
    assert fresh.records[0].search_round == 1
    assert "is complete after 1 models" in fresh.message


# --------------------------------------------------------------------------- paths


@pytest.mark.parametrize("chosen", [1, 3, 5, 6, 8, 9, 30])
@pytest.mark.parametrize("most", [1, 4, 9, 10, 16, 17, 500])
def test_numbers_of_predictors_on_a_path(chosen, most):
    """All of them up to 16; then 16 in a geometric sequence, and the chosen one."""
    counts = predictor_path._default_counts(chosen, most)
    end = min(max(2 * chosen, 10), most)
    assert counts[0] == 1
    assert counts[-1] == max(end, min(chosen, most))
    assert min(chosen, most) in counts
    if end <= 16:
        assert counts == sorted({*range(1, end + 1), min(chosen, most)})
    else:
        spaced = {round(end ** (i / 15)) for i in range(16)}
        assert counts == sorted(spaced | {min(chosen, most)})


def test_a_path_of_the_estimator_with_grids():
    X, Y, _ = tr.datasets.make_two_way_sparse(40, 6, 3, 1, 2, 3, signal=9.0, random_state=1)
    one = tr.SparseReducedRankRegressor(1, 2, None).fit(X, Y)
    other = tr.SparseReducedRankRegressorCV(
        ranks=[1], row_sparsities=[2], column_sparsities=[None], ridges=[0.0], cv=3
    ).fit(X, Y)
    paths = [tr.selection.path(est, X, Y, row_sparsities=[3, 1]) for est in (one, other)]
    for path in paths:
        assert list(path.row_sparsities) == [1, 3]
        assert (path.chosen, path.rank) == (2, 1)
    np.testing.assert_allclose(paths[0].strengths, paths[1].strengths, rtol=1e-6)
    np.testing.assert_allclose(paths[0].scores, paths[1].scores, rtol=1e-9)


def test_a_path_needs_a_rank():
    X, Y, _ = tr.datasets.make_two_way_sparse(40, 6, 3, 1, 2, 3, random_state=1)
    est = tr.SparseReducedRankRegressor(1, 2, None).fit(X, Y)
    est.best_params_ = est.best_params_ | {"rank": 0}
    with pytest.raises(ValueError, match="est has rank 0"):
        tr.selection.path(est, X, Y)


# --------------------------------------------------------------------------- tables


def test_tables_of_nothing_and_of_other_heights():
    known = directions(np.zeros((2, 2)), np.ones((2, 3)), 0)
    assert (known.map.shape, known.weights.shape) == ((2, 0), (0, 3))
    table = np.arange(6.0).reshape(2, 3)
    assert to_height(table, 1).tolist() == table[:1].tolist()
    assert to_height(table, 4).tolist() == [*table.tolist(), *2 * [table[1].tolist()]]
    np.testing.assert_array_equal(lower_table(table, table[:1] + 1), [[0, 1, 2], [1, 2, 3]])


def criterion_sample(Y):
    X = np.random.default_rng(3).standard_normal((len(Y), 6))
    loss = LeastSquares(X, Y)
    return loss, CriterionSample(loss.quadratic(), loss.noise, Criterion("bic"), True, True)


@pytest.mark.parametrize("ridge", [0.0, 0.5])
def test_scores_are_entries_of_the_table_of_the_columns_in_use(ridge):
    """Also of a rank beyond the table, and whether or not the table is known."""
    Y = np.random.default_rng(4).standard_normal((30, 5))
    _, sample = criterion_sample(Y)
    sizes = Sizes(2, 3, 3, ridge)
    fit = sample.fit(sizes, Pursuit().sized(*sizes[:3]))
    alone = sample._directions_table(fit, ridge, 2, fit.columns)
    before = sample.score(fit, sizes)
    assert before == pytest.approx(alone[1, 2])
    table = sample.table(fit, ridge, 2)
    assert sample.score(fit, sizes) == before
    assert sample.score(fit, sizes._replace(rank=3)) == pytest.approx(alone[1, 2])
    assert sample.score(fit, sizes._replace(rank=1, columns=1)) == pytest.approx(alone[0, 0])
    everything = sample._directions_table(fit, ridge, 2, None)
    np.testing.assert_allclose(table, np.minimum(alone, everything))
    assert sample.score(None, sizes) == sample.null() == 0.0
    # a fit on all of its rows without effect
    nothing = replace(fit, whitened=0 * fit.whitened)
    np.testing.assert_array_equal(sample.table(nothing, ridge, 2), np.zeros((1, 5)))


@pytest.mark.parametrize("ridge", [0.0, 0.7, 50.0])
def test_degrees_of_freedom_of_every_rank(ridge):
    """Traces of hat matrices take the place of the rank and of the number of rows."""
    Y = np.random.default_rng(4).standard_normal((30, 5))
    loss, sample = criterion_sample(Y)
    sizes = Sizes(2, 3, 5, ridge)
    fit = sample.fit(sizes, Pursuit().sized(*sizes[:3]))
    known = sample._directions(fit, 3, None)
    overlap = known.map.T @ known.map * ridge
    lost = ridge * np.sum(fit.root**2)
    found = sample._complexity(fit, known, 1 - np.diag(overlap), lost)
    gram = loss.quadratic().gram(fit.rows)
    trace = np.trace(np.linalg.solve(gram + ridge * np.eye(3), gram))
    for q in (1, 2, 3):
        shrunk = q - np.trace(overlap[:q, :q])
        for s in range(1, 6):
            expected = shrunk * s + max(trace - shrunk, 0.0) * q
            assert found.degrees[q - 1, s - 1] == pytest.approx(expected, rel=1e-9)
    assert (found.rows, list(found.columns[0])) == (3, [1, 2, 3, 4, 5])


# --------------------------------------------------------------------------- samples of losses


def family_data(seed=5, n=40, p=6, k=3):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    eta = X[:, :2] @ rng.standard_normal((2, k))
    return X, eta, rng


@pytest.mark.parametrize("rank", [1, 2, 3])
def test_a_given_start_is_that_of_the_loss_itself(rank):
    X, eta, rng = family_data()
    loss = GeneralizedLinear(X, rng.poisson(np.exp(eta)), Poisson(), free=np.ones((40, 1)))
    start = as_start("spectral", True)
    sample = LossSample(loss, start=start, seed=4)
    found = sample._start(loss, rank, 4, 3, 4)
    expected = start(loss, rank, 4, 3, 4)
    np.testing.assert_allclose(found.theta, expected.theta)
    fit = sample.fit(Sizes(rank, 4, 3, 0.1), Pursuit().sized(rank, 4, 3))
    assert fit.rows.shape == (4,)
    assert sample.form_around(None) is sample.form
    assert sample.form_around(fit) is sample.form_around(fit)
    assert sample.refit(None, 0.1) is None


@pytest.mark.parametrize("rank", [1, 2])
def test_scores_of_gaussian_responses_are_their_likelihoods(rank):
    """Σⱼ n·log(RSSⱼ/n) plus the penalty, from the fit itself; 0 without a fit."""
    X, eta, rng = family_data()
    Y = eta + 0.5 * rng.standard_normal(eta.shape)
    loss = GeneralizedLinear(X, Y, Gaussian(), free=np.ones((40, 1)))
    sample = LossCriterionSample(loss, Criterion("bic"), True, True)
    sizes = Sizes(rank, 3, 3, 0.0)
    fit = sample.fit(sizes, Pursuit().sized(*sizes[:3]))
    centred = Y - Y.mean(axis=0)
    residual = Y - X @ fit.factors.theta
    left = np.sum((residual - residual.mean(axis=0)) ** 2, axis=0)
    gains = 40 * np.log(np.maximum(left / np.sum(centred**2, axis=0), 0.01))
    degrees = (3 + 3 - rank) * rank
    each = 40 - degrees / 3 - 1
    score = sample.score(fit, sizes)
    penalty = score - np.sum(gains)
    other = LossCriterionSample(loss, Criterion("aic"), True, True)
    factor = degrees * 40 / each
    assert other.score(fit, sizes) - np.sum(gains) == pytest.approx(2 * factor, rel=1e-6)
    assert penalty == pytest.approx(math.log(120) * factor, rel=1e-6)
    assert sample.score(None, sizes) == 0.0


# --------------------------------------------------------------------------- sentences


def summary(**options):
    names = dict.fromkeys(AxisSummary.__dataclass_fields__)
    given = {"axis": "row", "stable": 2, "bound": 0.5, "unimodal_bound": 0.2, "mean": 3.0}
    return AxisSummary(**(names | {"among": 10} | given | options))


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"stable": 0}, ""),
        ({"bound": float("nan")}, ""),
        ({}, "wrong predictors among the 2 stable: at most 0.5, or 0.2 under the unimodal"),
        ({"unimodal_bound": 0.5}, "among the 2 stable: at most 0.5."),
        ({"unimodal_bound": float("nan")}, "among the 2 stable: at most 0.5."),
        ({"stable": 1}, "wrong predictors among the 1 stable: at most 0.5, or 0.2"),
    ],
)
def test_sentences_about_bounds(options, expected):
    found = _bound(summary(**options), "predictor")
    assert expected in found
    assert bool(found) == bool(expected)


def test_sentences_about_stable_names():
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame(
        {"axis": 3 * ["row"], "name": list("abc"), "stable": [True, False, True],
         "frequency": [0.8, 0.1, 0.9]}
    )  # fmt: skip
    assert _which(table, summary(stable=0), "pair", str) == (
        "No pair is stable (selected in the fits to random halves of the data)."
    )
    table.attrs = {"threshold": 0.6, "n_resamples": 1}
    told = "selected in at least 60 % of the 2 fits to 1 pair of random halves of the data"
    assert _which(table, summary(), "row", str) == f"Stable rows ({told}): c (0.90), a (0.80)."
    table.attrs["n_resamples"] = 50
    assert "the 100 fits to 50 pairs of" in _which(table, summary(stable=1), "row", str)
    assert _which(table, summary(stable=1), "row", str).startswith("Stable row (")
    assert _listed(list("ab")) == "a, b"
    assert _listed(12 * ["a"]) == ", ".join(12 * ["a"])
    assert _listed(13 * ["a"]).endswith("a and 1 more")


@pytest.mark.parametrize("count", [0, -1, 10**9 + 1])
def test_number_of_resamples(count):
    with pytest.raises(ValueError, match=r"n_resamples.*1000000000"):
        tr.selection.stability(tr.SparseReducedRankRegressor(), np.eye(5), np.eye(5),
                               n_resamples=count)  # fmt: skip
