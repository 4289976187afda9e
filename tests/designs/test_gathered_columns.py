"""Columns that are read in tiles are those of the design."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from thinrank.designs import Dense, Sparse, Transformed, gathered_columns, standardize
from thinrank.designs.gathered_columns import columns_product, put_columns

N, P = 23, 12
INDEX = np.array([1, 2, 7, 11])


def designs():
    rng = np.random.default_rng(30_300)
    X = rng.standard_normal((N, P)) + 3
    standard = standardize(Dense(X)).design
    return {
        "dense": Dense(X),
        "fortran": standardize(Dense(np.asfortranarray(X))).design,
        "standardized": standard,
        "weighted": Transformed(standard, row_scale=rng.uniform(1, 2, N)),
        "sparse": Transformed(Sparse(csr_array(X)), center=X.mean(axis=0)),
    }


@pytest.fixture(params=[1, 3])
def tiles(monkeypatch, request):
    monkeypatch.setattr(gathered_columns, "threads_in_use", lambda: request.param)
    monkeypatch.setattr(gathered_columns, "_TILE_ROWS", 5)
    monkeypatch.setattr(gathered_columns, "_WORTH_TILES", 0)


def read(monkeypatch):
    """The numbers of rows of the tiles that are read."""
    heights, own = [], gathered_columns._rows

    def rows(design, part):
        found = own(design, part)
        heights.append(found.shape[0])
        return found

    monkeypatch.setattr(gathered_columns, "_rows", rows)
    return heights


@pytest.mark.parametrize("name", designs())
def test_columns_become_rows(tiles, name):
    design = designs()[name]
    before = np.random.default_rng(1).standard_normal((7, N))
    places = np.array([0, 2, 3, 6])
    found = put_columns(design, INDEX, before.copy(), places)
    np.testing.assert_array_equal(found[places], design.columns(INDEX).T)
    np.testing.assert_array_equal(found[[1, 4, 5]], before[[1, 4, 5]])


@pytest.mark.parametrize("name", designs())
def test_products_with_columns(tiles, name):
    design = designs()[name]
    block = np.random.default_rng(2).standard_normal((len(INDEX), 3))
    expected = design.columns(INDEX) @ block
    np.testing.assert_allclose(columns_product(design, INDEX, block), expected, atol=1e-13)


def test_tiles_cover_the_rows_once(tiles, monkeypatch):
    heights = read(monkeypatch)
    columns_product(designs()["dense"], INDEX, np.ones((len(INDEX), 1)))
    assert sorted(heights) == [3, 5, 5, 5, 5]


def test_few_entries_are_read_at_once(monkeypatch):
    heights = read(monkeypatch)
    columns_product(designs()["dense"], INDEX, np.ones((len(INDEX), 1)))
    assert heights == []
