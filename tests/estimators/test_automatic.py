"""Sizes that are "auto": chosen by held-out error or a criterion, on the training data alone."""

import itertools
import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.sparse.linalg import aslinearoperator
from sklearn.base import clone

import thinrank as tr
from thinrank.core.result import Outcome, Record
from thinrank.core.warnings import SelectionWarning
from thinrank.selection import Criterion, automatic

KEYS = {"rank", "row_sparsity", "column_sparsity", "ridge"}


# fits of noise, or of more predictors than half of the samples
doubtful = pytest.mark.filterwarnings("ignore::thinrank.core.warnings.SelectionWarning")


@pytest.fixture(scope="module")
def small():
    return tr.datasets.make_two_way_sparse(60, 25, 12, 2, 4, 5, signal=1.5, random_state=3)


def auto(**options):
    return tr.SparseReducedRankRegressor(**options)


def noise(n, p, k, seed):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, p)), rng.standard_normal((n, k)) + 2


# --------------------------------------------------------------------------- what is found

few_or_many = pytest.mark.parametrize("problems", [2, pytest.param(10, marks=pytest.mark.slow)])


@few_or_many
@pytest.mark.parametrize("columns", [10, None])
@pytest.mark.parametrize("standardize", [True, False])
def test_exact_supports_on_the_papers_strong_settings(columns, standardize, problems):
    found = []
    for seed in range(problems):
        X, Y, truth = tr.datasets.make_two_way_sparse(column_sparsity=columns, random_state=seed)
        est = auto(standardize=standardize).fit(X, Y)
        found.append(
            np.array_equal(est.row_support_, truth.row_support)
            and np.array_equal(est.column_support_, truth.column_support)
        )
    assert np.mean(found) >= 0.9


@doubtful
@few_or_many
@pytest.mark.parametrize(
    ("n", "p", "k"), [(50, 100, 50), (100, 20, 30), (30, 200, 5), (60, 10, 10)]
)
def test_noise_is_rank_zero(n, p, k, problems):
    zeros, errors = 0, np.zeros(2)
    for seed in range(problems):
        X, Y = noise(n, p, k, seed)
        est = auto().fit(X, Y)
        zeros += est.rank_ == 0
        fresh_X, fresh_Y = noise(n, p, k, 100 + seed)
        errors += [
            np.mean((fresh_Y - each) ** 2) for each in (est.predict(fresh_X), Y.mean(axis=0))
        ]
    assert zeros >= 0.9 * problems
    assert errors[0] <= 1.025 * errors[1]


@doubtful
@pytest.mark.parametrize(("n", "p"), [(60, 10), (40, 100)])
def test_noise_in_one_dimension(n, p):
    zeros = 0
    for seed in range(5):
        X, Y = noise(n, p, 1, seed)
        est = auto().fit(X, Y[:, 0])
        assert est.coef_.shape == (p,)
        assert est.predict(X).shape == (n,)
        zeros += est.rank_ == 0
    assert zeros >= 4


def test_rank_zero_is_a_legal_result():
    X, Y = noise(50, 100, 20, 0)
    with pytest.warns(SelectionWarning, match="No model predicts better than the means"):
        est = auto().fit(X, Y)
    assert est.best_params_ == {
        "rank": 0,
        "row_sparsity": 0,
        "column_sparsity": 0,
        "ridge": 0.0,
    }
    assert est.status_.outcome is Outcome.ZERO
    assert "rank is 0" in str(est.status_)
    assert est.factors_.U.shape == (100, 0)
    assert est.row_support_.size == est.column_support_.size == 0
    assert est.transform(X).shape == (50, 0)
    assert est.n_iter_ == 0
    np.testing.assert_allclose(est.predict(X), np.tile(Y.mean(axis=0), (50, 1)))
    again = tr.SparseReducedRankRegressor(**est.best_params_).fit(X, Y)
    assert again.rank_ == 0
    np.testing.assert_allclose(again.predict(X), est.predict(X))


def test_one_response():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((80, 30))
    y = X[:, [3, 11]] @ [2.0, -1.5] + 0.5 * rng.standard_normal(80) + 4
    est = auto().fit(X, y)
    np.testing.assert_array_equal(est.row_support_, [3, 11])
    assert est.best_params_["rank"] == 1
    assert isinstance(est.intercept_, float)
    two = auto().fit(X, y[:, None])
    assert two.best_params_ == est.best_params_
    np.testing.assert_allclose(two.coef_[0], est.coef_)


# --------------------------------------------------------------------------- attributes


def test_attributes(small):
    X, Y, truth = small
    est = auto().fit(X, Y)
    assert set(est.best_params_) == KEYS
    ridge = est.best_params_["ridge"]
    assert est.best_params_ == {"rank": 2, "row_sparsity": 4, "column_sparsity": 5, "ridge": ridge}
    assert 0 <= ridge <= 0.01  # next to nothing in units of the curvature
    assert all(record.stage == "search" for record in est.search_)
    assert [r.iteration for r in est.search_] == list(range(1, len(est.search_) + 1))
    assert est.search_[0].sizes.rank == 0  # rank 0 competes
    assert all(a.seconds <= b.seconds for a, b in itertools.pairwise(est.search_))
    np.testing.assert_array_equal(est.row_support_, truth.row_support)
    assert est.get_params()["rank"] == "auto"  # parameters stay as they were given
    restored = pickle.loads(pickle.dumps(est))
    assert restored.best_params_ == est.best_params_
    np.testing.assert_array_equal(restored.predict(X), est.predict(X))


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("options", [{}, {"ridge": "auto"}, {"standardize": False}], ids=str)
def test_best_params_give_the_same_model(seed, options):
    X, Y, _ = tr.datasets.make_two_way_sparse(60, 25, 12, 2, 4, 5, random_state=seed)
    est = auto(**options).fit(X, Y)
    given = {key: value for key, value in options.items() if key not in KEYS}
    again = tr.SparseReducedRankRegressor(**est.best_params_, **given).fit(X, Y)
    objectives = [each.history_[-1].objective for each in (est, again)]
    assert objectives[0] == pytest.approx(objectives[1], rel=1e-6)
    np.testing.assert_array_equal(est.row_support_, again.row_support_)
    np.testing.assert_allclose(est.predict(X), again.predict(X), atol=1e-5)


def test_a_fit_with_given_sizes_forgets_the_search(small):
    X, Y, _ = small
    est = auto().fit(X, Y)
    est.set_params(**est.best_params_).fit(X, Y)
    assert set(est.best_params_) == KEYS
    assert est.search_ == []


def test_same_answer_every_time_and_in_threads(small):
    X, Y, _ = small
    one, again, two = (auto(ridge="auto", n_jobs=jobs).fit(X, Y) for jobs in (None, None, 2))
    assert one.best_params_ == again.best_params_ == two.best_params_
    np.testing.assert_array_equal(one.coef_, again.coef_)
    np.testing.assert_array_equal(one.coef_, two.coef_)


# --------------------------------------------------------------------------- partly given


@doubtful
@pytest.mark.parametrize(
    "given",
    [
        {"rank": 3},
        {"row_sparsity": 7},
        {"column_sparsity": 2},
        {"rank": 1, "row_sparsity": 6},
        {"rank": 2, "column_sparsity": 8, "ridge": 0.3},
        {"row_sparsity": 4, "column_sparsity": 5},
        {"row_sparsity": None},
        {"column_sparsity": None},
        {"row_sparsity": None, "column_sparsity": None, "rank": "auto"},
        {"ridge": 0.2},
        {"rank": 2, "row_sparsity": 4, "column_sparsity": 5, "ridge": "auto"},
    ],
    ids=str,
)
def test_what_is_given_is_respected(small, given):
    X, Y, _ = small
    est = auto(**given).fit(X, Y)
    assert set(est.best_params_) == KEYS
    for key, value in given.items():
        if value != "auto":
            assert est.best_params_[key] == value
    rows, columns = est.best_params_["row_sparsity"], est.best_params_["column_sparsity"]
    assert len(est.row_support_) <= (25 if rows is None else rows)
    assert len(est.column_support_) <= (12 if columns is None else columns)
    assert est.rank_ == est.best_params_["rank"] > 0
    assert est.score(X, Y) > 0.15


@doubtful
def test_given_ranks_do_not_become_zero():
    X, Y = noise(50, 20, 10, 0)
    assert auto().fit(X, Y).rank_ == 0
    assert auto(rank=2).fit(X, Y).rank_ == 2
    assert auto(row_sparsity=5).fit(X, Y).rank_ == 0  # the rank is still to be chosen


def test_ridge_by_criterion():
    """On a weak signal shrinkage lowers the criterion, and the ridge is one of the grid."""
    chosen = []
    for seed in range(3):
        X, Y, _ = tr.datasets.make_two_way_sparse(signal=0.2, random_state=seed)
        fixed, free = (
            auto(ridge=ridge, criterion="pic", standardize=False).fit(X, Y)
            for ridge in (0.0, "auto")
        )
        assert free.search_[-1].best <= fixed.search_[-1].best + 1e-9
        chosen.append(free.best_params_["ridge"])
    assert max(chosen) > 0
    assert all(0 <= ridge < 1.0 for ridge in chosen)  # far from the edge


@doubtful
def test_rank_is_not_larger_than_the_data_allow():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((6, 30))
    Y = X[:, :3] @ rng.standard_normal((3, 20))
    est = auto().fit(X, Y)
    assert est.rank_ <= 5
    with pytest.raises(ValueError, match=r"rank must be an integer from 1 to 6 .*got 7"):
        auto(rank=7).fit(X, Y)


# --------------------------------------------------------------------------- data and solvers


def test_gradient_descent_with_auto(small):
    X, Y, _ = small
    est, fast = auto(solver="gdt").fit(X, Y), auto().fit(X, Y)
    assert est.best_params_ == fast.best_params_
    np.testing.assert_allclose(est.coef_, fast.coef_, atol=1e-4)


@pytest.mark.parametrize("wrap", [sparse.csr_array, sparse.csc_array, aslinearoperator])
def test_every_design(small, wrap):
    X, Y, _ = small
    est, dense = auto().fit(wrap(X), Y), auto().fit(X, Y)
    assert est.best_params_ == dense.best_params_
    np.testing.assert_allclose(est.coef_, dense.coef_, atol=1e-7)


def test_float32(small):
    X, Y, _ = small
    est = auto(ridge="auto").fit(X.astype(np.float32), Y)
    assert est.coef_.dtype == est.predict(X.astype(np.float32)).dtype == np.float32
    reference = auto(ridge="auto").fit(X, Y)
    np.testing.assert_allclose(est.coef_, reference.coef_, atol=1e-3)
    assert est.best_params_["rank"] == reference.best_params_["rank"]


@pytest.fixture(scope="module")
def references(small):
    """Options, each with the fit to NumPy arrays."""
    X, Y, _ = small
    every = ({}, {"ridge": "auto"}, {"rank": 2, "row_sparsity": None})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SelectionWarning)
        return [(options, auto(**options).fit(X, Y)) for options in every]


@doubtful
def test_tensors_in_tensors_out(small, references, library, dtype):
    X, Y, _ = small
    for options, reference in references:
        est = auto(**options).fit(library.array(X, dtype), library.array(Y, dtype))
        library.check(est.coef_, est.predict(library.array(X, dtype)), dtype=dtype)
        assert est.best_params_["rank"] == reference.best_params_["rank"]
        np.testing.assert_array_equal(est.row_support_, reference.row_support_)
        tol = 1e-3 if dtype == "float32" else 1e-6
        np.testing.assert_allclose(library.numpy(est.coef_), reference.coef_, atol=tol)


@doubtful
def test_noise_in_tensors(library):
    X, Y = noise(40, 60, 10, 0)
    est = auto().fit(library.array(X), library.array(Y))
    assert est.rank_ == 0
    library.check(est.coef_, est.intercept_)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_integer_weights_equal_repeated_rows(small, dtype):
    X, Y, _ = small
    weight = np.random.default_rng(2).integers(1, 4, len(X))
    sizes = {"rank": 2, "row_sparsity": 4, "column_sparsity": 5, "standardize": False}
    weighted = auto(**sizes).fit(X.astype(dtype), Y, sample_weight=weight)
    repeated = auto(**sizes).fit(
        np.repeat(X, weight, axis=0).astype(dtype), np.repeat(Y, weight, axis=0)
    )
    np.testing.assert_allclose(
        weighted.coef_, repeated.coef_, atol=1e-3 if dtype == np.float32 else 1e-7
    )


@pytest.mark.parametrize("options", [{}, {"criterion": "pic", "ridge": 0.0}], ids=str)
def test_the_scale_of_the_weights_does_not_matter(small, options):
    X, Y, _ = small
    weight = np.random.default_rng(2).uniform(0.5, 2, len(X))
    reference = auto(**options).fit(X, Y, sample_weight=weight)
    for scale in (1 / 40, 100.0):
        moved = auto(**options).fit(X, Y, sample_weight=scale * weight)
        np.testing.assert_array_equal(moved.row_support_, reference.row_support_)
        np.testing.assert_allclose(moved.coef_, reference.coef_, atol=1e-8)


def test_rows_without_weight_do_not_count(small):
    X, Y, _ = small
    weight = np.ones(len(X))
    weight[::3] = 0.0
    weighted = auto().fit(X, Y, sample_weight=weight)
    without = auto().fit(X[weight > 0], Y[weight > 0])
    assert weighted.best_params_ == without.best_params_
    np.testing.assert_allclose(weighted.coef_, without.coef_, atol=1e-7)


def test_units_do_not_matter(small):
    X, Y, _ = small
    scale = 10 ** np.random.default_rng(0).uniform(-3, 3, X.shape[1])
    reference = auto(ridge="auto").fit(X, Y)
    moved = auto(ridge="auto").fit(X * scale + 5, 1e4 * Y - 3e4)
    ridges = reference.best_params_.pop("ridge"), moved.best_params_.pop("ridge")
    assert ridges[0] == pytest.approx(ridges[1], rel=1e-6)
    assert reference.best_params_ == moved.best_params_
    np.testing.assert_allclose(moved.coef_ * scale / 1e4, reference.coef_, atol=1e-6)


def test_data_frames(small):
    X, Y, truth = small
    frame = pd.DataFrame(X, columns=[f"gene{i}" for i in range(25)])
    targets = pd.DataFrame(Y, columns=[f"trait{i}" for i in range(12)])
    est = auto().fit(frame, targets)
    chosen = est.feature_names_in_[est.row_support_]
    assert list(chosen) == [f"gene{i}" for i in truth.row_support]
    assert list(est.target_names_in_) == list(targets.columns)


@doubtful
@pytest.mark.parametrize("ridge", [0.0, "auto"])
@pytest.mark.parametrize(
    ("n", "p", "k"),
    [(2, 3, 3), (2, 1, 1), (3, 5, 1), (10, 1, 4), (10, 4, 1), (10, 1, 1), (5, 40, 2)],
)
@pytest.mark.parametrize("intercept", [True, False])
def test_small_shapes(n, p, k, intercept, ridge):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, p))
    Y = 5 * X[:, :1] @ rng.standard_normal((1, k)) + 0.01 * rng.standard_normal((n, k))
    est = auto(fit_intercept=intercept, ridge=ridge).fit(X, Y)
    assert np.isfinite(est.coef_).all()
    assert est.predict(X).shape == (n, k)
    null = np.mean((Y - (Y.mean(axis=0) if intercept else 0)) ** 2)
    assert np.mean((Y - est.predict(X)) ** 2) <= null * (1 + 1e-9)
    if n == 10:
        assert est.rank_ == 1
        assert est.score(X, Y) > 0.9


@doubtful
@pytest.mark.parametrize("ridge", [0.0, "auto"])
@pytest.mark.parametrize("constant", [0.0, 5.0])
def test_constant_responses(constant, ridge):
    X, _ = noise(20, 6, 4, 0)
    est = auto(ridge=ridge).fit(X, np.full((20, 4), constant))
    assert est.rank_ == 0
    np.testing.assert_allclose(est.predict(X), constant)


@doubtful
@pytest.mark.parametrize("ridge", [0.0, "auto"])
def test_constant_predictors(ridge):
    _, Y = noise(20, 6, 4, 0)
    est = auto(ridge=ridge).fit(np.full((20, 6), 3.0), Y)
    assert est.rank_ == 0
    np.testing.assert_allclose(est.predict(np.zeros((2, 6))), np.tile(Y.mean(axis=0), (2, 1)))


def test_no_noise_at_all():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((30, 8))
    Y = X[:, [2, 5]] @ rng.standard_normal((2, 6))
    est = auto().fit(X, Y)
    assert est.rank_ == 2
    np.testing.assert_array_equal(est.row_support_, [2, 5])
    np.testing.assert_allclose(est.predict(X), Y, atol=1e-8)


def test_duplicate_columns(small):
    X, Y, _ = small
    est = auto().fit(np.hstack([X, X]), Y)
    assert len(est.row_support_) == 4
    assert est.score(np.hstack([X, X]), Y) == pytest.approx(auto().fit(X, Y).score(X, Y), abs=1e-3)


# --------------------------------------------------------------------------- criteria


@pytest.mark.parametrize("name", ["pic", "aic", "bic", "gic", "ebic", "gcv"])
def test_every_criterion(small, name):
    X, Y, truth = small
    est = auto(criterion=name).fit(X, Y)
    assert set(truth.row_support) <= set(est.row_support_)
    assert auto(criterion=Criterion(name)).fit(X, Y).best_params_ == est.best_params_


def test_milder_criteria_keep_more(small):
    X, Y, _ = small
    size = {c: len(auto(criterion=c).fit(X, Y).row_support_) for c in ("aic", "bic", "pic")}
    assert size["aic"] > size["pic"]
    lenient = auto(criterion=Criterion(per_degree=0.5, per_inflation=0.5)).fit(X, Y)
    assert len(lenient.row_support_) > size["pic"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"criterion": "mdl"}, r'criterion must be one of "pic".*got \'mdl\''),
        ({"criterion": None}, r"criterion must be one of"),
        ({"criterion": "mdl", "rank": 1, "row_sparsity": 1, "column_sparsity": 1}, "criterion"),
        (
            {"ridge": "much"},
            r"ridge must be a finite non-negative number.*got 'much'",
        ),
        ({"ridge": -1.0}, r"ridge must be .*got -1.0"),
        ({"ridge": float("nan")}, r"ridge must be .*got nan"),
        ({"rank": "many"}, r"rank must be an integer .*got 'many'"),
        ({"row_sparsity": "many"}, r"row_sparsity must be an integer .*got 'many'"),
        ({"column_sparsity": 13}, r"column_sparsity .*from 1 to 12 .*got 13"),
        ({"rank": 5, "column_sparsity": 4}, r"rank must be an integer from 1 to 4 .*got 5"),
        ({"rank": 0}, r"rank must be an integer .*got 0"),
        ({"rank": 0, "row_sparsity": 0}, r"row_sparsity .*got 0"),
        ({"rank": 2, "row_sparsity": 0, "column_sparsity": 0}, r"row_sparsity .*got 0"),
        ({"solver": "newton"}, r"solver must be .*got 'newton'"),
        ({"max_iter": 0}, r"max_iter .*got 0"),
        ({"tol": -1.0}, r"tol must be .*got -1.0"),
        ({"start": "zero"}, r"start must be .*got 'zero'"),
    ],
)
def test_bad_parameters(small, options, message):
    X, Y, _ = small
    with pytest.raises(ValueError, match=message):
        auto(**options).fit(X, Y)


# --------------------------------------------------------------------------- progress


def test_callback_sees_the_search_and_the_fit(small):
    X, Y, _ = small
    seen = []
    est = auto(callback=seen.append).fit(X, Y)
    search = [record for record in seen if record.stage == "search"]
    # responses are scaled between searches; the last one counts
    last = search[-len(est.search_) :]
    assert [record.sizes for record in last] == [record.sizes for record in est.search_]
    # the scores of the best models are those of further partitions in the end
    amended = [a.sizes for a, b in zip(last, est.search_, strict=True) if a != b]
    splits = {record.sizes: len(record.split_scores) for record in est.search_}
    assert all((splits[sizes] > 5) == (sizes in amended) for sizes in splits)
    assert seen[: len(search)] == search
    rest = seen[len(search) :]
    assert rest
    assert all(isinstance(record, Record) for record in rest)


@pytest.mark.parametrize("how", ["returns True", "is interrupted"])
def test_stopping_fits_the_best_so_far(small, how):
    X, Y, _ = small

    def watch(record):
        if record.stage == "search" and record.iteration == 5:
            if how == "is interrupted":
                raise KeyboardInterrupt
            return True
        return None

    with pytest.warns(UserWarning, match="was stopped after 5 models; the best of them is kept"):
        est = auto(callback=watch).fit(X, Y)
    assert len(est.search_) == 5
    best = min(est.search_, key=lambda r: r.objective)
    assert tuple(est.best_params_.values()) == tuple(best.sizes)
    assert est.rank_ == best.sizes.rank
    assert est.predict(X).shape == Y.shape


def test_stopping_at_once_is_rank_zero(small):
    X, Y, _ = small
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        est = auto(callback=lambda _: True).fit(X, Y)
    assert "was stopped after 1 models" in str(caught[0].message)
    assert "No model predicts better" in str(caught[1].message)
    assert est.rank_ == 0


def test_stopping_a_second_search_at_once_keeps_what_the_first_found(small, monkeypatch):
    monkeypatch.setattr(automatic, "_SAME_NOISE", 0.0)  # any change of the noise is a new search
    X, Y, _ = small
    rounds = []

    def watch(record):
        if record.stage == "search":
            rounds.append(record.search_round)
        return record.stage == "search" and record.search_round == 2

    with pytest.warns(UserWarning, match="was stopped"):
        est = auto(callback=watch).fit(X, Y)
    assert rounds.count(2) == 1
    assert est.rank_ > 0


def test_verbose_shows_the_search(small, capsys):
    X, Y, _ = small
    auto(verbose=1).fit(X, Y)
    captured = capsys.readouterr()
    assert "searching" in captured.err
    assert "models" in captured.err
    assert captured.out == ""
    clone(auto()).fit(X, Y)
    assert capsys.readouterr().err == ""


# --------------------------------------------------------------------------- options of the search


class Recorder:
    """A start that remembers what it was called with."""

    def __init__(self):
        self.calls = []

    def __call__(self, loss, rank, rows, columns, seed):
        self.calls.append((loss.shape, seed))
        return tr.starts.Screening()(loss, rank, rows, columns, seed)

    def __deepcopy__(self, memo):
        return self


@pytest.mark.parametrize("criterion", ["cv", "pic"])
def test_the_search_begins_from_the_start_with_the_seed(criterion):
    X, Y, _ = tr.datasets.make_two_way_sparse(
        40, 12, 8, rank=2, row_sparsity=3, column_sparsity=4, random_state=0
    )
    start = Recorder()
    est = tr.SparseReducedRankRegressor(start=start, random_state=5, criterion=criterion)
    est.fit(X, Y)
    assert len(start.calls) > len(est.history_)
    assert {seed for _, seed in start.calls} == {5}


def test_a_matrix_is_a_start_of_the_final_fit_only():
    X, Y, truth = tr.datasets.make_two_way_sparse(
        40, 12, 8, rank=2, row_sparsity=3, column_sparsity=4, random_state=0
    )
    plain = tr.SparseReducedRankRegressor().fit(X, Y)
    started = tr.SparseReducedRankRegressor(start=truth.theta).fit(X, Y)
    scores = [[record.objective for record in est.search_] for est in (plain, started)]
    assert scores[0] == scores[1]


def test_the_search_has_the_options_of_pursuit(monkeypatch):
    from thinrank.selection import search as module

    X, Y, _ = tr.datasets.make_two_way_sparse(
        40, 12, 8, rank=2, row_sparsity=3, column_sparsity=4, random_state=0
    )
    seen = []
    original = module.Search.__init__

    def watched(self, *args, **options):
        seen.append(options.get("solver"))
        original(self, *args, **options)

    monkeypatch.setattr(module.Search, "__init__", watched)
    mine = tr.solvers.Pursuit(max_iter=7, tol=1e-3)
    tr.SparseReducedRankRegressor(solver=mine).fit(X, Y)
    assert len(seen) > 1
    assert set(seen) == {mine}
    seen.clear()
    tr.SparseReducedRankRegressor(max_iter=7, tol=1e-3).fit(X, Y)
    assert set(seen) == {mine}
