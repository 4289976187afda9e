"""A design without what kept columns explain, against residuals by numpy.linalg.lstsq."""

import numpy as np
import pytest
import scipy.sparse as sp
from contract import assert_acts_like, peak_of
from test_designs import BASES, N, P, matrix

from thinrank.designs import Dense, Transformed, as_design, kept_basis, take_rows


def project_out(design, Z, weight=None, center=False):
    basis = kept_basis(Z, like=design.prototype, sample_weight=weight, center=center)
    return Transformed(design, removed=basis.explained(design)), basis


def kept(n=N):
    rng = np.random.default_rng(4)
    return rng.standard_normal((n, 3)) * [1e4, 1.0, 1e-3] + [0.0, 5.0, 0.0]


def weights(n=N):
    weight = np.random.default_rng(5).uniform(0.5, 2, n)
    weight[2] = 0
    return weight


def explained(Z, M, weight):
    """Coefficients of the weighted regression of M on Z."""
    root = np.sqrt(weight)[:, None]
    return np.linalg.lstsq(root * Z, root * M, rcond=1e-12)[0]


@pytest.mark.parametrize("base", BASES)
def test_numpy_designs(base, dtype):
    X, Z, weight = matrix(), kept(), weights()
    design, _ = project_out(as_design(BASES[base](matrix(dtype))), Z, weight)
    expected = X - Z @ explained(Z, X, weight)
    assert_acts_like(design, expected, dtype=dtype)
    rows = np.array([0, 2, 7])
    assert_acts_like(take_rows(design, rows), expected[rows], dtype=dtype)


def test_every_library(library, dtype):
    X, Z, weight = matrix(), kept(), weights()
    moved = (library.array(each, dtype) for each in (X, Z, weight))
    design, basis = project_out(Dense(next(moved)), *moved)
    library.check(basis.basis, basis.dual, basis.transform, basis.sizes, dtype=dtype)
    assert_acts_like(design, X - Z @ explained(Z, X, weight), library, dtype)


def test_centring_is_a_column_of_ones():
    X, Z, weight = matrix(), kept(), weights()
    mean = weight @ X / weight.sum()
    centred, basis = project_out(Transformed(as_design(X), center=mean), Z, weight, center=True)
    with_ones, longer = project_out(as_design(X), np.c_[np.ones(N), Z], weight)
    everything = np.arange(P)
    np.testing.assert_allclose(
        centred.columns(everything), with_ones.columns(everything), atol=1e-9
    )
    np.testing.assert_allclose(
        basis.coefficients(centred.removed.V.T),
        longer.coefficients(with_ones.removed.V.T)[1:],
        rtol=1e-6,
        atol=1e-9,
    )


@pytest.mark.parametrize(
    "extra",
    [
        lambda Z: Z[:, :1],
        lambda Z: Z[:, :1] - 7 * Z[:, 1:2],
        lambda Z: np.full((len(Z), 1), 3.0),
        lambda Z: np.zeros((len(Z), 1)),
    ],
    ids=["duplicate", "combination", "constant", "zero"],
)
def test_dependent_columns_do_not_matter(extra):
    X, Z, weight = matrix(), kept(), weights()
    X = X - weight @ X / weight.sum()
    design, basis = project_out(as_design(X), Z, weight, center=True)
    more = np.c_[Z, extra(Z)]
    again, longer = project_out(as_design(X), more, weight, center=True)
    assert longer.basis.shape == (N, 3)
    everything = np.arange(P)
    np.testing.assert_allclose(again.columns(everything), design.columns(everything), atol=1e-9)
    fitted = more @ longer.coefficients(again.removed.V.T)
    expected = Z @ basis.coefficients(design.removed.V.T)
    fitted, expected = fitted - fitted[0], expected - expected[0]
    np.testing.assert_allclose(fitted, expected, atol=1e-9)


def test_duplicates_share_the_coefficient():
    Z = kept()[:, :1]
    _, basis = project_out(as_design(Z), np.c_[Z, 2 * Z])
    coefficients = basis.coefficients(basis.loadings(as_design(Z)))
    np.testing.assert_allclose(coefficients[:, 0], [0.5, 0.25])


def test_explained_columns_are_within_rounding_errors(dtype):
    rng = np.random.default_rng(0)
    Z = (rng.standard_normal((500, 4)) * [1, 1e3, 1e-3, 1] + [0, 1e4, 0, 3]).astype(dtype)
    X = np.c_[Z, 5 * Z, Z @ rng.standard_normal((4, 3)), rng.standard_normal((500, 2))]
    X = X.astype(dtype)
    design, basis = project_out(as_design(X), Z)
    left = design.column_norms() / 500**0.5
    floor = basis.rounding_errors(design.removed.V.T)
    assert (left <= floor).tolist() == [True] * 11 + [False] * 2


def test_infinite_sums_of_squares_are_refused():
    with pytest.raises(ValueError, match="sums of squares"), np.errstate(over="ignore"):
        kept_basis(np.full((3, 1), 1e200), like=np.zeros(0))


def test_sparse_stays_sparse():
    rng = np.random.default_rng(0)
    n, p = 1000, 10_000
    X = sp.random_array((n, p), density=1e-3, random_state=rng, format="csr")
    Z = rng.standard_normal((n, 5))

    def work():
        design, _ = project_out(as_design(X), Z)
        design.transposed_product(design @ np.ones((p, 2)))
        design.column_norms(np.ones(n), np.ones(p))

    assert peak_of(work) < n * p * 8 / 10
