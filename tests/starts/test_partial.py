"""Screening around an earlier fit: partial covariances instead of covariances."""

import numpy as np
import pytest

import thinrank as tr
from thinrank import Factors
from thinrank.estimators import problem, rounds
from thinrank.forms import kept_span
from thinrank.largest import top_positions
from thinrank.losses import LeastSquares
from thinrank.solvers import Pursuit
from thinrank.starts import Auto, Screening, auto, partial
from thinrank.starts.partial import PartialScreening

SIZES = (2, 4, 5)


@pytest.fixture
def masked(rng):
    """Predictor 0 is the sum of the relevant ones, so that its covariances are the largest."""
    X = rng.standard_normal((300, 30))
    X[:, 0] = X[:, 1:5].sum(axis=1) / 2 + 0.5 * rng.standard_normal(300)
    theta = np.zeros((30, 6))
    theta[1:5] = (1 + 0.2 * rng.uniform(size=(4, 2))) @ rng.uniform(size=(2, 6))
    return X, X @ theta + 0.3 * rng.standard_normal((300, 6)), theta


def test_partial_covariances_of_single_predictors(rng, library):
    X, Y = rng.standard_normal((40, 7)), rng.standard_normal((40, 5))
    known = Factors(np.diag([1.0, 0, 2, 0, 0, 0, 3])[:, [0, 2, 6]], rng.standard_normal((5, 3)))
    loss = LeastSquares(library.array(X), library.array(Y), ridge=0.1)
    near = PartialScreening(
        loss.quadratic(), Factors(library.array(known.U), library.array(known.V))
    )
    found = near(loss, 3, 7, 5, 0)
    library.check(found.U, found.V)
    basis = np.linalg.qr(known.V)[0]
    for j in range(7):  # each predictor's covariances with what the others of the fit leave
        others = known.U * (np.arange(7) != j)[:, None] @ known.V.T
        expected = X[:, j] @ (Y - X @ others) / 40 @ basis @ basis.T
        np.testing.assert_allclose(library.numpy(found.theta)[j], expected, atol=1e-12)


def test_a_predictor_is_left_out_that_is_only_correlated_with_relevant_ones(masked):
    X, Y, theta = masked
    loss = LeastSquares(X, Y)
    form = loss.quadratic()
    assert 0 in Screening().picked_rows(form, 4)
    near = PartialScreening(form, Factors.from_theta(theta, 2))
    np.testing.assert_array_equal(near.picked_rows(form, 4), [1, 2, 3, 4])
    np.testing.assert_array_equal(near(loss, *SIZES, 0).row_support, [1, 2, 3, 4])


@pytest.mark.parametrize("ridge", [0.0, 0.01])
@pytest.mark.parametrize("most", [8, 256])
def test_the_same_rows_from_bounds(ridge, most, monkeypatch):
    """With products that are kept, partial covariances are computed of rows that matter only."""
    monkeypatch.setattr(kept_span, "_WORTH_KEEPING", 0)
    monkeypatch.setattr(partial, "_MOST_POSSIBLE", most)
    of_all_rows = []
    for seed in range(30_120, 30_130):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((96, 700))
        U, V = np.zeros((700, 2)), np.zeros((9, 2))
        U[:6], V[:7] = rng.standard_normal((6, 2)), rng.standard_normal((7, 2))
        Y = X @ U @ V.T + rng.standard_normal((96, 9))
        U[5] = 0
        known = Factors(U, V)
        loss = LeastSquares(X, Y, ridge=ridge, form="direct")
        near = PartialScreening(loss.quadratic(), known)
        plain = PartialScreening(loss.quadratic(), known)
        negative, diagonal = plain._partial
        expected = top_positions(np.sum(negative**2, axis=1) / diagonal, 6)
        np.testing.assert_array_equal(near.picked_rows(near.form, 6), expected)
        found, other = (each(loss, 2, 6, 7, 0) for each in (near, plain))
        np.testing.assert_allclose(found.theta, other.theta, atol=1e-12)
        of_all_rows.append("_partial" in near.__dict__)
    assert all(of_all_rows) if most == 8 else sum(of_all_rows) < 5


def test_units_of_predictors_do_not_matter(masked):
    X, Y, theta = masked
    units = np.geomspace(1e-3, 1e3, 30)
    known = Factors.from_theta(theta / units[:, None], 2)
    form = LeastSquares(X * units, Y).quadratic()
    np.testing.assert_array_equal(PartialScreening(form, known).picked_rows(form, 4), [1, 2, 3, 4])


def test_auto_uses_a_known_fit_only_where_it_would_screen(masked, monkeypatch):
    X, Y, theta = masked
    X[:, 0] = X[:, 5]  # nothing is correlated any more, but for these two, which are not relevant
    loss, known = LeastSquares(X, Y), Factors.from_theta(theta, 2)
    assert isinstance(Auto(True, known).suited(loss, 4), tr.starts.Backward)
    monkeypatch.setattr(auto, "_QUICK_ELIMINATION", 0)
    assert isinstance(Auto(True).suited(loss, 4).screening, Screening)
    assert isinstance(Auto(True, known).suited(loss, 4).screening, PartialScreening)
    wrong = np.zeros_like(theta)
    wrong[[0, 5], 0] = 1.0  # then partial covariances select these two
    start = Auto(True, Factors.from_theta(wrong, 1)).suited(loss, 4)
    assert isinstance(start, tr.starts.Backward)


def test_later_rounds_begin_where_the_one_before_ended(masked, monkeypatch):
    X, Y, _ = masked
    seen = []
    monkeypatch.setattr(auto, "_QUICK_ELIMINATION", 0)
    monkeypatch.setattr(
        auto, "PartialScreening", lambda *args: seen.append(args[1]) or PartialScreening(*args)
    )
    X[:, 0] = X[:, 6] + X[:, 7]
    Y = Y * np.linspace(1, 30, 6)
    est = tr.SparseReducedRankRegressor(2, 4, None).fit(X, Y)
    assert seen
    np.testing.assert_array_equal(est.row_support_, [1, 2, 3, 4])
    np.testing.assert_array_equal(seen[0].row_support, [1, 2, 3, 4])
    seen.clear()
    tr.SparseReducedRankRegressor(2, 4, None, start="screening").fit(X, Y)
    assert not seen
    loss = LeastSquares(X, Y)
    tr.minimize(loss, rank=2, row_sparsity=4, start=Auto(False, est.factors_), solver=Pursuit())
    assert not seen


def test_a_fit_to_nearly_the_same_data_takes_the_place_of_screening(masked, monkeypatch):
    X, Y, theta = masked
    loss, known = LeastSquares(X, Y), Factors.from_theta(theta, 2)
    near = Auto(True, known, near=True)
    assert isinstance(near.suited(loss, 4), tr.starts.Backward)  # where elimination is quick
    monkeypatch.setattr(auto, "_QUICK_ELIMINATION", 0)
    assert near(loss, 2, 4, 6, 0) is known
    assert isinstance(Auto(False, known, near=True).suited(loss, 4), tr.starts.Lasso)
    assert Auto(True, near=True)(loss, 2, 4, 6, 0).rank == 2  # nothing is known: screening


@pytest.mark.parametrize("limit", [0.0, 1e9])
def test_rounds_say_whether_scales_are_near(masked, monkeypatch, limit):
    X, Y, _ = masked
    seen = []
    monkeypatch.setattr(
        rounds, "Auto", lambda *args, **options: seen.append(options) or Auto(*args, **options)
    )
    monkeypatch.setattr(problem, "_SAME_SCALE", limit)
    tr.SparseReducedRankRegressor(2, 4, None).fit(X, Y * np.linspace(1, 30, 6))
    assert seen
    assert {options["near"] for options in seen} == {limit > 0}
