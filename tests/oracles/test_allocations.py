"""No iteration of a solver allocates an array of the size of Θ, Y or XᵀX."""

import tracemalloc

import numpy as np
import pytest
from scipy import sparse

import thinrank as tr
from thinrank.designs import standardize
from thinrank.solvers.gdt import GDT
from thinrank.solvers.pursuit import Pursuit


def problem(kind, n, p, k, active=8):
    """A design with weights, centring and scaling, and responses with a signal of rank 3."""
    rng = np.random.default_rng(0)
    X = sparse.random_array((n, p), density=0.1, random_state=rng, format="csr")
    signal = X[:, :active] @ rng.standard_normal((active, 3)) @ rng.standard_normal((3, k))
    Y = 10 * signal + rng.standard_normal((n, k))
    weight = rng.uniform(1, 2, n)
    X = X if kind == "sparse" else X.toarray()
    return standardize(tr.designs.as_design(X), sample_weight=weight).design, Y, weight, rng


def peak_of_iterations(solver, loss, state, iterations):
    """The most bytes that are allocated at once beyond what is held before, and the last state."""
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    tracemalloc.reset_peak()
    for _ in range(iterations):
        state = solver.step(loss, state)
        if solver.done(state):
            break
    peak = tracemalloc.get_traced_memory()[1] - before
    tracemalloc.stop()
    return peak, state


@pytest.mark.parametrize("form", ["direct", "gram"])
@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_gdt(form, kind):
    n, p, k, r = 600, 500, 700, 3
    design, Y, weight, rng = problem(kind, n, p, k)
    loss = tr.losses.LeastSquares(design, Y, sample_weight=weight, form=form)
    solver = GDT().sized(5, 20, 30)
    start = tr.Factors(rng.standard_normal((p, r)), rng.standard_normal((k, r)))
    state = solver.step(loss, solver.init(loss, start))
    peak, _ = peak_of_iterations(solver, loss, state, iterations=5)
    # about a dozen blocks of r columns live at once
    assert peak < 8 * 20 * r * (n + p + k)
    assert peak < 8 * min(p * k, n * k) / 5


@pytest.mark.parametrize("ridge", [0.0, 0.1])
@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_pursuit_beyond_the_memory_budget(kind, ridge, monkeypatch):
    """All iterations from random rows to the end, the search of neighbouring supports included."""
    n, p, k, r, s = 3000, 2500, 2800, 3, 10
    monkeypatch.setenv("THINRANK_MEMORY_GIB", str(8 * p * k / 10 / 2**30))
    design, Y, weight, rng = problem(kind, n, p, k)
    loss = tr.losses.LeastSquares(design, Y, sample_weight=weight, ridge=ridge)
    solver = Pursuit().sized(r, s, 30)
    rows = rng.choice(np.arange(20, p), s, replace=False)
    U = np.zeros((p, r))
    U[rows] = rng.standard_normal((s, r))
    state = solver.init(loss, tr.Factors(U, rng.standard_normal((k, r))))
    loss.quadratic().diagonal()  # p numbers, computed once from blocks of columns
    peak, state = peak_of_iterations(solver, loss, state, iterations=100)
    assert solver.done(state)
    assert set(range(8)) <= set(state.rows.tolist())  # rows were exchanged on the way
    # blocks of r columns; twice the columns of X in use and of the 128 candidates, with their rows
    # of XᵀY and some room for more; one batch of neighbouring supports
    assert peak < 8 * (20 * r * (n + p + k) + 2 * (128 + 5 * s) * (n + k) + 500_000)
    assert peak < 8 * min(p * k, n * k, p * p) / 2


def test_pursuit_with_all_that_is_held():
    """With few predictors XᵀX and XᵀY are held; then no iteration depends on n."""
    n, p, k, r, s = 4000, 60, 500, 3, 10
    design, Y, weight, rng = problem("dense", n, p, k)
    loss = tr.losses.LeastSquares(design, Y, sample_weight=weight)
    solver = Pursuit().sized(r, s, 30)
    U = np.zeros((p, r))
    U[20 : 20 + s] = rng.standard_normal((s, r))
    state = solver.init(loss, tr.Factors(U, rng.standard_normal((k, r))))
    peak, state = peak_of_iterations(solver, loss, state, iterations=100)
    assert solver.done(state)
    assert set(range(8)) <= set(state.rows.tolist())
    assert peak < 8 * n * k / 10
