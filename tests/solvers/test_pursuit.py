"""Pursuit: exact steps, decreasing objective, robust on awkward data."""

from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.stats import norm

import thinrank as tr
from oracles.closed_forms import best_over_supports
from thinrank import arrays
from thinrank.core.result import Outcome
from thinrank.losses import Denoising, GeneralizedLinear, LeastSquares, PerTask
from thinrank.losses.families import Bernoulli
from thinrank.solvers import pursuit
from thinrank.solvers.exchanges import best_exchanges, largest_noise
from thinrank.solvers.fits import Fit
from thinrank.solvers.pursuit import Pursuit


def problem(seed=0, **change):
    sizes = {"n_samples": 60, "n_features": 40, "n_targets": 15, "rank": 2}
    return tr.datasets.make_two_way_sparse(
        **(sizes | {"row_sparsity": 5, "column_sparsity": 6, "random_state": seed} | change)
    )


SIZES = {"rank": 2, "row_sparsity": 6, "column_sparsity": 7}


def solve(loss, **options):
    return tr.minimize(loss, solver="pursuit", **(SIZES | options))


@pytest.mark.parametrize("correlation", [0.0, 0.9])
@pytest.mark.parametrize("start", ["auto", "lasso", "spectral"])
def test_objective_never_rises_and_is_the_loss(correlation, start):
    X, Y, _ = problem(correlation=correlation)
    loss = LeastSquares(X, Y, ridge=0.05)
    answer = solve(loss, start=start)
    objectives = answer.history.objectives
    assert all(b <= a for a, b in pairwise(objectives))
    theta = answer.factors.theta
    value = np.sum((Y - X @ theta) ** 2) / 120 + 0.025 * np.sum(theta**2)
    assert answer.value == pytest.approx(value, rel=1e-10)
    assert answer.status.outcome is Outcome.CONVERGED
    assert answer.factors.rank == 2
    assert len(answer.factors.row_support) <= 6
    assert len(answer.factors.column_support) <= 7


def test_without_sparsity_it_is_reduced_rank_regression():
    X, Y, _ = problem(n_features=10)
    q, r = np.linalg.qr(X)
    left, values, right = np.linalg.svd(q.T @ Y, full_matrices=False)
    closed = np.linalg.solve(r, (left[:, :2] * values[:2]) @ right[:2])
    answer = solve(LeastSquares(X, Y), row_sparsity=None, column_sparsity=None)
    np.testing.assert_allclose(answer.factors.theta, closed, atol=1e-10)


def test_stationary_on_its_supports():
    """The gradient vanishes along U and V on the supports that were found."""
    X, Y, _ = problem()
    loss = LeastSquares(X, Y, ridge=0.1)
    answer = solve(loss)
    _, gradient_u, gradient_v = loss.value_and_gradient(answer.factors)
    assert np.abs(gradient_u[answer.factors.row_support]).max() < 1e-9
    assert np.abs(gradient_v[answer.factors.column_support]).max() < 1e-9


@pytest.mark.parametrize("exact", [True, False])
def test_costs_and_gains_against_refitting(exact, monkeypatch):
    """With Q held fixed, what leaving a row out costs and taking one in gains."""
    X, Y, _ = problem(correlation=0.7)
    if not exact:
        monkeypatch.setattr("thinrank.solvers.gains._EXACT_GAINS", 3)
    loss = LeastSquares(X, Y, ridge=0.1)
    form = loss.quadratic()
    solver = Pursuit().sized(*SIZES.values())
    rng = np.random.default_rng(0)
    rows = np.sort(rng.choice(40, 6, replace=False))
    fit = solver._fit_form(form, rows, np.arange(7), rng.standard_normal((15, 2)))
    found = solver.prospects(form, fit)
    costs, candidates, gains = found.costs, found.candidates, found.gains

    def value(rows):
        H = X[:, rows].T @ X[:, rows] / 60 + 0.1 * np.eye(len(rows))
        C = X[:, rows].T @ Y @ fit.Q / 60
        return 0.5 * (np.sum(Y**2) / 60 - np.sum(C * np.linalg.solve(H, C)))

    assert value(rows) == pytest.approx(fit.objective)
    for i in range(6):
        assert 0.5 * costs[i] == pytest.approx(value(np.delete(rows, i)) - value(rows))
    truth = np.array([value(rows) - value(np.sort(np.append(rows, j))) for j in candidates])
    if exact:
        np.testing.assert_allclose(0.5 * gains, truth, rtol=1e-8)
    else:
        assert np.all(0.5 * gains <= truth * (1 + 1e-9))
        assert np.argmax(gains) == np.argmax(truth)


@pytest.mark.parametrize("loss_kind", ["regression", "denoising"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_every_library(xp, dtype, loss_kind):
    X, Y, _ = problem(correlation=0.5)
    dtype = getattr(xp, dtype)

    def loss(as_array):
        if loss_kind == "denoising":
            return Denoising(as_array(Y))
        return LeastSquares(as_array(X), as_array(Y), sample_weight=as_array(np.arange(60.0)))

    answer = solve(loss(lambda a: xp.asarray(a, dtype=dtype)))
    reference = solve(loss(np.asarray))
    assert arrays.namespace(answer.factors.U) is arrays.namespace(xp.asarray(0.0))
    assert answer.factors.U.dtype == dtype
    tol = 1e-3 if dtype == xp.float32 else 1e-9
    np.testing.assert_allclose(
        arrays.to_numpy(answer.factors.theta), reference.factors.theta, atol=tol
    )


def test_tiny_problems_against_exhaustive_search():
    rng = np.random.default_rng(5)
    found = 0
    for _ in range(100):
        p, k = rng.integers(2, 7, size=2)
        rows, columns = rng.integers(1, p + 1), rng.integers(1, k + 1)
        rank = rng.integers(1, min(rows, columns) + 1)
        X = rng.standard_normal((50, p))
        U, V = np.zeros((p, rank)), np.zeros((k, rank))
        U[:rows], V[:columns] = (
            2 * rng.standard_normal((rows, rank)),
            2 * rng.standard_normal((columns, rank)),
        )
        Y = X @ U @ V.T + rng.standard_normal((50, k))
        best, _, _ = best_over_supports(X, Y, rank, rows, columns)
        answer = solve(
            LeastSquares(X, Y), rank=int(rank), row_sparsity=int(rows), column_sparsity=int(columns)
        )
        assert answer.value >= best * (1 - 1e-9)
        found += answer.value <= best * (1 + 1e-6)
    assert found >= 97


def test_too_many_rows_for_the_data():
    X, Y, _ = problem(n_samples=10)
    answer = solve(LeastSquares(X, Y), row_sparsity=30, column_sparsity=None)
    assert np.isfinite(answer.factors.theta).all()
    assert len(answer.factors.row_support) <= 30


@pytest.mark.parametrize("samples", [4, 5, 9])
def test_costs_of_rows_with_and_without_samples_enough(samples):
    """With more rows than samples others replace any one: only sizes of coefficients are left."""
    rng = np.random.default_rng(0)
    root, U = rng.standard_normal((samples, 5)), rng.standard_normal((5, 2))
    fit = Fit(np.arange(5), np.arange(3), root, root, U, np.eye(3)[:, :2], 1.0, (8, 3))
    assert fit.has_more_rows_than_samples is (samples < 5)
    sizes = np.sum(U**2, axis=1)
    # the diagonal of H⁻¹ = RᵀR
    expected = sizes if samples < 5 else sizes / np.diag(root.T @ root)
    np.testing.assert_allclose(fit.costs, expected)


@pytest.mark.parametrize("exact", [True, False])
def test_more_exchanges_are_tried_at_the_end_of_losses_that_are_not_quadratic(exact, monkeypatch):
    X, Y, _ = problem(n_targets=6, column_sparsity=6)
    asked = []

    def watched(*arguments):
        asked.append(arguments)
        return best_exchanges(*arguments)

    monkeypatch.setattr(pursuit, "best_exchanges", watched)
    task = np.arange(60) % 6
    loss = LeastSquares(X, Y) if exact else PerTask(X, Y[np.arange(60), task], task)
    solve(loss, column_sparsity=None)
    assert bool(asked) is not exact


@pytest.mark.parametrize(
    ("gains", "costs", "tried"),
    [
        ([20.0, 3.0], [1.0, 23.0, 30.0], [(0, 0), (1, 0), (0, 1)]),  # costs up to 1.2 times a gain
        ([20.0, 3.0], [1.0, 25.0, 30.0], [(0, 0), (0, 1)]),
        ([20.0, 3.0], [25.0, 26.0, 30.0], []),
        ([20.0, 0.001], [1.0, 23.0, 30.0], [(0, 0), (1, 0)]),  # a gain that noise may have
    ],
)
def test_which_exchanges_are_tried_for_a_row_that_is_clearly_not_noise(gains, costs, tried):
    seen = []

    class Watched(Pursuit):
        def _fit(self, loss, form, rows, columns, guess, *more):
            seen.append(tuple(rows.tolist()))
            return SimpleNamespace(objective=1.0)

    here = SimpleNamespace(
        objective=1.0, rows=np.array([0, 1, 2]), columns=None, U=np.ones((3, 2)), Q=None
    )
    form = SimpleNamespace(observations=100, shape=(5, 4))
    prospects = SimpleNamespace(
        costs=np.array(costs), candidates=np.array([3, 4]), gains=np.array(gains)
    )
    assert Watched()._significant(None, form, here, prospects) is None
    expected = [tuple(sorted({0, 1, 2, 3 + j} - {i})) for i, j in tried]
    assert seen == expected


def test_dependent_columns():
    X, Y, _ = problem()
    doubled = np.hstack([X, X, X[:, :1] + X[:, 1:2]])
    answer = solve(LeastSquares(doubled, Y))
    single = solve(LeastSquares(X, Y))
    assert np.isfinite(answer.factors.theta).all()
    assert answer.value <= single.value * (1 + 1e-6)


def test_a_rank_that_the_data_do_not_carry():
    X, _, _ = problem()
    Y = np.outer(X[:, 3], np.arange(1.0, 16.0))
    answer = solve(LeastSquares(X, Y), rank=4, row_sparsity=6, column_sparsity=15)
    assert answer.factors.rank == 1
    assert "rank 1, lower than the requested rank 4" in str(answer.status)
    assert answer.value < 1e-12 * np.sum(Y**2)


def test_other_losses_are_told_what_is_missing():
    loss = tr.losses.Custom(lambda f: (0.0, f.U, f.V), shape=(8, 8))
    with pytest.raises(TypeError, match=r"pursuit.* needs .*majorizer"):
        solve(loss, start=np.eye(8))


def test_a_start_on_rows_that_explain_nothing():
    M = np.zeros((6, 5))
    M[:3, :3] = np.random.default_rng(0).standard_normal((3, 3))
    start = np.zeros((6, 5))
    start[4, 1] = 1.0
    answer = solve(Denoising(M), start=start, rank=1, row_sparsity=1, column_sparsity=2)
    assert answer.factors.rank == 1
    assert answer.value < 0.5 * np.sum(M**2)


def test_free_places_are_filled():
    X, Y, truth = problem(signal=3.0)
    start = np.zeros((40, 15))
    start[truth.row_support[:2]] = 1.0
    answer = solve(LeastSquares(X, Y), start=start)
    assert set(truth.row_support) <= set(answer.factors.row_support)


@pytest.mark.parametrize("case", ["duplicates", "more rows than samples"])
def test_singular_problems_report_the_loss_and_the_rank(case):
    X, Y, _ = problem(n_samples=60 if case == "duplicates" else 12)
    if case == "duplicates":
        X = np.hstack([X[:, :10], X[:, :10]])
        Y = X[:, :2] @ np.random.default_rng(0).standard_normal((2, 15))
    X, Y = X - X.mean(axis=0), Y - Y.mean(axis=0)
    loss = LeastSquares(X, Y)
    answer = solve(loss, rank=12, row_sparsity=None, column_sparsity=None)
    direct = np.sum((Y - X @ answer.factors.theta) ** 2) / (2 * len(X))
    assert answer.value == pytest.approx(direct, rel=1e-9, abs=1e-12 * np.sum(Y**2))
    assert answer.factors.rank == (2 if case == "duplicates" else 11)
    assert "lower than the requested rank" in str(answer.status)


def weakly_wrong(strength):
    """A fit on two strong rows and one of noise, beside a row of some strength."""
    rng = np.random.default_rng(30_300)
    X = np.sqrt(80) * np.linalg.qr(rng.standard_normal((80, 12)))[0]
    theta = np.zeros((12, 6))
    theta[[0, 1, 2]] = np.outer([3.0, -3.0, strength], np.ones(6))
    loss = LeastSquares(X, X @ theta + rng.standard_normal((80, 6)))
    solver = Pursuit(exchange_penalty=1e6).sized(1, 3, 6)
    form = loss.quadratic()
    fit = solver._fit_form(form, np.array([0, 1, 7]), np.arange(6), np.ones((6, 1)))
    return solver, loss, form, fit


def test_a_row_that_is_clearly_not_noise_needs_no_penalty():
    """It takes the place of the row that costs least; the others stay."""
    solver, loss, form, fit = weakly_wrong(strength=1.0)
    found = solver._significant(loss, form, fit, solver.prospects(form, fit))
    assert found.rows.tolist() == [0, 1, 2]
    assert found.objective < fit.objective
    answer = tr.minimize(
        loss, rank=1, row_sparsity=3, solver=Pursuit(exchange_penalty=1e6), start=fit.factors
    )
    assert answer.factors.row_support.tolist() == [0, 1, 2]


def test_a_row_that_may_be_noise_does():
    """The gain of the row left out is below that of the best of 12 rows of noise."""
    solver, loss, form, fit = weakly_wrong(strength=0.0)
    assert solver._significant(loss, form, fit, solver.prospects(form, fit)) is None


@pytest.mark.parametrize("penalty", [None, 5.0])
def test_the_price_of_an_exchange_is_that_of_aic(penalty):
    """N·log(objective) must fall by 2, or the given number, for each of the r coefficients."""
    X, Y, _ = problem()
    loss = LeastSquares(X, Y)
    options = {} if penalty is None else {"exchange_penalty": penalty}
    solver = Pursuit(**options).sized(2, 6, 15)
    fit = solver._fit_form(loss.quadratic(), np.arange(6), np.arange(15), np.ones((15, 2)))
    left = fit.objective - solver._margin(loss.quadratic(), fit)
    fall = Y.size * np.log(fit.objective / left)
    assert fall == pytest.approx(2 * (penalty or 2.0), rel=0.02)


@pytest.mark.parametrize(
    ("rank", "best_of", "is_bound", "expected"),
    [
        (2, 1, True, 3.0 * 2 / 100),  # a penalty of 3 per coefficient, of 100 observations
        (2, 50, True, 3.0 * largest_noise(50, 2) / 2 / 100),
        (30, 2, True, 3.0 * 30 / 100),  # the best of two explains less than 30 on average
        (2, 1, False, 1e-3),
        (2, 50, False, 1e-3),
    ],
)
def test_the_decrease_that_an_exchange_requires(rank, best_of, is_bound, expected):
    solver = Pursuit(tol=1e-3, exchange_penalty=3.0)
    form = SimpleNamespace(is_bound=is_bound, observations=100)
    fit = SimpleNamespace(U=np.ones((40, rank)), objective=5.0)
    assert solver._margin(form, fit, best_of) == pytest.approx(5.0 * expected)


def test_clearly_not_noise_is_the_largest_of_as_many_rows_of_noise():
    """The deviance that the new row explains, N times the relative decrease, against χ²."""
    decisions = []
    for strength in np.linspace(0.0, 0.5, 21):
        solver, loss, form, fit = weakly_wrong(strength)
        prospects = solver.prospects(form, fit)
        deviance = 80 * 6 * prospects.gains.max() / (2 * fit.objective)
        found = solver._significant(loss, form, fit, prospects)
        assert (found is not None) == (deviance > norm.isf(1 / 24) ** 2)
        decisions.append(found is not None)
    assert 4 < sum(decisions) < 18


def test_the_change_of_a_better_fit_on_the_same_rows_is_relative():
    rng = np.random.default_rng(3)
    X = rng.standard_normal((40, 5))
    Y = (X[:, :3] + rng.logistic(size=(40, 3)) > 0).astype(float)
    loss = GeneralizedLinear(X, Y, Bernoulli(), ridge=0.05)
    form = loss.majorizer(tr.Factors.zero(loss.shape, X, rank=2))
    rows, columns = np.arange(3), np.arange(3)
    solver = Pursuit().sized(2, 3, 3)
    rough = solver._fit_form(form, rows, columns, form.cross_rows(rows).T)  # of a bound of the loss
    better = solver._refitted(loss, form, rough)
    assert better.objective == pytest.approx(loss.value(better.factors), rel=1e-9)
    assert better.objective < 0.99 * rough.objective
    assert better.change == pytest.approx(1 - better.objective / rough.objective, rel=1e-9)
