"""Factorisations and spectra, compared with NumPy and SciPy on every array library."""

import numpy as np
import pytest
import scipy.linalg

from thinrank import linalg
from thinrank.linalg import leading_left_vectors, leading_right_vectors

# Relative accuracy to expect of a well conditioned problem.
TOLERANCE = {"float32": 2e-4, "float64": 1e-9}


def gram(rng, size, rank=None):
    """A positive (semi-)definite matrix of given rank, with a diagonal of about one."""
    X = rng.standard_normal((2 * size + 5, size if rank is None else rank))
    if rank is not None:
        X = X @ rng.standard_normal((rank, size)) / np.sqrt(rank)
    return X.T @ X / len(X)


def low_rank(rng, m, n, values, noise=0.0):
    """A matrix with given leading singular values."""
    left = np.linalg.qr(rng.standard_normal((m, len(values))))[0]
    right = np.linalg.qr(rng.standard_normal((n, len(values))))[0]
    return (left * values) @ right.T + noise * rng.standard_normal((m, n))


def projector(basis):
    return basis @ basis.T


class TestInverseCholesky:
    @pytest.mark.parametrize("size", [0, 1, 5, 300])
    def test_against_scipy(self, library, dtype, rng, size):
        A = gram(rng, size)
        R, ridged = linalg.inverse_cholesky(library.array(A, dtype))
        library.check(R, dtype=dtype)
        expected = scipy.linalg.solve_triangular(np.linalg.cholesky(A), np.eye(size), lower=True)
        np.testing.assert_allclose(library.numpy(R), expected, atol=20 * TOLERANCE[dtype])
        assert not ridged

    @pytest.mark.parametrize("size", [20, 200])
    def test_rank_deficient(self, library, dtype, rng, size):
        """The ridge is small beside the diagonal, and makes A regular."""
        A = gram(rng, size, rank=size // 2)
        R, ridged = linalg.inverse_cholesky(library.array(A, dtype))
        assert ridged
        R = library.numpy(R).astype(float)
        assert np.isfinite(R).all()
        np.testing.assert_allclose(np.triu(R, 1), 0, atol=1e-6 * np.abs(R).max())
        lower = np.linalg.inv(R)
        added = lower @ lower.T - A
        # at most 5e-5 in double precision and 0.2 in single precision
        ridge = np.finfo(dtype).eps ** 0.4 * np.trace(A) / size
        assert np.abs(added).max() < 101 * ridge

    def test_all_zero(self, library, dtype):
        R, ridged = linalg.inverse_cholesky(library.array(np.zeros((3, 3)), dtype))
        assert ridged
        assert np.isfinite(library.numpy(R)).all()

    @pytest.mark.parametrize("scale", [1e-12, 1e12])
    def test_the_scale_does_not_matter(self, library, rng, scale):
        A = gram(rng, 10)
        R, ridged = linalg.inverse_cholesky(library.array(scale * A))
        assert not ridged
        expected = np.linalg.inv(np.linalg.cholesky(A)) / np.sqrt(scale)
        np.testing.assert_allclose(library.numpy(R), expected, atol=1e-9 * scale**-0.5)

    @pytest.mark.parametrize("size", [4, 140])
    def test_not_finite(self, library, size):
        A = np.eye(size)
        A[1, 1] = np.nan
        with pytest.raises(ValueError, match="not finite"), np.errstate(invalid="ignore"):
            linalg.inverse_cholesky(library.array(A))


class TestLargestEigenvalue:
    @pytest.mark.parametrize("size", [1, 25, 300])
    def test_an_upper_bound_that_is_close(self, library, dtype, rng, size):
        A = gram(rng, size)
        matrix = library.array(A, dtype)
        found = linalg.largest_eigenvalue(lambda block: matrix @ block, size, matrix, tol=1e-2)
        expected = np.linalg.eigvalsh(A)[-1]
        assert isinstance(found, float)
        assert expected * (1 - TOLERANCE[dtype]) <= found <= 1.03 * expected

    @pytest.mark.parametrize("least", [0.0, 0.9])
    def test_no_gap(self, library, dtype, least):
        values = np.linspace(least, 1, 2000)
        diagonal = library.array(values[:, None], dtype)
        found = linalg.largest_eigenvalue(lambda block: diagonal * block, 2000, diagonal)
        assert 1 <= found <= 1.01


class TestLeadingLeftVectors:
    @pytest.mark.parametrize("shape", [(1, 1), (6, 9), (90, 80), (70, 500)])
    def test_against_numpy(self, library, dtype, rng, shape):
        rank = min(3, *shape)
        A = low_rank(rng, *shape, values=np.array([9.0, 6.0, 4.0])[:rank], noise=1e-3)
        guess = library.array(rng.standard_normal((shape[1], rank)), dtype)
        left = leading_left_vectors(library.array(A, dtype), rank, guess)
        library.check(left, dtype=dtype)
        left = library.numpy(left)
        expected = np.linalg.svd(A, full_matrices=False)[0][:, :rank]
        np.testing.assert_allclose(left.T @ left, np.eye(rank), atol=TOLERANCE[dtype])
        atol = max(TOLERANCE[dtype], 1e-6)  # of the iteration, which stops by the singular values
        np.testing.assert_allclose(projector(left), projector(expected), atol=atol)

    @pytest.mark.parametrize("shape", [(6, 9), (90, 80), (70, 500)])
    def test_no_more_than_the_matrix_carries(self, library, dtype, rng, shape):
        A = low_rank(rng, *shape, values=[3.0, 2.0])
        guess = library.array(rng.standard_normal((shape[1], 5)), dtype)
        left = leading_left_vectors(library.array(A, dtype), 5, guess, floor=1e-3)
        assert left.shape == (shape[0], 2)
        one = leading_left_vectors(library.array(A, dtype), 5, guess, floor=2.5)
        assert one.shape == (shape[0], 1)
        expected = np.linalg.svd(A)[0][:, :2]
        atol = 10 * TOLERANCE[dtype]
        np.testing.assert_allclose(projector(library.numpy(left)), projector(expected), atol=atol)

    @pytest.mark.parametrize("shape", [(6, 9), (90, 80), (0, 4), (4, 0)])
    def test_all_zero_or_empty(self, numpy_library, dtype, shape):
        guess = numpy_library.array(np.zeros((shape[1], 1)), dtype)
        left = leading_left_vectors(numpy_library.array(np.zeros(shape), dtype), 1, guess)
        assert left.shape == (shape[0], 0)

    @pytest.mark.parametrize("size", [1e25, 1e30])
    def test_huge_numbers(self, library, rng, size):
        """Their inner products overflow even in double precision."""
        A = np.outer(rng.standard_normal(100), rng.standard_normal(90)) * size / 10
        guess = library.array(rng.standard_normal((90, 1)), "float32")
        with np.errstate(over="ignore", invalid="ignore"):
            left = leading_left_vectors(library.array(A, "float32"), 1, guess)
        direction = A[:, :1] / np.linalg.norm(A[:, :1] / size) / size
        np.testing.assert_allclose(np.abs(library.numpy(left).T @ direction), 1.0, atol=1e-4)


class TestLeadingRightVectors:
    @pytest.mark.parametrize("values", [(9.0, 6.0, 4.0), (900.0, 6.0, 1e-3)])
    @pytest.mark.parametrize("shape", [(6, 9), (90, 70), (70, 120)])
    def test_against_numpy(self, library, dtype, rng, shape, values):
        if dtype == "float32":
            values = (9.0, 6.0, 4.0)  # the smallest is rounding error otherwise
        A = low_rank(rng, *shape, values=values)
        s, V = leading_right_vectors(library.array(A, dtype), 3)
        library.check(s, V, dtype=dtype)
        s, V = library.numpy(s), library.numpy(V)
        np.testing.assert_allclose(s, values, rtol=100 * TOLERANCE[dtype])
        np.testing.assert_allclose(V.T @ V, np.eye(3), atol=TOLERANCE[dtype])
        expected = np.linalg.svd(A)[2][:3].T
        np.testing.assert_allclose(np.abs(np.diag(V.T @ expected)), 1, atol=10 * TOLERANCE[dtype])


class TestTruncatedSvd:
    @pytest.mark.parametrize("shape", [(8, 5), (450, 600)])
    def test_against_numpy(self, library, dtype, rng, shape):
        values = np.array([5.0, 4.0, 3.0])
        A = low_rank(rng, *shape, values)
        U, s, V = linalg.truncated_svd(library.array(A, dtype), 3)
        library.check(U, s, V, dtype=dtype)
        U, s, V = (library.numpy(x) for x in (U, s, V))
        assert (U.shape, s.shape, V.shape) == ((shape[0], 3), (3,), (shape[1], 3))
        np.testing.assert_allclose(s, values, rtol=TOLERANCE[dtype])
        np.testing.assert_allclose((U * s) @ V.T, A, atol=TOLERANCE[dtype])
        np.testing.assert_allclose(U.T @ U, np.eye(3), atol=TOLERANCE[dtype])
        np.testing.assert_allclose(V.T @ V, np.eye(3), atol=TOLERANCE[dtype])

    @pytest.mark.parametrize("shape", [(30, 20), (3, 40)])
    def test_given_by_products(self, library, dtype, rng, shape):
        A = low_rank(rng, *shape, values=[5.0, 4.0])
        matrix = library.array(A, dtype)
        pair = (lambda block: matrix @ block, lambda block: matrix.T @ block)
        U, s, V = linalg.truncated_svd(pair, 2, shape=shape, like=matrix)
        library.check(U, s, V, dtype=dtype)
        product = library.numpy(U) * library.numpy(s) @ library.numpy(V).T
        np.testing.assert_allclose(product, A, atol=TOLERANCE[dtype])

    @pytest.mark.parametrize("shape", [(8, 5), (600, 450)])
    def test_rank_deficient(self, library, dtype, rng, shape):
        """More triplets than the matrix carries: the others have values of zero."""
        A = low_rank(rng, *shape, values=[5.0, 4.0])
        U, s, V = (library.numpy(x) for x in linalg.truncated_svd(library.array(A, dtype), 4))
        np.testing.assert_allclose(s, [5, 4, 0, 0], atol=5 * TOLERANCE[dtype])
        np.testing.assert_allclose((U * s) @ V.T, A, atol=5 * TOLERANCE[dtype])
        np.testing.assert_allclose(U.T @ U, np.eye(4), atol=TOLERANCE[dtype])

    @pytest.mark.parametrize(("shape", "rank"), [((4, 6), 4), ((0, 3), 0), ((3, 0), 0)])
    def test_rank_beyond_the_shape(self, numpy_library, rng, shape, rank):
        U, s, V = linalg.truncated_svd(rng.standard_normal(shape), 50)
        assert (U.shape, s.shape, V.shape) == ((shape[0], rank), (rank,), (shape[1], rank))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_subspace_iterations_end_in_the_precision_of_the_data(dtype, rng):
    matrix = low_rank(rng, 300, 200, np.linspace(10, 5, 5), noise=0.02).astype(dtype)
    products = []

    def product(block):
        products.append(block.shape)
        return matrix @ block

    tol = max(1e-12, 4 * np.finfo(dtype).eps)
    linalg.truncated_svd(
        (product, lambda block: matrix.T @ block), 5, shape=(300, 200), like=matrix, tol=tol
    )
    assert len(products) < 15
