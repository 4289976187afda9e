"""Exchanges that did not help before an exchange of a single row are tried last."""

from dataclasses import replace

import numpy as np
import pytest

import thinrank as tr
from thinrank.solvers.pursuit import Pursuit


@pytest.fixture
def loss(rng):
    X = rng.standard_normal((80, 12))
    theta = np.zeros((12, 5))
    theta[:4] = rng.standard_normal((4, 5))
    return tr.losses.LeastSquares(X, X @ theta + 0.1 * rng.standard_normal((80, 5)))


@pytest.fixture
def solver():
    return Pursuit(thorough=False).sized(3, 4, 5)


@pytest.fixture
def wrong(loss, solver, rng):
    """A fit on two rows of the truth and two others."""
    U = np.zeros((12, 3))
    U[[0, 1, 8, 9]] = rng.standard_normal((4, 3))
    return solver.init(loss, tr.Factors(U, rng.standard_normal((5, 3))))


def test_what_failed_before_is_tried_if_nothing_else_helps(loss, solver, wrong):
    assert wrong.failed == 0
    at_once = solver.step(loss, wrong)
    assert at_once.rows.tolist() != wrong.rows.tolist()
    last = solver.step(loss, replace(wrong, failed=12))
    assert last.rows.tolist() == at_once.rows.tolist()
    assert last.objective == at_once.objective
    assert not last.final
    assert last.failed == 0


def test_the_last_trials_come_before_what_failed(loss, solver, wrong, monkeypatch):
    thorough = Pursuit().sized(3, 4, 5)
    better = thorough.step(loss, wrong)
    monkeypatch.setattr(Pursuit, "_last_trials", lambda *args: iter([(better, 0.0)]))
    monkeypatch.setattr(Pursuit, "_largest_exchange", lambda *args: pytest.fail("was tried"))
    found = thorough.step(loss, replace(wrong, failed=12))
    assert found.objective == better.objective
    assert found.failed > 0  # so that the next step postpones it, too
    with pytest.raises(pytest.fail.Exception, match="was tried"):
        thorough.step(loss, wrong)


def test_more_rows_than_failed_are_tried_at_once(loss, solver, wrong, monkeypatch):
    monkeypatch.setattr(Pursuit, "_last_trials", lambda *args: pytest.fail("came first"))
    thorough = Pursuit().sized(3, 4, 5)
    assert thorough.step(loss, replace(wrong, failed=1)).objective < wrong.objective


def test_nothing_is_lost(rng):
    """Runs end where no exchange helps, whatever was postponed on the way."""
    X = rng.standard_normal((60, 40)) @ (np.eye(40) + 0.5 * rng.standard_normal((40, 40)))
    theta = np.zeros((40, 6))
    theta[:15] = rng.standard_normal((15, 2)) @ rng.standard_normal((2, 6))
    loss = tr.losses.LeastSquares(X, X @ theta + rng.standard_normal((60, 6)))
    solver = Pursuit().sized(2, 8, 6)
    state = solver.init(loss, tr.Factors(rng.standard_normal((40, 2)), rng.standard_normal((6, 2))))
    while not state.final:
        state = solver.step(loss, state)
    again = solver.step(loss, replace(state, final=False, failed=0))
    assert again.final


@pytest.mark.parametrize(("limit", "fits"), [(3, 4), (2, 1)])
def test_with_many_rows_the_first_single_exchange_that_helps_is_made(rng, monkeypatch, limit, fits):
    """With few rows all exchanges of two rows for two others are fitted, and the best is made."""
    X = np.sqrt(80) * np.linalg.qr(rng.standard_normal((80, 12)))[0]
    theta = np.zeros((12, 6))
    theta[[0, 1, 2]] = np.outer([3.0, 1.0, 1.1], np.ones(6))
    loss = tr.losses.LeastSquares(X, X @ theta + rng.standard_normal((80, 6)))
    solver, form = Pursuit().sized(1, 3, 6), loss.quadratic()
    fit = solver._fit_form(form, np.array([0, 7, 8]), np.arange(6), np.ones((6, 1)))
    prospects = solver.prospects(form, fit)
    made = []
    original = Pursuit._fit
    monkeypatch.setattr(
        Pursuit,
        "_fit",
        lambda *args, **options: made.append(original(*args, **options)) or made[-1],
    )
    monkeypatch.setattr("thinrank.solvers.pursuit.MANY_ROWS", limit)
    found = solver._significant(loss, form, fit, prospects)
    assert len(made) == fits
    assert (
        found.objective
        == (made[0] if fits == 1 else min(made, key=lambda x: x.objective)).objective
    )
