"""The one loop: history, callbacks, limits, divergence."""

import itertools

import numpy as np
import pytest

import thinrank as tr
from thinrank import Factors
from thinrank.core.result import Outcome
from thinrank.losses import LeastSquares
from thinrank.solvers.gdt import GDT
from thinrank.solvers.loop import run
from thinrank.solvers.pursuit import Pursuit
from thinrank.solvers.steps import Constant


def problem(library, dtype="float64"):
    X, Y, truth = tr.datasets.make_two_way_sparse(
        n_samples=40, n_features=20, n_targets=12, rank=2, row_sparsity=5, column_sparsity=4
    )
    loss = LeastSquares(library.array(X, dtype), library.array(Y, dtype))
    rng = np.random.default_rng(1)
    start = Factors(
        library.array(truth.U + 0.3 * rng.standard_normal(truth.U.shape), dtype),
        library.array(truth.V + 0.3 * rng.standard_normal(truth.V.shape), dtype),
    )
    return loss, start


def test_history(library):
    loss, start = problem(library)
    seen = []
    state, history, status = run(GDT().sized(2, 5, 4), loss, start, seen.append)
    assert status.outcome is Outcome.CONVERGED
    assert status.converged
    assert f"after {len(history)} iterations" in str(status)
    assert [record.iteration for record in history] == list(range(1, len(history) + 1))
    assert history.objectives[-1] == state.objective
    assert history.objectives == [record.objective for record in history]
    assert history.changes[-1] == state.change < 1e-7
    assert all(change >= 1e-7 for change in history.changes[:-1])
    seconds = [record.seconds for record in history]
    assert seconds[0] >= 0
    assert all(later > earlier for earlier, later in itertools.pairwise(seconds))
    assert history.seconds == seconds[-1]
    # callbacks see the factors, the history does not keep them
    assert len(seen) == len(history)
    assert all(record.factors is None for record in history)
    assert seen[-1].factors is state.factors
    library.check(seen[0].factors.U, seen[0].factors.V)
    assert (seen[3].iteration, seen[3].objective) == (history[3].iteration, history[3].objective)


@pytest.mark.parametrize(
    "solver", [GDT().sized(2, 5, 4), GDT(max_iter=4).sized(2, 5, 4), Pursuit().sized(2, 5, 4)]
)
def test_without_records(library, solver):
    """The same state and status, and no history."""
    loss, start = problem(library)
    state, history, status = run(solver, loss, start)
    called = []
    bare, nothing, same = run(solver, loss, start, called.append, records=False)
    assert len(history) > 0
    assert len(nothing) == len(called) == 0
    assert (bare.objective, bare.change) == (state.objective, state.change)
    assert same == status
    for one, other in ((bare.factors.U, state.factors.U), (bare.factors.V, state.factors.V)):
        library.check(one)
        np.testing.assert_array_equal(library.numpy(one), library.numpy(other))


def test_divergence_without_records(numpy_library):
    loss, start = problem(numpy_library)
    solver = GDT(step=Constant(1e3)).sized(2, 5, 4)
    state, _, status = run(solver, loss, start)
    bare, history, same = run(solver, loss, start, records=False)
    assert len(history) == 0
    assert same == status
    assert status.outcome is Outcome.DIVERGED
    assert bare.objective == state.objective


def test_equal_supports_are_shared(library):
    loss, start = problem(library)
    seen = []
    _, history, _ = run(GDT(max_iter=60, tol=0).sized(2, 5, 4), loss, start, seen.append)
    for name in ("row_support", "column_support"):
        arrays = [getattr(record, name) for record in history]
        for record, array in zip(seen, arrays, strict=True):
            expected = library.numpy(getattr(record.factors, name))
            np.testing.assert_array_equal(library.numpy(array), expected)
        for one, following in itertools.pairwise(arrays):
            equal = np.array_equal(library.numpy(one), library.numpy(following))
            assert (one is following) == equal
        assert arrays[-1] is arrays[-2]


@pytest.mark.parametrize("yes", [True, np.True_])
def test_the_callback_stops(library, yes):
    loss, start = problem(library)
    state, history, status = run(
        GDT().sized(2, 5, 4), loss, start, lambda record: yes if record.iteration == 3 else None
    )
    assert len(history) == 3
    assert status.outcome is Outcome.STOPPED
    assert not status.converged
    assert str(status) == "Stopped by the callback after 3 iterations."
    assert state.objective == history.objectives[-1]


@pytest.mark.parametrize("answer", [None, False, 0])
def test_other_answers_of_the_callback_do_not_stop(numpy_library, answer):
    loss, start = problem(numpy_library)
    _, history, status = run(
        GDT(max_iter=4, tol=0).sized(2, 5, 4), loss, start, lambda record: answer
    )
    assert len(history) == 4
    assert status.outcome is Outcome.ITERATION_LIMIT


def test_iteration_limit(library):
    loss, start = problem(library)
    _, history, status = run(GDT(max_iter=4).sized(2, 5, 4), loss, start)
    assert len(history) == 4
    assert status.outcome is Outcome.ITERATION_LIMIT
    assert not status.converged
    assert "limit of 4 iterations" in str(status)
    assert "max_iter" in str(status)


@pytest.mark.parametrize("update", ["simultaneous", "sequential"])
@pytest.mark.parametrize("step", [1.0, 1e3, 1e100])
def test_divergence(library, dtype, update, step):
    if dtype == "float32" and step > 1e30:
        step = 1e30
    loss, start = problem(library, dtype)
    solver = GDT(step=Constant(step), update=update).sized(2, 5, 4)
    state, history, status = run(solver, loss, start)
    assert status.outcome is Outcome.DIVERGED
    assert not status.converged
    assert f"iteration {len(history) + 1}" in str(status)
    assert 'step="auto"' in str(status)
    library.check(state.factors.U, state.factors.V, dtype=dtype)
    for factor in (state.factors.U, state.factors.V):
        assert np.all(np.isfinite(library.numpy(factor)))
    assert np.isfinite(state.objective)
    assert np.all(np.isfinite(history.objectives))


def test_divergence_through_minimize(library):
    loss, start = problem(library)
    answer = tr.minimize(loss, rank=2, start=start, solver=GDT(step=1e6))
    assert answer.status.outcome is Outcome.DIVERGED
    assert np.isfinite(answer.value)
    assert np.all(np.isfinite(library.numpy(answer.factors.theta)))


@pytest.mark.parametrize("step", ["auto", "backtracking", "theory"])
@pytest.mark.parametrize("balance", [0.0, 1.0])
def test_a_flat_loss_is_no_error(library, step, balance):
    # constant predictors are zero after standardisation, and a start may live on them
    X, Y = library.array(np.zeros((8, 6))), library.array(np.ones((8, 5)))
    theta = library.array(np.ones((6, 5)))
    solver = GDT(step=step, balance=balance)
    answer = tr.minimize(LeastSquares(X, Y), rank=1, start=theta, solver=solver)
    assert answer.value == pytest.approx(2.5)
    assert answer.status.converged
