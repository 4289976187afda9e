import numpy as np
import pytest

from thinrank.matrices.cell_centre import Centre
from thinrank.matrices.observed_cells import ObservedCells


def table():
    rng = np.random.default_rng(0)
    A = rng.standard_normal((8, 6)) + np.arange(8)[:, None] - 2.0 * np.arange(6)
    A[rng.random(A.shape) < 0.4] = np.nan
    return A


@pytest.mark.parametrize("kind", ["columns", "rows"])
def test_means_of_observed_cells(kind):
    A = table()
    centre = Centre.of(ObservedCells.of(A), kind)
    expected = np.nanmean(A, axis=0) if kind == "columns" else np.nanmean(A, axis=1)
    np.testing.assert_allclose(centre.columns if kind == "columns" else centre.rows, expected)
    assert not (centre.rows if kind == "columns" else centre.columns).any()


def test_both_is_the_least_squares_fit_of_an_additive_model():
    A = table()
    cells = ObservedCells.of(A)
    design = np.zeros((len(cells), 14))
    design[np.arange(len(cells)), cells.rows] = 1.0
    design[np.arange(len(cells)), 8 + cells.columns] = 1.0
    expected = design @ np.linalg.lstsq(design, cells.values, rcond=None)[0]
    np.testing.assert_allclose(Centre.of(cells, "both").at(cells), expected, atol=1e-7)


def test_empty_columns_have_the_mean_of_the_others():
    A = table()
    A[:, 2] = np.nan
    centre = Centre.of(ObservedCells.of(A), "columns")
    assert centre.columns[2] == pytest.approx(np.mean(np.delete(centre.columns, 2)))
