"""The recursive filter against the dense inverse of G."""

import numpy as np
import pytest
from contract import assert_acts_like

import thinrank as tr
from thinrank.designs import RecursiveFilter
from thinrank.losses import LeastSquares

T = 60
TOL = {"float32": 1e-5, "float64": 1e-10}


def dense(decay, size=T):
    """Of G as the paper prints it, inverted."""
    return np.linalg.inv(np.eye(size) - decay * np.eye(size, k=-1))


@pytest.mark.parametrize("decay", [0.0, 0.857, 0.99])
@pytest.mark.parametrize("width", [1, 200])
@pytest.mark.parametrize("order", ["C", "F"])
def test_products_equal_those_of_the_dense_inverse(decay, width, order, dtype, rng):
    X, design = dense(decay), RecursiveFilter(decay, T, dtype)
    block = np.asarray(rng.standard_normal((T, width)), dtype=dtype, order=order)
    before = block.copy()
    for ours, theirs in (
        (design @ block, X @ block),
        (design.transposed_product(block), X.T @ block),
    ):
        assert ours.dtype == dtype
        np.testing.assert_allclose(ours, theirs, atol=TOL[dtype] * max(np.abs(theirs).max(), 1))
    np.testing.assert_array_equal(block, before)


@pytest.mark.parametrize("decay", [0.0, 0.857, 1 - 1e-9])
def test_it_acts_like_the_dense_inverse(decay):
    assert_acts_like(RecursiveFilter(decay, T), dense(decay))
    assert (RecursiveFilter(decay, T) @ np.zeros((T, 0))).shape == (T, 0)


@pytest.mark.parametrize("solver", ["pursuit", "gdt"])
def test_a_fit_equals_that_with_the_dense_matrix(solver, rng):
    design = RecursiveFilter(0.8, T)
    theta = np.zeros((T, 30))
    theta[np.ix_([5, 20, 41], range(10))] = rng.standard_normal((3, 2)) @ rng.standard_normal(
        (2, 10)
    )
    Y = design @ theta + 0.05 * rng.standard_normal((T, 30))
    sizes = {"rank": 2, "row_sparsity": 3, "column_sparsity": 10, "solver": solver}
    ours = tr.minimize(LeastSquares(design, Y), **sizes)
    theirs = tr.minimize(LeastSquares(dense(0.8), Y), **sizes)
    np.testing.assert_array_equal(ours.factors.row_support, [5, 20, 41])
    # the two products are rounded differently, and gradient descent stops at its tolerance
    close = {"pursuit": 1e-10, "gdt": 1e-5}[solver]
    np.testing.assert_allclose(ours.factors.theta, theirs.factors.theta, atol=close)
    assert ours.value == pytest.approx(theirs.value, rel=close)


def test_an_estimator_takes_it_as_X(rng):
    design = RecursiveFilter(0.8, T)
    Y = rng.standard_normal((T, 5))
    settings = {"rank": 1, "row_sparsity": 4, "column_sparsity": 5, "start": "screening"}
    ours = tr.SparseReducedRankRegressor(**settings).fit(design, Y)
    theirs = tr.SparseReducedRankRegressor(**settings).fit(dense(0.8), Y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-8)


@pytest.mark.parametrize(
    ("arguments", "word"),
    [((1.0, 5), "decay"), ((-0.1, 5), "decay"), ((0.5, 0), "size"), ((0.5, 5, "int32"), "dtype")],
)
def test_arguments_that_make_no_sense(arguments, word):
    with pytest.raises(ValueError, match=word):
        RecursiveFilter(*arguments)


def test_a_block_of_the_wrong_length():
    with pytest.raises(ValueError, match="5 rows"):
        RecursiveFilter(0.5, 5) @ np.ones((4, 2))
