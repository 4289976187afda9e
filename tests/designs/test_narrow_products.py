"""Products with few columns from tiles are those of the whole array."""

import numpy as np
import pytest

from thinrank.designs import Dense, narrow_products
from thinrank.designs.narrow_products import is_narrow, narrow_product

N, P = 30, 1003


@pytest.fixture
def tiled(monkeypatch):
    monkeypatch.setattr(narrow_products, "_WORTH_TILES", N * 100)
    monkeypatch.setattr(narrow_products, "TILE_PRODUCTS", N * 50)
    monkeypatch.setattr(narrow_products, "threads_in_use", lambda: 3)


def data(dtype="float64"):
    rng = np.random.default_rng(30_300)
    return rng.standard_normal((P, N)).astype(dtype).T, rng.standard_normal((N, 20)).astype(dtype)


@pytest.mark.parametrize(("dtype", "tol"), [("float64", 1e-13), ("float32", 1e-5)])
@pytest.mark.parametrize("columns", [1, 2, 3, 7, 12])
@pytest.mark.parametrize("rows", [slice(None), slice(3, 20)])
def test_equal_to_the_product(tiled, dtype, tol, columns, rows):
    X, block = data(dtype)
    X, block = X[rows], block[rows, :columns]
    assert is_narrow(X, block)
    product = narrow_product(X, block)
    np.testing.assert_allclose(product, np.einsum("ij,ik->jk", X, block), rtol=0, atol=100 * tol)
    assert product.dtype == X.dtype
    np.testing.assert_array_equal(Dense(X).transposed_product(block), product)


def test_other_products_are_computed_at_once(tiled):
    X, block = data()
    assert not is_narrow(X, block[:, 0])  # a vector
    assert not is_narrow(X, block)  # many columns
    assert not is_narrow(X, block[:, :3].astype("float32"))
    assert not is_narrow(np.ascontiguousarray(X), block[:, :3])
    assert not is_narrow(X[:, :99], block[:, :3])  # small
    for few in (block[:, 0], block):
        np.testing.assert_allclose(Dense(X).transposed_product(few), X.T @ few, atol=1e-12)


def test_fewer_columns_than_a_tile_has(tiled):
    X, block = data()
    few = X[:, :5]
    np.testing.assert_allclose(narrow_product(few, block[:, :3]), few.T @ block[:, :3], atol=1e-12)
