"""Predictors, factors and responses as a network."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from thinrank.core.extras import import_optional
from thinrank.plot.canvas import axes_of, check_choice, check_count, font_size, room, write_instead
from thinrank.plot.colours import GREY, INK, by_sign
from thinrank.plot.factor_bars import no_factors
from thinrank.plot.fitted_model import FittedModel, fitted_model
from thinrank.plot.labels import names_at, shown_of, strongest

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["network"]

_ROW = 0.21  # height of a name in a new figure, in inches
_WIDEST = 4.5  # line width of the strongest edge, in points
# Edges weaker than this, relative to the strongest of their side, are hardly visible and hide
# others, so they are left out.
_WEAK = 0.05
_STEPS = 24  # points of a curved edge


def network(
    est: Any,
    *,
    through: str = "factors",
    max_predictors: int = 25,
    max_responses: int = 25,
    ax: Axes | None = None,
) -> Axes:
    """Draw which predictors act on which responses, through the factors.

    Predictors are on the left, responses on the right. The width of an edge is its strength, in
    standard deviations, relative to the strongest one of its side; red edges are positive, blue
    ones negative. A path of two edges of the same colour raises the response.

    Parameters
    ----------
    est : estimator
        A fitted estimator, such as :class:`thinrank.SparseReducedRankRegressor`.
    through : {"factors", "coefficients"}, default="factors"
        "factors" has the factors in a third column, between predictors and responses, with the
        loadings as edges; "coefficients" has an edge for each coefficient.
    max_predictors : int, default=25
        Largest number of predictors shown, the strongest ones. In small Axes fewer are shown, so
        that their names can be read.
    max_responses : int, default=25
        The same for responses.
    ax : Axes or None, default=None
        The Axes to draw in; None for a new figure.

    Returns
    -------
    Axes
        The Axes. Edges with less than 5 % of the strength of the strongest are left out.

    Examples
    --------
    >>> import thinrank as tr
    >>> X, Y = tr.datasets.load_norwegian_paper(return_X_y=True, as_frame=True)
    >>> est = tr.SparseReducedRankRegressor(2, 5, None).fit(X, Y)
    >>> ax = tr.plot.network(est)
    >>> len(ax.texts) - 3  # without the titles of the columns
    20
    """
    through = check_choice("through", through, ("factors", "coefficients"))
    max_predictors = check_count("max_predictors", max_predictors)
    max_responses = check_count("max_responses", max_responses)
    model = fitted_model(est)
    rows, columns, values = model.selected()
    tallest = max(min(len(rows), max_predictors), min(len(columns), max_responses))
    ax = axes_of(ax, 7.2, max(1.0 + _ROW * tallest, 2.8))
    if through == "factors" and model.rank == 0:
        return no_factors(ax)
    if model.is_empty:
        return write_instead(ax, "All coefficients are zero: no predictor was selected.")
    most = room(ax, "y") * 4 // 5
    top = strongest(np.linalg.norm(values, axis=1), min(max_predictors, most))
    side = strongest(np.linalg.norm(values, axis=0), min(max_responses, most))
    left, right = _layers(model, rows[top], columns[side], values[np.ix_(top, side)], through)
    down, across = _orders(left, right)
    top, side, left, right = top[down], side[across], left[down], right[:, across]
    heights = [_heights(len(top)), _heights(len(side))]
    if through == "factors":
        heights.insert(1, _heights(model.rank) if model.rank > 1 else np.asarray([0.5]))
        _draw_edges(ax, left, (0, heights[0]), (1, heights[1]))
        _draw_edges(ax, right, (1, heights[1]), (2, heights[2]))
    else:
        _draw_edges(ax, left, (0, heights[0]), (2, heights[1]))
    _draw_nodes(ax, heights, through)
    size = font_size(ax, "y", round(1.25 * max(len(top), len(side))))
    _draw_names(ax, 0, heights[0], names_at(model.predictors, rows[top]), size)
    _draw_names(ax, 2, heights[-1], names_at(model.responses, columns[side]), size)
    for x, title in (
        (0, shown_of("predictors", len(top), len(rows))),
        (2, shown_of("responses", len(side), len(columns))),
    ):
        align = "right" if x == 0 else "left"
        ax.text(x, 1.09, title.replace(" (", "\n("), ha=align, va="bottom", color=GREY, fontsize=8)
    if through == "factors":
        ax.text(1, 1.09, "factors", ha="center", va="bottom", color=GREY, fontsize=8)
    ax.set_xlim(-0.9, 2.9)
    ax.set_ylim(-0.06, 1.14)
    ax.set_axis_off()
    return ax


def _layers(
    model: FittedModel, rows: np.ndarray, columns: np.ndarray, values: np.ndarray, through: str
) -> tuple[np.ndarray, np.ndarray]:
    """Weights of the edges on the left, (rows, factors), and on the right, (factors, columns).

    Without factors all edges are on the left, and the right is an identity.
    """
    if through == "coefficients":
        return values, np.eye(len(columns))
    left, right = model.loadings()
    return left[rows], right[columns].T


def _orders(left: np.ndarray, right: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Orders of both sides in which few edges cross: by the mean position of the neighbours."""
    down = np.argsort(_centres(left), kind="stable")
    if left.shape[1] == right.shape[1] and np.array_equal(right, np.eye(len(right))):
        return down, np.argsort(_centres(left[down].T), kind="stable")
    return down, np.argsort(_centres(right.T), kind="stable")


def _centres(weights: np.ndarray) -> np.ndarray:
    """Mean position of the neighbours of each row, weighted by squares."""
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
) -> None:
    """Curved edges between two columns of nodes, weak ones first."""
    strength = np.abs(weights) / (float(np.abs(weights).max()) or 1.0)
    pairs = np.argwhere(strength > _WEAK)
    pairs = pairs[np.argsort(strength[pairs[:, 0], pairs[:, 1]])]
    step = np.linspace(0, 1, _STEPS)
    bend = step**2 * (3 - 2 * step)  # level at both ends
    x = start[0] + step * (end[0] - start[0])
    lines, widths, colours = [], [], []
    for i, j in pairs:
        y = start[1][i] + bend * (end[1][j] - start[1][i])
        lines.append(np.column_stack([x, y]))
        widths.append(_WIDEST * strength[i, j])
        colours.append(by_sign(float(weights[i, j])))
    collection = import_optional("matplotlib.collections").LineCollection
    ax.add_collection(
        collection(lines, linewidths=widths, colors=colours, alpha=0.65, capstyle="round")
    )


def _draw_nodes(ax: Axes, heights: list[np.ndarray], through: str) -> None:
    for x, places in ((0, heights[0]), (2, heights[-1])):
        ax.plot(np.full(len(places), x), places, "o", color=INK, markersize=3.5, zorder=3)
    if through != "factors":
        return
    for i, place in enumerate(heights[1]):
        ax.text(
            1,
            float(place),
            str(i + 1),
            ha="center",
            va="center",
            fontsize=8,
            zorder=4,
            bbox={"boxstyle": "circle,pad=0.3", "facecolor": "white", "edgecolor": INK},
        )


def _draw_names(ax: Axes, x: float, heights: np.ndarray, names: list[str], size: float) -> None:
    shift, align = (-0.05, "right") if x == 0 else (0.05, "left")
    for place, name in zip(heights, names, strict=True):
        ax.text(
            x + shift, float(place), name, ha=align, va="center", fontsize=size, parse_math=False
        )
