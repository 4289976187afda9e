"""The quadratic forms behind pursuit say the same, however they compute it."""

import numpy as np
import pytest
from scipy import sparse
from scipy.sparse.linalg import aslinearoperator

from thinrank import arrays
from thinrank.designs import Dense, as_design, standardize
from thinrank.forms import GramForm, ProductForm
from thinrank.forms.active_columns import ActiveColumns
from thinrank.losses import Denoising, LeastSquares

N, P, K = 30, 12, 7


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    X = np.where(rng.random((N, P)) < 0.5, rng.standard_normal((N, P)), 0.0)
    return X, rng.standard_normal((N, K)), rng.integers(0, 3, N).astype(float)


def explicit(X, Y, weight, ridge):
    H = X.T @ (weight[:, None] * X) / weight.sum() + ridge * np.eye(P)
    C = X.T @ (weight[:, None] * Y) / weight.sum()
    return H, C, np.sum(weight[:, None] * Y**2) / weight.sum()


@pytest.mark.parametrize("kind", ["gram", "product"])
@pytest.mark.parametrize("wrap", [np.asarray, sparse.csr_array, aslinearoperator])
@pytest.mark.parametrize("ridge", [0.0, 0.3])
def test_against_the_explicit_matrices(data, kind, wrap, ridge):
    X, Y, weight = data
    H, C, constant = explicit(X, Y, weight, ridge)
    loss = LeastSquares(wrap(X), Y, sample_weight=weight, ridge=ridge)
    if kind == "gram":
        form = loss.quadratic()
        assert isinstance(form, GramForm)
    else:
        root = np.sqrt(weight)[:, None]
        form = ProductForm(
            as_design(wrap(root * X)), Dense(root * Y), weight.sum(), constant, ridge
        )
    rng = np.random.default_rng(1)
    assert form.constant == pytest.approx(constant)
    np.testing.assert_allclose(form.diagonal(), np.diag(H), atol=1e-12)
    by_row, by_column = form.cross_norms()
    np.testing.assert_allclose(by_row, np.sum(C**2, axis=1), atol=1e-12)
    np.testing.assert_allclose(by_column, np.sum(C**2, axis=0), atol=1e-12)
    for _ in range(6):  # supports come and go, and the kept columns with them
        rows = np.sort(rng.choice(P, rng.integers(1, 9), replace=False))
        others = np.setdiff1d(np.arange(P), rows)[:3]
        block = rng.standard_normal((len(rows), 2))
        np.testing.assert_allclose(form.gram(rows), H[np.ix_(rows, rows)], atol=1e-12)
        np.testing.assert_allclose(form.cross_rows(rows), C[rows], atol=1e-12)
        np.testing.assert_allclose(
            form.gram_between(rows, others), H[np.ix_(rows, others)], atol=1e-12
        )
        V = rng.standard_normal((K, 2))
        np.testing.assert_allclose(
            form.gradient(rows, block, V), H[:, rows] @ block - C @ V, atol=1e-12
        )


def test_denoising_is_the_identity(data):
    _, Y, _ = data
    form = Denoising(Y, ridge=0.5).quadratic()
    rows = np.array([2, 5])
    block = np.ones((2, 1))
    np.testing.assert_allclose(form.gram(rows), 1.5 * np.eye(2))
    V = np.ones((K, 1))
    expected = -Y @ V
    expected[rows] += 1.5
    np.testing.assert_allclose(form.gradient(rows, block, V), expected)
    np.testing.assert_allclose(form.gram_between(rows, np.array([0])), 0)
    np.testing.assert_allclose(form.diagonal(), 1.5)


class Counting(Dense):
    """A design that remembers which columns were taken from it."""

    def __init__(self, X):
        super().__init__(X)
        self.taken = []

    def columns(self, index):
        self.taken.extend(arrays.to_numpy(index).tolist())
        return super().columns(index)


def test_active_columns_are_taken_once(data):
    X = Counting(data[0])
    active = ActiveColumns(X, Dense(data[1]))
    for rows in ([1, 4, 6, 9], [1, 4, 6, 10], [0, 4, 6, 10], [1, 4, 6, 9]):
        np.testing.assert_allclose(
            active.gram(np.array(rows)), (data[0].T @ data[0])[np.ix_(rows, rows)]
        )
    assert sorted(X.taken) == [0, 1, 4, 6, 9, 10]


@pytest.mark.arrays
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_every_library(data, xp, dtype):
    X, Y, _ = (xp.asarray(a, dtype=getattr(xp, dtype)) for a in data)
    design = standardize(as_design(X)).design
    form = ProductForm(design, Dense(Y), N, 1.0, 0.1)
    plain = design.columns(xp.arange(P))
    H = plain.T @ plain / N + 0.1 * xp.eye(P, dtype=X.dtype)
    tol = 1e-5 if dtype == "float32" else 1e-12
    for rows in ([0, 3, 4, 8], [1, 3, 4], [1, 3, 5, 6, 7, 9, 10, 11]):
        index = xp.asarray(rows)
        gram = form.gram(index)
        assert type(gram) is type(X)
        assert gram.dtype == X.dtype
        expected = arrays.to_numpy(H)[np.ix_(rows, rows)]
        np.testing.assert_allclose(arrays.to_numpy(gram), expected, atol=tol)
        block, V = (xp.ones((m, 2), dtype=X.dtype) for m in (len(rows), K))
        expected = arrays.to_numpy(H[:, :] @ xp.eye(P, dtype=X.dtype))[:, rows].sum(axis=1)
        expected = expected - arrays.to_numpy(plain.T @ Y / N).sum(axis=1)
        found = arrays.to_numpy(form.gradient(index, block, V))
        np.testing.assert_allclose(found, np.stack([expected] * 2, axis=1), atol=100 * tol)


@pytest.mark.parametrize("block", [4096, 5])
def test_more_rows_than_samples(block, monkeypatch):
    """From inner products of the samples, with columns of X taken in blocks."""
    monkeypatch.setattr("thinrank.forms.shared_products._BLOCK_ROWS", block)
    rng = np.random.default_rng(2)
    X, Y, rows = rng.standard_normal((8, 40)), rng.standard_normal((8, K)), np.arange(3, 26)
    form = ProductForm(as_design(X), Dense(Y), 8.0, float(np.sum(Y**2)) / 8, 0.3)
    H, C = X[:, rows].T @ X[:, rows] / 8 + 0.3 * np.eye(23), X[:, rows].T @ Y / 8
    solution = np.linalg.solve(H, C)
    assert form.has_dual(rows)
    np.testing.assert_allclose(form.cross_rows(rows), C, atol=1e-12)
    np.testing.assert_allclose(form.dual_solution(rows), solution, atol=1e-12)
    root, ridged = form.inverse_root(rows)
    assert not ridged
    np.testing.assert_allclose(root.T @ (root @ C), solution, atol=1e-12)
    assert form.with_ridge(0.0).inverse_root(rows)[1]  # without a ridge one is needed


def test_a_kept_root_is_not_used_for_other_rows_or_another_ridge(data):
    X, Y, _ = data
    form = LeastSquares(X, Y).quadratic()
    rows, others = np.array([0, 2, 5]), np.array([0, 2, 6])
    assert form.inverse_root(rows)[0] is form.inverse_root(rows.copy())[0]
    for changed, where in ((form, others), (form.with_ridge(0.4), rows), (form, rows)):
        root, _ = changed.inverse_root(where)
        np.testing.assert_allclose(root @ changed.gram(where) @ root.T, np.eye(3), atol=1e-12)
