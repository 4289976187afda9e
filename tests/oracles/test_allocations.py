"""No iteration of a solver allocates an array of the size of Θ, Y or XᵀX."""

import tracemalloc

import numpy as np
import pytest
from scipy import sparse

import thinrank as tr

RANK, ROWS, COLUMNS = 3, 10, 30


def problem(kind, n, p, k, active=8):
    """A design with weights, centring and scaling, responses with a signal of rank 3, a start."""
    rng = np.random.default_rng(0)
    X = sparse.random_array((n, p), density=0.1, random_state=rng, format="csr")
    signal = X[:, :active] @ rng.standard_normal((active, 3)) @ rng.standard_normal((3, k))
    Y = 10 * signal + rng.standard_normal((n, k))
    weight = rng.uniform(1, 2, n)
    design = tr.designs.as_design(X if kind == "sparse" else X.toarray())
    U = np.zeros((p, RANK))
    U[rng.choice(np.arange(20, p), ROWS, replace=False)] = rng.standard_normal((ROWS, RANK))
    start = tr.Factors(U, rng.standard_normal((k, RANK)))
    return tr.designs.standardize(design, sample_weight=weight).design, Y, weight, start


def peak_of_iterations(loss, start, **options):
    """The most bytes that are allocated at once beyond those held after the first iteration."""
    held = []

    def watch(record):
        if not held:
            held.append(tracemalloc.get_traced_memory()[0])
            tracemalloc.reset_peak()

    sizes = {"rank": RANK, "row_sparsity": ROWS, "column_sparsity": COLUMNS}
    tracemalloc.start()
    answer = tr.minimize(loss, start=start, callback=watch, **sizes, **options)
    peak = tracemalloc.get_traced_memory()[1] - held[0]
    tracemalloc.stop()
    return peak, answer


@pytest.mark.parametrize("form", ["direct", "gram"])
@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_gdt(form, kind):
    n, p, k = 600, 500, 700
    design, Y, weight, start = problem(kind, n, p, k)
    loss = tr.losses.LeastSquares(design, Y, sample_weight=weight, form=form)
    peak, _ = peak_of_iterations(loss, start, solver=tr.solvers.GDT(max_iter=6))
    # about a dozen blocks of r columns live at once
    assert peak < 8 * 20 * RANK * (n + p + k)
    assert peak < 8 * min(p * k, n * k) / 5


@pytest.mark.parametrize(("kind", "ridge"), [("dense", 0.0), ("sparse", 0.1)])
def test_pursuit_beyond_the_memory_budget(kind, ridge, monkeypatch):
    """All iterations from random rows to the end, the search of neighbouring supports included."""
    n, p, k = 3000, 2500, 2800
    monkeypatch.setenv("THINRANK_MEMORY_GIB", str(8 * p * k / 10 / 2**30))
    design, Y, weight, start = problem(kind, n, p, k)
    loss = tr.losses.LeastSquares(design, Y, sample_weight=weight, ridge=ridge)
    peak, answer = peak_of_iterations(loss, start, solver="pursuit")
    assert set(range(8)) <= set(answer.factors.row_support.tolist())  # rows were exchanged
    assert peak < 8 * min(p * k, n * k, p * p) / 2


def test_pursuit_with_all_that_is_held():
    """With few predictors XᵀX and XᵀY are held; then no iteration depends on n."""
    n, p, k = 4000, 60, 500
    design, Y, weight, start = problem("dense", n, p, k)
    loss = tr.losses.LeastSquares(design, Y, sample_weight=weight)
    peak, answer = peak_of_iterations(loss, start, solver="pursuit")
    assert set(range(8)) <= set(answer.factors.row_support.tolist())
    assert peak < 8 * n * k / 10
