"""Plots of decompositions of bare matrices."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression

import thinrank as tr
from thinrank.core.warnings import SelectionWarning

PLOTS = {
    "biclusters": tr.plot.biclusters,
    "loadings": lambda est, X, **options: tr.plot.loadings(est, **options),
    "scree": tr.plot.scree,
}


@pytest.fixture(scope="module")
def matrix():
    rng = np.random.default_rng(0)
    A = rng.standard_normal((60, 50))
    A[::6, ::5] += 4
    A[1::6, 1::5] -= 4
    return A


@pytest.fixture(scope="module")
def layers(matrix):
    return tr.SparseSVD(2, layers=True).fit(matrix)


def missing(matrix):
    holes = matrix.copy()
    holes[::7, ::3] = np.nan
    return holes


def named(matrix):
    return pd.DataFrame(matrix, columns=[f"$x_{j}" for j in range(50)])


FITS = {
    "svd": lambda A: (tr.SparseSVD(2, 20, 20).fit(A), A),
    "pca": lambda A: (tr.SparsePCA(2, 20).fit(A), A),
    "completion": lambda A: (
        tr.SparseMatrixCompletion(2, 20, 20, ridge=0.1).fit(missing(A)),
        missing(A),
    ),
    "graph": lambda A: (tr.SparseLowRankGraph(2, 20).fit(A.T @ A), A.T @ A),
    "odd names": lambda A: (tr.SparseSVD(2, 20, 20).fit(named(A)), named(A)),
}


@pytest.mark.parametrize("kind", FITS)
def test_every_plot_draws_every_decomposition(kind, matrix):
    est, X = FITS[kind](matrix)
    figure, axes = plt.subplots(1, 3, figsize=(18, 5), layout="constrained")
    for plot, ax in zip(PLOTS.values(), axes, strict=True):
        assert plot(est, X, ax=ax) is ax
    figure.canvas.draw()
    assert plt.get_fignums() == [figure.number]


def test_rank_zero_and_wrong_estimators():
    A = np.random.default_rng(1).standard_normal((30, 20))
    with pytest.warns(SelectionWarning):
        nothing = tr.SparseSVD().fit(A)
    for plot in PLOTS.values():
        plot(nothing, A).figure.canvas.draw()
        with pytest.raises(TypeError, match="SparseSVD, SparsePCA"):
            plot(LinearRegression().fit(A, A), A)
        with pytest.raises(NotFittedError):
            plot(tr.SparseSVD(), A)


def test_blocks_are_next_to_each_other(layers, matrix, ax):
    tr.plot.biclusters(layers, matrix, ax=ax)
    shown = ax.images[0].get_array()
    assert shown.shape == matrix.shape
    for i, frame in enumerate(ax.patches):
        top, left = int(frame.get_y() + 0.5), int(frame.get_x() + 0.5)
        block = shown[top : top + int(frame.get_height()), left : left + int(frame.get_width())]
        np.testing.assert_allclose(
            np.sort(block.ravel()), np.sort(layers.get_submatrix(i, matrix).ravel())
        )
    assert len(ax.patches) == 2
    ax = tr.plot.biclusters(layers, matrix, max_rows=30, max_columns=25)
    assert ax.images[0].get_array().shape == (30, 25)
    assert "30 of 60" in ax.get_ylabel()


def test_scree_shows_values_of_matrix_and_decomposition(layers, matrix, ax):
    tr.plot.scree(layers, matrix, max_values=5, ax=ax)
    heights = [bar.get_height() for bar in ax.patches]
    np.testing.assert_allclose(heights, layers.singular_values_)
    points = ax.lines[0].get_ydata()
    np.testing.assert_allclose(points, np.linalg.svd(matrix, compute_uv=False)[:5])


def test_loadings_are_those_of_the_components(layers, ax):
    tr.plot.loadings(layers, ax=ax)
    labels = [label.get_text() for label in ax.get_yticklabels()]
    assert set(labels) == {f"x{j}" for j in layers.column_support_}


def test_wrong_shapes_and_numbers(layers, matrix):
    with pytest.raises(ValueError, match=r"shape \(60, 50\)"):
        tr.plot.biclusters(layers, matrix[:, :3])
    with pytest.raises(ValueError, match="max_values must be"):
        tr.plot.scree(layers, matrix, max_values=0)
