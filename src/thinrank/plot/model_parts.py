"""The parts of a fitted model: coefficients as a map, loadings as bars, both as a network."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.cluster.hierarchy import dendrogram, linkage

from thinrank.core.checks import check_choice
from thinrank.core.imports import import_optional
from thinrank.estimators.summary import Findings, plural
from thinrank.plot import canvas
from thinrank.plot.canvas import GRAY, INK, NAME_WIDTH, ROW, SMALL, names_at, shown_of, strongest

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_TREE = 0.08  # height of the tree of the clusters, as a part of the side of the map


@canvas.plot
def coefficients(
    est: Any,
    *,
    standardized: bool = True,
    cluster: bool = True,
    max_predictors: int = 40,
    max_responses: int = 40,
    ax: Axes | None = None,
) -> Axes:
    """Draw the coefficients of the selected predictors and responses as a heat map.

    Positive coefficients are red, negative ones blue.

    Parameters
    ----------
    {est}
    standardized : bool, default=True
        Whether to multiply each coefficient by the standard deviation of the predictor and divide
        it by that of the response, so that they can be compared. False shows ``coef_`` itself.
    cluster : bool, default=True
        Whether to order predictors and responses by hierarchical clustering, so that similar ones
        are next to each other, and to draw the trees of the clusters. False keeps the order of the
        data.
    max_predictors, max_responses : int, default=40
        Largest number of predictors and of responses shown: those with the largest coefficients
        (in Euclidean norm).

    Examples
    --------
    {fit}
    >>> ax = tr.plot.coefficients(est)
    >>> ax.images[0].get_array().shape
    (5, 13)
    """
    model = canvas.fitted_model(est)
    rows, columns, values = canvas.selected(model, standardized)
    high, wide = min(len(rows), max_predictors), min(len(columns), max_responses)
    longest = max((len(model.response_names[j]) for j in columns), default=0)
    below = 0.07 * min(longest, NAME_WIDTH)  # room for the names
    cell = 1.2 * ROW
    ax = canvas.axes_of(ax, max(2.4 + cell * wide, 4.8), max(1.2 + cell * high, 2.0) + below)
    if not len(columns):
        return canvas.write_instead(ax, canvas.NO_COEFFICIENTS)
    most = min(high, canvas.room(ax, "y")), min(wide, canvas.room(ax, "x"))
    top = np.sort(strongest(np.linalg.norm(values, axis=1), most[0]))
    left = np.sort(strongest(np.linalg.norm(values, axis=0), most[1]))
    shown = values[np.ix_(top, left)]
    if cluster:
        down, across = _clustered(ax, shown, "y"), _clustered(ax, shown.T, "x")
        top, left, shown = top[down], left[across], shown[np.ix_(down, across)]
    label = "standardized coefficient" if standardized else "coefficient"
    canvas.heat_map(ax, shown, float(np.abs(shown).max()), label)
    canvas.name_axis(ax, "y", range(len(top)), names_at(model.predictor_names, rows[top]))
    canvas.name_axis(ax, "x", range(len(left)), names_at(model.response_names, columns[left]))
    ax.set_ylabel(shown_of("predictor", len(top), len(rows)))
    ax.set_xlabel(shown_of(model.noun, len(left), len(columns)))
    return ax


def _clustered(ax: Axes, values: np.ndarray, which: str) -> np.ndarray:
    """The order of the rows in which similar ones are neighbors; their tree is drawn outside."""
    count = len(values)
    if count < 3:
        return np.argsort(-values.sum(axis=1), kind="stable")
    tree = dendrogram(linkage(values, method="average", optimal_ordering=True), no_plot=True)
    along = (np.asarray(tree["icoord"]) - 5) / 10  # scipy puts the leaves at 5, 15, 25, …
    heights = np.asarray(tree["dcoord"])
    side = ax.inset_axes((0, 1, 1, _TREE) if which == "x" else (1, 0, _TREE, 1))
    pairs = (along, heights) if which == "x" else (heights, along)
    lines = import_optional("matplotlib.collections").LineCollection
    side.add_collection(lines(np.stack(pairs, axis=-1), colors=GRAY, linewidths=0.7))
    limits: Any = (-0.5, count - 0.5), (0, 1.05 * float(heights.max()) or 1.0)
    side.set(xlim=limits[which == "y"], ylim=limits[which == "x"])
    if which == "y":
        side.invert_yaxis()  # the first row is on top
    side.set_axis_off()
    return np.asarray(tree["leaves"])


@canvas.plot
def factors(
    est: Any,
    factors: int | Sequence[int] | None = None,
    *,
    max_predictors: int = 20,
    max_responses: int = 15,
    max_factors: int = 6,
    ax: Axes | None = None,
) -> Axes:
    """Draw the loadings of predictors and responses on the factors as bars.

    There is one column of bars per factor, with the predictors above and the responses below.
    Bars to the right (red) are positive, those to the left (blue) negative. A response rises with
    a predictor if their bars for a factor point to the same side. The loading of a predictor is the
    change of the factor, in its standard deviations, per standard deviation of the predictor; that
    of a response is the change of the response per standard deviation of the factor. Bars are
    drawn relative to the longest one of the factor among the predictors or responses.

    Parameters
    ----------
    {est}
    factors : int, sequence of int or None, default=None
        Which factors, counted from 0; None for all, but at most ``max_factors``.
    max_predictors : int, default=20
        Largest number of predictors shown: those with the largest loading on one of the factors.
    max_responses : int, default=15
        The same for responses.
    max_factors : int, default=6
        Largest number of factors shown if ``factors`` is None.

    Examples
    --------
    {fit}
    >>> ax = tr.plot.factors(est)
    >>> [label.get_text().split()[:2] for label in ax.get_xticklabels()]
    [['factor', '1'], ['factor', '2']]
    """
    model = canvas.fitted_model(est)
    which = list(range(min(model.rank, max_factors)))
    if factors is not None:
        which = canvas.factor_positions(factors, model.rank)
    left, right = (loadings[:, which] for loadings in canvas.loadings_of(model))
    sides = [
        ("predictors", model.predictor_names, left, max_predictors),
        (plural(model.noun), model.response_names, right, max_responses),
    ]
    titles = [canvas.factor_title(model, i) for i in which]
    return canvas.bar_columns(ax, sides, titles, canvas.NO_FACTORS)


@canvas.plot
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
    max_predictors, max_responses : int, default=25
        Largest number of predictors and of responses shown, the strongest ones.

    Examples
    --------
    {fit}
    >>> ax = tr.plot.network(est)
    >>> len(ax.texts) - 3  # without the titles of the columns
    20
    """
    check_choice("through", through, ("factors", "coefficients"))
    model = canvas.fitted_model(est)
    rows, columns, values = canvas.selected(model)
    tallest = max(min(len(rows), max_predictors), min(len(columns), max_responses))
    ax = canvas.axes_of(ax, 7.2, max(1.0 + ROW * tallest, 2.8))
    if through == "factors" and model.rank == 0:
        return canvas.write_instead(ax, canvas.NO_FACTORS)
    if not len(columns):
        return canvas.write_instead(ax, canvas.NO_COEFFICIENTS)
    most = canvas.room(ax, "y") * 4 // 5
    top = strongest(np.linalg.norm(values, axis=1), min(max_predictors, most))
    side = strongest(np.linalg.norm(values, axis=0), min(max_responses, most))
    if through == "factors":
        down, across, edges = _by_factors(model, rows[top], columns[side])
    else:
        down, across, edges = _by_signs(values[np.ix_(top, side)])
    names = names_at(model.predictor_names, rows[top[down]])
    others = names_at(model.response_names, columns[side[across]])
    heights = [_heights(layer.shape[0]) for layer in edges] + [_heights(len(side))]
    _draw_edges(ax, edges, heights, max_edges)
    size = canvas.font_size(ax, "y", round(1.25 * max(len(top), len(side))))
    predictors = shown_of("predictors", len(top), len(rows))
    responses = shown_of(plural(model.noun), len(side), len(columns))
    title: Any = {"y": 1.09, "va": "bottom", "color": GRAY, "fontsize": SMALL}
    for x, align, kind, places, texts in (
        (0, "right", predictors, heights[0], names),
        (2, "left", responses, heights[-1], others),
    ):
        ax.plot(np.full(len(places), x), places, "o", color=INK, markersize=3.5, zorder=3)
        beside = x + 0.05 * (x - 1)
        ax.text(beside, s=kind.replace(" (", "\n("), ha=align, **title)
        for y, text in zip(places, texts, strict=True):
            ax.text(beside, y, text, ha=align, va="center", fontsize=size, parse_math=False)
    if through == "factors":
        ax.text(1.0, s="factors", ha="center", **title)
        circle: Any = {"boxstyle": "circle,pad=0.3", "facecolor": "white", "edgecolor": INK}
        node: Any = {"ha": "center", "va": "center", "zorder": 4, "fontsize": SMALL, "bbox": circle}
        for i, y in enumerate(heights[1]):
            ax.text(1.0, y, str(i + 1), **node)
    ax.set_xlim(-0.9, 2.9)
    ax.set_ylim(-0.06, 1.14)
    ax.set_axis_off()
    return ax


# orders of predictors and of responses, and the weights of the edges between the columns
_Layers = tuple[np.ndarray, np.ndarray, list[np.ndarray]]


def _by_factors(model: Findings, rows: np.ndarray, columns: np.ndarray) -> _Layers:
    """Orders in which few edges cross, and the loadings as edges."""
    left, right = canvas.loadings_of(model)
    left, right = left[rows], right[columns]
    down, across = (np.argsort(_centres(side), kind="stable") for side in (left, right))
    return down, across, [left[down], right[across].T]


def _by_signs(values: np.ndarray) -> _Layers:
    """Orders in which positive edges are level and negative ones cross (of rank 1), and edges."""
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
    margin = 0.5 / (count + 1) if count < 8 else 0.0
    return np.linspace(1 - margin, margin, count) if count > 1 else np.asarray([0.5])


def _draw_edges(ax: Axes, layers: list[np.ndarray], heights: list[np.ndarray], most: int) -> None:
    """Curved edges between neighboring columns of nodes, weak ones first; says if some are not."""
    columns = np.linspace(0, 2, len(heights))
    step = np.linspace(0, 1, 24)
    bend = step**2 * (3 - 2 * step)  # level at both ends
    collection = import_optional("matplotlib.collections").LineCollection
    drawn = 0
    for i, weights in enumerate(layers):
        order = strongest(np.abs(weights).ravel(), most)[::-1]
        starts, ends = np.unravel_index(order, weights.shape)
        values = weights[starts, ends]
        x = columns[i] + step * (columns[i + 1] - columns[i])
        low, high = heights[i][starts, None], heights[i + 1][ends, None]
        look: Any = {"colors": canvas.by_sign(values), "alpha": 0.65, "capstyle": "round"}
        # in points; the strongest is half as wide as a letter is high
        look["linewidths"] = canvas.LARGE / 2 * np.abs(values) / np.abs(values).max(initial=1e-300)
        curves = [np.column_stack([x, y]) for y in low + bend * (high - low)]
        ax.add_collection(collection(curves, **look))
        drawn += len(values)
    total = sum(int(np.count_nonzero(weights)) for weights in layers)
    if drawn < total:
        note = f"strongest {drawn:,} of {total:,} edges shown"
        ax.set_title(note, y=-0.04, fontsize=SMALL, color=GRAY)
