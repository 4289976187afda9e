"""Stability: frequencies by hand, the bounds of the paper, names and messages."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator

import thinrank as tr
from thinrank.core.warnings import SelectionWarning
from thinrank.selection import stability
from thinrank.selection.stability import stable_sentences, unstable_sentences

# The bound says nothing for so few predictors, which is another test's subject.
quiet = pytest.mark.filterwarnings("ignore:The bound on wrong")


class SignsOfSums(BaseEstimator):
    """Selects what has a positive sum, and remembers the rows that it saw."""

    def __init__(self, seen=None):
        self.seen = seen

    def __sklearn_clone__(self):
        return SignsOfSums(self.seen)

    def fit(self, X, Y):
        X, Y = np.asarray(X), np.asarray(Y)
        self.seen.append(X[:, 0].astype(int))
        self.row_support_ = np.flatnonzero(X[:, 1:].sum(axis=0) > 0) + 1
        self.column_support_ = np.flatnonzero(Y.reshape(len(Y), -1).sum(axis=0) > 0)
        return self


def tiny(n=11, p=5, k=3):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, p))
    X[:, 0] = np.arange(n)
    X[:, 3] = 1.0
    return X, rng.standard_normal((n, k)) + np.array([9.0, 0.0, -9.0])


class FirstOnes(BaseEstimator):
    """Selects as many predictors as asked for, and all responses."""

    def __init__(self, mean=10):
        self.mean = mean

    def fit(self, X, Y):
        self.row_support_ = np.arange(self.mean)
        self.column_support_ = np.arange(Y.shape[1])
        return self


def bounds(mean, among, threshold, pairs):
    """Worst-case and unimodal bounds for fits that select ``mean`` of ``among`` predictors."""
    X, Y = np.zeros((8, among)), np.zeros((8, 1))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SelectionWarning)
        table = stability(FirstOnes(mean=mean), X, Y, pairs, threshold=threshold)
    return table.bound[0], table.unimodal_bound[0]


def worst_case(mean, among, threshold):
    """Theorem 1: θ/(2τ − 1) · q with θ = q/p, and no more wrong than selected."""
    return min(mean**2 / (among * (2 * threshold - 1)), mean)


@quiet
@pytest.mark.parametrize("n", [11, 12])
def test_frequencies_by_hand(n):
    X, Y = tiny(n)
    seen = []
    table = stability(SignsOfSums(seen), X, Y, n_resamples=6, threshold=0.7, random_state=3)
    assert len(seen) == 12
    for first, second in zip(seen[::2], seen[1::2], strict=True):
        assert len(first) == len(second) == n // 2
        assert not set(first) & set(second)
    assert len({tuple(half) for half in seen}) > 6
    rows = np.mean([np.append(False, X[half, 1:].sum(axis=0) > 0) for half in seen], axis=0)
    columns = np.mean([Y[half].sum(axis=0) > 0 for half in seen], axis=0)
    assert 0 < rows[1] < 1
    np.testing.assert_allclose(table.frequency, np.concatenate([rows, columns]))
    assert list(table.axis) == ["row"] * 5 + ["column"] * 3
    assert list(table["index"]) == [0, 1, 2, 3, 4, 0, 1, 2]
    np.testing.assert_array_equal(table.stable, table.frequency >= 0.7)
    assert table.frequency[3] == table.frequency[5] == 1
    for axis, among, frequency in (("row", 5, rows), ("column", 3, columns)):
        part = table[table.axis == axis]
        np.testing.assert_allclose(part.bound, worst_case(frequency.sum(), among, 0.7))


@quiet
def test_the_halves_come_from_the_seed():
    X, Y = tiny()
    seen = {name: [] for name in ("none", "zero", "one", "threads")}
    stability(SignsOfSums(seen["none"]), X, Y, 3)
    stability(SignsOfSums(seen["zero"]), X, Y, 3, random_state=0)
    stability(SignsOfSums(seen["one"]), X, Y, 3, random_state=1)
    table = stability(SignsOfSums(seen["threads"]), X, Y, 3, n_jobs=2)
    as_sets = {name: {tuple(half) for half in halves} for name, halves in seen.items()}
    assert as_sets["none"] == as_sets["zero"] == as_sets["threads"]
    assert as_sets["none"] != as_sets["one"]
    pd.testing.assert_frame_equal(table, stability(SignsOfSums([]), X, Y, 3))


@quiet
def test_names():
    X, Y = tiny()
    plain = stability(SignsOfSums([]), X, Y, 2)
    assert list(plain.name) == ["0", "1", "2", "3", "4", "0", "1", "2"]
    frame = pd.DataFrame(X, columns=list("abcde"), index=range(100, 111))
    targets = pd.DataFrame(Y, columns=["u", "v", "w"], index=range(100, 111))
    named = stability(SignsOfSums([]), frame, targets, 2)
    assert list(named.name) == list("abcdeuvw")
    np.testing.assert_array_equal(named.frequency, plain.frequency)
    single = stability(SignsOfSums([]), frame, targets["v"], 2)
    assert list(single.name) == [*"abcde", "v"]
    assert list(stability(SignsOfSums([]), X, Y[:, 0], 2).name)[-1] == "0"


def test_truth_is_stable_with_its_signs():
    X, Y, truth = tr.datasets.make_two_way_sparse(300, 20, 12, 1, 3, 4, signal=9, random_state=0)
    theta = np.asarray(truth.theta)
    for data in (X, sparse.csr_array(X)):
        table = stability(tr.SparseReducedRankRegressor(1, 3, 4), data, Y, 3, pairs=True)
        rows, columns, pairs = (table[table.axis == axis] for axis in ("row", "column", "pair"))
        np.testing.assert_array_equal(np.flatnonzero(rows.stable), truth.row_support)
        np.testing.assert_array_equal(np.flatnonzero(columns.stable), truth.column_support)
        assert (rows.unimodal_bound <= rows.bound).all()
        stable = pairs[pairs.stable]
        np.testing.assert_array_equal(stable["index"], np.flatnonzero(theta))
        np.testing.assert_array_equal(stable.sign, np.sign(theta[theta != 0]))
        assert (stable.sign_agreement == 1).all()
        assert (stable.bound < 12).all()
        assert table.attrs["remarks"] == []


# --------------------------------------------------------------------------- pairs


class SignsOfProducts(BaseEstimator):
    """Selects what has a positive sum; its coefficients are the signs of XᵀY."""

    def fit(self, X, Y):
        X, Y = np.asarray(X), np.asarray(Y)
        self.row_support_ = np.flatnonzero(X.sum(axis=0) > 0)
        self.column_support_ = np.flatnonzero(Y.reshape(len(Y), -1).sum(axis=0) > 0)
        self.coef_ = (X.T @ Y).T  # (n_targets, n_features), as scikit-learn has it
        return self


@quiet
def test_pairs_by_hand():
    rng = np.random.default_rng(5)
    X = pd.DataFrame(rng.normal([0, 9, 0, -9], size=(20, 4)), columns=list("abcd"))
    Y = pd.DataFrame(rng.standard_normal((20, 3)), columns=["u", "v", "w"])
    seen = []

    class Spy(SignsOfProducts):
        def fit(self, X, Y):
            super().fit(X, Y)
            seen.append((self.row_support_, self.column_support_, self.coef_.T))
            return self

    table = stability(Spy(), X, Y, 4, pairs=True, threshold=0.6)
    counts, positive = np.zeros((2, 4, 3))
    for rows, columns, theta in seen:
        block = np.ix_(rows, columns)
        counts[block] += 1
        positive[block] += theta[block] > 0
    pairs = table[table.axis == "pair"]
    rows, columns = np.nonzero(counts)
    assert 0 < len(rows) < 12
    np.testing.assert_array_equal(pairs["index"], rows * 3 + columns)
    assert list(pairs.predictor) == [X.columns[i] for i in rows]
    assert list(pairs.response) == [Y.columns[j] for j in columns]
    assert pairs.name.iloc[0] == f"{X.columns[rows[0]]} → {Y.columns[columns[0]]}"
    of_pairs, positive = counts[rows, columns], positive[rows, columns]
    np.testing.assert_allclose(pairs.frequency, of_pairs / 8)
    np.testing.assert_array_equal(pairs.stable, of_pairs / 8 >= 0.6)
    most = np.maximum(positive, of_pairs - positive)
    np.testing.assert_allclose(pairs.sign_agreement, most / of_pairs)
    assert (pairs.sign_agreement < 1).any()
    np.testing.assert_array_equal(pairs.sign, np.where(positive >= of_pairs / 2, 1, -1))
    mean = counts.sum() / 8
    np.testing.assert_allclose(pairs.bound, worst_case(mean, 12, 0.6))
    others = table[table.axis != "pair"]
    assert others[["sign", "sign_agreement"]].isna().all(axis=None)
    assert others[["predictor", "response"]].isna().all(axis=None)
    without = stability(SignsOfProducts(), X, Y, 4, threshold=0.6)
    pd.testing.assert_frame_equal(others[list(without)], without)


def test_only_pairs_that_occur_take_memory():
    """A table of all pairs would have 10¹⁰ entries."""

    class Sparse(BaseEstimator):
        def fit(self, X, Y):
            self.row_support_, self.column_support_ = np.array([3, 99_999]), np.array([0, 7])
            U = sparse.csr_array(([1.0, -1.0], ([3, 99_999], [0, 0])), (100_000, 1)).toarray()
            V = np.zeros((100_000, 1))
            V[[0, 7]] = 1
            self.factors_ = tr.Factors(U, V)
            return self

    X = Y = sparse.csr_array((8, 100_000))
    table = stability(Sparse(), X, Y, 2, pairs=True)
    pairs = table[table.axis == "pair"]
    assert list(pairs["index"]) == [300_000, 300_007, 9_999_900_000, 9_999_900_007]
    assert list(pairs.sign) == [1, 1, -1, -1]
    assert (pairs.frequency == 1).all()


def test_nothing_is_selected():
    rng = np.random.default_rng(0)
    X, Y = rng.standard_normal((40, 6)), rng.standard_normal((40, 5))
    with pytest.warns(SelectionWarning, match="4 of the 4 fits .* no predictor") as told:
        table = stability(tr.SparseReducedRankRegressor(), X, Y, 2, pairs=True)
    assert len(told) == 1  # not one per half
    assert told[0].filename == __file__
    assert (table.frequency == 0).all()
    assert (table.bound == 0).all()
    assert not table.stable.any()
    assert not (table.axis == "pair").any()
    assert table.attrs["remarks"] == [
        "4 of the 4 fits to half of the rows selected no predictor.",
        "No predictor is stable.",
        "No response is stable.",
        "No pair is stable.",
    ]
    assert stable_sentences(table)[0].startswith("No predictor is stable")


def test_pairs_need_responses():
    class RowsOnly(SignsOfProducts):
        def fit(self, X, Y):
            super().fit(X, Y)
            del self.column_support_
            return self

    with pytest.raises(ValueError, match=r"pairs=True needs .* got RowsOnly"):
        stability(RowsOnly(), *tiny(), pairs=True)


def test_categories_have_a_column_each():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((90, 8))
    label = np.array(["a", "b", "c"])[np.argmax(X[:, :3] + 0.3 * rng.standard_normal((90, 3)), 1)]
    est = tr.SparseReducedRankClassifier(2, 3, None, ridge=0.1)
    table = stability(est, X, label, 1)
    assert list(table[table.axis == "column"].name) == ["0", "1", "2"]
    rows = table[table.axis == "row"]
    np.testing.assert_array_equal(np.flatnonzero(rows.stable), [0, 1, 2])


# --------------------------------------------------------------------------- progress


@quiet
def test_a_record_per_fit():
    X, Y = tiny()
    records = []
    table = stability(SignsOfSums([]), X, Y, 3, callback=records.append)
    assert [record.iteration for record in records] == [1, 2, 3, 4, 5, 6]
    assert {record.total for record in records} == {6}
    assert sum(record.n_rows for record in records) == 6 * table.frequency[:5].sum()
    assert sum(record.n_columns for record in records) == 6 * table.frequency[5:].sum()


def test_a_failing_callback_ends_the_run():
    def stop(record):
        raise RuntimeError(f"enough after {record.iteration}")

    for n_jobs in (None, 2):
        with pytest.raises(RuntimeError, match="enough after 1"):
            stability(SignsOfSums([]), *tiny(), 3, callback=stop, n_jobs=n_jobs)


# --------------------------------------------------------------------------- remarks


def test_remark_where_the_bound_says_nothing():
    X, Y, _ = tr.datasets.make_two_way_sparse(60, 12, 8, 1, 6, 8, signal=2, random_state=0)
    est = tr.SparseReducedRankRegressor(1, 6, None)
    with pytest.warns(SelectionWarning, match="The bound on wrong predictors says nothing") as told:
        table = stability(est, X, Y, 3)
    assert told[0].filename == __file__
    stable = int(table[table.axis == "row"].stable.sum())
    assert stable <= table.bound[0]
    about_rows, about_columns = table.attrs["remarks"]
    assert str(told[0].message) == about_rows
    assert f"{stable} are stable, and the bound is {table.bound[0]:.3g}" in about_rows
    assert "selects 6 of 12 on average" in about_rows
    assert about_columns.startswith("All 8 responses were selected in every fit")
    assert table.attrs["threshold"] == 0.75
    assert table.attrs["n_resamples"] == 3


# --------------------------------------------------------------------------- sentences


def test_sentences_about_a_table():
    X, Y, _ = tr.datasets.make_two_way_sparse(120, 25, 12, 2, 4, 5, signal=0.4, random_state=0)
    X = pd.DataFrame(X, columns=[f"x{i}" for i in range(25)])
    table = stability(tr.SparseReducedRankRegressor(2, 4, 5), X, Y, 3, random_state=0)
    rows = table[table.axis == "row"].sort_values("frequency", ascending=False, kind="stable")
    stable = rows[rows.stable]
    assert 0 < len(stable) < 25
    text = stable_sentences(table)[0]
    assert text.startswith("Stable predictor")
    assert "at least 75 % of the 6 fits to 3 pairs of random halves of the data" in text
    assert f"{stable.name.iloc[0]} ({stable.frequency.iloc[0]:.2f})" in text
    assert any("A fit selected 4 of 25 predictors on average" in t for t in stable_sentences(table))
    rare = int(rows["index"].iloc[-1])
    sure = stable["index"].to_numpy()
    assert unstable_sentences(table, sure) == []
    (found,) = unstable_sentences(table, np.append(sure, rare))
    assert found.startswith(f"1 of the {len(sure) + 1} predictors of the model is not stable")
    assert f"x{rare} (" in found


# --------------------------------------------------------------------------- bounds


@pytest.mark.parametrize(
    ("mean", "among", "threshold"), [(10, 1000, 0.6), (10, 1000, 0.9), (3, 40, 0.75), (45, 50, 0.6)]
)
def test_worst_case_is_theorem_1(mean, among, threshold):
    assert bounds(mean, among, threshold, 5)[0] == pytest.approx(worst_case(mean, among, threshold))


@pytest.mark.parametrize(
    ("threshold", "pairs", "factor"),
    [
        (0.75, 50, 1 / (2 * (0.5 - 0.01))),
        (0.9, 50, 4 * (0.1 + 0.01) / (1 + 0.02)),
        (0.76, 10, 4 * (0.24 + 0.05) / 1.1),
    ],
)
def test_unimodal_is_theorem_2(threshold, pairs, factor):
    worst, unimodal = bounds(10, 500, threshold, pairs)
    assert unimodal == pytest.approx(factor * 10**2 / 500)
    assert unimodal < worst


def test_where_theorem_2_does_not_hold_theorem_1_does():
    worst, unimodal = bounds(60, 100, 0.9, 10)  # θ above 1/√3
    assert unimodal == pytest.approx(worst)
    # τ at most min(½ + θ², ½ + 1/(2B) + ¾θ²), θ = ½: 0.6975 with B = 50
    for threshold, same in ((0.69, True), (0.70, False)):
        worst, unimodal = bounds(50, 100, threshold, 50)
        assert bool(unimodal == pytest.approx(worst)) is same
    for pairs in (1, 2):  # the formula has no meaning, or gives a larger bound
        worst, unimodal = bounds(10, 500, 0.55, pairs)
        assert 0 < unimodal <= worst * (1 + 1e-12)


# --------------------------------------------------------------------------- messages


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_resamples": 0}, r"n_resamples must be an integer .*got 0"),
        ({"n_resamples": 10**9 + 1}, r"n_resamples.*1000000000"),
        ({"threshold": 0.5}, r"threshold must be above 0.5 and at most 1, got 0.5"),
        ({"threshold": 1.1}, r"threshold must be above 0.5 and at most 1, got 1.1"),
        ({"random_state": "x"}, r"random_state must be .*got 'x'"),
    ],
)
def test_bad_options(options, message):
    with pytest.raises(ValueError, match=message):
        stability(SignsOfSums([]), *tiny(), **options)


def test_too_few_rows():
    with pytest.raises(ValueError, match="at least 4 rows, got 3"):
        stability(SignsOfSums([]), *tiny(3))


@quiet
def test_four_rows_are_enough():
    seen = []
    stability(SignsOfSums(seen), *tiny(4), n_resamples=2)
    assert [len(half) for half in seen] == [2] * 4
