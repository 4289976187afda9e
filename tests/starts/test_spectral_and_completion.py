"""The spectral start, and what completes a start of lower rank."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse.linalg import aslinearoperator

import thinrank as tr
from thinrank import Factors, starts
from thinrank.core.result import Outcome
from thinrank.losses import Denoising, LeastSquares
from thinrank.minimize import as_start
from thinrank.starts import complete_rank

N, P, K = 30, 25, 15


def data(rank=3):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((N, P))
    theta = rng.standard_normal((P, rank)) * np.arange(rank, 0, -1) @ rng.standard_normal((rank, K))
    return X, X @ theta + 0.01 * rng.standard_normal((N, K))


def best_on_the_ray(X, Y, rank, ridge=0.0, weight=None):
    """t·(rank-r part of XᵀY/n), t minimising the loss."""
    weight = np.ones(len(X)) if weight is None else weight
    total = weight.sum()
    gradient = (X.T * weight) @ Y / total
    left, values, right = np.linalg.svd(gradient, full_matrices=False)
    direction = (left[:, :rank] * values[:rank]) @ right[:rank]
    bend = np.sum(weight[:, None] * (X @ direction) ** 2) / total + ridge * np.sum(direction**2)
    return np.sum(gradient * direction) / bend * direction


@pytest.mark.parametrize(("rank", "ridge"), [(1, 0.0), (3, 0.5), (15, 0.0)])
def test_spectral_is_the_scaled_truncated_svd(library, rank, ridge):
    X, Y = data()
    loss = LeastSquares(library.array(X), library.array(Y), ridge=ridge)
    factors = starts.Spectral()(loss, rank, P, K, 0)
    library.check(factors.U, factors.V)
    assert factors.rank == rank
    expected = best_on_the_ray(X, Y, rank, ridge)
    size = np.linalg.norm(expected)
    assert np.linalg.norm(library.numpy(factors.theta) - expected) < 1e-4 * size


@pytest.mark.parametrize("wrap", [np.asarray, sp.csr_array, aslinearoperator])
def test_spectral_of_every_design(wrap):
    X, Y = data()
    weight = np.random.default_rng(1).uniform(0, 2, N)
    loss = LeastSquares(wrap(X), Y, sample_weight=weight)
    theta = starts.Spectral()(loss, 2, P, K, 0).theta
    expected = best_on_the_ray(X, Y, 2, weight=weight)
    assert np.linalg.norm(theta - expected) < 1e-4 * np.linalg.norm(expected)


# --------------------------------------------------------------------------- completion


@pytest.mark.parametrize("have", [1, 2])
def test_a_deficient_start_gets_what_it_misses(library, dtype, have):
    X, Y = data()
    loss = LeastSquares(library.array(X, dtype), library.array(Y, dtype))
    theta = np.linalg.lstsq(X, Y)[0]
    start = Factors.from_theta(library.array(theta, dtype), have)
    out = complete_rank(start, loss, 3, 0)
    library.check(out.U, out.V, dtype=dtype)
    assert out.rank == 3
    assert loss.value_and_gradient(out)[0] <= loss.value_and_gradient(start)[0]
    # what the start had is still in it: the addition is orthogonal to its rows and columns
    added = library.numpy(out.theta) - library.numpy(start.theta)
    tol = 1e-2 if dtype == "float32" else 1e-8
    assert np.abs(library.numpy(start.U).T @ added).max() < tol
    assert np.abs(added @ library.numpy(start.V)).max() < tol
    assert np.abs(added).max() > 0


def test_no_more_rank_than_there_is(library):
    M = np.zeros((6, 5))
    M[0, 0], M[1, 1] = 3, 2
    loss = Denoising(library.array(M))
    zero = Factors.zero((6, 5), like=loss.prototype)
    assert complete_rank(zero, loss, 4, 0).rank == 2
    start = Factors.from_theta(library.array(M), 2)
    assert complete_rank(start, loss, 4, 0).rank == 2


@pytest.mark.parametrize("name", ["auto", "lasso", "group_lasso", "screening", "spectral"])
def test_nothing_to_fit_has_rank_0(library, name):
    dtype = "float32"
    X, _ = data()
    loss = LeastSquares(library.array(X, dtype), library.array(np.zeros((N, K)), dtype))
    start = as_start(name)(loss, 2, P, K, 0)
    assert complete_rank(start, loss, 2, 0).rank == 0
    answer = tr.minimize(loss, rank=2, start=name)
    library.check(answer.factors.U, answer.factors.V, dtype=dtype)
    assert (answer.factors.U.shape, answer.factors.V.shape) == ((P, 0), (K, 0))
    assert answer.value == 0.0
    assert answer.status.outcome is Outcome.ZERO
    assert answer.status.converged
