"""Heat map of the selected part of the coefficient matrix."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.cluster.hierarchy import leaves_list, linkage

from thinrank.plot.canvas import axes_of, check_count, name_axis, room, write_instead
from thinrank.plot.colours import DIVERGING, GREY
from thinrank.plot.fitted_model import fitted_model, selected
from thinrank.plot.labels import names_at, shown_of, strongest

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_CELL = 0.22  # side of a cell of a new figure, in inches
_MARGIN = 2.4  # room for names and colour bar, in inches


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

    Parameters
    ----------
    est : estimator
        A fitted estimator, such as :class:`thinrank.SparseReducedRankRegressor`.
    standardized : bool, default=True
        Whether to multiply each coefficient by the standard deviation of the predictor and divide
        it by that of the response, so that they can be compared. False shows ``coef_`` itself.
    cluster : bool, default=True
        Whether to order predictors and responses by hierarchical clustering, so that similar ones
        are next to each other. False keeps the order of the data.
    max_predictors : int, default=40
        Largest number of predictors shown: those with the largest coefficients (in Euclidean
        norm). In small Axes fewer are shown, so that their names can be read.
    max_responses : int, default=40
        The same for responses.
    ax : Axes or None, default=None
        The Axes to draw in; None for a new figure.

    Returns
    -------
    Axes
        The Axes. Positive coefficients are red, negative ones blue.

    Examples
    --------
    >>> import thinrank as tr
    >>> X, Y = tr.datasets.load_norwegian_paper(return_X_y=True, as_frame=True)
    >>> est = tr.SparseReducedRankRegressor(2, 5, None).fit(X, Y)
    >>> ax = tr.plot.coefficients(est)
    >>> ax.images[0].get_array().shape
    (5, 13)
    """
    max_predictors = check_count("max_predictors", max_predictors)
    max_responses = check_count("max_responses", max_responses)
    model = fitted_model(est)
    rows, columns, values = selected(model, standardized)
    high, wide = min(len(rows), max_predictors), min(len(columns), max_responses)
    ax = axes_of(ax, max(_MARGIN + _CELL * wide, 4.8), max(1.2 + _CELL * high, 2.8))
    if not len(columns):
        return write_instead(ax, "All coefficients are zero: no predictor was selected.")
    top = np.sort(strongest(np.linalg.norm(values, axis=1), min(high, room(ax, "y"))))
    left = np.sort(strongest(np.linalg.norm(values, axis=0), min(wide, room(ax, "x"))))
    shown = values[np.ix_(top, left)]
    if cluster:
        down, across = _order(shown), _order(shown.T)
        top, left, shown = top[down], left[across], shown[np.ix_(down, across)]
    limit = float(np.abs(shown).max())
    image = ax.imshow(
        shown, cmap=DIVERGING, vmin=-limit, vmax=limit, aspect="auto", interpolation="nearest"
    )
    name_axis(ax, "y", range(len(top)), names_at(model.predictor_names, rows[top]))
    name_axis(ax, "x", range(len(left)), names_at(model.response_names, columns[left]))
    ax.tick_params(length=0)
    for spine in ax.spines.values():
        spine.set_edgecolor(GREY)
    ax.set_ylabel(shown_of("predictor", len(top), len(rows)))
    ax.set_xlabel(shown_of(model.noun, len(left), len(columns)))
    figure: Any = ax.get_figure()
    label = "standardised coefficient" if standardized else "coefficient"
    bar = figure.colorbar(image, ax=ax, label=label, shrink=0.8, aspect=25)
    bar.outline.set_visible(False)
    return ax


def _order(values: np.ndarray) -> np.ndarray:
    """The order of the rows in which similar ones are next to each other."""
    if len(values) < 3:
        return np.argsort(-values.sum(axis=1), kind="stable")
    return leaves_list(linkage(values, method="average", optimal_ordering=True))
