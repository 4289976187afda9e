"""Inside an iteration nothing of the size of Θ or Y is made."""

import tracemalloc

import numpy as np
import pytest
from scipy import sparse

import thinrank as tr
from thinrank.designs import standardize
from thinrank.solvers.gdt import GDT


@pytest.mark.parametrize("form", ["direct", "gram"])
@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_iterations_allocate_thin_blocks_only(form, kind):
    n, p, k, r = 600, 500, 700, 3
    rng = np.random.default_rng(0)
    X = sparse.random_array((n, p), density=0.1, rng=rng, format="csr")
    X = X if kind == "sparse" else X.toarray()
    design = standardize(tr.designs.as_design(X), sample_weight=rng.uniform(1, 2, n)).design
    loss = tr.losses.LeastSquares(
        design, rng.standard_normal((n, k)), sample_weight=rng.uniform(1, 2, n), form=form
    )
    solver = GDT().sized(5, 20, 30)
    start = tr.Factors(rng.standard_normal((p, r)), rng.standard_normal((k, r)))
    state = solver.step(loss, solver.init(loss, start))
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    tracemalloc.reset_peak()
    for _ in range(5):
        state = solver.step(loss, state)
    peak = tracemalloc.get_traced_memory()[1] - before
    tracemalloc.stop()
    # about a dozen blocks of r columns live at once
    assert peak < 8 * 20 * r * (n + p + k)
    assert peak < 8 * min(p * k, n * k) / 5
