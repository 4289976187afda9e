"""What holds for every input, looked for by hypothesis."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import thinrank as tr
from thinrank.losses import Denoising

slow = settings(max_examples=30, deadline=None, derandomize=True)

sizes = st.integers(1, 7)
# no denormal squares: rows that small count as zero
numbers = st.one_of(st.just(0.0), st.floats(1e-3, 1e3), st.floats(-1e3, -1e-3))


def matrices(rows, columns):
    return hnp.arrays(np.float64, (rows, columns), elements=numbers)


@st.composite
def blocks(draw):
    return draw(matrices(draw(sizes), draw(sizes)))


@slow
@given(st.data(), blocks())
def test_minimize_respects_its_limits(data, M):
    rows = data.draw(st.integers(1, M.shape[0]), label="rows")
    columns = data.draw(st.integers(1, M.shape[1]), label="columns")
    rank = data.draw(st.integers(1, min(rows, columns)), label="rank")
    update = data.draw(st.sampled_from(["simultaneous", "sequential"]), label="update")
    start = data.draw(st.sampled_from(["auto", "spectral", "screening"]), label="start")
    answer = tr.minimize(
        Denoising(M),
        rank=rank,
        row_sparsity=rows,
        column_sparsity=columns,
        start=start,
        solver=tr.solvers.GDT(update=update, max_iter=200),
    )
    factors = answer.factors
    assert factors.rank <= rank
    assert len(factors.row_support) <= rows
    assert len(factors.column_support) <= columns
    assert np.all(np.isfinite(factors.U))
    assert np.all(np.isfinite(factors.V))
    # no worse than the zero matrix, and the value is that of the factors
    zero = 0.5 * np.sum(M**2)
    assert 0 <= answer.value <= zero * (1 + 1e-9)
    residual = 0.5 * np.sum((M - factors.theta) ** 2)
    assert answer.value == pytest.approx(residual, rel=1e-6, abs=1e-9 * zero)
