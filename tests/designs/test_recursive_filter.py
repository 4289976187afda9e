"""The recursive filter against the dense inverse of G."""

import numpy as np
import pytest
from contract import assert_acts_like

import thinrank as tr
from thinrank.designs import RecursiveFilter

T = 60
TOL = {"float32": 1e-5, "float64": 1e-10}


def dense(decay, size=T):
    """Of G as the paper prints it, inverted."""
    return np.linalg.inv(np.eye(size) - decay * np.eye(size, k=-1))


@pytest.mark.parametrize("decay", [0.0, 0.857, 1 - 1e-9])
def test_it_acts_like_the_dense_inverse(decay):
    assert_acts_like(RecursiveFilter(decay, T), dense(decay))
    assert (RecursiveFilter(decay, T) @ np.zeros((T, 0))).shape == (T, 0)


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
