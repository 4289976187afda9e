"""Every design against the dense matrix that it stands for."""

import numpy as np
import pytest
import scipy.sparse as sp
from contract import assert_acts_like, peak_of
from scipy.sparse.linalg import LinearOperator, aslinearoperator

import thinrank as tr
from thinrank.designs import Dense, Operator, Transformed, as_design

N, P = 13, 300


def matrix(dtype="float64"):
    rng = np.random.default_rng(1)
    X = rng.standard_normal((N, P)) * (rng.uniform(size=(N, P)) < 0.3)
    X[:, 5] = 0
    return X.astype(dtype)


BASES = {
    "dense C": np.ascontiguousarray,
    "dense F": np.asfortranarray,
    "csr": sp.csr_array,
    "csc": sp.csc_matrix,
    "coo": sp.coo_array,
    "operator": aslinearoperator,
}

PARTS = {
    "plain": (),
    "rows": ("row_scale",),
    "center and columns": ("center", "column_scale"),
    "all": ("row_scale", "center", "column_scale"),
}


def parts(which, dtype="float64"):
    rng = np.random.default_rng(2)
    vectors = {
        "row_scale": rng.uniform(0.5, 2, N),
        "center": rng.standard_normal(P),
        "column_scale": rng.uniform(0.5, 2, P),
    }
    vectors["row_scale"][3] = vectors["column_scale"][7] = 0
    return {name: vectors[name].astype(dtype) for name in PARTS[which]}


def explicit(X, row_scale=None, center=None, column_scale=None):
    X = X - (0 if center is None else center)
    X = X * (1 if column_scale is None else column_scale)
    return X * (1 if row_scale is None else row_scale[:, None])


@pytest.mark.parametrize("which", PARTS)
@pytest.mark.parametrize("base", BASES)
def test_numpy_designs(base, which):
    design = Transformed(as_design(BASES[base](matrix())), **parts(which))
    assert_acts_like(design, explicit(matrix(), **parts(which)))


@pytest.mark.parametrize("base", BASES)
def test_single_precision(base):
    assert_acts_like(as_design(BASES[base](matrix("float32"))), matrix(), dtype="float32")


@pytest.mark.parametrize("which", ["plain", "all"])
def test_dense_designs_of_every_library(library, dtype, which):
    vectors = {name: library.array(vector, dtype) for name, vector in parts(which).items()}
    design = Transformed(Dense(library.array(matrix(), dtype)), **vectors)
    assert_acts_like(design, explicit(matrix(), **parts(which)), library, dtype)


# --------------------------------------------------------------------------- dtype and validity


@pytest.mark.parametrize("wrap", [np.asarray, sp.csr_array, aslinearoperator])
def test_integers_become_float64(wrap):
    X = np.arange(6).reshape(2, 3)
    design = as_design(wrap(X))
    assert design.prototype.dtype == np.float64
    out = design @ np.ones(3)
    assert out.dtype == np.float64
    np.testing.assert_array_equal(out, [3.0, 12.0])


@pytest.mark.parametrize("wrap", [np.asarray, sp.csr_array, aslinearoperator])
def test_complex_numbers_are_refused(wrap):
    with pytest.raises(ValueError, match="Complex data not supported"):
        as_design(wrap(np.eye(3) * 1j))


def test_operator_without_dtype_is_float64():
    X = matrix()
    operator = LinearOperator((N, P), matvec=lambda b: X @ b, rmatvec=lambda b: X.T @ b)
    operator.dtype = None
    design = Operator(operator)
    assert design.prototype.dtype == np.float64
    np.testing.assert_allclose(design.gram(np.array([1, 2])), X[:, 1:3].T @ X[:, 1:3])


def test_sparse_with_duplicate_entries():
    # two stored entries at (0, 0): the matrix holds their sum
    X = sp.csr_array((np.array([1.0, 2.0, 4.0]), np.array([0, 0, 1]), np.array([0, 2, 3])))
    design = as_design(X)
    np.testing.assert_allclose(design.column_norms(), [3.0, 4.0])
    np.testing.assert_allclose(design.column_norms(None, np.array([1.0, 1.0])), [5**0.5, 10**0.5])
    assert X.nnz == 3  # the user's matrix is left as it is


# --------------------------------------------------------------------------- memory


@pytest.mark.parametrize("order", ["C", "F"])
def test_dense_is_never_copied(rng, dtype, order):
    X = np.asarray(rng.standard_normal((2000, 1000)), dtype=dtype, order=order)
    design = as_design(X)
    assert np.shares_memory(design.array, X)
    loss = tr.losses.LeastSquares(X, np.ones((2000, 2)), sample_weight=np.ones(2000))
    assert np.shares_memory(loss.X.array, X)
    right, left = np.ones((1000, 3), dtype=dtype), np.ones((2000, 3), dtype=dtype)
    standardized = tr.designs.standardize(design).design
    for each in (design, standardized):
        peak = peak_of(lambda each=each: (each @ right, each.transposed_product(left)))
        assert peak < X.nbytes / 10


def test_sparse_stays_sparse():
    n, p = 1000, 200_000
    rng = np.random.default_rng(0)
    entries = 30_000
    X = sp.csr_array(
        (
            rng.standard_normal(entries),
            (rng.integers(n, size=entries), rng.integers(p, size=entries)),
        ),
        shape=(n, p),
    )
    signal = np.unique(rng.integers(p, size=300))
    Y = 3 * np.asarray(X[:, signal].sum(axis=1)).reshape(-1, 1) * np.ones(4)
    answers = []

    def work():
        design = tr.designs.standardize(as_design(X), sample_weight=np.ones(n)).design
        loss = tr.losses.LeastSquares(design, Y, sample_weight=np.ones(n))
        loss.row_scales()
        answers.append(
            tr.minimize(loss, rank=1, row_sparsity=20, start="spectral", max_iter=5, tol=0)
        )

    peak = peak_of(work)
    assert np.isfinite(answers[0].value)
    assert answers[0].factors.row_support.shape[0] <= 20
    assert peak < n * p * 8 / 10
