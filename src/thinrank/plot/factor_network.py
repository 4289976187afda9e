"""Predictors, factors and responses as a network."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from thinrank.core.checks import check_choice
from thinrank.core.imports import import_optional
from thinrank.estimators.summary import Findings, plural
from thinrank.plot import canvas
from thinrank.plot.canvas import GRAY, INK, SMALL, names_at, shown_of, strongest

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_WIDEST = 4.5  # line width of the strongest edge, in points


@canvas.documented
def network(
    est: Any,
    *,
    through: str = "factors",
    max_edges: int = 100,
    max_predictors: int = 25,
    max_responses: int = 25,
    ax: Axes | None = None,
) -> Axes:
    """Draw which predictors act on which responses, through the factors.

    Predictors are on the left, responses on the right. The width of an edge is its strength, in
    standard deviations, relative to the strongest one of its side; red edges are positive, blue
    ones negative. A path of two edges of the same color raises the response.

    Parameters
    ----------
    {est}
    through : {"factors", "coefficients"}, default="factors"
        "factors" has the factors in a third column, between predictors and responses, with the
        loadings as edges; "coefficients" has an edge for each coefficient.
    max_edges : int, default=100
        Largest number of edges between two columns, the strongest ones.
    max_predictors : int, default=25
        Largest number of predictors shown, the strongest ones. In small Axes fewer are shown, so
        that their names can be read.
    max_responses : int, default=25
        The same for responses.

    Examples
    --------
    >>> import thinrank as tr
    >>> X, Y = tr.datasets.load_norwegian_paper(return_X_y=True, as_frame=True)
    >>> est = tr.SparseReducedRankRegressor(2, 5, None).fit(X, Y)
    >>> ax = tr.plot.network(est)
    >>> len(ax.texts) - 3  # without the titles of the columns
    20
    """
    check_choice("through", through, ("factors", "coefficients"))
    canvas.check_counts(
        max_edges=max_edges, max_predictors=max_predictors, max_responses=max_responses
    )
    model = canvas.fitted_model(est)
    rows, columns, values = canvas.selected(model)
    tallest = max(min(len(rows), max_predictors), min(len(columns), max_responses))
    ax = canvas.axes_of(ax, 7.2, max(1.0 + canvas.ROW * tallest, 2.8))
    if through == "factors" and model.rank == 0:
        return canvas.write_instead(ax, canvas.NO_FACTORS)
    if not len(columns):
        return canvas.write_instead(ax, canvas.NO_COEFFICIENTS)
    most = canvas.room(ax, "y") * 4 // 5
    top = strongest(np.linalg.norm(values, axis=1), min(max_predictors, most))
    side = strongest(np.linalg.norm(values, axis=0), min(max_responses, most))
    if through == "factors":
        down, across, layers = _by_factors(model, rows[top], columns[side])
    else:
        down, across, layers = _by_signs(values[np.ix_(top, side)])
    top, side = top[down], side[across]
    heights = [_heights(layer.shape[0]) for layer in layers] + [_heights(len(side))]
    _draw_layers(ax, layers, heights, max_edges)
    if through == "factors":
        ax.text(1.0, 1.09, "factors", ha="center", va="bottom", color=GRAY, fontsize=SMALL)
    left = "right", shown_of("predictors", len(top), len(rows))
    right = "left", shown_of(plural(model.noun), len(side), len(columns))
    size = canvas.font_size(ax, "y", round(1.25 * max(len(top), len(side))))
    names = names_at(model.predictor_names, rows[top])
    others = names_at(model.response_names, columns[side])
    for x, (align, title), places, texts in (
        (-0.05, left, heights[0], names),
        (2.05, right, heights[-1], others),
    ):
        title = title.replace(" (", "\n(")
        ax.text(x, 1.09, title, ha=align, va="bottom", color=GRAY, fontsize=SMALL)
        for y, text in zip(places, texts, strict=True):
            ax.text(x, float(y), text, ha=align, va="center", fontsize=size, parse_math=False)
    ax.set_xlim(-0.9, 2.9)
    ax.set_ylim(-0.06, 1.14)
    ax.set_axis_off()
    return canvas.with_fonts(ax)


def _by_factors(
    model: Findings, rows: np.ndarray, columns: np.ndarray
) -> tuple[np.ndarray, np.ndarray, list[np.ndarray]]:
    """Orders of predictors and responses in which few edges cross, and the loadings as edges."""
    left, right = canvas.loadings_of(model)
    left, right = left[rows], right[columns].T
    down = np.argsort(_centres(left), kind="stable")
    across = np.argsort(_centres(right.T), kind="stable")
    return down, across, [left[down], right[:, across]]


def _by_signs(values: np.ndarray) -> tuple[np.ndarray, np.ndarray, list[np.ndarray]]:
    """Orders in which positive edges are level and negative ones cross, and the edges.

    They are the orders of the best approximation of rank 1.
    """
    left, _, right = np.linalg.svd(values, full_matrices=False)
    down, across = np.argsort(-left[:, 0]), np.argsort(-right[0])
    return down, across, [values[np.ix_(down, across)]]


def _centres(weights: np.ndarray) -> np.ndarray:
    """Mean position of the neighbors of each row, weighted by squares."""
    squares = weights**2
    total = squares.sum(axis=1)
    return squares @ np.arange(weights.shape[1]) / np.where(total > 0, total, 1.0)


def _heights(count: int) -> np.ndarray:
    """Positions from top to bottom; few nodes are not drawn to the very ends."""
    if count == 1:
        return np.asarray([0.5])
    margin = 0.5 / (count + 1) if count < 8 else 0.0
    return np.linspace(1 - margin, margin, count)


def _draw_edges(
    ax: Axes,
    weights: np.ndarray,
    start: tuple[float, np.ndarray],
    end: tuple[float, np.ndarray],
    most: int,
) -> int:
    """Curved edges between two columns of nodes, weak ones first; returns their number."""
    order = strongest(np.abs(weights).ravel(), most)[::-1]
    rows, columns = np.unravel_index(order, weights.shape)
    values = weights[rows, columns]
    step = np.linspace(0, 1, 24)
    bend = step**2 * (3 - 2 * step)  # level at both ends
    x = start[0] + step * (end[0] - start[0])
    low, high = start[1][rows, None], end[1][columns, None]
    look: Any = {"colors": canvas.by_sign(values), "alpha": 0.65, "capstyle": "round"}
    look["linewidths"] = _WIDEST * np.abs(values) / np.abs(values).max(initial=1e-300)
    collection = import_optional("matplotlib.collections").LineCollection
    curves = [np.column_stack([x, y]) for y in low + bend * (high - low)]
    ax.add_collection(collection(curves, **look))
    return len(values)


def _draw_layers(
    ax: Axes, layers: list[np.ndarray], heights: list[np.ndarray], max_edges: int
) -> None:
    """Edges between consecutive columns of nodes, and the nodes."""
    places = np.linspace(0, 2, len(heights))
    drawn, total = 0, 0
    for i, layer in enumerate(layers):
        ends = (places[i], heights[i]), (places[i + 1], heights[i + 1])
        drawn += _draw_edges(ax, layer, *ends, max_edges)
        total += int(np.count_nonzero(layer))
    if drawn < total:
        note = f"strongest {drawn:,} of {total:,} edges shown"
        ax.set_title(note, y=-0.04, fontsize=SMALL, color=GRAY)
    for x, nodes in ((0, heights[0]), (2, heights[-1])):
        ax.plot(np.full(len(nodes), x), nodes, "o", color=INK, markersize=3.5, zorder=3)
    for i, place in enumerate(heights[1] if len(heights) == 3 else []):
        circle: Any = {"boxstyle": "circle,pad=0.3", "facecolor": "white", "edgecolor": INK}
        style: Any = {"ha": "center", "va": "center", "zorder": 4, "bbox": circle}
        ax.text(1, float(place), str(i + 1), fontsize=SMALL, **style)
