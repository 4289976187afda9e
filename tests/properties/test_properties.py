"""What holds for every input, looked for by hypothesis."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import thinrank as tr
from thinrank import Factors
from thinrank.arrays import hard_threshold
from thinrank.losses import Denoising

quick = settings(max_examples=50, deadline=None, derandomize=True)
slow = settings(max_examples=30, deadline=None, derandomize=True)

sizes = st.integers(1, 7)
# no denormal squares: rows that small count as zero
numbers = st.one_of(st.just(0.0), st.floats(1e-3, 1e3), st.floats(-1e3, -1e-3))


def matrices(rows, columns):
    return hnp.arrays(np.float64, (rows, columns), elements=numbers)


@st.composite
def blocks(draw):
    return draw(matrices(draw(sizes), draw(sizes)))


@st.composite
def pairs(draw):
    m1, m2, rank = draw(sizes), draw(sizes), draw(st.integers(0, 5))
    return Factors(draw(matrices(m1, rank)), draw(matrices(m2, rank)))


@quick
@given(blocks(), st.integers(1, 9))
def test_hard_keeps_the_largest_rows(block, count):
    out = hard_threshold(block, count)
    norms = np.einsum("ij,ij->i", block, block)
    kept = np.any(out, axis=1)
    np.testing.assert_array_equal(out[kept], block[kept])
    assert kept.sum() == min(count, np.count_nonzero(norms))
    left_out = norms[~kept]
    if kept.any() and left_out.size:
        assert norms[kept].min() >= left_out.max()
    np.testing.assert_array_equal(hard_threshold(out, count), out)  # a projection


@quick
@given(pairs())
def test_balancing_preserves_theta(factors):
    balanced = factors.balanced()
    scale = np.linalg.norm(factors.U) * np.linalg.norm(factors.V)
    np.testing.assert_allclose(balanced.theta, factors.theta, atol=1e-12 * scale)
    assert balanced.rank <= factors.rank
    imbalance = balanced.U.T @ balanced.U - balanced.V.T @ balanced.V
    np.testing.assert_allclose(imbalance, 0, atol=1e-12 * scale)
    assert balanced.norm() == pytest.approx(factors.norm(), rel=1e-6, abs=1e-6 * scale)
    assert np.isin(balanced.row_support, factors.row_support).all()
    assert np.isin(balanced.column_support, factors.column_support).all()


@quick
@given(pairs())
def test_distance_to_itself_is_zero(factors):
    balanced = factors.balanced()
    size = np.linalg.norm(balanced.U) + np.linalg.norm(balanced.V)
    assert balanced.distance(balanced) <= 1e-7 * size


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
