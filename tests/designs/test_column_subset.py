"""Some columns of a design act like the sliced matrix."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse.linalg import aslinearoperator

from thinrank.designs import ColumnSubset, Transformed, as_design, take_rows

N, P = 9, 14
KEPT = np.array([0, 3, 4, 8, 13])
BASES = {"dense": np.asarray, "csr": sp.csr_array, "csc": sp.csc_array, "lo": aslinearoperator}


def matrix():
    rng = np.random.default_rng(0)
    return rng.standard_normal((N, P)) * (rng.uniform(size=(N, P)) < 0.6)


def check(design, X):
    rng = np.random.default_rng(1)
    n, p = X.shape
    A, B, some = rng.standard_normal((p, 2)), rng.standard_normal((n, 2)), np.array([2, 0, 4])
    weight, center = rng.uniform(0.5, 2, n), rng.standard_normal(p)
    assert tuple(design.shape) == (n, p)
    np.testing.assert_allclose(design @ A, X @ A, atol=1e-12)
    np.testing.assert_allclose(design @ A[:, 0], X @ A[:, 0], atol=1e-12)
    np.testing.assert_allclose(design.transposed_product(B), X.T @ B, atol=1e-12)
    np.testing.assert_allclose(design.columns(some), X[:, some], atol=1e-12)
    np.testing.assert_allclose(design.gram(some), X[:, some].T @ X[:, some], atol=1e-12)
    np.testing.assert_allclose(design.gram(), X.T @ X, atol=1e-12)
    np.testing.assert_allclose(design.column_norms(), np.linalg.norm(X, axis=0), atol=1e-12)
    np.testing.assert_allclose(
        design.column_norms(weight, center),
        np.linalg.norm(weight[:, None] * (X - center), axis=0),
        atol=1e-12,
    )


@pytest.mark.parametrize("base", BASES)
def test_acts_like_the_sliced_matrix(base):
    X = matrix()
    check(ColumnSubset(as_design(BASES[base](X)), KEPT), X[:, KEPT])


@pytest.mark.parametrize("base", BASES)
def test_rows_of_it(base):
    X, rows = matrix(), np.array([1, 2, 5, 8])
    design = take_rows(ColumnSubset(as_design(BASES[base](X)), KEPT), rows)
    check(design, X[np.ix_(rows, KEPT)])


def test_under_and_above_a_transformation():
    X = matrix()
    rng = np.random.default_rng(2)
    center, scale = rng.standard_normal(P), rng.uniform(0.5, 2, P)
    moved = (X - center) * scale
    inner = Transformed(as_design(X), center=center, column_scale=scale)
    check(ColumnSubset(inner, KEPT), moved[:, KEPT])
    outer = Transformed(
        ColumnSubset(as_design(X), KEPT), center=center[KEPT], column_scale=scale[KEPT]
    )
    check(outer, moved[:, KEPT])
