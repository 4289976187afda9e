"""Statistics of predictors that are selected with a controlled rate of false discoveries."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from thinrank.plot.canvas import axes_of, check_count, name_axis, open_frame, room, write_instead
from thinrank.plot.colours import ACCENT, GREY, QUIET
from thinrank.plot.labels import names_at, shown_of, strongest

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from thinrank.inference import Discoveries

_ROW = 0.19  # height of a name in a new figure, in inches
_AXIS_TITLES = {"−log10 weighted p": "−log₁₀ of the weighted p-value", "W": "knockoff statistic W"}


def discoveries(result: Any, *, max_names: int = 40, ax: Axes | None = None) -> Axes:
    """Draw the statistics of the strongest predictors and the threshold of the selection.

    Parameters
    ----------
    result : Discoveries
        The result of :func:`thinrank.inference.select_predictors`.
    max_names : int, default=40
        Largest number of predictors shown, those of largest statistic in absolute value. In small
        Axes fewer are shown, so that they can be read.
    ax : Axes or None, default=None
        The Axes to draw in; None for a new figure.

    Returns
    -------
    Axes
        The Axes. Selected predictors are blue, others grey; the dashed line is the threshold, and
        the legend has the estimated proportion of false discoveries.

    Examples
    --------
    >>> import thinrank as tr
    >>> X, Y, truth = tr.datasets.make_two_way_sparse(100, 20, 10, rank=1, row_sparsity=3,
    ...                                               column_sparsity=5, random_state=0)
    >>> ax = tr.plot.discoveries(tr.inference.select_predictors(X, Y))
    >>> ax.get_xlabel()
    '−log₁₀ of the weighted p-value'
    """
    # imported here, so that other plots do not load the package
    from thinrank.inference import Discoveries

    if not isinstance(result, Discoveries):
        raise TypeError(
            "result must be what tr.inference.select_predictors returns, got "
            f"{type(result).__name__}"
        )
    max_names = check_count("max_names", max_names)
    sizes = np.abs(result.statistics)
    some = int(np.count_nonzero(sizes))
    ax = axes_of(ax, 5.6, max(1.0 + _ROW * min(max_names, some), 2.4))
    if some == 0:
        return write_instead(ax, "No predictor has a statistic other than zero.")
    shown = strongest(sizes, min(max_names, room(ax, "y")))
    places = np.arange(len(shown))
    _draw_bars(ax, places, result.statistics[shown], np.isin(shown, result.selected), result)
    name_axis(ax, "y", places.tolist(), names_at(result.feature_names, shown))
    ax.set_ylim(len(shown) - 0.4, -0.6)
    ax.tick_params(axis="y", length=0)
    ax.set_xlabel(_AXIS_TITLES.get(result.statistic_name, result.statistic_name))
    ax.set_ylabel(shown_of("predictor", len(shown), len(sizes)))
    open_frame(ax)
    return ax


def _draw_bars(
    ax: Axes, places: np.ndarray, values: np.ndarray, chosen: np.ndarray, result: Discoveries
) -> None:
    count = len(result.selected)
    title = f"selected: {count} at a rate of {result.fdr:g}"
    if count:
        title += f" (estimate of false ones {result.estimated_fdp:.2g})"
    for which, colour, label in ((True, ACCENT, title), (False, QUIET, "not selected")):
        here = chosen == which
        if here.any():
            ax.barh(places[here], values[here], height=0.75, color=colour, label=label)
    if np.isfinite(result.threshold):
        ax.axvline(result.threshold, color=GREY, linestyle="--", linewidth=1)
    ax.legend(
        loc="lower left", bbox_to_anchor=(0, 1), frameon=False, fontsize=8, ncols=2, borderpad=0
    )
