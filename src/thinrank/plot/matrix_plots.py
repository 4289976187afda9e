"""Figures of decompositions of a bare matrix: loadings, blocks, singular values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from thinrank import arrays, linalg
from thinrank.core.imports import import_optional
from thinrank.matrices.decomposition import Decomposition
from thinrank.plot import canvas
from thinrank.plot.canvas import ACCENT, CATEGORIES, GRAY, QUIET, names_at

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@canvas.plot
def loadings(
    est: Any, *, max_columns: int = 30, max_components: int = 8, ax: Axes | None = None
) -> Axes:
    """Draw the loadings of the columns on the components as bars.

    With one column of bars per component. Bars to the right (red) are positive, those to the
    left (blue) negative, relative to the longest one of the component.

    Parameters
    ----------
    {decomposition}
    max_columns : int, default=30
        Largest number of columns of the matrix shown: those with the largest loading on one of the
        components.
    max_components : int, default=8
        Largest number of components shown.

    Examples
    --------
    {matrix}
    >>> ax = tr.plot.loadings(tr.SparseSVD().fit(X))
    >>> len(ax.get_yticklabels())
    10
    """
    _, V = _factors(est)
    values = V[:, :max_components]
    sides = [("columns", _names(est, len(V)), values, max_columns)]
    titles = [f"component {i + 1}" for i in range(values.shape[1])]
    return canvas.bar_columns(ax, sides, titles, "The rank is 0: there are no components.")


@canvas.plot
def biclusters(
    est: Any, X: Any, *, max_rows: int = 300, max_columns: int = 300, ax: Axes | None = None
) -> Axes:
    """Draw a matrix with the rows and columns of its blocks first, and a frame around each block.

    Positive entries are red, negative ones blue. With ``layers=True`` every layer has a block.

    Parameters
    ----------
    {decomposition}
    X : array, data frame or sparse matrix of shape (n_rows, n_columns)
        The matrix of fit. Missing cells are left white.
    max_rows, max_columns : int, default=300
        Largest number of rows and columns shown. Those of the blocks come first, ordered within a
        block by their loadings; the others follow in the order of the data and are cut off.

    Examples
    --------
    {matrix}
    >>> svd = tr.SparseSVD(layers=True).fit(X)
    >>> ax = tr.plot.biclusters(svd, X)
    >>> len(ax.patches)
    1
    """
    U, V = _factors(est)
    matrix = _matrix_of(X, U, V)
    ax = canvas.axes_of(ax, 6.4, 5.4)
    if not U.shape[1]:
        return canvas.write_instead(ax, "The rank is 0: there are no blocks.")
    layers = getattr(est, "layers", False)
    row_flags: Any = est.rows_ if layers else [U.any(axis=1)]
    column_flags: Any = est.columns_ if layers else [V.any(axis=1)]
    rows, row_parts = _order(row_flags, U.T, max_rows)
    columns, column_parts = _order(column_flags, V.T, max_columns)
    shown = matrix[np.ix_(rows, columns)]
    # a few large entries do not make all others pale
    canvas.heat_map(ax, shown, float(np.nanquantile(np.abs(shown), 0.99)) or 1.0, extend="both")
    rectangle = import_optional("matplotlib.patches").Rectangle
    for block, (down, across) in enumerate(zip(row_parts, column_parts, strict=True)):
        high, wide = len(down), len(across)
        if high and wide:
            color = CATEGORIES[block % len(CATEGORIES)]
            corner = (across[0] - 0.5, down[0] - 0.5)
            ax.add_patch(rectangle(corner, wide, high, fill=False, edgecolor=color, linewidth=2))
    ax.set_xticks([])
    if len(columns) <= min(canvas.room(ax, "x"), 40):
        named = max(part.stop for part in column_parts)
        canvas.name_axis(ax, "x", range(named), names_at(_names(est, len(V)), columns[:named]))
    ax.set_ylabel(canvas.shown_of("rows", len(rows), len(matrix)))
    ax.set_xlabel(canvas.shown_of("columns", len(columns), matrix.shape[1]))
    ax.set_yticks([])
    return ax


@canvas.plot
def scree(est: Any, X: Any, *, max_values: int = 20, ax: Axes | None = None) -> Axes:
    """Draw the largest singular values of a matrix, with those of the decomposition.

    Bars are the singular values of the decomposition, points those of the matrix; a line shows
    the rank. A value of the decomposition is smaller than that of the matrix by what the rows
    and columns left out contribute.

    Parameters
    ----------
    {decomposition}
    X : array, data frame or sparse matrix of shape (n_rows, n_columns)
        The matrix of fit. The means are subtracted if the estimator did so (``mean_``); missing
        cells are replaced by those of the decomposition.
    max_values : int, default=20
        Largest number of singular values shown.

    Examples
    --------
    {matrix}
    >>> ax = tr.plot.scree(tr.SparseSVD().fit(X), X)
    >>> ax.get_title()
    'rank 1'
    """
    U, V = _factors(est)
    matrix = _matrix_of(X, U, V) - np.asarray(getattr(est, "mean_", 0.0))
    matrix = np.where(np.isnan(matrix), U @ V.T, matrix)
    values = linalg.truncated_svd(matrix, max_values)[1]
    ax = canvas.axes_of(ax)
    own = np.linalg.norm(U, axis=0) * np.linalg.norm(V, axis=0)
    own = np.sort(own)[::-1][:max_values]
    ax.bar(np.arange(1, len(own) + 1), own, color=ACCENT, width=0.6, label="decomposition")
    places = np.arange(1, len(values) + 1)
    ax.plot(places, values, "o-", color=GRAY, markersize=4, lw=1, label="matrix")
    ax.axvline(U.shape[1] + 0.5, color=QUIET, lw=1.5, ls="--")
    ax.set_title(f"rank {U.shape[1]}", fontsize=canvas.LARGE)
    ax.set(xlabel="component", ylabel="singular value", xlim=(0.4, len(values) + 0.6))
    ax.set_ylim(bottom=0)
    canvas.whole_numbers(ax)
    canvas.open_frame(ax)
    canvas.legend_of(ax)
    return ax


def _factors(est: Any) -> tuple[np.ndarray, np.ndarray]:
    """The factors of a fitted estimator; a TypeError if it is no decomposition of a matrix."""
    if not isinstance(est, Decomposition):
        raise TypeError(
            "est must be a fitted SparseSVD, SparsePCA, SparseMatrixCompletion or "
            f"SparseLowRankGraph, got {type(est).__name__}"
        )
    check_is_fitted(est, "factors_")
    return arrays.to_numpy(est.factors_.U), arrays.to_numpy(est.factors_.V)


def _names(est: Any, count: int) -> list[str]:
    """Names of the columns, made up if fit received none."""
    return list(map(str, getattr(est, "feature_names_in_", [f"x{j}" for j in range(count)])))


def _matrix_of(X: Any, U: np.ndarray, V: np.ndarray) -> np.ndarray:
    """X as a dense NumPy array; a ValueError unless it has the shape of fit."""
    dense, shape = canvas.as_matrix(X), (len(U), len(V))
    if dense.shape != shape:
        raise ValueError(f"X must be the matrix of fit, of shape {shape}, got {dense.shape}")
    return dense


def _order(
    flags: Sequence[np.ndarray], loadings: np.ndarray, most: int
) -> tuple[np.ndarray, list[range]]:
    """Positions to show, block after block (of several the first), and the ranges of the blocks."""
    taken = np.zeros(len(flags[0]), dtype=bool)
    order: list[int] = []
    ranges = []
    for block, inside in enumerate(flags):
        own = np.flatnonzero(inside & ~taken)
        taken |= inside
        begin = len(order)
        order += own[np.argsort(-loadings[block, own], kind="stable")].tolist()
        ranges.append(range(min(begin, most), min(len(order), most)))
    order += np.flatnonzero(~taken).tolist()
    return np.array(order[:most]), ranges
