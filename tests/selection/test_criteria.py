"""Criteria against their formulas, their guards, and degrees of freedom under a ridge."""

from math import comb, e, log

import numpy as np
import pytest

import thinrank as tr
from thinrank.core.sizes import Sizes
from thinrank.losses import LeastSquares
from thinrank.selection.criteria import CRITERIA, Complexity, Criterion, as_criterion
from thinrank.selection.criterion_sample import CriterionSample
from thinrank.solvers.pursuit import Pursuit

N, P, K = 40, 12, 9


def complexity(r=2, rows=4, columns=3, **options):
    degrees = (rows + columns - r) * r
    return Complexity(degrees, rows, columns, P, K, **options)


def test_pic_by_hand():
    rss, null = 55.0, 400.0
    penalty = 4 * (4 + 3 - 2) * 2 + 2 * (4 * log(e * P / 4) + 3 * log(e * K / 3))
    score = Criterion("pic").scores(np.array(rss), null, N * K, complexity())
    assert score == pytest.approx(N * K * log(rss) + penalty - N * K * log(null))


def test_what_is_not_chosen_costs_no_inflation():
    rows, columns = 4 * log(e * P / 4), 3 * log(e * K / 3)
    assert complexity(select_columns=False).inflation == pytest.approx(rows)
    assert complexity(select_rows=False).inflation == pytest.approx(columns)
    assert complexity(select_rows=False, select_columns=False).inflation == 0
    # all rows, chosen among all, are not free in PIC: log(e·p/p) = 1
    assert complexity(rows=P, select_columns=False).inflation == pytest.approx(P)


@pytest.mark.parametrize(
    ("name", "penalty"),
    [
        ("aic", 2 * 10),
        ("bic", log(N * K) * 10),
        ("gic", log(log(N * K)) * log(P * K) * 10),
        ("ebic", log(N * K) * 10 + 2 * log(comb(P, 4) * comb(K, 3))),
        ("gcv", -2 * N * K * log(1 - 10 / (N * K))),
    ],
)
def test_the_others_by_hand(name, penalty):
    criterion = Criterion(name)
    assert criterion.penalty(N * K, complexity()) == pytest.approx(penalty)
    scores = criterion.scores(np.array([30.0, 60.0]), 120.0, N * K, complexity())
    expected = [N * K * log(0.25) + penalty, N * K * log(0.5) + penalty]
    np.testing.assert_allclose(scores, expected)


def test_gcv_orders_models_as_its_textbook_form():
    degrees = np.arange(1.0, 20.0)
    rss = np.random.default_rng(0).uniform(50, 100, 19)
    models = Complexity(degrees, 1, 1, P, K)
    textbook = rss / (N * K) / (1 - degrees / (N * K)) ** 2
    scores = Criterion("gcv").scores(rss, 100.0, N * K, models)
    np.testing.assert_allclose(scores, N * K * np.log(textbook * N * K / 100.0))


@pytest.mark.parametrize("name", CRITERIA)
def test_models_near_saturation_are_out(name):
    degrees = np.array([1.0, 3.0, N * K, 2.0 * N * K])
    models = Complexity(degrees, 1, 1, P, K)
    scores = Criterion(name).scores(np.array([50.0, 1.0, 1e-9, 0.0]), 100.0, N * K, models)
    assert np.isfinite(scores[:2]).all()
    assert np.isposinf(scores[2:]).all()
    penalty = Criterion(name).penalty(N * K, models)
    np.testing.assert_array_equal(np.isinf(scores), ~(penalty < N * K))


def test_the_guard_is_the_penalty_against_the_observations():
    models = Complexity(np.array([24.9, 25.0]), 1, 1, P, K, False, False)
    scores = Criterion("pic").scores(np.ones(2), 2.0, 100.0, models)
    assert np.isfinite(scores[0])
    assert np.isposinf(scores[1])


@pytest.mark.parametrize("name", CRITERIA)
def test_the_zero_matrix_is_the_zero_of_the_scale(name):
    models = Complexity(0.0, 0, 0, P, K)
    for null in (0.3, 1e8, 0.0):
        assert Criterion(name).scores(np.array(null), null, N * K, models) == pytest.approx(0)
    # with nothing to explain, every model is worse
    assert Criterion(name).scores(np.array(0.0), 0.0, N * K, complexity()) > 0


def test_a_perfect_fit_has_a_finite_score():
    score = Criterion().scores(np.array([0.0, -1e-20]), 5.0, N * K, complexity())
    assert np.isfinite(score).all()


@pytest.mark.parametrize("name", CRITERIA)
@pytest.mark.parametrize("residual", [0.0, 1e-20])
def test_a_perfect_fit_has_the_same_score_in_every_unit(name, residual):
    """What is left is a rounding error of the squares of the responses, however small these are."""
    scores = [
        Criterion(name).scores(np.array(unit * residual), unit * 400.0, N * K, complexity())
        for unit in (1e-12, 1.0, 1e12)
    ]
    assert scores[0] == pytest.approx(scores[1])
    assert scores[2] == pytest.approx(scores[1])


def test_names_and_objects():
    assert as_criterion("bic") == Criterion("bic")
    own = Criterion(per_degree=3.0)
    assert as_criterion(own) is own
    for bad in ("mdl", None, 3, ["pic"]):
        with pytest.raises(ValueError, match=r'criterion must be one of "pic", .*"gcv"'):
            as_criterion(bad)


@pytest.mark.no_cover
@pytest.mark.parametrize("name", CRITERIA)
@pytest.mark.parametrize("standardize", [True, False])
def test_units_of_the_responses_do_not_change_the_choice(name, standardize):
    X, Y, _ = tr.datasets.make_two_way_sparse(50, 30, 12, 2, 4, 5, random_state=1)
    est = tr.SparseReducedRankRegressor(criterion=name, standardize=standardize)
    small, large = (est.fit(X, scale * Y).best_params_ for scale in (1.0, 1000.0))
    assert small == large


# --------------------------------------------------------------------------- under a ridge


def sample_and_fit(ridge, rank=2, rows=4, columns=5):
    X, Y, _ = tr.datasets.make_two_way_sparse(
        N, P, K, 2, 4, 5, correlation=0.5, random_state=0, signal=2.0
    )
    form = LeastSquares(X, Y).quadratic()
    sample = CriterionSample(form, lambda: 1.0, Criterion("aic"), True, True)
    sizes = Sizes(rank, rows, columns, ridge)
    fit = sample.fit(sizes, Pursuit().sized(rank, rows, columns))
    return X, Y, sample, fit


def residuals(X, Y, fit, ridge, rank):
    """RSS with all columns, reduced-rank ridge regression on the rows of the fit."""
    S = X[:, fit.rows]
    H, C = S.T @ S / N + ridge * np.eye(S.shape[1]), S.T @ Y / N
    root = np.linalg.inv(np.linalg.cholesky(H))
    errors = []
    for columns in (fit.columns, np.arange(K)):  # directions of the columns in use, and of all
        left = np.linalg.svd((root @ C)[:, columns])[0][:, :rank]
        errors.append(np.sum((Y - S @ (root.T @ (left @ (left.T @ (root @ C))))) ** 2))
    return min(errors)


def degrees_of(X, Y, sample, fit, ridge, rank):
    scores = sample.table(fit, ridge, fit.rows.shape[0])
    deviance = N * K * np.log(residuals(X, Y, fit, ridge, rank) / np.sum(Y**2))
    return (scores[rank - 1, K - 1] - deviance) / 2


@pytest.mark.parametrize("rank", [1, 2, 4])
def test_degrees_of_freedom_without_ridge(rank):
    for ridge in (0.0, 1e-10):
        X, Y, sample, fit = sample_and_fit(ridge)
        found = degrees_of(X, Y, sample, fit, ridge, rank)
        assert found == pytest.approx((4 + K - rank) * rank, abs=1e-5)


def test_every_number_of_columns_counts():
    """Without ridge the table of scores is that of (s₁ + s₂ − r)·r, entry by entry."""
    X, Y, sample, fit = sample_and_fit(0.0)
    scores = sample.table(fit, 0.0, 4)
    S = X[:, fit.rows]
    q = np.linalg.qr(S)[0]
    expected = np.full((4, K), np.inf)
    for of in (fit.columns, np.arange(K)):  # directions of the columns in use, and of all
        left = np.linalg.svd((q.T @ Y)[:, of])[0]
        for rank in range(1, 5):
            kept = left[:, :rank] @ (left[:, :rank].T @ (q.T @ Y))
            order = np.argsort(-np.sum(kept**2, axis=0))
            for columns in range(rank, K + 1):
                fitted = np.zeros_like(Y)
                fitted[:, order[:columns]] = (q @ kept)[:, order[:columns]]
                deviance = N * K * np.log(np.sum((Y - fitted) ** 2) / np.sum(Y**2))
                score = deviance + 2 * (4 + columns - rank) * rank
                expected[rank - 1, columns - 1] = min(expected[rank - 1, columns - 1], score)
    known = np.isfinite(expected)
    np.testing.assert_allclose(scores[known], expected[known], rtol=1e-8)


@pytest.mark.parametrize("ridge", [0.01, 0.3, 5.0])
def test_full_rank_is_the_trace_of_the_hat_matrix(ridge):
    """All directions of the rows: ridge regression, k copies of trace S(SᵀS/n + λ)⁻¹Sᵀ/n."""
    X, Y, sample, fit = sample_and_fit(ridge, rank=4, columns=K)
    S = X[:, fit.rows]
    hat = S @ np.linalg.solve(S.T @ S / N + ridge * np.eye(4), S.T) / N
    assert degrees_of(X, Y, sample, fit, ridge, 4) == pytest.approx(K * np.trace(hat), rel=1e-8)


@pytest.mark.parametrize("rank", [1, 2, 4])
def test_ridge_lowers_the_degrees_of_freedom(rank):
    X, Y, sample, first = sample_and_fit(0.0)
    degrees = []
    for ridge in (0.0, 0.01, 0.1, 1.0, 10.0):
        fit = sample.refit(first, ridge)
        np.testing.assert_array_equal(fit.rows, first.rows)  # or they are not comparable
        degrees.append(degrees_of(X, Y, sample, fit, ridge, rank))
    assert np.all(np.diff(degrees) < 0)
    assert degrees[-1] < degrees[0] / 4


def test_the_table_without_a_fit_is_that_of_the_zero_matrix():
    _, _, sample, _ = sample_and_fit(0.0)
    table = sample.table(None, 0.0, 3)
    assert table.shape == (1, sample.form.shape[1])
    np.testing.assert_array_equal(table, sample.null())
