import numpy as np
import pytest
import scipy.sparse as sp

from thinrank.core.factors import Factors
from thinrank.designs import Deflated, as_design


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_products_are_those_of_the_difference(kind):
    rng = np.random.default_rng(0)
    X, U, V = rng.standard_normal((9, 6)), rng.standard_normal((9, 2)), rng.standard_normal((6, 2))
    design, expected = Deflated(as_design(kind(X)), Factors(U, V)), X - U @ V.T
    B, C = rng.standard_normal((6, 3)), rng.standard_normal((9, 3))
    index, rows = np.array([1, 4]), np.array([0, 3, 8])
    np.testing.assert_allclose(design @ B, expected @ B)
    np.testing.assert_allclose(design.transposed_product(C), expected.T @ C)
    np.testing.assert_allclose(design.columns(index), expected[:, index])
    np.testing.assert_allclose(design.rows(rows) @ B, expected[rows] @ B)
    np.testing.assert_allclose(design.gram(), expected.T @ expected)
    np.testing.assert_allclose(design.gram(index), expected[:, index].T @ expected[:, index])
    np.testing.assert_allclose(design.column_norms(), np.linalg.norm(expected, axis=0))
    scale, center = rng.uniform(0.5, 2, 9), rng.standard_normal(6)
    np.testing.assert_allclose(
        design.column_norms(scale, center),
        np.linalg.norm(scale[:, None] * (expected - center), axis=0),
    )
    assert design.shape == (9, 6)
