"""A design in parts has the products of the whole design."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from thinrank.designs import ColumnSubset, Dense, Sparse, Transformed, column_parts, standardize
from thinrank.forms import ProductForm

N, P, K = 12, 50, 5


def designs():
    rng = np.random.default_rng(30_200)
    X = rng.standard_normal((N, P)) + 3
    weighted = Transformed(standardize(Dense(X)).design, row_scale=rng.uniform(1, 2, N))
    index = np.array([0, 3, 4, 5, 11, 12, 20, 21, 22, 40, 41, 49])
    return {
        "dense": Dense(X),
        "fortran": Dense(np.asfortranarray(X)),
        "scaled": Transformed(Dense(X), column_scale=rng.uniform(1, 2, P)),
        "weighted": weighted,
        "subset": ColumnSubset(weighted, index),
    }


@pytest.fixture
def short(monkeypatch):
    monkeypatch.setattr(column_parts, "_LEAST_COLUMNS", 5)
    monkeypatch.setattr(column_parts, "_PRODUCT_ENTRIES", 7 * K)


@pytest.mark.parametrize("name", designs())
def test_products_with_parts_are_those_with_the_design(short, name):
    design = designs()[name]
    block = np.random.default_rng(1).standard_normal((N, K))
    parts = column_parts.column_parts(design, K)
    assert [part.design.shape[1] for part in parts[:-1]] == [7] * (len(parts) - 1)
    assert [part.columns.stop for part in parts[:-1]] == [x.columns.start for x in parts[1:]]
    product = np.concatenate([part.design.transposed_product(block) for part in parts])
    np.testing.assert_allclose(product, design.transposed_product(block), atol=1e-12)


def test_a_part_of_an_array_is_a_view(short):
    design = designs()["dense"]
    for part in column_parts.column_parts(design, K):
        assert np.shares_memory(part.design.array, design.array)


def test_a_design_that_is_sparse_or_small_is_one_part(short):
    dense = designs()["dense"]
    sparse = Sparse(csr_array(dense.array))
    for design in (sparse, Transformed(sparse), Dense(dense.array[:, :7])):
        (part,) = column_parts.column_parts(design, K)
        assert part.design is design
        assert part.columns == slice(0, design.shape[1])


@pytest.mark.parametrize("units", [None, np.linspace(0.5, 2, K)])
@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize("threads", [1, 2])
def test_norms_of_cross_products_in_parts(short, monkeypatch, units, exact, threads):
    monkeypatch.setattr("thinrank.forms.shared_products.threads_in_use", lambda: threads)
    design = designs()["weighted"]
    Y = np.random.default_rng(2).standard_normal((N, K))
    if exact:
        monkeypatch.setattr("thinrank.forms.kept_cross._PART_OF_X", 1)
    X = design.columns(np.arange(P))
    form = ProductForm(design, Dense(Y), float(N), 1.0, 0.0, units=units)
    cross = X.T @ (Y if units is None else Y * units) / N
    for _ in range(2):  # new, and from what was kept
        by_row, by_column = form.cross_norms()
        np.testing.assert_allclose(by_row, np.sum(cross**2, axis=1), rtol=1e-12)
        np.testing.assert_allclose(by_column, np.sum(cross**2, axis=0), rtol=1e-12)
        form._known.clear()
    assert (form._shared._kept is not None) == exact
    np.testing.assert_allclose(form.cross_rows(np.array([3, 30])), cross[[3, 30]], atol=1e-12)
