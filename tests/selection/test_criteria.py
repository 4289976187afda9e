"""Criteria against their formulas, their guards, and degrees of freedom under a ridge."""

from math import comb, e, log

import numpy as np
import pytest

import thinrank as tr
from thinrank.selection.criteria import CRITERIA, Complexity, Criterion, as_criterion

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


@pytest.mark.parametrize("name", CRITERIA)
def test_the_zero_matrix_is_the_zero_of_the_scale(name):
    models = Complexity(0.0, 0, 0, P, K)
    for null in (0.3, 1e8, 0.0):
        assert Criterion(name).scores(np.array(null), null, N * K, models) == pytest.approx(0)
    # with nothing to explain, every model is worse
    assert Criterion(name).scores(np.array(0.0), 0.0, N * K, complexity()) > 0


@pytest.mark.parametrize("name", CRITERIA)
@pytest.mark.parametrize("residual", [0.0, 1e-20, -1e-20])
def test_a_perfect_fit_has_the_same_score_in_every_unit(name, residual):
    """What is left is a rounding error of the squares of the responses, however small these are."""
    scores = [
        Criterion(name).scores(np.array(unit * residual), unit * 400.0, N * K, complexity())
        for unit in (1e-12, 1.0, 1e12)
    ]
    assert np.isfinite(scores).all()
    assert scores[0] == pytest.approx(scores[1])
    assert scores[2] == pytest.approx(scores[1])


def test_names_and_objects():
    assert as_criterion("bic") == Criterion("bic")
    own = Criterion(per_degree=3.0)
    assert as_criterion(own) is own
    for bad in ("mdl", None, 3, ["pic"]):
        with pytest.raises(ValueError, match=r'criterion must be one of "pic", .*"gcv"'):
            as_criterion(bad)


# --------------------------------------------------------------------------- of fitted models


def data():
    return tr.datasets.make_two_way_sparse(
        N, P, K, 2, 4, 5, correlation=0.5, random_state=0, signal=2.0
    )[:2]


def last_fit(X, Y, name, **sizes):
    """A fit whose criterion is known, and its record."""
    plain = {"standardize": False, "fit_intercept": False}
    est = tr.SparseReducedRankRegressor(criterion=name, **sizes, **plain).fit(X, Y)
    same = [r for r in est.search_ if r.sizes.rank == est.rank_]
    return est, min(same, key=lambda record: record.objective)


@pytest.mark.parametrize("name", ["aic", "bic"])
def test_the_criterion_of_a_fit_without_ridge(name):
    """N·log(RSS) relative to no fit, and (s₁ + s₂ − r)·r degrees of freedom."""
    X, Y = data()
    est, record = last_fit(X, Y, name, row_sparsity=4, column_sparsity=None, ridge=0.0)
    left = np.sum((Y - X @ est.coef_.T) ** 2) / np.sum(Y**2)
    each = {"aic": 2.0, "bic": log(N * K)}[name]
    expected = N * K * log(left) + each * (4 + K - est.rank_) * est.rank_
    assert record.objective == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("ridge", [0.01, 0.3, 5.0])
def test_full_rank_has_the_trace_of_the_hat_matrix(ridge):
    """All directions of the rows: ridge regression, k copies of trace S(SᵀS/n + λ)⁻¹Sᵀ/n."""
    X, Y = data()
    X = X[:, :4]
    est, record = last_fit(X, Y, "aic", rank=4, column_sparsity=None, ridge=ridge)
    hat = X @ np.linalg.solve(X.T @ X / N + ridge * np.eye(4), X.T) / N
    left = np.sum((Y - X @ est.coef_.T) ** 2) / np.sum(Y**2)
    expected = N * K * log(left) + 2 * K * np.trace(hat)
    assert record.objective == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("name", ["aic", "bic", "ebic"])
def test_criteria_of_counts_are_their_deviance_plus_a_penalty(name):
    """Rank 1 on one row and one column is a single regression, with one degree of freedom."""
    rng = np.random.default_rng(0)
    X, _ = data()
    Y = rng.poisson(2.0, (N, K)).astype(float)
    Y[:, 3] = rng.poisson(np.exp(0.8 * X[:, 1]))
    sizes = {"row_sparsity": 1, "column_sparsity": 1, "ridge": 0.0, "standardize": False}
    est = tr.SparseReducedRankGLM("poisson", rank="auto", criterion=name, **sizes).fit(X, Y)
    record = next(r for r in est.search_ if r.sizes.rank == 1)
    assert est.column_support_.tolist() == [3]
    family = tr.losses.families.Poisson()
    fitted = family.deviance(Y, X @ est.coef_.T + est.intercept_)
    null = family.deviance(Y, np.tile(np.log(Y.mean(axis=0)), (N, 1)))
    choices = log(P) + log(K)
    penalty = {"aic": 2.0, "bic": log(N * K), "ebic": log(N * K) + 2 * choices}[name]
    assert record.objective == pytest.approx(np.sum(fitted - null) + penalty, rel=1e-3)
