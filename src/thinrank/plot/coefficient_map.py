"""Heat map of the selected part of the coefficient matrix."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.cluster.hierarchy import dendrogram, linkage

from thinrank.core.imports import import_optional
from thinrank.plot import canvas
from thinrank.plot.canvas import GRAY, NAME_WIDTH, names_at, shown_of, strongest

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_CELL = 0.22  # side of a cell of a new figure, in inches
_TREE = 0.08  # height of the tree of the clusters, as a part of the side of the map


@canvas.documented
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
    max_predictors : int, default=40
        Largest number of predictors shown: those with the largest coefficients (in Euclidean
        norm). In small Axes fewer are shown, so that their names can be read.
    max_responses : int, default=40
        The same for responses.

    Examples
    --------
    >>> import thinrank as tr
    >>> X, Y = tr.datasets.load_norwegian_paper(return_X_y=True, as_frame=True)
    >>> est = tr.SparseReducedRankRegressor(2, 5, None).fit(X, Y)
    >>> ax = tr.plot.coefficients(est)
    >>> ax.images[0].get_array().shape
    (5, 13)
    """
    canvas.check_counts(max_predictors=max_predictors, max_responses=max_responses)
    model = canvas.fitted_model(est)
    rows, columns, values = canvas.selected(model, standardized)
    high, wide = min(len(rows), max_predictors), min(len(columns), max_responses)
    longest = max((len(model.response_names[j]) for j in columns), default=0)
    below = 0.07 * min(longest, NAME_WIDTH)  # room for the names
    ax = canvas.axes_of(ax, max(2.4 + _CELL * wide, 4.8), max(1.2 + _CELL * high, 2.0) + below)
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
    return canvas.with_fonts(ax)


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
