"""Factorisations on the host, of small matrices of other libraries."""

import numpy as np
import pytest

from thinrank import arrays, small_matrices
from thinrank.leading_vectors import leading_left_vectors


def ill_conditioned(rng, condition, rows=60, columns=4):
    left = np.linalg.qr(rng.standard_normal((rows, columns)))[0]
    right = np.linalg.qr(rng.standard_normal((columns, columns)))[0]
    return (left * np.geomspace(1, 1 / condition, columns)) @ right.T


def test_single_precision_of_numpy_is_not_elsewhere(library):
    elsewhere = not isinstance(library.array([1.0], "float32"), np.ndarray)
    assert small_matrices.is_single_elsewhere(library.array([1.0], "float32")) == elsewhere
    assert not small_matrices.is_single_elsewhere(library.array([1.0], "float64"))


@pytest.mark.parametrize("shape", [(1, 1), (7, 7), (4, 9), (9, 4), (300, 3)])
def test_svd(library, dtype, rng, shape):
    A = rng.standard_normal(shape)
    parts = small_matrices.svd(library.array(A, dtype))
    library.check(*parts, dtype=dtype)
    left, values, right = map(library.numpy, parts)
    assert left.shape == (shape[0], min(shape))
    np.testing.assert_allclose((left * values) @ right, A, atol=1e-5)
    np.testing.assert_allclose(values, np.linalg.svd(A, compute_uv=False), rtol=1e-5)


@pytest.mark.parametrize("size", [1, 12, 257])
def test_eigenpairs(library, rng, size):
    A = rng.standard_normal((size, size))
    values, vectors = small_matrices.eigenpairs(library.array(A + A.T))
    library.check(vectors, dtype="float64")
    assert isinstance(values, np.ndarray)
    vectors = library.numpy(vectors)
    np.testing.assert_allclose(values, np.linalg.eigvalsh(A + A.T)[::-1], atol=1e-10)
    np.testing.assert_allclose((vectors * values) @ vectors.T, A + A.T, atol=1e-10)


def test_what_is_not_finite_is_left_to_others(library):
    assert small_matrices.eigenpairs(library.array([[np.nan, 0.0], [0.0, 1.0]])) is None
    assert small_matrices.ritz(np.full((4, 4), np.inf), 1) is None


@pytest.mark.parametrize("size", [1e25, 1e30])
def test_leading_vectors_of_huge_numbers(library, rng, size):
    """Their inner products overflow even in double precision, and other methods take over."""
    A = np.outer(rng.standard_normal(100), rng.standard_normal(90)) * size / 10
    guess = library.array(rng.standard_normal((90, 1)), "float32")
    with arrays.without_overflow_warnings():
        left = leading_left_vectors(library.array(A, "float32"), 1, guess)
    direction = A[:, :1] / np.linalg.norm(A[:, :1] / size) / size
    np.testing.assert_allclose(np.abs(library.numpy(left).T @ direction), 1.0, atol=1e-4)


def test_orthonormal(library, dtype, rng):
    A = rng.standard_normal((50, 5)) * [1e-3, 1, 1e3, 1e6, 1e-6]  # units of columns do not matter
    found = small_matrices.orthonormal(library.array(A, dtype))
    library.check(*found, dtype=dtype)
    basis, triangle = map(library.numpy, found)
    np.testing.assert_allclose(basis.T @ basis, np.eye(5), atol=1e-5)
    np.testing.assert_allclose(np.tril(triangle, -1), 0, atol=0)
    assert (np.diag(triangle) > 0).all()
    np.testing.assert_allclose((basis @ triangle) / A, 1, atol=1e-2)


@pytest.mark.parametrize("condition", [1e5, 1e12])
def test_orthonormal_of_nearly_dependent_columns(library, rng, condition):
    assert small_matrices.orthonormal(library.array(ill_conditioned(rng, 10.0))) is not None
    assert small_matrices.orthonormal(library.array(ill_conditioned(rng, condition))) is None


@pytest.mark.parametrize("shape", [(5, 0), (4, 5), (300, 257)])
def test_orthonormal_of_other_shapes(library, rng, shape):
    assert small_matrices.orthonormal(library.array(rng.standard_normal(shape))) is None


def test_orthonormal_of_what_is_not_finite(rng):
    A = rng.standard_normal((20, 3))
    A[4, 1] = np.nan
    assert small_matrices.orthonormal(A) is None
    A[:, 1] = 0.0
    assert small_matrices.orthonormal(A) is None


class TestRitz:
    def products(self, A, block):
        return small_matrices.inner_products(np.concatenate([block, A @ block], axis=1))

    @pytest.fixture
    def matrix(self, rng):
        vectors = np.linalg.qr(rng.standard_normal((20, 20)))[0]
        values = np.arange(20.0, 0.0, -1.0)
        return (vectors * values) @ vectors.T, vectors

    def test_of_an_invariant_space(self, matrix, rng):
        A, vectors = matrix
        block = vectors[:, [3, 0, 7]] @ rng.standard_normal((3, 3)) * [1.0, 1e3, 1e-3]
        found = small_matrices.ritz(self.products(A, block), 2)
        np.testing.assert_allclose(found.values, [20.0, 17.0, 13.0], rtol=1e-10)
        np.testing.assert_allclose(found.residuals, 0.0, atol=1e-9)
        better = A @ block @ found.better
        np.testing.assert_allclose(np.abs(better.T @ vectors[:, [0, 3]]), np.eye(2), atol=1e-9)
        image = block @ found.turn
        np.testing.assert_allclose(np.abs(image.T @ vectors[:, [0, 3, 7]]), np.eye(3), atol=1e-9)

    def test_residuals(self, matrix, rng):
        A, _ = matrix
        block = rng.standard_normal((20, 4))
        found = small_matrices.ritz(self.products(A, block), 0)
        assert found.better is None
        image = block @ found.turn
        np.testing.assert_allclose(image.T @ image, np.eye(4), atol=1e-12)
        np.testing.assert_allclose(image.T @ A @ image, np.diag(found.values), atol=1e-11)
        expected = np.sum((A @ image - image * found.values) ** 2, axis=0)
        np.testing.assert_allclose(found.residuals, expected, rtol=1e-9)
        assert (found.residuals > 0.1).all()

    def test_better_vectors_are_those_after_one_more_product(self, matrix, rng):
        A, _ = matrix
        block = rng.standard_normal((20, 6))
        found = small_matrices.ritz(self.products(A, block), 3)
        better = A @ block @ found.better
        np.testing.assert_allclose(better.T @ better, np.eye(3), atol=1e-12)
        expected = np.linalg.qr(A @ block @ found.turn[:, :3])[0]
        np.testing.assert_allclose(better @ better.T, expected @ expected.T, atol=1e-12)

    @pytest.mark.parametrize(("rank", "known"), [(1, True), (3, False)])
    def test_only_vectors_that_are_orthonormal(self, matrix, rng, rank, known):
        # the last of these columns is lost in the rounding errors of the first, which is not
        A, vectors = matrix
        mixed = np.array([[1.0, 1.0, 1.0], [0.0, 1.0, 1.0], [0.0, 0.0, 1e-5]])
        block = vectors[:, :3] @ mixed
        found = small_matrices.ritz(self.products(A, block), rank)
        assert (found.better is not None) == known
        # rounding errors of the vectors themselves are foretold, too
        image = block @ found.turn
        errors = np.abs(np.sum(image**2, axis=0) - 1)
        assert (errors <= 10 * found.rounding).all()
        assert found.rounding[-1] > 1e3 * found.rounding[0]

    def test_dependent_columns(self, matrix, rng):
        block = ill_conditioned(rng, 1e12, rows=20)
        assert small_matrices.ritz(self.products(matrix[0], block), 2) is None


class TestProducts:
    """Singular vectors of products A Bᵀ."""

    @pytest.mark.parametrize("shapes", [(30, 20), (5, 40), (5, 5)])
    def test_the_singular_vectors(self, torch, rng, shapes):
        A, B = (rng.standard_normal((size, 5)).astype("float32") for size in shapes)
        left, values, right = small_matrices.product_svd(torch.asarray(A), torch.asarray(B))
        left, right = left.numpy(), right.numpy()
        for vectors in (left, right):
            np.testing.assert_allclose(vectors.T @ vectors, np.eye(5), atol=1e-5)
        np.testing.assert_allclose(values, np.linalg.svd(A @ B.T)[1][:5], rtol=1e-4)
        np.testing.assert_allclose(left * values @ right.T, A @ B.T, atol=1e-4)
        same = small_matrices.product_right_vectors(torch.asarray(A), torch.asarray(B))
        np.testing.assert_allclose(np.abs(same[0].numpy()), np.abs(right), atol=1e-4)
        np.testing.assert_allclose(same[1], values, rtol=1e-5)
        np.testing.assert_allclose(same[2].numpy(), B.T @ same[0].numpy(), atol=1e-5)

    def test_a_first_factor_of_lower_rank(self, torch, rng):
        A, B = (rng.standard_normal((30, 5)).astype("float32") for _ in range(2))
        A[:, 4] = A[:, 0]
        assert small_matrices.product_svd(torch.asarray(A), torch.asarray(B)) is None
        _, values, _ = small_matrices.product_right_vectors(torch.asarray(A), torch.asarray(B))
        np.testing.assert_allclose(values, np.linalg.svd(A @ B.T)[1][:5], atol=1e-4)

    @pytest.mark.parametrize("name", ["product_svd", "product_right_vectors"])
    def test_of_other_arrays_there_are_none(self, torch, rng, name):
        found = getattr(small_matrices, name)
        A = rng.standard_normal((30, 5))
        single = torch.asarray(A, dtype=torch.float32)
        assert found(A.astype("float32"), A.astype("float32")) is None
        assert found(torch.asarray(A), torch.asarray(A)) is None
        assert found(single, single[:4]) is None
        assert found(single[:, :0], single[:, :0]) is None
        near = torch.asarray(ill_conditioned(rng, 1e5), dtype=torch.float32)
        assert found(near, near) is None
        broken = torch.asarray(A, dtype=torch.float32)
        broken[0, 0] = torch.nan
        assert found(broken, single) is None
