"""Some rows of a design act like the sliced matrix."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse.linalg import aslinearoperator

from thinrank.designs import Dense, Sparse, Transformed, as_design, standardize, take_rows
from thinrank.designs.row_subset import RowSubset

N, P = 14, 260  # more columns than a block of blockwise.py holds
ROWS = np.array([0, 2, 3, 7, 8, 13])

BASES = {
    "dense C": np.ascontiguousarray,
    "dense F": np.asfortranarray,
    "csr": sp.csr_array,
    "csc": sp.csc_matrix,
    "operator": aslinearoperator,
}


def matrix():
    rng = np.random.default_rng(1)
    return rng.standard_normal((N, P)) * (rng.uniform(size=(N, P)) < 0.4)


def vectors():
    rng = np.random.default_rng(2)
    return {
        "row_scale": rng.uniform(0.5, 2, N),
        "center": rng.standard_normal(P),
        "column_scale": rng.uniform(0.5, 2, P),
    }


def explicit(X, row_scale, center, column_scale):
    return row_scale[:, None] * (X - center) * column_scale


def assert_acts_like(design, X, to=np.asarray, index=np.asarray, back=np.asarray, tol=1e-10):
    rng = np.random.default_rng(3)
    n, p = X.shape
    some = np.array([7, 0, p - 1])
    scale, center = rng.uniform(0, 2, n), rng.standard_normal(p)
    assert tuple(design.shape) == (n, p)
    assert design.prototype.shape == (0,)
    pairs = [
        *((design @ to(b), X @ b) for b in (rng.standard_normal(p), rng.standard_normal((p, 3)))),
        *(
            (design.transposed_product(to(b)), X.T @ b)
            for b in (rng.standard_normal(n), rng.standard_normal((n, 3)))
        ),
        (design.columns(index(some)), X[:, some]),
        (design.gram(index(some)), X[:, some].T @ X[:, some]),
        (design.gram(), X.T @ X),
        (design.column_norms(), np.linalg.norm(X, axis=0)),
        (
            design.column_norms(to(scale), to(center)),
            np.linalg.norm(scale[:, None] * (X - center), axis=0),
        ),
    ]
    for found, expected in pairs:
        assert tuple(found.shape) == expected.shape
        np.testing.assert_allclose(back(found), expected, rtol=tol, atol=tol * 10)


@pytest.mark.parametrize("base", BASES)
@pytest.mark.parametrize("transformed", [False, True])
def test_rows_of_every_design(base, transformed):
    design, X = as_design(BASES[base](matrix())), matrix()
    if transformed:
        design, X = Transformed(design, **vectors()), explicit(X, **vectors())
    assert_acts_like(take_rows(design, ROWS), X[ROWS])


@pytest.mark.parametrize("base", BASES)
def test_rows_of_rows(base):
    once = take_rows(as_design(BASES[base](matrix())), ROWS)
    assert_acts_like(take_rows(once, np.array([1, 4])), matrix()[ROWS][[1, 4]])


@pytest.mark.parametrize("base", BASES)
def test_norms_that_were_known_for_all_rows_are_not_kept(base):
    """``standardize`` tells the design its norms; some of the rows have others."""
    design = standardize(as_design(BASES[base](matrix()))).design
    X = matrix()
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    np.testing.assert_allclose(design.column_norms(), np.sqrt(N), rtol=1e-9)
    assert_acts_like(take_rows(design, ROWS), X[ROWS])


@pytest.mark.parametrize("transformed", [False, True])
def test_rows_of_every_library(library, dtype, transformed):
    to = lambda x: library.array(x, dtype)  # noqa: E731
    design, X = Dense(to(matrix())), matrix()
    if transformed:
        design = Transformed(design, **{name: to(v) for name, v in vectors().items()})
        X = explicit(X, **vectors())
    subset = take_rows(design, library.index(ROWS))
    library.check(subset.prototype, subset @ to(np.ones(P)), subset.column_norms(), dtype=dtype)
    tol = 2e-4 if dtype == "float32" else 1e-10
    assert_acts_like(subset, X[ROWS], to, library.index, library.numpy, tol)


def test_only_what_is_known_by_products_keeps_its_base():
    assert isinstance(take_rows(as_design(matrix()), ROWS), Dense)
    assert isinstance(take_rows(as_design(sp.csr_array(matrix())), ROWS), Sparse)
    subset = take_rows(as_design(aslinearoperator(matrix())), ROWS)
    assert isinstance(subset, RowSubset)


def test_a_copy_not_a_view():
    X = matrix()
    subset = take_rows(as_design(X), ROWS)
    X[:] = 0.0
    assert np.abs(subset @ np.ones(P)).max() > 0
