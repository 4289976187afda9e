"""The loop of every solver: history, callbacks, limits, divergence."""

import itertools

import numpy as np
import pytest

import thinrank as tr
from thinrank import Factors
from thinrank.core.result import Outcome
from thinrank.losses import LeastSquares
from thinrank.solvers import GDT, Constant

SIZES = {"rank": 2, "row_sparsity": 5, "column_sparsity": 4}


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


def solved(library, dtype="float64", **options):
    loss, start = problem(library, dtype)
    return tr.minimize(loss, start=start, **SIZES, **options)


def test_history(library):
    seen = []
    answer = solved(library, callback=seen.append)
    history, status = answer.history, answer.status
    assert status.outcome is Outcome.CONVERGED
    assert status.converged
    assert f"after {len(history)} iterations" in str(status)
    assert [record.iteration for record in history] == list(range(1, len(history) + 1))
    assert history.objectives[-1] == pytest.approx(answer.value)
    assert history.objectives == [record.objective for record in history]
    assert history.changes[-1] < 1e-7
    assert all(change >= 1e-7 for change in history.changes[:-1])
    seconds = [record.seconds for record in history]
    assert seconds[0] >= 0
    assert all(later >= earlier for earlier, later in itertools.pairwise(seconds))
    assert history.seconds == seconds[-1]
    # callbacks see the factors, the history does not keep them
    assert len(seen) == len(history)
    assert all(record.factors is None for record in history)
    library.check(seen[0].factors.U, seen[0].factors.V)
    assert (seen[3].iteration, seen[3].objective) == (history[3].iteration, history[3].objective)
    for record, kept in zip(seen, history, strict=True):
        for name in ("row_support", "column_support"):
            expected = library.numpy(getattr(record.factors, name))
            np.testing.assert_array_equal(library.numpy(getattr(kept, name)), expected)


@pytest.mark.parametrize("answer", [None, 0])
def test_other_answers_of_the_callback_do_not_stop(numpy_library, answer):
    found = solved(numpy_library, solver=GDT(max_iter=4, tol=0), callback=lambda record: answer)
    assert found.n_iter == 4
    assert found.status.outcome is Outcome.ITERATION_LIMIT
    assert not found.status.converged
    assert "limit of 4 iterations" in str(found.status)
    assert "max_iter" in str(found.status)


@pytest.mark.parametrize("update", ["simultaneous", "sequential"])
@pytest.mark.parametrize(
    ("step", "dtype"), [(1.0, "float64"), (1e100, "float64"), (1e30, "float32")]
)
def test_divergence(library, dtype, update, step):
    answer = solved(library, dtype, solver=GDT(step=Constant(step), update=update))
    assert answer.status.outcome is Outcome.DIVERGED
    assert not answer.status.converged
    assert f"iteration {answer.n_iter + 1}" in str(answer.status)
    assert 'step="auto"' in str(answer.status)
    library.check(answer.factors.U, answer.factors.V, dtype=dtype)
    assert np.all(np.isfinite(library.numpy(answer.factors.theta)))
    assert np.isfinite(answer.value)
    assert np.all(np.isfinite(answer.history.objectives))


@pytest.mark.parametrize(
    ("step", "balance"), [("auto", 0.0), ("backtracking", 1.0), ("theory", 0.0)]
)
def test_a_flat_loss_is_no_error(library, step, balance):
    # constant predictors are zero after standardisation, and a start may live on them
    X, Y = library.array(np.zeros((8, 6))), library.array(np.ones((8, 5)))
    theta = library.array(np.ones((6, 5)))
    solver = GDT(step=step, balance=balance)
    answer = tr.minimize(LeastSquares(X, Y), rank=1, start=theta, solver=solver)
    assert answer.value == pytest.approx(2.5)
    assert answer.status.converged
