"""minimize: its checks, its options, and what it returns."""

import numpy as np
import pytest

import thinrank as tr
from thinrank.core.result import Outcome, Record
from thinrank.losses import Custom, LeastSquares
from thinrank.solvers import GDT, Pursuit

SIZES = {"rank": 2, "row_sparsity": 4, "column_sparsity": 5}


def regression(seed=0, noise=0.3):
    X, Y, truth = tr.datasets.make_two_way_sparse(
        60, 12, 8, rank=2, row_sparsity=4, column_sparsity=5, noise=noise, random_state=seed
    )
    return LeastSquares(X, Y), truth


@pytest.mark.parametrize("solver", ["gdt", "pursuit", "auto", GDT(tol=1e-9), Pursuit()])
def test_every_way_to_name_a_solver(solver):
    loss, truth = regression()
    answer = tr.minimize(loss, solver=solver, **SIZES)
    assert answer.status.converged
    np.testing.assert_array_equal(answer.factors.row_support, truth.row_support)
    np.testing.assert_array_equal(answer.factors.column_support, truth.column_support)
    assert answer.value == pytest.approx(loss.value_and_gradient(answer.factors)[0])


def test_auto_is_pursuit_where_the_loss_allows_it():
    loss, _ = regression()
    own = tr.minimize(loss, solver="pursuit", **SIZES)
    assert tr.minimize(loss, solver="auto", **SIZES).value == pytest.approx(own.value, rel=1e-9)
    custom = Custom(loss.value_and_gradient, loss.shape)
    answer = tr.minimize(custom, solver="auto", max_iter=5000, **SIZES)
    assert answer.value == pytest.approx(own.value, rel=1e-3)


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"rank": 5}, ValueError, "rank must be an integer from 1 to 4"),
        ({"rank": True}, ValueError, "rank must be an integer"),
        ({"row_sparsity": 13}, ValueError, r"row_sparsity must be an integer from 1 to 12"),
        ({"column_sparsity": 2.5}, ValueError, r"column_sparsity must be an integer from 1 to 8"),
        ({"solver": "newton"}, ValueError, r'solver must be "auto", "gdt", "pursuit".*newton'),
        ({"solver": GDT}, TypeError, "solver must be a name or an object of tr.solvers"),
        ({"solver": GDT(), "max_iter": 5}, ValueError, "max_iter must be None when solver is"),
        ({"max_iter": 0}, ValueError, "max_iter must be a positive integer, got 0"),
        ({"tol": -1.0}, ValueError, "tol must be a finite non-negative number"),
        ({"start": "random"}, ValueError, "start must be .*got 'random'"),
        ({"start": np.ones((3, 3))}, ValueError, r"start must have shape \(12, 8\)"),
        ({"start": np.full((12, 8), np.nan)}, ValueError, "start must be finite"),
        ({"random_state": -1}, ValueError, "random_state must be None, a non-negative integer"),
    ],
)
def test_bad_arguments(change, error, message):
    loss, _ = regression()
    with pytest.raises(error, match=message):
        tr.minimize(loss, **(SIZES | change))


@pytest.mark.parametrize(
    ("solver", "options", "message"),
    [
        (GDT, {"update": "random"}, "update must be one of"),
        (GDT, {"balance": -1}, "balance must be a finite non-negative number"),
        (GDT, {"tol": float("nan")}, "tol must be a finite non-negative number"),
        (GDT, {"max_iter": 2.5}, "max_iter must be a positive integer"),
        (Pursuit, {"tol": -1}, "tol must be a finite non-negative number"),
        (Pursuit, {"max_iter": 0}, "max_iter must be a positive integer"),
        (Pursuit, {"exchange_penalty": -2}, "exchange_penalty must be a finite non-negative"),
    ],
)
def test_bad_arguments_of_solvers(solver, options, message):
    with pytest.raises(ValueError, match=message):
        solver(**options)


def test_hyperparameters_are_frozen():
    for solver in (GDT(step=0.1), Pursuit(tol=1e-3)):
        with pytest.raises(AttributeError):
            solver.tol = 1.0
    assert GDT(step=0.1) != GDT(step=0.2)
    assert "step=Constant(size=0.1)" in repr(GDT(step=0.1))


def test_a_missing_capability_is_named():
    custom = Custom(regression()[0].value_and_gradient, (12, 8))
    with pytest.raises(TypeError, match=r"capability 'majorizer', which\s+Custom does not have"):
        tr.minimize(custom, rank=1, solver="pursuit")


@pytest.mark.parametrize("solver", ["gdt", "pursuit"])
def test_a_callback_gets_records_and_may_stop(solver):
    loss, _ = regression(noise=2.0)
    seen = []

    def callback(record):
        seen.append(record)
        return True

    answer = tr.minimize(loss, solver=solver, start="spectral", callback=callback, **SIZES)
    assert answer.status.outcome is Outcome.STOPPED
    assert not answer.status.converged
    assert str(answer.status) == "Stopped by the callback after 1 iteration."
    (record,) = seen
    assert isinstance(record, Record)
    assert (record.stage, record.iteration) == ("fit", 1)
    assert record.factors.shape == loss.shape
    assert record.sizes is None
    assert answer.history[0].factors is None  # a long history would hold many


@pytest.mark.parametrize("kind", [np.random.default_rng, np.random.RandomState, int])
def test_random_states(kind):
    loss, _ = regression()
    one, other = (tr.minimize(loss, random_state=kind(1), **SIZES).value for _ in range(2))
    assert one == pytest.approx(other, rel=1e-9)
