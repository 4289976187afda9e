"""Certificates against brute force on tiny problems."""

import math
from itertools import combinations

import numpy as np
import pandas as pd
import pytest

import thinrank as tr
from thinrank.core.warnings import SelectionWarning


def data(n=30, p=7, k=5, rank=2, rows=3, columns=3, seed=30000):
    X, Y, _ = tr.datasets.make_two_way_sparse(
        n, p, k, rank, rows, columns, signal=0.4, random_state=seed
    )
    return X, Y


def best_on(X, Y, ridge, rank, S, T):
    """The lowest objective on rows S and columns T: reduced-rank ridge regression, stacked."""
    n = len(X)
    A = np.concatenate([X[:, S], math.sqrt(n * ridge) * np.eye(len(S))])
    B = np.concatenate([Y[:, T], np.zeros((len(S), len(T)))])
    coefficients = np.linalg.lstsq(A, B, rcond=None)[0]
    V = np.linalg.svd(A @ coefficients, full_matrices=False)[2][:rank].T
    theta = np.zeros((X.shape[1], Y.shape[1]))
    theta[np.ix_(S, T)] = coefficients @ V @ V.T
    return np.sum((Y - X @ theta) ** 2) / (2 * n) + ridge / 2 * np.sum(theta**2)


def best_on_rows(X, Y, ridge, rank, S, columns):
    return min(
        best_on(X, Y, ridge, rank, list(S), list(T))
        for T in combinations(range(Y.shape[1]), columns)
    )


@pytest.mark.parametrize("ridge", [0.0, 0.2])
@pytest.mark.parametrize(("rank", "rows", "columns"), [(2, 3, 5), (1, 2, 2), (2, 7, 3)])
def test_against_brute_force(rank, rows, columns, ridge):
    X, Y = data()
    X, Y = X - X.mean(axis=0), Y - Y.mean(axis=0)
    est = tr.SparseReducedRankRegressor(
        rank, rows, columns, ridge=ridge, standardize=False, fit_intercept=False
    ).fit(X, Y)
    found = tr.theory.certificate(est, X, Y)
    theta = est.coef_.T
    own = np.sum((Y - X @ theta) ** 2) / (2 * len(X)) + ridge / 2 * np.sum(theta**2)
    assert found.objective == pytest.approx(own)
    supports = list(combinations(range(7), rows))
    optimum = min(best_on_rows(X, Y, ridge, rank, S, columns) for S in supports)
    assert found.lower_bound <= optimum * (1 + 1e-12)
    if found.bound.kind == "exact":
        assert found.lower_bound == pytest.approx(optimum)
    for i, new, loss in zip(
        found.rows.selected, found.rows.replacement, found.rows.loss, strict=True
    ):
        others = [j for j in range(7) if j not in est.row_support_]
        kept = [j for j in est.row_support_ if j != i]
        losses = [best_on_rows(X, Y, ridge, rank, [*kept, j], columns) - own for j in others]
        if not others:
            assert (new, loss) == (-1, math.inf)
        elif found.rows.kind == "exact":
            assert loss == pytest.approx(min(losses))
            assert new == others[int(np.argmin(losses))]
        else:
            assert min(losses) - 1e-12 <= loss <= min(losses) + 0.05 * own
    S, T = list(est.row_support_), list(est.column_support_)
    for i, loss in zip(found.columns.selected, found.columns.loss, strict=True):
        kept = [j for j in T if j != i]
        others = [j for j in range(5) if j not in T]
        losses = [best_on(X, Y, ridge, rank, S, [*kept, j]) - own for j in others]
        assert loss == pytest.approx(min(losses, default=math.inf))


def test_a_fit_with_fewer_columns_than_allowed_has_a_valid_bound():
    """The limit counts in the bound, not the number of columns that the fit happens to use."""
    rng = np.random.default_rng(30005)
    X, Y = rng.standard_normal((30, 6)), np.zeros((30, 4))
    Y[:, 1] = X[:, 0] + rng.standard_normal(30)
    X, Y = X - X.mean(axis=0), Y - Y.mean(axis=0)
    est = tr.SparseReducedRankRegressor(2, 2, 3, standardize=False, fit_intercept=False).fit(X, Y)
    assert est.column_support_.tolist() == [1]
    optimum = min(best_on_rows(X, Y, 0.0, 2, S, 3) for S in combinations(range(6), 2))
    assert 0 < tr.theory.certificate(est, X, Y).lower_bound <= optimum * (1 + 1e-9)


def test_bounds_where_supports_cannot_be_tried():
    X, Y = data(n=20, p=60, k=12, rank=2, rows=5, columns=12)
    est = tr.SparseReducedRankRegressor(2, 5, None).fit(X, Y)
    found = tr.theory.certificate(est, X, Y)
    assert 0 < found.lower_bound < found.objective
    assert found.bound.kind == "bound"
    assert "The limit on the number of\npredictors plays no part" in str(found)
    single = tr.SparseReducedRankRegressor(1, 5, None).fit(X, Y[:, 0])
    assert "The lower bound is vacuous" in str(tr.theory.certificate(single, X, Y[:, 0]))


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"standardize": False, "fit_intercept": False},
        {"ridge": 0.3, "always_keep": [0, 3]},
        {"solver": tr.solvers.GDT(tol=1e-10)},
    ],
    ids=str,
)
@pytest.mark.parametrize("weighted", [False, True])
def test_the_objective_is_the_one_that_the_solver_minimised(options, weighted):
    X, Y = data(n=40)
    rng = np.random.default_rng(30001)
    X, Y = X * rng.uniform(0.1, 10, 7) + 5, Y * rng.uniform(0.1, 10, 5)
    weight = {"sample_weight": np.append(rng.uniform(0, 2, 39), 0.0)} if weighted else {}
    est = tr.SparseReducedRankRegressor(2, 3, 3, **options).fit(X, Y, **weight)
    found = tr.theory.certificate(est, X, Y, **weight)
    assert found.objective == pytest.approx(est.history_[-1].objective, rel=1e-7)
    assert found.suboptimality < 1e-6 * found.objective
    assert found.lower_bound <= found.objective


def test_units_and_weights_of_zero_do_not_matter():
    X, Y = data(n=40)
    rng = np.random.default_rng(30002)
    est = tr.SparseReducedRankRegressor(2, 3, 3).fit(X, Y)
    plain = tr.theory.certificate(est, X, Y)
    other_x = np.concatenate([X * rng.uniform(0.1, 10, 7) + 5, rng.standard_normal((4, 7))])
    other_y = np.concatenate([Y * rng.uniform(0.1, 10, 5) - 3, rng.standard_normal((4, 5))])
    weight = np.repeat([2.0, 0.0], [40, 4])
    est.fit(other_x, other_y, sample_weight=weight)
    other = tr.theory.certificate(est, other_x, other_y, weight)
    np.testing.assert_allclose(other.lower_bound, plain.lower_bound, rtol=1e-6)
    np.testing.assert_allclose(other.rows.loss, plain.rows.loss, rtol=1e-6)


def test_a_worse_support_is_found_out():
    """Gradient descent from a start on wrong rows stays there; an exchange shows the gain."""
    X, Y = data(n=60, seed=30003)
    good = tr.SparseReducedRankRegressor(1, 1, None).fit(X, Y)
    wrong = (int(good.row_support_[0]) + 1) % 7
    start = np.zeros((7, 5))
    start[wrong] = 1.0
    est = tr.SparseReducedRankRegressor(
        1, 1, None, start=start, solver=tr.solvers.GDT(step=1e-6, max_iter=3)
    )
    with pytest.warns(UserWarning, match="iterations"):
        est.fit(X, Y)
    assert est.row_support_.tolist() == [wrong]
    found = tr.theory.certificate(est, X, Y)
    assert found.gain > 0
    assert found.suboptimality > 0
    assert found.rows.replacement.tolist() == good.row_support_.tolist()
    text = " ".join(str(found).split())
    assert f"Replacing the predictor x{wrong} by x{good.row_support_[0]} lowers" in text
    assert "the solver stopped before its minimum" in text


def test_words_and_frames_have_the_names():
    X, Y = data(n=60)
    frame = pd.DataFrame(X, columns=[f"gene {i}" for i in range(7)])
    responses = pd.DataFrame(Y, columns=[f"drug {j}" for j in range(5)])
    est = tr.SparseReducedRankRegressor(2, 3, 3).fit(frame, responses)
    found = tr.theory.certificate(est, frame, responses)
    table = found.to_frame()
    assert sorted(table.index) == [f"gene {i}" for i in est.row_support_]
    assert table.index.name == "predictor"
    assert table["loss"].is_monotonic_increasing
    assert (table["dropped_percent"] >= table["loss_percent"]).all()
    assert sorted(found.to_frame("responses").index) == [f"drug {j}" for j in est.column_support_]
    text = str(found)
    assert table.index[0] in text
    assert "rank 2, 3 predictors, 3 responses" in text
    assert max(map(len, text.splitlines())) <= 80
    with pytest.raises(ValueError, match='which must be one of "predictors", "responses"'):
        found.to_frame("factors")


def test_special_fits():
    rng = np.random.default_rng(30004)
    X, Y = rng.standard_normal((30, 6)), rng.standard_normal((30, 4))
    with pytest.warns(SelectionWarning, match="No model predicts better than the means"):
        nothing = tr.SparseReducedRankRegressor(cv=3).fit(X, Y)
    found = tr.theory.certificate(nothing, X, Y)
    assert found.is_optimal
    assert "rank 0" in str(found)
    assert len(found.to_frame()) == 0
    perfect = tr.SparseReducedRankRegressor(1, 2, None).fit(X, X[:, :2] @ np.ones((2, 4)))
    assert tr.theory.certificate(perfect, X, X[:, :2] @ np.ones((2, 4))).is_optimal
    everything = tr.SparseReducedRankRegressor(2, None, None).fit(X, Y)
    assert tr.theory.certificate(everything, X, Y).is_optimal
    searched = tr.SparseReducedRankRegressorCV(
        ranks=[1], row_sparsities=[2], column_sparsities=[4], ridges=[0.1], cv=2
    ).fit(X, 3 * X[:, :1] + Y)
    assert tr.theory.certificate(searched, X, 3 * X[:, :1] + Y).is_optimal
    constant = tr.SparseReducedRankRegressor(1, 2, 2).fit(np.ones_like(X), Y)
    assert tr.theory.certificate(constant, np.ones_like(X), Y).is_optimal


def test_what_is_not_covered_is_said():
    X, Y = data()
    est = tr.SparseReducedRankRegressor(1, 2, 2).fit(X, Y)
    with pytest.raises(ValueError, match="do not have mean zero"):
        tr.theory.certificate(est, X, Y + 1)
    with pytest.raises(ValueError, match="must be those of fit, which had 30 rows"):
        tr.theory.certificate(est, X[:20], Y[:20])
    with pytest.raises(ValueError, match=r"Y must be the responses of fit, of shape \(30, 5\)"):
        tr.theory.certificate(est, X, Y[:, :3])
    hole = Y.copy()
    hole[0, 0] = np.nan
    with pytest.raises(ValueError, match="Y must be complete, got 1 missing"):
        tr.theory.certificate(est, X, hole)
    glm = tr.SparseReducedRankGLM("poisson", rank=1, row_sparsity=2, column_sparsity=2)
    glm.fit(X, np.round(np.exp(Y / 9)))
    with pytest.raises(TypeError, match="got SparseReducedRankGLM"):
        tr.theory.certificate(glm, X, Y)
    huber = tr.SparseReducedRankRegressor(1, 2, 2, loss="huber").fit(X, Y)
    with pytest.raises(ValueError, match=r"must have loss=.*huber"):
        tr.theory.certificate(huber, X, Y)
