"""Backward elimination against recursive elimination by ridge fits in NumPy."""

import numpy as np
import pytest
from scipy import sparse

from thinrank.core.factors import Factors
from thinrank.losses import Custom, GeneralizedLinear, LeastSquares
from thinrank.losses.families import Poisson
from thinrank.losses.quadratic import FormLoss
from thinrank.starts import Backward


def data(seed, n=40, p=24, k=3, rho=0.8):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    for j in range(1, p):
        X[:, j] = rho * X[:, j - 1] + np.sqrt(1 - rho**2) * X[:, j]
    X /= np.sqrt(np.mean(X**2, axis=0))
    theta = np.zeros((p, k))
    theta[rng.choice(p, 5, replace=False)] = rng.standard_normal((5, k))
    return X, X @ theta + 0.5 * rng.standard_normal((n, k))


def eliminated(X, Y, count, ridge=1.0):
    """Three quarters of the rows stay each time, those whose removal costs most."""
    n = len(X)
    left = np.arange(X.shape[1])
    while len(left) > count:
        S = X[:, left]
        inverse = np.linalg.inv(S.T @ S / n + ridge * np.eye(len(left)))
        costs = np.sum((inverse @ S.T @ Y / n) ** 2, axis=1) / np.diag(inverse)
        keep = max(min(int(0.75 * len(left)), len(left) - 1), count)
        left = np.sort(left[np.argsort(-costs)[:keep]])
    return left


def rows_of(X, Y, count, **options):
    rank = min(count, 3)
    return Backward()(LeastSquares(X, Y, **options), rank, count, 3, 0).row_support


@pytest.mark.parametrize(("n", "p"), [(10, 24), (40, 24), (15, 100)])  # p > 2n, and p < n
@pytest.mark.parametrize("wrap", [np.asarray, sparse.csr_array])
def test_rows_are_those_of_recursive_elimination(n, p, wrap):
    X, Y = data(0, n=n, p=p)
    for form in ("direct", "gram"):
        for count in (1, 5, 9):
            found = rows_of(wrap(X), Y, count, form=form)
            np.testing.assert_array_equal(found, eliminated(X, Y, count))


def test_constant_predictors_are_left_out():
    X, Y = data(2)
    X[:, [3, 7]] = 0.0
    live = np.setdiff1d(np.arange(24), [3, 7])
    np.testing.assert_array_equal(rows_of(X, Y, 24), live)
    np.testing.assert_array_equal(rows_of(X, Y, 6), live[eliminated(X[:, live], Y, 6)])


@pytest.mark.parametrize(("n", "rows"), [(40, 6), (12, 20)])
def test_the_factors_are_the_reduced_rank_fit_on_these_rows(n, rows):
    X, Y = data(0, n=n)
    ridge = 0.3
    start = Backward()(LeastSquares(X, Y, ridge=ridge), 2, rows, 3, 0)
    kept = eliminated(X, Y, rows, ridge)
    S = X[:, kept]
    H, C = S.T @ S / n + ridge * np.eye(rows), S.T @ Y / n
    values, vectors = np.linalg.eigh(H)
    root = (vectors / np.sqrt(values)) @ vectors.T
    left, sizes, right = np.linalg.svd(root @ C, full_matrices=False)
    expected = np.zeros((24, 3))
    expected[kept] = root @ (left[:, :2] * sizes[:2]) @ right[:2]
    np.testing.assert_allclose(start.theta, expected, atol=1e-9)
    assert start.rank == 2


def test_every_library(library, dtype):
    X, Y = data(0)
    expected = Backward()(LeastSquares(X, Y), 2, 6, 3, 0)
    start = Backward()(LeastSquares(library.array(X, dtype), library.array(Y, dtype)), 2, 6, 3, 0)
    library.check(start.U, start.V, dtype=dtype)
    tol = 1e-3 if dtype == "float32" else 1e-7
    np.testing.assert_allclose(library.numpy(start.theta), expected.theta, atol=tol)


def test_only_quadratic_losses():
    with pytest.raises(TypeError, match=r'start="backward" needs .*quadratic'):
        Backward()(Custom(lambda f: (0.0, f.U, f.V), shape=(8, 8)), 2, 3, 3, 0)


def test_the_row_space_of_an_approximation_is_in_its_units():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((80, 6))
    loss = GeneralizedLinear(
        X, rng.poisson([0.3, 3, 20], (80, 3)) * 1.0, Poisson(), free=X[:, :1] ** 0
    )
    form = loss.majorizer(Factors.zero(loss.shape, X, rank=1))
    V = Backward()(FormLoss(form), 2, 3, 3, 0).V
    np.testing.assert_allclose(V.T @ V, np.eye(2), atol=1e-12)
