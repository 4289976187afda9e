"""The quadratic forms of the losses say the same, however they compute it."""

import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from scipy import sparse
from scipy.sparse.linalg import aslinearoperator

from thinrank import Factors
from thinrank.designs import Dense
from thinrank.forms.moments import SharedProducts
from thinrank.losses import Denoising, GeneralizedLinear, LeastSquares, PerTask
from thinrank.losses.families import Poisson

N, P, K = 30, 12, 7


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    X = np.where(rng.random((N, P)) < 0.5, rng.standard_normal((N, P)), 0.0)
    return X, rng.standard_normal((N, K)), rng.integers(0, 3, N).astype(float)


def assert_form(form, H, C, constant):
    """Every part of a form, on supports that come and go."""
    rng = np.random.default_rng(1)

    assert form.shape == C.shape
    assert form.constant == pytest.approx(constant, rel=1e-7)
    by_row, by_column = form.cross_norms()
    pairs = [
        (form.diagonal(), np.diag(H)),
        (by_row, np.sum(C**2, axis=1)),
        (by_column, np.sum(C**2, axis=0)),
        (form.cross_columns(1, 3), C[:, 1:3]),
    ]
    for count in (1, 4, 8, 3):
        rows = np.sort(rng.choice(len(H), min(count, len(H) - 1), replace=False))
        others = np.setdiff1d(np.arange(len(H)), rows)[:3]
        U, V = rng.standard_normal((len(rows), 2)), rng.standard_normal((C.shape[1], 2))
        pairs += [
            (form.gram(rows), H[np.ix_(rows, rows)]),
            (form.gram_between(rows, others), H[np.ix_(rows, others)]),
            (form.cross_rows(rows), C[rows]),
            (form.gradient(rows, U, V), H[:, rows] @ U - C @ V),
        ]
    for found, expected in pairs:
        np.testing.assert_allclose(found, expected, atol=1e-9 * max(1.0, np.abs(H).max()))


@pytest.mark.parametrize("kind", ["gram", "direct"])
@pytest.mark.parametrize("wrap", [np.asarray, sparse.csr_array, aslinearoperator])
@pytest.mark.parametrize("ridge", [0.0, 0.3])
def test_least_squares(data, kind, wrap, ridge):
    X, Y, weight = data
    total = weight.sum()
    H = X.T @ (weight[:, None] * X) / total + ridge * np.eye(P)
    C = X.T @ (weight[:, None] * Y) / total
    loss = LeastSquares(wrap(X), Y, sample_weight=weight, ridge=ridge, form=kind)
    assert_form(loss.quadratic(), H, C, np.sum(weight[:, None] * Y**2) / total)
    other = loss.quadratic().with_ridge(0.7)
    np.testing.assert_allclose(other.gram(np.arange(P)), H + (0.7 - ridge) * np.eye(P), atol=1e-9)
    rows = np.array([0, 2, 5])
    root, repaired = other.inverse_root(rows)
    assert not repaired
    np.testing.assert_allclose(root @ other.gram(rows) @ root.T, np.eye(3), atol=1e-9)


def test_denoising_is_the_identity(data):
    _, Y, _ = data
    form = Denoising(Y, ridge=0.5).quadratic()
    rows = np.array([2, 5])
    np.testing.assert_allclose(form.gram(rows), 1.5 * np.eye(2))
    V = np.ones((K, 1))
    expected = -Y @ V
    expected[rows] += 1.5
    np.testing.assert_allclose(form.gradient(rows, np.ones((2, 1)), V), expected)
    np.testing.assert_allclose(form.gram_between(rows, np.array([0])), 0)
    np.testing.assert_allclose(form.diagonal(), 1.5)


@pytest.mark.parametrize("ridge", [0.0, 0.4])
@pytest.mark.parametrize("kind", ["counts", "tasks"])
def test_forms_around_a_point(data, kind, ridge):
    """All parts belong to one form; that it touches the loss is tested with the losses."""
    X, Y, weight = data
    if kind == "counts":
        counts = np.random.default_rng(0).poisson(2.0, (N, K)).astype(float)
        loss = GeneralizedLinear(X, counts, Poisson(), sample_weight=weight + 0.1, ridge=ridge)
    else:
        loss = PerTask(X, Y[:, 0], np.arange(N) % K, ridge=ridge)
    rng = np.random.default_rng(2)
    at = Factors(0.1 * rng.standard_normal((P, 2)), 0.1 * rng.standard_normal((K, 2)))
    form = loss.majorizer(at)
    H, C = form.gram(np.arange(P)), form.cross_columns(0, K)
    assert_form(form, H, C, form.constant)
    moved, new = form.with_ridge(2.0), loss.with_ridge(2.0).majorizer(at)
    assert moved.constant == pytest.approx(new.constant)
    np.testing.assert_allclose(moved.gram(np.arange(P)), new.gram(np.arange(P)), atol=1e-9)
    np.testing.assert_allclose(moved.cross_columns(0, K), new.cross_columns(0, K), atol=1e-9)
    np.testing.assert_allclose(form.gram(np.arange(P)), H)  # the form itself is unchanged


@pytest.mark.parametrize("dependent", [False, True])
@pytest.mark.parametrize("count", [6, 8, 23, 40])
def test_more_rows_than_samples_are_ridge_in_its_dual_form(count, dependent):
    rng = np.random.default_rng(2)
    X, Y = rng.standard_normal((8, 40)), rng.standard_normal((8, K))
    if dependent:
        X[-3:] = X[:3]
    rows = np.sort(rng.permutation(40)[:count])
    form = LeastSquares(X, Y, ridge=0.3, form="direct").quadratic()
    S = X[:, rows]
    dual = S.T @ np.linalg.solve(S @ S.T + 8 * 0.3 * np.eye(8), Y)
    root, repaired = form.inverse_root(rows)
    assert not repaired
    np.testing.assert_allclose(root.T @ (root @ form.cross_rows(rows)), dual, atol=1e-9)
    if count == 23 and not dependent:
        assert form.with_ridge(0.0).inverse_root(rows)[1]  # without a ridge one is needed


def test_threads_share_the_columns_in_use(rng):
    X, Y = rng.standard_normal((40, 300)), rng.standard_normal((40, 7))
    shared = SharedProducts(Dense(X), Dense(Y), 40.0)

    def largest_error(seed):
        own, largest = np.random.default_rng(seed), 0.0
        for _ in range(100):
            some = np.sort(own.choice(300, own.integers(3, 60), replace=False))
            errors = (
                shared.gram(some) - X[:, some].T @ X[:, some],
                shared.cross(some) - X[:, some].T @ Y / 40,
                shared.products(some, X[:, :3]) - X[:, some].T @ X[:, :3],
            )
            largest = max(largest, *(np.abs(error).max() for error in errors))
        return largest

    former = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(4) as pool:
            assert max(pool.map(largest_error, range(4))) < 1e-10
    finally:
        sys.setswitchinterval(former)
