"""SparseReducedRankRegressorCV: sizes by held-out error."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.sparse.linalg import aslinearoperator
from sklearn.base import clone
from sklearn.metrics import mean_squared_error
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    KFold,
    PredefinedSplit,
    RepeatedKFold,
    ShuffleSplit,
    cross_val_predict,
)

import thinrank as tr
from thinrank.core.warnings import SelectionWarning

KEYS = ["column_sparsity", "rank", "ridge", "row_sparsity"]
GRID = {
    "ranks": [1, 2, 3],
    "row_sparsities": [2, 4, 8],
    "column_sparsities": [5, None],
    "ridges": [0.0, 0.05],
}


# fits of noise, or of more predictors than half of the samples
doubtful = pytest.mark.filterwarnings("ignore::thinrank.core.warnings.SelectionWarning")


@pytest.fixture(scope="module")
def small():
    return tr.datasets.make_two_way_sparse(60, 20, 12, 2, 4, 5, random_state=3)


@pytest.fixture(scope="module")
def fitted(small):
    X, Y, _ = small
    return tr.SparseReducedRankRegressorCV().fit(X, Y)


def cv_of(**options):
    return tr.SparseReducedRankRegressorCV(**options)


def noise(n=40, p=12, k=6, seed=1):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, p)), rng.standard_normal((n, k)) + 2


# --------------------------------------------------------------------------- what is chosen


def test_finds_the_truth(small, fitted):
    _, _, truth = small
    assert len(fitted.search_) >= len(fitted.cv_results_["params"])
    assert sorted(fitted.best_params_) == KEYS
    assert fitted.best_params_["rank"] == 2
    assert set(truth.row_support) <= set(fitted.row_support_)
    assert set(truth.column_support) <= set(fitted.column_support_)


@pytest.mark.parametrize("problems", [4, pytest.param(12, marks=pytest.mark.slow)])
def test_exact_supports_on_the_papers_strong_setting(problems):
    found = []
    for seed in range(problems):
        X, Y, truth = tr.datasets.make_two_way_sparse(random_state=seed)
        est = cv_of().fit(X, Y)
        found.append(
            np.array_equal(est.row_support_, truth.row_support)
            and np.array_equal(est.column_support_, truth.column_support)
        )
    assert np.mean(found) >= 0.8  # 0.92 of fifty


@pytest.mark.parametrize("options", [{}, {"standardize": False}, {"fit_intercept": False}], ids=str)
def test_the_final_fit_is_the_regressors(small, options):
    X, Y, _ = small
    est = cv_of(**options).fit(X, Y)
    again = tr.SparseReducedRankRegressor(**est.best_params_, **options).fit(X, Y)
    np.testing.assert_array_equal(est.coef_, again.coef_)
    np.testing.assert_array_equal(est.intercept_, again.intercept_)
    np.testing.assert_array_equal(est.predict(X), again.predict(X))
    assert est.n_iter_ == again.n_iter_
    assert str(est.status_) == str(again.status_)
    assert est.history_.objectives == again.history_.objectives


def test_the_score_is_what_a_loop_over_the_folds_gives(small):
    X, Y, _ = small
    literal = {"standardize": False}  # else errors are in units of the noise of every response
    found = cv_of(cv=KFold(5), **literal).fit(X, Y)
    again = tr.SparseReducedRankRegressor(**found.best_params_, **literal)
    errors = [
        mean_squared_error(Y[test], clone(again).fit(X[train], Y[train]).predict(X[test]))
        for train, test in KFold(5).split(X)
    ]
    assert found.best_score_ == pytest.approx(-np.mean(errors), rel=1e-6)
    for i, error in enumerate(errors):
        score = found.cv_results_[f"split{i}_test_score"][found.best_index_]
        assert score == pytest.approx(-error, rel=1e-6)


@doubtful
@pytest.mark.parametrize(
    "options", [{"standardize": False}, {"standardize": False, "fit_intercept": False}], ids=str
)
def test_a_small_grid_equals_scikit_learns_grid_search(small, options):
    X, Y, _ = small
    est = cv_of(**GRID, cv=KFold(2), **options).fit(X, Y)
    grid = GridSearchCV(
        tr.SparseReducedRankRegressor(**options),
        {
            "rank": [1, 2, 3],
            "row_sparsity": [2, 4, 8],
            "column_sparsity": [5, None],
            "ridge": [0.0, 0.05],
        },
        scoring="neg_mean_squared_error",
        cv=KFold(2),
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # rank 3 with 2 rows is refused
        grid.fit(X, Y)
    theirs = {
        tuple(sorted(p.items(), key=str)): score
        for p, score in zip(
            grid.cv_results_["params"], grid.cv_results_["mean_test_score"], strict=True
        )
        if np.isfinite(score)
    }
    ours = {
        tuple(sorted(p.items(), key=str)): score
        for p, score in zip(
            est.cv_results_["params"], est.cv_results_["mean_test_score"], strict=True
        )
    }
    assert ours.keys() == theirs.keys()
    for point, score in ours.items():
        assert score == pytest.approx(theirs[point], rel=1e-5)
    assert max(ours.values()) == pytest.approx(max(theirs.values()), rel=1e-8)


# --------------------------------------------------------------------------- results


def test_layout_of_the_results(fitted):
    results = fitted.cv_results_
    models = len(results["params"])
    assert models > 3
    expected = {
        *("mean_fit_time", "params", "mean_test_score", "std_test_score", "rank_test_score"),
        *(f"param_{key}" for key in KEYS),
        *(f"split{i}_test_score" for i in range(5)),
    }
    assert set(results) == expected
    for key, values in results.items():
        assert len(values) == models, key
    for key in KEYS:
        column = results[f"param_{key}"]
        assert isinstance(column, np.ma.MaskedArray)
        assert list(column) == [p[key] for p in results["params"]]
        assert all(sorted(p) == KEYS for p in results["params"])
    splits = np.stack([results[f"split{i}_test_score"] for i in range(5)])
    np.testing.assert_allclose(results["mean_test_score"], splits.mean(axis=0))
    np.testing.assert_allclose(results["std_test_score"], splits.std(axis=0))
    assert (splits < 0).all()
    ranks, means = results["rank_test_score"], results["mean_test_score"]
    assert ranks.dtype.kind == "i"
    assert ranks.min() == 1
    np.testing.assert_array_equal(ranks, [1 + np.sum(means > m) for m in means])
    assert (results["mean_fit_time"] >= 0).all()
    assert len(pd.DataFrame(results)) == models


def test_best(fitted):
    results, best = fitted.cv_results_, fitted.best_index_
    means, rows = results["mean_test_score"], results["param_row_sparsity"]
    assert means[best] == fitted.best_score_
    # thinner than the most accurate, if it is not that
    assert best == np.argmax(means) or rows[best] <= rows[np.argmax(means)]
    assert results["params"][best] == fitted.best_params_
    assert fitted.n_splits_ == 5
    assert results["params"][0]["rank"] == 0  # rank 0 competes


def test_scores_do_not_depend_on_the_units_of_the_responses(small, fitted):
    X, Y, _ = small
    units = 10.0 ** np.random.default_rng(0).uniform(-3, 3, Y.shape[1])
    moved = cv_of().fit(X, units * Y + 5)
    assert moved.best_params_ == fitted.best_params_
    np.testing.assert_allclose(
        moved.cv_results_["mean_test_score"], fitted.cv_results_["mean_test_score"], rtol=1e-6
    )


def test_without_standardisation_scores_are_in_the_units_of_the_responses(small):
    X, Y, _ = small
    plain, moved = (cv_of(standardize=False).fit(X, s * Y + 5) for s in (1.0, 1000.0))
    assert moved.best_params_ == plain.best_params_
    np.testing.assert_allclose(
        moved.cv_results_["mean_test_score"], 1e6 * plain.cv_results_["mean_test_score"], rtol=1e-6
    )


# --------------------------------------------------------------------------- one standard error


def degrees(params, shape=(20, 12)):
    rows = shape[0] if params["row_sparsity"] is None else params["row_sparsity"]
    columns = shape[1] if params["column_sparsity"] is None else params["column_sparsity"]
    return (rows + columns - params["rank"]) * params["rank"]


@doubtful
@pytest.mark.parametrize("grid", [{}, GRID], ids=["searched", "given"])
@pytest.mark.parametrize("seed", [0, *(pytest.param(i, marks=pytest.mark.slow) for i in (1, 2))])
def test_one_standard_error(grid, seed):
    X, Y, _ = tr.datasets.make_two_way_sparse(60, 20, 12, 2, 4, 5, signal=0.5, random_state=seed)
    # splits that are given are not judged again on others
    simple = cv_of(refit_rule="one_se", cv=KFold(5, shuffle=True, random_state=0), **grid)
    simple.fit(X, Y)
    results = simple.cv_results_
    top = np.argmax(results["mean_test_score"])
    splits = np.array([results[f"split{i}_test_score"][top] for i in range(5)])
    error = splits.std(ddof=1) / np.sqrt(5)
    within = results["mean_test_score"] >= results["mean_test_score"][top] - error
    allowed = [p for p, ok in zip(results["params"], within, strict=True) if ok]
    fewest = min(p["row_sparsity"] for p in allowed)
    assert simple.best_params_["row_sparsity"] <= fewest
    assert degrees(simple.best_params_) <= min(
        degrees(p) for p in allowed if p["row_sparsity"] == fewest
    )
    assert simple.best_params_ == results["params"][simple.best_index_]
    again = tr.SparseReducedRankRegressor(**simple.best_params_).fit(X, Y)
    np.testing.assert_array_equal(simple.coef_, again.coef_)


@doubtful
def test_one_standard_error_is_simpler_somewhere():
    simpler = []
    for seed in range(4):
        X, Y, _ = tr.datasets.make_two_way_sparse(
            60, 20, 12, 2, 4, 5, signal=0.4, random_state=seed
        )
        best, simple = (cv_of(refit_rule=rule).fit(X, Y) for rule in ("best", "one_se"))
        assert len(simple.row_support_) <= len(best.row_support_)
        simpler.append(degrees(simple.best_params_) < degrees(best.best_params_))
    assert any(simpler)


def test_one_split_has_no_standard_error(small):
    X, Y, _ = small
    split = PredefinedSplit(np.where(np.arange(60) < 40, -1, 0))
    with pytest.raises(ValueError, match=r'"one_se" needs at least two splits, but cv has 1'):
        cv_of(cv=split, refit_rule="one_se").fit(X, Y)


# --------------------------------------------------------------------------- splitters


def test_a_validation_set(small):
    X, Y, _ = small
    fold = np.where(np.arange(60) < 40, -1, 0)
    literal = {"standardize": False}
    grid = {"ranks": [1, 2, 3], "row_sparsities": [4, 6, 9], "column_sparsities": [4, 8]}
    est = cv_of(cv=PredefinedSplit(fold), **grid, ridges=[0.0, 0.1], **literal).fit(X, Y)
    assert est.n_splits_ == 1
    assert "split1_test_score" not in est.cv_results_
    train = tr.SparseReducedRankRegressor(**est.best_params_, **literal).fit(X[:40], Y[:40])
    error = mean_squared_error(Y[40:], train.predict(X[40:]))
    assert est.best_score_ == pytest.approx(-error, rel=1e-6)
    everything = tr.SparseReducedRankRegressor(**est.best_params_, **literal).fit(X, Y)
    np.testing.assert_array_equal(est.coef_, everything.coef_)


def test_groups(small):
    X, Y, _ = small
    groups = np.repeat(np.arange(6), 10)
    splits = list(GroupKFold(3).split(X, groups=groups))
    with_groups = cv_of(cv=GroupKFold(3)).fit(X, Y, groups=groups)
    given = cv_of(cv=splits).fit(X, Y)
    assert with_groups.best_params_ == given.best_params_
    np.testing.assert_array_equal(
        with_groups.cv_results_["mean_test_score"], given.cv_results_["mean_test_score"]
    )
    with pytest.raises(ValueError, match="groups"):
        cv_of(cv=GroupKFold(3)).fit(X, Y)


@pytest.mark.parametrize(
    "splitter",
    [
        3,
        KFold(4, shuffle=True, random_state=0),
        RepeatedKFold(n_splits=3, n_repeats=2, random_state=0),
        ShuffleSplit(3, test_size=0.2, train_size=0.6, random_state=0),  # rows on neither side
    ],
    ids=str,
)
def test_any_splitter(small, splitter):
    X, Y, truth = small
    est = cv_of(cv=splitter).fit(X, Y)
    assert est.n_splits_ == (3 if splitter == 3 else splitter.get_n_splits())
    assert set(truth.row_support) <= set(est.row_support_)


def test_bad_splits(small):
    X, Y, _ = small
    with pytest.raises(ValueError, match="must have training and held-out rows"):
        cv_of(cv=[(np.arange(60), np.arange(0))]).fit(X, Y)
    with pytest.raises(ValueError, match="must not repeat a row"):
        cv_of(cv=[(np.array([0, 0, 1, 2, 3]), np.array([4, 5]))]).fit(X, Y)
    with pytest.raises(ValueError, match=r"[Cc]annot have number of splits|n_splits"):
        cv_of(cv=KFold(61)).fit(X, Y)
    with pytest.raises(ValueError, match=r"cv must be at least 2 folds.*got 1"):
        cv_of(cv=1).fit(X, Y)


def test_no_more_folds_than_samples():
    X, Y = noise(12, 3, 2)
    Y[:] += 5 * X[:, :1]
    assert cv_of(cv=50, ranks=[1]).fit(X, Y).n_splits_ == 12


# --------------------------------------------------------------------------- axes


def test_given_values_only(small):
    X, Y, _ = small
    est = cv_of(row_sparsities=[3, 6, 9], ridges=[0.1]).fit(X, Y)
    tried = [p for p in est.cv_results_["params"] if p["rank"] > 0]
    assert {p["row_sparsity"] for p in tried} <= {3, 6, 9}
    assert {p["ridge"] for p in tried} == {0.1}
    assert cv_of(ranks=[1]).fit(X, Y).best_params_["rank"] == 1
    for axis in (np.array([1, 2]), range(1, 3), (1, 2)):
        assert cv_of(ranks=axis).fit(X, Y).best_params_["rank"] == 2


def test_no_limit(small):
    X, Y, _ = small
    est = cv_of(column_sparsities=[None]).fit(X, Y)
    assert est.best_params_["column_sparsity"] is None
    assert est.column_support_.size == 12
    both = cv_of(row_sparsities=[None], column_sparsities=[None]).fit(X, Y)
    assert both.best_params_["row_sparsity"] is both.best_params_["column_sparsity"] is None


def test_more_points_than_are_tried_in_full(small):
    X, Y, truth = small
    axes = {"ranks": [1, 2, 3], "row_sparsities": range(1, 16), "column_sparsities": [5, 8, None]}
    est = cv_of(**axes).fit(X, Y)
    assert len(est.cv_results_["params"]) < 100
    assert est.best_params_["rank"] == 2
    assert set(truth.row_support) <= set(est.row_support_)
    allowed = {p["column_sparsity"] for p in est.cv_results_["params"]}
    assert allowed <= {5, 8, None}


def test_noise_is_rank_zero_and_can_be_refitted():
    zeros = 0
    for seed in range(4):
        X, Y = noise(seed=seed)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", SelectionWarning)
            est = cv_of().fit(X, Y)
        if est.best_params_["rank"] > 0:
            continue
        assert "No model predicts better than the means" in str(caught[0].message)
        zeros += 1
        assert est.best_params_ == {
            "rank": 0,
            "row_sparsity": 0,
            "column_sparsity": 0,
            "ridge": 0.0,
        }
        again = tr.SparseReducedRankRegressor(**est.best_params_).fit(X, Y)
        np.testing.assert_allclose(est.predict(X), np.tile(Y.mean(axis=0), (len(X), 1)))
        np.testing.assert_array_equal(est.predict(X), again.predict(X))
        assert est.rank_ == again.rank_ == 0
        assert est.transform(X).shape == (40, 0)
    assert zeros >= 2


@doubtful
def test_noise_without_limits():
    X, Y = noise(seed=0)
    est = cv_of(row_sparsities=[None], column_sparsities=[None]).fit(X, Y)
    assert est.rank_ == 0
    assert tr.SparseReducedRankRegressor(**est.best_params_).fit(X, Y).rank_ == 0


@doubtful
def test_constant_responses():
    X, _ = noise()
    est = cv_of().fit(X, np.full((40, 6), 5.0))
    assert est.rank_ == 0
    np.testing.assert_allclose(est.predict(X), 5.0)


def test_a_column_that_is_constant_in_a_training_part(small):
    X, Y, truth = small
    X = X.copy()
    column = np.setdiff1d(np.arange(20), truth.row_support)[0]
    X[:, column] = 0.0
    X[:5, column] = [1.0, 2.0, 3.0, 4.0, 5.0]  # in the first fold
    est = cv_of().fit(X, Y)
    assert np.isfinite(est.cv_results_["mean_test_score"]).all()
    assert est.score(X, Y) > 0.25


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"refit_rule": "two_se"}, r'refit_rule must be one of "best", "one_se", .*got \'two_se\''),
        ({"ridges": []}, "ridges must have at least one value"),
        ({"ridges": [-1.0]}, r"ridges must be finite non-negative numbers.*got -1.0"),
        ({"ridges": [np.inf]}, r"ridges must be finite non-negative numbers.*got inf"),
        ({"ridges": [np.nan]}, r"ridges must be finite non-negative numbers.*got nan"),
        ({"ridges": ["auto"]}, r"ridges must be finite non-negative numbers.*got 'auto'"),
        ({"ranks": []}, "rank must have at least one value"),
        ({"row_sparsities": []}, "row_sparsity must have at least one value"),
        ({"column_sparsities": []}, "column_sparsity must have at least one value"),
        ({"ranks": [0]}, r"rank must be an integer from 1 .*got 0"),
        ({"ranks": [13]}, r"rank must be an integer from 1 to 12 .*got 13"),
        ({"ranks": [1.5]}, r"rank must be an integer .*got 1.5"),
        ({"row_sparsities": [21]}, r"row_sparsity .*from 1 to 20 .*got 21"),
        ({"column_sparsities": [0, 3]}, r"column_sparsity .*from 1 to 12 .*got 0"),
        ({"solver": "newton"}, r"solver must be .*got 'newton'"),
        ({"tol": -1.0}, r"tol must be .*got -1.0"),
    ],
)
def test_bad_parameters(small, options, message):
    X, Y, _ = small
    with pytest.raises(ValueError, match=message):
        cv_of(**options).fit(X, Y)


# --------------------------------------------------------------------------- data


def test_data_frames(small, fitted):
    X, Y, _ = small
    frame = pd.DataFrame(X, columns=[f"gene{i}" for i in range(20)])
    targets = pd.DataFrame(Y, columns=[f"trait{i}" for i in range(12)])
    est = cv_of().fit(frame, targets)
    assert list(est.feature_names_in_) == list(frame.columns)
    assert list(est.target_names_in_) == list(targets.columns)
    assert est.best_params_ == fitted.best_params_
    np.testing.assert_allclose(est.predict(frame), fitted.predict(X), atol=1e-10)
    est.fit(X, Y)
    assert not hasattr(est, "feature_names_in_")
    assert not hasattr(est, "target_names_in_")


@pytest.mark.parametrize("wrap", [sparse.csr_array, aslinearoperator])
@pytest.mark.parametrize("weighted", [False, True])
def test_every_design(small, wrap, weighted):
    X, Y, _ = small
    weight = np.random.default_rng(1).uniform(0.5, 2, 60) if weighted else None
    dense, other = (cv_of(cv=3).fit(each, Y, weight) for each in (X, wrap(X)))
    assert dense.best_params_ == pytest.approx(other.best_params_, rel=1e-9)
    np.testing.assert_allclose(
        dense.cv_results_["mean_test_score"], other.cv_results_["mean_test_score"], rtol=1e-7
    )
    np.testing.assert_allclose(dense.coef_, other.coef_, atol=1e-7)


def test_tensors_in_tensors_out(small, library, dtype):
    X, Y, _ = small
    reference = cv_of(cv=3, ridges=[0.0]).fit(X, Y)
    est = cv_of(cv=3, ridges=[0.0]).fit(library.array(X, dtype), library.array(Y, dtype))
    library.check(est.coef_, est.predict(library.array(X, dtype)), dtype=dtype)
    assert est.best_params_ == reference.best_params_
    tol = 1e-3 if dtype == "float32" else 1e-6
    np.testing.assert_allclose(library.numpy(est.coef_), reference.coef_, atol=tol)


@doubtful
def test_integer_weights_equal_repeated_rows(small):
    X, Y, _ = small
    rng = np.random.default_rng(2)
    weight, fold = rng.integers(1, 4, 60), rng.integers(0, 4, 60)
    # on a grid that is tried in full: what is searched for depends on the number of samples
    options = GRID | {"standardize": False}
    weighted = cv_of(cv=PredefinedSplit(fold), **options).fit(X, Y, sample_weight=weight)
    repeated = cv_of(cv=PredefinedSplit(np.repeat(fold, weight)), **options).fit(
        np.repeat(X, weight, axis=0), np.repeat(Y, weight, axis=0)
    )
    np.testing.assert_allclose(
        weighted.cv_results_["mean_test_score"],
        repeated.cv_results_["mean_test_score"],
        rtol=0.05,  # exchanges of predictors stop at a margin that depends on the samples
    )
    assert weighted.best_params_ == repeated.best_params_
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, atol=1e-7)


def test_weights_that_leave_a_fold_empty(small):
    X, Y, _ = small
    weight = np.ones(60)
    weight[:12] = 0.0  # the first of five folds
    with pytest.raises(ValueError, match="no held-out rows of positive weight"):
        cv_of(cv=KFold(5)).fit(X, Y, sample_weight=weight)
    assert cv_of(cv=5).fit(X, Y, sample_weight=weight).n_splits_ == 5  # of the other rows


def test_one_dimensional_response():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((80, 15))
    y = X[:, [3, 11]] @ [2.0, -1.5] + 0.5 * rng.standard_normal(80) + 4
    est = cv_of().fit(X, y)
    assert est.coef_.shape == (15,)
    assert isinstance(est.intercept_, float)
    assert {3, 11} <= set(est.row_support_)
    assert est.predict(X).shape == (80,)
    named = cv_of().fit(X, pd.Series(y, name="yield"))
    np.testing.assert_array_equal(named.coef_, est.coef_)


@doubtful
@pytest.mark.parametrize(
    ("n", "p", "k", "cv"), [(4, 3, 3, 2), (2, 1, 1, 2), (6, 20, 4, 3), (10, 1, 4, 5), (10, 4, 1, 5)]
)
def test_small_shapes(n, p, k, cv):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, p))
    Y = 5 * X[:, :1] @ rng.standard_normal((1, k)) + 0.01 * rng.standard_normal((n, k))
    est = cv_of(cv=cv).fit(X, Y)
    assert np.isfinite(est.coef_).all()
    assert est.predict(X).shape == (n, k)
    if n == 10:
        assert est.score(X, Y) > 0.9


def test_gradient_descent_for_the_final_fit(small, fitted):
    X, Y, _ = small
    est = cv_of(solver="gdt").fit(X, Y)
    assert est.best_params_ == fitted.best_params_
    assert est.n_iter_ > fitted.n_iter_
    np.testing.assert_allclose(est.coef_, fitted.coef_, atol=1e-4)


def test_clone_pickle_and_nesting(small, fitted):
    X, Y, _ = small
    restored = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(restored.predict(X), fitted.predict(X))
    assert not hasattr(clone(fitted), "best_params_")
    predicted = cross_val_predict(cv_of(cv=3, ridges=[0.0]), X, Y, cv=3)
    assert np.mean((Y - predicted) ** 2) < 0.7 * np.mean((Y - Y.mean(axis=0)) ** 2)


# --------------------------------------------------------------------------- progress


@doubtful
@pytest.mark.parametrize("grid", [{}, GRID], ids=["searched", "given"])
def test_threads_do_not_change_the_answer(small, grid):
    X, Y, _ = small
    one, two = (cv_of(n_jobs=jobs, **grid).fit(X, Y) for jobs in (1, 2))
    assert one.best_params_ == two.best_params_
    assert one.cv_results_["params"] == two.cv_results_["params"]
    np.testing.assert_array_equal(
        one.cv_results_["mean_test_score"], two.cv_results_["mean_test_score"]
    )


@doubtful
@pytest.mark.parametrize("how", ["returns True", "is interrupted"])
@pytest.mark.parametrize("grid", [{}, GRID], ids=["searched", "given"])
def test_stopping_refits_the_best_so_far(small, how, grid):
    X, Y, _ = small
    seen = []

    def watch(record):
        assert record.stage == "search"
        seen.append(record)
        if len(seen) == 4:
            if how == "is interrupted":
                raise KeyboardInterrupt
            return True
        return None

    with pytest.warns(UserWarning, match="was stopped after 4 models; the best of them is kept"):
        est = cv_of(callback=watch, **grid).fit(X, Y)
    assert len(seen) == len(est.cv_results_["params"]) == 4
    assert est.cv_results_["rank_test_score"][est.best_index_] == 1
    again = tr.SparseReducedRankRegressor(**est.best_params_).fit(X, Y)
    np.testing.assert_array_equal(est.coef_, again.coef_)


def test_callback_sees_every_model(small):
    X, Y, _ = small
    seen = []
    est = cv_of(callback=seen.append).fit(X, Y)
    last = seen[-len(est.cv_results_["params"]) :]  # of the search that counts
    assert [r.iteration for r in seen] == list(range(1, len(seen) + 1))
    assert min(r.objective for r in last) == last[-1].best
    np.testing.assert_allclose(est.cv_results_["mean_test_score"], [-r.objective for r in last])


@doubtful
def test_verbose_shows_the_search(small, capsys):
    X, Y, _ = small
    cv_of(verbose=1, **GRID).fit(X, Y)
    captured = capsys.readouterr()
    assert "searching" in captured.err
    assert captured.out == ""
