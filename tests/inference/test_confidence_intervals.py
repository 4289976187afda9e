"""Intervals for coefficients and predictions: closed forms, invariances, coverage, errors."""

from functools import partial

import numpy as np
import pytest
from scipy import stats

import thinrank as tr

# the predictors of the fit, unless a test is about the choice
intervals = partial(tr.inference.confidence_intervals, adjust="supports")
N, P, K = 60, 6, 4


@pytest.fixture(scope="module")
def data():
    X, Y, truth = tr.datasets.make_two_way_sparse(N, P, K, 2, 3, 3, random_state=1)
    return X, Y + 5.0, truth


@pytest.fixture(scope="module")
def est(data):
    return tr.SparseReducedRankRegressor(2, 3, 3).fit(*data[:2])


def least_squares(X, y, level=0.95):
    """Coefficients, ends and p-values of one regression with intercept, by its textbook formula."""
    A = np.column_stack([np.ones(len(X)), X])
    coefficients = np.linalg.lstsq(A, y, rcond=None)[0]
    df = len(A) - A.shape[1]
    left = y - A @ coefficients
    error = np.sqrt(left @ left / df * np.diag(np.linalg.inv(A.T @ A)))
    half = stats.t.ppf((1 + level) / 2, df) * error
    p = 2 * stats.t.sf(np.abs(coefficients / error), df)
    return [part[1:] for part in (coefficients, coefficients - half, coefficients + half, p)]


def assert_same(found, parts):
    for name, part in zip(("estimate", "lower", "upper", "p_value"), parts, strict=True):
        np.testing.assert_allclose(found.matrix(name), np.transpose(part), rtol=1e-7, atol=1e-12)


def test_full_rank_and_all_rows_are_least_squares(data):
    X, Y, _ = data
    full = tr.SparseReducedRankRegressor(K, P, K).fit(X, Y)
    found = intervals(full, X, Y, 0.9)
    assert_same(found, zip(*(least_squares(X, Y[:, j], 0.9) for j in range(K)), strict=True))


def test_a_predictor_outside_of_the_model_is_added_to_it(data, est):
    X, Y, _ = data
    i = int(np.setdiff1d(np.arange(P), est.row_support_)[0])
    j = int(np.setdiff1d(np.arange(K), est.column_support_)[0])
    found = intervals(est, X, Y, pairs=[(i, j)])
    chosen = [*est.row_support_, i]
    expected = [part[-1] for part in least_squares(X[:, chosen], Y[:, j])]
    values = [found.estimate[0], found.lower[0], found.upper[0], found.p_value[0]]
    np.testing.assert_allclose(values, expected, rtol=1e-8)


def test_all_predictors_are_adjusted_for_with_two_rows_each(data, est):
    X, Y, _ = data
    default = tr.inference.confidence_intervals(est, X, Y)
    assert default.adjusted_for.tolist() == list(range(P))
    np.testing.assert_allclose(default.upper, intervals(est, X, Y, adjust="all").upper)
    X, Y = X[: 2 * P], Y[: 2 * P]  # one degree of freedom is that of the intercept
    few = tr.SparseReducedRankRegressor(2, 3, 3).fit(X, Y)
    default = tr.inference.confidence_intervals(few, X, Y)
    assert set(default.adjusted_for) >= set(few.row_support_)
    assert len(default.adjusted_for) < P


def test_tables_of_selected_pairs_say_so(data, est):
    X, Y, _ = data
    header = "selected by chance, with true coefficients of zero"
    assert header in " ".join(str(intervals(est, X, Y)).split())
    assert header not in " ".join(str(intervals(est, X, Y, pairs="all")).split())


def test_without_the_low_rank_and_with_all_predictors_it_is_least_squares(data, est):
    X, Y, _ = data
    found = intervals(est, X, Y, adjust="all", rank=None, pairs="all")
    assert_same(found, zip(*(least_squares(X, Y[:, j]) for j in range(K)), strict=True))
    assert found.df == N - 1 - P
    assert intervals(est, X, Y, pairs=[(0, 0)]).matrix().shape == (P, K)


def test_the_low_rank_makes_intervals_narrower(data, est):
    X, Y, _ = data
    narrow, wide = (intervals(est, X, Y, rank=rank) for rank in (2, None))
    assert narrow.rank == 2
    assert wide.rank == 3
    np.testing.assert_array_equal(narrow.index, wide.index)
    assert np.all(narrow.standard_error <= wide.standard_error * 1.01)
    assert narrow.standard_error.mean() < 0.95 * wide.standard_error.mean()


def test_units_constants_and_orders(data, est):
    X, Y, _ = data
    rng = np.random.default_rng(0)
    rows, columns, responses = rng.permutation(N), rng.permutation(P), rng.permutation(K)
    x, y = np.array([1e3, 1, 0.1, 7, 1e-4, 2]), np.array([10.0, 0.01, 1, 300])
    plain = intervals(est, X, Y, pairs="all")
    other = intervals(
        tr.SparseReducedRankRegressor(2, 3, 3),
        X[rows][:, columns] * x - 3,
        Y[rows][:, responses] * y + [0, 10, 1e3, -4],
        pairs="all",
    )
    for name in ("estimate", "lower", "upper"):
        expected = plain.matrix(name)[columns][:, responses] * y / x[:, None]
        np.testing.assert_allclose(other.matrix(name), expected, rtol=1e-6, atol=1e-12)
    expected = plain.matrix("p_value")[columns][:, responses]
    np.testing.assert_allclose(other.matrix("p_value"), expected, rtol=1e-5, atol=1e-12)


def test_kept_predictors_are_partialled_out(data):
    X, Y, _ = data
    kept = tr.SparseReducedRankRegressor(3, 3, K, always_keep=[0]).fit(X, Y)
    found = intervals(kept, X, Y)
    chosen = [0, *kept.row_support_]
    for j in range(K):
        expected = least_squares(X[:, chosen], Y[:, j])[1][1:]
        np.testing.assert_allclose(found.matrix("lower")[kept.row_support_, j], expected)
    with pytest.raises(ValueError, match="'x0' is constant or always kept"):
        intervals(kept, X, Y, predictors=[0])


def test_means_and_new_observations_of_full_rank_fits(data):
    X, Y, _ = data
    full = tr.SparseReducedRankRegressor(K, P, K).fit(X, Y)
    at = X[:2] + 1
    A, new = (np.column_stack([np.ones(len(x)), x]) for x in (X, at))
    df = N - 1 - P
    half = stats.t.ppf(0.975, df)
    spread = np.einsum("ij,jl,il->i", new, np.linalg.inv(A.T @ A), new)
    sigma = np.sum((Y - full.predict(X)) ** 2, axis=0) / df
    for observations in (False, True):
        found = intervals(full, X, Y, of="predictions", at=at, observations=observations)
        expected = full.predict(at) + half * np.sqrt(np.outer(spread + observations, sigma))
        np.testing.assert_allclose(found.matrix("upper"), expected, rtol=1e-6)
        assert np.all(np.isnan(found.p_value))


def test_coverage_of_null_and_other_coefficients():
    hits, raised = {True: [], False: []}, 0
    for seed in range(20):
        X, Y, truth = tr.datasets.make_two_way_sparse(
            80, 30, 6, 2, 4, 4, correlation=0.5, random_state=720_000 + seed
        )
        found = intervals(tr.SparseReducedRankRegressor(2, 4, 4), X, Y, pairs="all")
        raised += found.rank > 2
        coefficients = truth.U @ truth.V.T
        inside = (found.matrix("lower") <= coefficients) & (coefficients <= found.matrix("upper"))
        for null in hits:
            hits[null].extend(inside[(coefficients == 0) == null])
    assert 0.93 < np.mean(hits[True]) < 0.97
    assert 0.91 < np.mean(hits[False]) < 0.985
    assert raised <= 3  # the true rank is rejected at the level 1 %


def test_a_clear_predictor_that_the_fit_lacks_is_added(data):
    X, Y, truth = data
    found = intervals(tr.SparseReducedRankRegressor(2, 2, 3), X, Y)
    assert set(truth.row_support) == set(found.adjusted_for)
    assert len(found.added) == 1
    assert "the fit lacks" in str(found)


def test_a_rank_that_is_too_small_is_raised(data):
    X, Y, _ = data
    found = intervals(tr.SparseReducedRankRegressor(1, 3, 3), X, Y)
    assert found.rank >= 2
    assert "rank 1 of the fit is rejected" in str(found)
    assert intervals(tr.SparseReducedRankRegressor(1, 3, 3), X, Y, rank=1).rank == 1


def test_unclear_layers_are_not_used():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((80, 4))
    Y = np.outer(X[:, 0], [2, 1, -1, 0.5]) + rng.standard_normal((80, 4))
    est = tr.SparseReducedRankRegressor(2, 4, 4).fit(X, Y)  # the second layer is noise
    auto, plain, low = (intervals(est, X, Y, rank=rank) for rank in ("auto", None, 2))
    np.testing.assert_allclose(auto.upper, plain.upper)
    assert low.standard_error.mean() < 0.95 * auto.standard_error.mean()
    assert "least squares without the low rank" in " ".join(str(auto).split())
    assert "covered 0.90 to 0.93" in " ".join(str(low).split())


def test_rank_zero_has_simple_regressions(data):
    X, _, _ = data
    noise = np.random.default_rng(5).standard_normal((N, 2))
    found = intervals(tr.SparseReducedRankRegressor(0, 0, 0), X, noise, pairs=[(2, 1)])
    expected = [part[0] for part in least_squares(X[:, [2]], noise[:, 1])]
    np.testing.assert_allclose(found.upper[0], expected[2])
    with pytest.raises(ValueError, match="rank 0 and no layers"):
        intervals(tr.SparseReducedRankRegressor(0, 0, 0), X, noise, of="layers")


def test_names_and_table(data):
    pd = pytest.importorskip("pandas")
    X, Y, _ = data
    X = pd.DataFrame(X, columns=[f"gene {i}" for i in range(P)])
    Y = pd.DataFrame(Y, columns=list("abcd"))
    est = tr.SparseReducedRankRegressor(2, 3, 3).fit(X, Y)
    found = intervals(est, X, Y, pairs=[("gene 2", "b"), (0, "a")], correction="bh")
    frame = found.to_frame()
    assert frame["predictor"].tolist() == ["gene 2", "gene 0"]
    assert frame["response"].tolist() == ["b", "a"]
    assert frame.attrs["assumptions"] == found.assumptions
    assert "gene 2" in repr(found)
    assert "independent" in str(found)
    at = intervals(est, X, Y, of="predictions", at=X.iloc[5:7], responses=["c"])
    assert at.to_frame()["row"].tolist() == ["5", "6"]
    assert "p_value" not in at.to_frame()


def test_adjusted_p_values(data, est):
    X, Y, _ = data
    holm, bh, none = (
        intervals(est, X, Y, pairs="all", correction=correction)
        for correction in ("holm", "bh", None)
    )
    p = none.p_value
    np.testing.assert_allclose(none.adjusted_p_value, p)
    np.testing.assert_allclose(bh.adjusted_p_value, stats.false_discovery_control(p))
    order = np.argsort(p)
    stepwise = np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1))
    np.testing.assert_allclose(holm.adjusted_p_value[order], np.minimum(stepwise, 1))


def test_p_values_of_selected_predictors_are_corrected_for_all(data, est):
    X, Y, _ = data
    every, few = intervals(est, X, Y, pairs="all"), intervals(est, X, Y)
    assert few.index.tolist() == [[i, j] for i in est.row_support_ for j in est.column_support_]
    place = tuple(few.index.T)
    for name in ("upper", "adjusted_p_value"):
        np.testing.assert_allclose(getattr(few, name), every.matrix(name)[place], rtol=1e-7)
    asked = intervals(est, X, Y, predictors=est.row_support_)
    assert np.all(asked.adjusted_p_value <= few.adjusted_p_value * (1 + 1e-9))
    assert "corrected for all 6 predictors" in " ".join(str(few).split())


def test_a_predictor_that_depends_on_the_others_has_no_interval(data):
    X, Y, _ = data
    X = np.column_stack([X, X[:, 0] + X[:, 1]])
    est = tr.SparseReducedRankRegressor(2, 7, 4)
    with pytest.raises(ValueError, match="linearly independent"):
        intervals(est, X, Y, adjust="all")
    doubled = np.column_stack([X[:, :6], X[:, 0]])
    y = X[:, 0] + Y[:, 0] * 0.1
    found = intervals(tr.SparseReducedRankRegressor(1, 1, 1), doubled, y, pairs="all")
    assert np.isnan(found.lower).sum() == np.isnan(found.p_value).sum() == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"level": 1.0}, "level must be a number between 0 and 1"),
        ({"of": "rows"}, "of must be one of"),
        ({"adjust": "some"}, "adjust must be one of"),
        ({"correction": "fdr"}, "correction must be one of"),
        ({"rank": 0}, "rank must be a positive integer"),
        ({"rank": 4}, "rank must be an integer from 1 to 3"),
        ({"pairs": "some"}, 'pairs must be "all"'),
        ({"pairs": []}, "with at least one"),
        ({"pairs": [(0, "z")]}, "unknown name 'z'"),
        ({"pairs": [(9, 0)]}, "positions from 0 to 5, got 9"),
        ({"pairs": [(0, 0)], "predictors": [0]}, "not both"),
        ({"at": [[0.0] * P]}, 'at is for of="predictions"'),
        ({"scaled": True}, 'scaled is for of="layers"'),
        ({"of": "layers", "responses": [0]}, "responses is for"),
    ],
)
def test_wrong_arguments(data, est, options, message):
    with pytest.raises(ValueError, match=message):
        intervals(est, *data[:2], **options)


def test_wrong_estimators_and_data(data, est):
    X, Y, _ = data
    with pytest.raises(TypeError, match="est must be a SparseReducedRankRegressor"):
        intervals(tr.SparsePCA(), X, Y)
    with pytest.raises(ValueError, match='loss="squared"'):
        intervals(tr.SparseReducedRankRegressor(loss="huber"), X, Y)
    with pytest.raises(ValueError, match="which had 60 rows of positive weight, got 59"):
        intervals(est, X[:-1], Y[:-1])
    with pytest.raises(ValueError, match="do not have mean zero"):
        intervals(est, X, Y + 1)
    with pytest.raises(ValueError, match="missing entries"):
        intervals(est, X, np.where(Y[0, 0] == Y, np.nan, Y))
    with pytest.raises(ValueError, match=r"of shape \(60, 4\)"):
        intervals(est, X, Y[:, :3])
    with pytest.raises(ValueError, match="more rows than predictors"):
        intervals(
            tr.SparseReducedRankRegressor(1, 1, 4), np.hstack([X[:8], X[8:16]]), Y[:8], adjust="all"
        )


def test_large_means_and_copies_of_predictors(data):
    X, Y, _ = data
    est = tr.SparseReducedRankRegressor(2, 3, 3)
    plain = tr.inference.confidence_intervals(est, X, Y, pairs="all")
    moved = tr.inference.confidence_intervals(est, X + 1e8, Y, pairs="all")
    np.testing.assert_allclose(moved.estimate, plain.estimate, rtol=1e-4, atol=1e-6)
    copies = np.hstack([X, X[:, -1:]])
    found = tr.inference.confidence_intervals(est, copies, Y)
    assert len(found.adjusted_for) == 3
