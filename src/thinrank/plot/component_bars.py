"""Loadings of the columns of a matrix on its components."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from thinrank.plot.canvas import axes_of, check_count, name_axis, room, write_instead
from thinrank.plot.colours import QUIET, by_sign
from thinrank.plot.decomposition import decomposition
from thinrank.plot.labels import names_at, shown_of, strongest

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_ROW = 0.19  # height of a name in a new figure, in inches
_HALF = 0.44  # half of the width of a column of bars; the distance between columns is 1


def loadings(
    est: Any, *, max_columns: int = 30, max_components: int = 8, ax: Axes | None = None
) -> Axes:
    """Draw the loadings of the columns on the components as bars.

    Parameters
    ----------
    est : estimator
        A fitted :class:`thinrank.SparsePCA`, :class:`thinrank.SparseSVD` or another decomposition
        of a bare matrix.
    max_columns : int, default=30
        Largest number of columns of the matrix shown: those with the largest loading on one of the
        components. In small Axes fewer are shown, so that their names can be read.
    max_components : int, default=8
        Largest number of components shown.
    ax : Axes or None, default=None
        The Axes to draw in; None for a new figure.

    Returns
    -------
    Axes
        The Axes, with one column of bars per component. Bars to the right (red) are positive, those
        to the left (blue) negative, relative to the longest one of the component.

    Examples
    --------
    >>> import numpy as np, thinrank as tr
    >>> X = np.random.default_rng(0).standard_normal((60, 50))
    >>> X[::6, ::5] += 4
    >>> ax = tr.plot.loadings(tr.SparseSVD().fit(X))
    >>> len(ax.get_yticklabels())
    10
    """
    max_columns = check_count("max_columns", max_columns)
    parts = decomposition(est)
    count = min(parts.rank, check_count("max_components", max_components))
    values = parts.components[:count]
    used = int(np.count_nonzero(values.any(axis=0)))
    high = min(used, max_columns)
    ax = axes_of(ax, min(max(2.6 + 1.2 * count, 4.8), 11.0), max(1.1 + _ROW * high, 2.4))
    if not parts.rank:
        return write_instead(ax, "The rank is 0: there are no components.")
    strength = np.abs(values).max(axis=0)
    shown = strongest(strength, min(high, room(ax, "y")))
    main = np.argmax(np.abs(values[:, shown]), axis=0)
    shown = shown[np.lexsort((-values[main, shown], main))]
    heights = np.arange(len(shown))
    for component, row in enumerate(values):
        own = row[shown]
        longest = float(np.abs(row).max()) or 1.0
        ax.barh(
            heights,
            own / longest * _HALF,
            left=component,
            height=0.75,
            color=[by_sign(value) for value in own],
        )
        ax.plot([component, component], [-0.5, len(shown) - 0.5], color=QUIET, lw=0.8)
    ax.set_ylim(len(shown) - 0.4, -0.6)
    name_axis(ax, "y", heights.tolist(), names_at(parts.names, shown))
    ax.set_xticks(range(count), [f"component {i + 1}" for i in range(count)], fontsize=9)
    ax.set_xlim(-0.55, count - 0.45)
    ax.set_xlabel(shown_of("column", len(shown), used))
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    return ax
