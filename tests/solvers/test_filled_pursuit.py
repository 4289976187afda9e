"""Pursuit on responses whose missing entries are filled in."""

from dataclasses import replace

import numpy as np
import pytest

import thinrank as tr
from thinrank.losses import GeneralizedLinear
from thinrank.losses.families import Bernoulli, Gaussian
from thinrank.minimize import solve
from thinrank.solvers.filled_pursuit import FilledPursuit
from thinrank.solvers.pursuit import Pursuit
from thinrank.starts import Auto

SIZES = 2, 4, 4


def loss(share=0.1, seed=0, n=60, p=20):
    X, Y, truth = tr.datasets.make_two_way_sparse(
        n, p, 8, rank=2, row_sparsity=4, column_sparsity=4, random_state=seed
    )
    seen = np.random.default_rng(seed).uniform(size=Y.shape) >= share
    ones = np.ones((n, 1))
    found = GeneralizedLinear(
        X - X.mean(axis=0), Y + 1.0, Gaussian(), entry_weight=seen * 1.0, free=ones
    )
    return found, truth


def fitted(solver, problem):
    return solve(problem, solver.sized(*SIZES), Auto(exchanges_rows=True), records=False).state


def test_without_missing_entries_it_is_pursuit():
    problem, _ = loss(0.0)
    filled, plain = (fitted(solver, problem) for solver in (FilledPursuit(), Pursuit()))
    np.testing.assert_array_equal(filled.rows, plain.rows)
    np.testing.assert_array_equal(filled.columns, plain.columns)
    assert filled.objective == pytest.approx(plain.objective, rel=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_few_missing_entries(seed):
    problem, truth = loss(seed=seed)
    filled, plain = (fitted(solver, problem) for solver in (FilledPursuit(), Pursuit()))
    np.testing.assert_array_equal(filled.rows, truth.row_support)
    np.testing.assert_array_equal(filled.columns, truth.column_support)
    assert filled.objective == pytest.approx(plain.objective, rel=1e-5)
    # the objective is that of the loss, not of the approximation
    assert filled.objective == pytest.approx(problem.value(filled.factors), rel=1e-9)


def test_it_fits_the_loss_far_less_often(monkeypatch):
    problem, _ = loss(n=40, p=60)
    counts = []
    original = GeneralizedLinear.restrict

    def counted(self, *arguments):
        counts[-1] += 1
        return original(self, *arguments)

    monkeypatch.setattr(GeneralizedLinear, "restrict", counted)
    for solver in (FilledPursuit(), Pursuit()):
        counts.append(0)
        fitted(solver, problem)
    assert 0 < 3 * counts[0] < counts[1]


def test_nothing_to_explain():
    problem, _ = loss()
    flat = GeneralizedLinear(problem.X, problem.Y * 0, Gaussian(), free=problem.free)
    state = FilledPursuit().sized(*SIZES).init(flat, tr.Factors(np.eye(20, 2), np.eye(8, 2)))
    assert state.objective == pytest.approx(0.0, abs=1e-12)
    assert FilledPursuit().sized(*SIZES).step(flat, state).final


def test_options_and_sizes_of_another_solver():
    other = FilledPursuit.like(Pursuit(tol=1e-3, thorough=False).sized(*SIZES))
    assert (other.tol, other.thorough) == (1e-3, False)
    assert (other.rank, other.rows, other.columns) == SIZES


def test_which_losses_are_nearly_quadratic():
    problem, _ = loss(0.0)
    X, Y = problem.X, problem.Y
    labels = (np.asarray(Y) > 1).astype(float)

    def nearly(weight=None, family=None, y=Y, **more):
        family = Gaussian() if family is None else family
        return GeneralizedLinear(X, y, family, entry_weight=weight, **more).nearly_quadratic

    weight = np.ones(Y.shape)
    assert nearly()
    assert nearly(weight)
    assert nearly(7 * weight, sample_weight=np.linspace(1, 5, len(Y)))
    assert not nearly(family=Bernoulli(), y=labels)
    few = weight.copy()
    few[: len(few) // 5] = 0
    assert nearly(few)
    many = weight.copy()
    many[: len(many) // 3] = 0
    assert not nearly(many)
    one = weight.copy()
    one[: len(one) // 2 + 1, 0] = 0  # most entries of one response
    assert not nearly(one)


def test_a_fit_of_rank_zero_is_final():
    problem, _ = loss()
    solver = FilledPursuit().sized(*SIZES)
    state = fitted(solver, problem)
    nothing = replace(state, U=state.U[:, :0], Q=state.Q[:, :0], final=False, change=1.0)
    after = solver.step(problem, nothing)
    assert after.final
    assert after.change == 0


class Elsewhere(FilledPursuit):
    """Pursuit on the completed responses that ends on other rows."""

    def _pursued(self, loss, around):
        form, found = super()._pursued(loss, around)
        return form, super()._fit_form(form, np.array([10, 11, 12, 13]), found.columns, found.Q)


def test_a_step_that_is_not_better_is_not_taken():
    problem, _ = loss()
    state = fitted(FilledPursuit(), problem)
    after = Elsewhere().sized(*SIZES).step(problem, replace(state, final=False, change=1.0))
    assert after.final
    assert after.change == 0
    assert after.objective == state.objective
    np.testing.assert_array_equal(after.rows, state.rows)
