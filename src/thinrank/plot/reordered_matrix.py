"""A matrix with the rows and columns of its blocks next to each other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from thinrank.core.imports import import_optional
from thinrank.plot.canvas import axes_of, check_count, name_axis, room, write_instead
from thinrank.plot.colours import CATEGORIES, DIVERGING, GREY
from thinrank.plot.decomposition import decomposition, matrix_of
from thinrank.plot.labels import names_at

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Part of the entries that may exceed the ends of the colour scale, so that a few large ones do not
# make all others pale.
_BEYOND = 0.01
_NAMED = 40  # most columns whose names are written


def biclusters(
    est: Any,
    X: Any,
    *,
    max_rows: int = 300,
    max_columns: int = 300,
    ax: Axes | None = None,
) -> Axes:
    """Draw a matrix with the rows and columns of its blocks first, and a frame around each block.

    Parameters
    ----------
    est : estimator
        A fitted :class:`thinrank.SparseSVD`, with ``layers=True`` for one block per layer, or
        another decomposition of a bare matrix.
    X : array, data frame or sparse matrix of shape (n_rows, n_columns)
        The matrix of fit. Missing cells are left white.
    max_rows, max_columns : int, default=300
        Largest number of rows and columns shown. Those of the blocks come first, ordered within a
        block by their loadings; the others follow in the order of the data and are cut off.
    ax : Axes or None, default=None
        The Axes to draw in; None for a new figure.

    Returns
    -------
    Axes
        The Axes. Positive entries are red, negative ones blue.

    Examples
    --------
    >>> import numpy as np, thinrank as tr
    >>> X = np.random.default_rng(0).standard_normal((60, 50))
    >>> X[::6, ::5] += 4
    >>> svd = tr.SparseSVD(layers=True).fit(X)
    >>> ax = tr.plot.biclusters(svd, X)
    >>> len(ax.patches)
    1
    """
    max_rows, max_columns = (
        check_count("max_rows", max_rows),
        check_count("max_columns", max_columns),
    )
    parts = decomposition(est)
    matrix = matrix_of(X, (len(parts.left), parts.components.shape[1]))
    ax = axes_of(ax, 6.4, 5.4)
    if not parts.rank:
        return write_instead(ax, "The rank is 0: there are no blocks.")
    rows, row_parts = _order([layer[0] for layer in parts.layers], parts.left.T, max_rows)
    columns, column_parts = _order(
        [layer[1] for layer in parts.layers], parts.components, max_columns
    )
    shown = matrix[np.ix_(rows, columns)]
    limit = float(np.nanquantile(np.abs(shown), 1 - _BEYOND)) or 1.0
    image = ax.imshow(
        shown, cmap=DIVERGING, vmin=-limit, vmax=limit, aspect="auto", interpolation="nearest"
    )
    for block, ((top, bottom), (left, right)) in enumerate(
        zip(row_parts, column_parts, strict=True)
    ):
        _frame(ax, (left, top, right, bottom), CATEGORIES[block % len(CATEGORIES)])
    _name_columns(ax, parts.names, columns, max(right for _, right in column_parts))
    ax.set_ylabel(_axis_label("row", len(rows), len(matrix)))
    ax.set_xlabel(_axis_label("column", len(columns), matrix.shape[1]))
    ax.set_yticks([])
    for spine in ax.spines.values():
        spine.set_edgecolor(GREY)
    figure: Any = ax.get_figure()
    bar = figure.colorbar(image, ax=ax, shrink=0.8, aspect=25, extend="both")
    bar.outline.set_visible(False)
    return ax


def _order(
    flags: list[np.ndarray], loadings: np.ndarray, most: int
) -> tuple[np.ndarray, list[tuple[int, int]]]:
    """Positions to show, block after block, and where the members of each block begin and end.

    A member of several blocks stands in the first one.
    """
    taken = np.zeros(len(flags[0]), dtype=bool)
    order: list[int] = []
    ranges = []
    for block, inside in enumerate(flags):
        own = np.flatnonzero(inside & ~taken)
        taken |= inside
        own = own[np.argsort(-loadings[block, own], kind="stable")]
        begin = len(order)
        order.extend(own.tolist())
        ranges.append((min(begin, most), min(len(order), most)))
    order.extend(np.flatnonzero(~taken).tolist())
    return np.array(order[:most]), ranges


def _frame(ax: Axes, box: tuple[int, int, int, int], colour: str) -> None:
    rectangle = import_optional("matplotlib.patches").Rectangle
    left, top, right, bottom = box
    if right > left and bottom > top:
        corner = (left - 0.5, top - 0.5)
        ax.add_patch(
            rectangle(corner, right - left, bottom - top, fill=False, edgecolor=colour, linewidth=2)
        )


def _name_columns(ax: Axes, names: list[str], columns: np.ndarray, in_blocks: int) -> None:
    """Names of the columns in blocks, if there is room for all columns."""
    ax.set_xticks([])
    if len(columns) <= min(room(ax, "x"), _NAMED):
        name_axis(ax, "x", range(in_blocks), names_at(names, columns[:in_blocks]))


def _axis_label(kind: str, shown: int, total: int) -> str:
    return f"{kind}s" if shown == total else f"{kind}s ({shown:,} of {total:,} shown)"
