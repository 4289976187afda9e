"""Choosing sizes: honest scores on held-out rows, and a search that misses nothing that matters."""

import itertools
from dataclasses import dataclass

import numpy as np
import pytest
from sklearn.model_selection import GroupKFold, KFold

import thinrank as tr
from thinrank.solvers.pursuit import Pursuit

N, P, K = 48, 14, 8
SPLITS = list(KFold(4, shuffle=True, random_state=0).split(np.zeros(N)))
LITERAL = {"standardize": False}  # else errors are in units of the noise in each response
RULES = ("best", "one_se", "thinnest")

# some are fits of noise, or have many predictors for the number of samples
pytestmark = pytest.mark.filterwarnings("ignore::thinrank.core.warnings.SelectionWarning")


def data(seed=0, signal=2.0, n=N, p=P, k=K, **change):
    sizes = {"rank": 2, "row_sparsity": 4, "column_sparsity": 5} | change
    return tr.datasets.make_two_way_sparse(n, p, k, signal=signal, random_state=seed, **sizes)


def noise(seed=0, n=40, p=12, k=6):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, p)), rng.standard_normal((n, k)) + 2


def cv_of(**options):
    return tr.SparseReducedRankRegressorCV(**({"cv": SPLITS} | options))


def one_model(rank, rows, columns, ridge, **options):
    grid = {"ranks": [rank], "row_sparsities": [rows], "column_sparsities": [columns]}
    return cv_of(**grid, ridges=[ridge], **options)


def last_records(est):
    """Records of the last search; scores of different searches cannot be compared."""
    return [r for r in est.search_ if r.search_round == est.search_[-1].search_round]


def least_score(est):
    return min(record.objective for record in last_records(est))


# --------------------------------------------------------------------------- scores


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize(
    ("sizes", "weighted"),
    [((2, 4, 5, 0.0), False), ((2, None, None, 0.1), True), ((2, None, None, 0.0), False)],
)
def test_scores_are_errors_of_fits_to_the_training_rows(sizes, weighted, intercept):
    """Nothing of the held-out rows, not even their means, enters the fit."""
    X, Y, _ = data()
    if intercept:
        X[SPLITS[0][1]] += 3  # the folds differ in their means
        Y[SPLITS[0][1]] += 20
    weight = np.random.default_rng(1).uniform(0.5, 3, N) if weighted else np.ones(N)
    options = LITERAL | {"fit_intercept": intercept}
    est = one_model(*sizes, **options).fit(X, Y, weight)
    (record,) = last_records(est)
    for score, (train, test) in zip(record.split_scores, SPLITS, strict=True):
        own = tr.SparseReducedRankRegressor(*sizes[:3], ridge=sizes[3], **options)
        own.fit(X[train], Y[train], weight[train])
        errors = np.mean((Y[test] - own.predict(X[test])) ** 2, axis=1)
        assert score == pytest.approx(np.average(errors, weights=weight[test]), rel=1e-6)
    assert record.objective == pytest.approx(np.mean(record.split_scores))


@pytest.mark.parametrize("intercept", [True, False])
def test_the_score_of_rank_zero_is_that_of_the_training_means(intercept):
    X, Y, _ = data()
    est = cv_of(**LITERAL, fit_intercept=intercept, row_sparsities=[4], ridges=[0.0]).fit(X, Y + 1)
    zero = next(record for record in est.search_ if record.sizes.rank == 0)
    for score, (train, test) in zip(zero.split_scores, SPLITS, strict=True):
        mean = Y[train].mean(axis=0) + 1 if intercept else 0.0
        assert score == pytest.approx(np.mean((Y[test] + 1 - mean) ** 2))


@pytest.mark.parametrize("weighted", [False, True])
def test_standardised_training_parts(weighted):
    """Columns are scaled by their training rows; relative to rank 0 units of Y do not matter."""
    X, Y, _ = data()
    X[SPLITS[0][1]] *= 3
    weight = np.random.default_rng(1).uniform(0.5, 3, N) if weighted else np.ones(N)
    grid = {"row_sparsities": [None], "column_sparsities": [None], "ridges": [0.1]}
    est = cv_of(**grid).fit(X, Y[:, :1], weight)
    zero, one = ([r for r in est.search_ if r.sizes.rank == rank][-1] for rank in (0, 1))
    for null, score, (train, test) in zip(zero.split_scores, one.split_scores, SPLITS, strict=True):
        mean = np.average(X[train], axis=0, weights=weight[train])
        scale = np.sqrt(np.average((X[train] - mean) ** 2, axis=0, weights=weight[train]))
        own = tr.SparseReducedRankRegressor(1, None, None, ridge=0.1, **LITERAL)
        own.fit(X[train] / scale, Y[train, :1], weight[train])
        left, all_of_it = (
            np.average((Y[test, :1] - predicted)[:, 0] ** 2, weights=weight[test])
            for predicted in (
                own.predict(X[test] / scale),
                np.average(Y[train, :1], axis=0, weights=weight[train]),
            )
        )
        assert score / null == pytest.approx(left / all_of_it, rel=1e-5)


def test_rows_may_be_on_neither_side():
    """A training set that is smaller than the complement of the held-out rows."""
    X, Y, _ = data()
    train, test = np.arange(5, 40), np.array([47, 41, 42, 0])
    (record,) = last_records(one_model(2, 4, 5, 0.0, cv=[(train, test)], **LITERAL).fit(X, Y))
    own = tr.SparseReducedRankRegressor(2, 4, 5, **LITERAL).fit(X[train], Y[train])
    expected = np.mean((Y[test] - own.predict(X[test])) ** 2)
    assert record.objective == pytest.approx(expected, rel=1e-6)


def test_predictors_that_are_zero_in_a_training_part():
    """Its model predicts the means, and the others are what they were."""
    X, Y, _ = data()
    X[SPLITS[0][0]] = 0.0
    (record,) = last_records(one_model(2, 4, 5, 0.0, **LITERAL).fit(X, Y))
    train, test = SPLITS[0]
    assert record.split_scores[0] == pytest.approx(np.mean((Y[test] - Y[train].mean(axis=0)) ** 2))
    assert np.isfinite(record.objective)


@pytest.mark.parametrize("family", ["bernoulli", "poisson"])
def test_families_are_scored_by_the_deviance_of_held_out_entries(family):
    rng = np.random.default_rng(0)
    X, eta, _ = data(signal=1.0, p=4)
    eta = 0.5 * eta
    Y = rng.poisson(np.exp(eta.clip(-2, 2))).astype(float)
    if family == "bernoulli":
        Y = (Y > 0).astype(float)
    fixed = {"family": family, "row_sparsity": None, "column_sparsity": None, "ridge": 0.0}
    options = fixed | {"standardize": False}
    est = tr.SparseReducedRankGLM(rank="auto", cv=SPLITS, **options).fit(X, Y)
    record = next(r for r in reversed(est.search_) if r.sizes.rank > 0)
    deviance = tr.losses.families.as_family(family)
    for score, (train, test) in zip(record.split_scores, SPLITS, strict=True):
        own = tr.SparseReducedRankGLM(rank=record.sizes.rank, **options).fit(X[train], Y[train])
        linear = X[test] @ own.coef_.T + own.intercept_
        expected = np.mean(deviance.deviance(Y[test], linear))
        assert score == pytest.approx(expected, rel=1e-2)


# --------------------------------------------------------------------------- splits


@pytest.mark.parametrize(
    ("split", "message"),
    [
        ((np.arange(0), np.arange(5)), r"training and held-out rows.*0 training and 5 held-out"),
        ((np.arange(5), np.arange(0)), r"training and held-out rows.*5 training and 0 held-out"),
        ((np.array([0, 1, 1, 2]), np.array([4])), r"must not repeat a row"),
        ((np.array([0, 1, 2]), np.array([4, -1])), r"rows from 0 to \d+, got -1\.\.4"),
        ((np.array([0, 1, 2]), np.array([4, 10**6])), r"rows from 0 to \d+, got 4\.\.1000000"),
    ],
)
def test_bad_splits(split, message):
    with pytest.raises(ValueError, match=message):
        one_model(1, 2, None, 0.0, cv=[SPLITS[0], split]).fit(*data()[:2])


@pytest.mark.parametrize("side", ["training", "held-out"])
def test_splits_without_weight(side):
    X, Y, _ = data()
    weight = np.ones(N)
    weight[SPLITS[0][0 if side == "training" else 1]] = 0.0
    with pytest.raises(ValueError, match=f"cv leaves no {side} rows of positive weight"):
        one_model(1, 2, None, 0.0, cv=SPLITS[:1]).fit(X, Y, weight)


@pytest.mark.parametrize(
    ("cv", "message"),
    [(1, r"at least 2 folds.*got 1"), (-2, r"got -2"), ([], "at least one split")],
)
def test_too_few_splits(cv, message):
    with pytest.raises(ValueError, match=message):
        cv_of(cv=cv).fit(*data()[:2])


def test_folds_come_from_the_seed_and_have_nearly_equal_sizes():
    X, Y, _ = data(signal=0.5)
    est = one_model(2, 4, 5, 0.0, cv=5, **LITERAL)
    first, again, other = (
        est.set_params(random_state=seed).fit(X, Y).search_[-1].split_scores for seed in (0, 0, 7)
    )
    assert first == pytest.approx(again)
    assert abs(first[0] - other[0]) > 1e-6
    assert est.n_splits_ == 5
    few = one_model(1, 1, None, 0.0, cv=5).fit(X[:4], Y[:4])  # no more folds than rows
    assert few.n_splits_ == 4


def test_masks_and_groups():
    X, Y, _ = data()
    groups = np.repeat(np.arange(6), 8)
    splits = list(GroupKFold(3).split(X, groups=groups))
    as_masks = [(np.isin(np.arange(N), train), test) for train, test in splits]
    given, masks = (one_model(2, 4, 5, 0.0, cv=cv).fit(X, Y) for cv in (splits, as_masks))
    grouped = one_model(2, 4, 5, 0.0, cv=GroupKFold(3)).fit(X, Y, groups=groups)
    for est in (masks, grouped):
        np.testing.assert_allclose(est.search_[-1].split_scores, given.search_[-1].split_scores)


def test_groups_of_the_estimator_that_searches():
    X, Y, _ = data()
    groups = np.repeat(np.arange(6), 8)
    splits = list(GroupKFold(3).split(X, groups=groups))
    given = tr.SparseReducedRankRegressor(2, cv=splits).fit(X, Y)
    for cv in (GroupKFold(3), 3):
        grouped = tr.SparseReducedRankRegressor(2, cv=cv).fit(X, Y, groups=groups)
        assert grouped.best_params_ == given.best_params_


# --------------------------------------------------------------------------- what is found


@pytest.mark.parametrize(("seed", "signal"), [(0, 0.3), (2, 1.0)])
def test_the_search_is_within_one_per_cent_of_a_full_grid(seed, signal):
    """Of ranks and every number of rows, with some numbers of columns and ridges."""
    X, Y, _ = data(seed, signal, p=8, k=6)
    splits = {"cv": list(KFold(3, shuffle=True, random_state=0).split(X))}
    found = least_score(cv_of(**LITERAL, **splits).fit(X, Y))
    grid = {"ranks": [1, 2], "column_sparsities": [4, None], "ridges": [0.0, 0.2]}
    best = least_score(cv_of(**grid, row_sparsities=range(1, 9), **LITERAL, **splits).fit(X, Y))
    assert found <= 1.01 * best


@pytest.mark.parametrize(("seed", "criterion"), [(0, "pic"), (1, "bic")])
def test_a_criterion_is_about_as_low_as_with_every_number_of_rows(seed, criterion):
    X, Y, _ = data(seed, signal=1.0)
    options = LITERAL | {"criterion": criterion, "ridge": 0.0}
    found = tr.SparseReducedRankRegressor(**options).fit(X, Y)
    best = min(
        least_score(tr.SparseReducedRankRegressor(row_sparsity=rows, **options).fit(X, Y))
        for rows in range(1, P + 1)
    )
    assert least_score(found) <= best + 0.01 * abs(best)


@pytest.mark.parametrize(
    ("criterion", "n", "p", "k"), [("cv", 60, 150, 12), ("pic", 200, 30, 12), ("pic", 60, 40, 50)]
)
def test_clear_signals_have_their_sizes_and_supports(criterion, n, p, k):
    X, Y, truth = data(0, 5.0, n, p, k, row_sparsity=6)
    est = tr.SparseReducedRankRegressor(criterion=criterion).fit(X, Y)
    assert est.rank_ == 2
    assert set(truth.row_support) <= set(est.row_support_)
    assert len(est.row_support_) <= 7
    assert set(truth.column_support) <= set(est.column_support_)
    assert np.linalg.norm(est.coef_.T - truth.theta) < 0.1 * np.linalg.norm(truth.theta)


def test_noise_of_very_different_sizes():
    """The units of the responses are estimated again after the first search."""
    X, Y, truth = data(3, 3.0, 120, 30, 8, row_sparsity=6, column_sparsity=8)
    Y = Y + np.random.default_rng(3).standard_normal(Y.shape) * np.geomspace(0.1, 6, 8)
    for criterion in ("cv", "pic"):
        est = tr.SparseReducedRankRegressor(criterion=criterion).fit(X, Y)
        assert set(est.row_support_) >= set(truth.row_support)
        assert len(est.row_support_) <= 8


@pytest.mark.parametrize("rule", RULES)
def test_rank_zero_in_noise(rule):
    assert tr.SparseReducedRankRegressor(refit_rule=rule).fit(*noise()).rank_ == 0


def test_a_small_grid_is_tried_in_full():
    grid = {"ranks": [3, 1, 3], "row_sparsities": [8, 2], "column_sparsities": [None, 4]}
    est = cv_of(**grid, ridges=[0.5, 0.0]).fit(*data()[:2])
    tried = [tuple(record.sizes)[:4] for record in last_records(est)]
    expected = [
        point
        for point in itertools.product([1, 3], [2, 8], [4, K], [0.0, 0.5])
        if point[0] <= min(point[1:3])
    ]
    assert sorted(tried) == sorted(expected)


# --------------------------------------------------------------------------- records


def test_records_of_a_search():
    X, Y, _ = data(signal=1.0)
    seen = []
    est = cv_of(callback=seen.append).fit(X, Y)
    records = est.search_
    assert [r.iteration for r in records] == list(range(1, len(records) + 1))
    assert [r.stage for r in seen if r.stage == "search"] == ["search"] * len(records)
    rounds = [r.search_round for r in records]
    assert rounds == sorted(rounds)
    assert rounds[0] == 1
    seconds = [r.seconds for r in records]
    assert seconds == sorted(seconds)
    assert len({r.sizes for r in last_records(est)}) == len(last_records(est))
    for r in records:
        assert r.best <= r.objective + 1e-12
        assert r.objective == pytest.approx(np.mean(r.split_scores))
        assert len(r.split_scores) == len(SPLITS)
        if r.rank_scores:
            assert min(score for _, score in r.rank_scores) <= r.objective * (1 + 1e-6)
    chosen = est.best_params_
    assert (chosen["rank"], chosen["row_sparsity"], chosen["ridge"]) in {
        (r.sizes.rank, r.sizes.rows, r.sizes.ridge) for r in last_records(est)
    }


def test_the_best_models_are_judged_on_further_partitions():
    """With few rows and a number of folds; the score is the mean over all splits."""
    X, Y, _ = data(signal=0.4)
    est = cv_of(cv=4).fit(X, Y)
    counts = {len(r.split_scores) for r in last_records(est)}
    assert min(counts) == 4
    assert all(count % 4 == 0 and count <= 12 for count in counts)


def test_ridges_span_the_curvature():
    X, Y, _ = data(signal=0.3)
    est = cv_of(**LITERAL).fit(X, Y)
    mean = np.mean((X - X.mean(axis=0)) ** 2)
    ridges = {r.sizes.ridge for r in est.search_}
    assert all(r == 0 or 0.99e-5 * mean < r < 1.01e2 * mean for r in ridges)


# --------------------------------------------------------------------------- what is chosen


@pytest.mark.parametrize(("rule", "most"), [("best", 1.02), ("thinnest", 1.11)])
def test_a_thinner_model_is_allowed_a_little_error(rule, most):
    """A dense signal, where fewer predictors than all are only a little worse."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((N, P))
    Y = X @ (rng.standard_normal((P, 2)) @ rng.standard_normal((2, K)))
    Y += 6 * rng.standard_normal((N, K))
    est = cv_of(refit_rule=rule, **LITERAL).fit(X, Y)
    records = last_records(est)
    best = min(records, key=lambda r: r.objective)
    params = est.best_params_
    (chosen,) = [
        r
        for r in records
        if tuple(r.sizes)
        == tuple(
            params[k] for k in ("rank", "row_sparsity", "column_sparsity", "ridge", "exchange")
        )
    ]
    assert chosen.sizes.rows <= best.sizes.rows
    assert chosen.objective <= most * best.objective


def test_rules_are_ordered_by_the_number_of_predictors():
    X, Y, _ = data(1, signal=0.5)
    rows = {rule: len(cv_of(refit_rule=rule).fit(X, Y).row_support_) for rule in RULES}
    assert rows["thinnest"] <= rows["best"]
    assert rows["one_se"] <= rows["best"]


def test_a_response_is_left_out_only_if_that_does_not_hurt():
    """Three of four responses are noise; or all have a weak signal, with few samples."""
    rng = np.random.default_rng(3)
    X = rng.standard_normal((100, 10))
    Y = np.outer(X[:, 0], [3.0, 0, 0, 0]) + rng.standard_normal((100, 4))
    assert tr.SparseReducedRankRegressor().fit(X, Y).column_support_.tolist() == [0]
    X = rng.standard_normal((16, 5))
    Y = np.outer(X[:, 0], [1.0, 1.0, 0.7, 0.7]) + 0.7 * rng.standard_normal((16, 4))
    assert len(tr.SparseReducedRankRegressor().fit(X, Y).column_support_) == 4


# --------------------------------------------------------------------------- exchanges


@pytest.mark.parametrize(("n", "ridge"), [(30, 0.1), (6, 0.5)])
def test_without_exchanges_rows_are_those_of_backward_elimination(n, ridge):
    rng = np.random.default_rng(n)
    X = rng.standard_normal((n, 8)) @ (np.eye(8) + 0.4)
    Y = X @ rng.standard_normal((8, 3)) + rng.standard_normal((n, 3))
    loss = tr.losses.LeastSquares(X - X.mean(axis=0), Y - Y.mean(axis=0), ridge=ridge)
    for count in (6, 4, 1):
        est = tr.SparseReducedRankRegressor(1, count, None, ridge=ridge, exchange=False, **LITERAL)
        start = tr.starts.Backward()(loss, 1, count, 3, 0)
        np.testing.assert_array_equal(est.fit(X, Y).row_support_, start.row_support)


def test_whether_rows_are_exchanged_is_chosen_and_fits_the_same_model():
    X, Y, _ = data(signal=1.0)
    for exchange in ("auto", True, False):
        est = tr.SparseReducedRankRegressor(exchange=exchange).fit(X, Y)
        same = tr.SparseReducedRankRegressor(**est.best_params_).fit(X, Y)
        np.testing.assert_allclose(same.coef_, est.coef_, atol=1e-7)
        if exchange != "auto":
            assert est.best_params_["exchange"] is exchange
            assert {r.sizes.exchange for r in est.search_ if r.sizes.rank} == {exchange}


def test_bad_exchange():
    with pytest.raises(ValueError, match="exchange must be True, False or \"auto\", got 'no'"):
        tr.SparseReducedRankRegressor(exchange="no").fit(*data()[:2])


@dataclass(frozen=True)
class FailingPursuit(Pursuit):
    """Pursuit that fails with more than three rows."""

    def init(self, loss, start):
        if self.rows > 3:
            raise np.linalg.LinAlgError("SVD did not converge")
        return super().init(loss, start)


def test_a_model_whose_fit_fails_is_not_chosen():
    X, Y, _ = data()
    est = tr.SparseReducedRankRegressor(1, "auto", None, ridge=0.1, solver=FailingPursuit())
    est.fit(X, Y)
    scores = {record.sizes.rows: record.objective for record in est.search_}
    assert 0 < len(est.row_support_) <= 3
    assert {rows for rows, score in scores.items() if score == np.inf} == {
        rows for rows in scores if rows > 3
    }
