"""Confidence intervals as horizontal lines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from thinrank.plot.canvas import axes_of, check_count, name_axis, open_frame, room
from thinrank.plot.colours import ACCENT, GREY, QUIET
from thinrank.plot.labels import names_at, shown_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_ROW = 0.19  # height of a name in a new figure, in inches
_FIELDS = ("estimate", "lower", "upper", "labels", "level", "of")
_NOUNS = {"coefficients": "coefficient", "predictions": "prediction", "layers": "quantity"}


def intervals(result: Any, *, max_names: int = 40, ax: Axes | None = None) -> Axes:
    """Draw confidence intervals.

    Parameters
    ----------
    result : Intervals
        The result of :func:`thinrank.inference.confidence_intervals`.
    max_names : int, default=40
        Largest number of intervals shown: those whose estimates are the most standard errors away
        from zero, or, of predictions, the first. In small Axes fewer are shown, so that names can
        be read.
    ax : Axes or None, default=None
        The Axes to draw in; None for a new figure.

    Returns
    -------
    Axes
        The Axes. Intervals that contain zero are grey, others blue.

    Examples
    --------
    >>> import thinrank as tr
    >>> X, Y, truth = tr.datasets.make_two_way_sparse(100, 20, 8, 1, 3, 4, random_state=0)
    >>> est = tr.SparseReducedRankRegressor(1, 3, 4).fit(X, Y)
    >>> ax = tr.plot.intervals(tr.inference.confidence_intervals(est, X, Y))
    >>> ax.get_xlabel()
    'coefficient, 95 % confidence intervals'
    """
    missing = [name for name in _FIELDS if not hasattr(result, name)]
    if missing:
        raise TypeError(
            "result must be what tr.inference.confidence_intervals returns, got "
            f"{type(result).__name__}"
        )
    max_names = check_count("max_names", max_names)
    total = len(result.estimate)
    ax = axes_of(ax, 5.6, max(1.0 + _ROW * min(max_names, total), 2.4))
    count = min(max_names, room(ax, "y"), total)
    if result.of == "predictions":
        shown = np.arange(count)
    else:
        with np.errstate(divide="ignore", invalid="ignore"):
            strength = np.abs(result.estimate) / result.standard_error
        shown = np.sort(np.argsort(-np.nan_to_num(strength), kind="stable")[:count])
    places = np.arange(len(shown))
    lower, upper = result.lower[shown], result.upper[shown]
    zero_inside = (lower <= 0) & (upper >= 0)
    for here, colour in ((zero_inside, QUIET), (~zero_inside, ACCENT)):
        ax.hlines(places[here], lower[here], upper[here], color=colour, linewidth=2)
        ax.plot(result.estimate[shown][here], places[here], "o", color=colour, markersize=4)
    ax.axvline(0.0, color=GREY, linestyle="--", linewidth=1)
    labels = [" ".join(part for part in row if part) for row in zip(*_words(result), strict=True)]
    name_axis(ax, "y", places.tolist(), names_at(labels, shown))
    ax.set_ylim(len(shown) - 0.4, -0.6)
    ax.tick_params(axis="y", length=0)
    noun = _NOUNS.get(result.of, "value")
    ax.set_xlabel(f"{noun}, {result.level * 100:g} % confidence intervals")
    words = shown_of(noun, len(shown), total)
    ax.set_ylabel(words.replace("strongest", "first") if result.of == "predictions" else words)
    open_frame(ax)
    return ax


def _words(result: Any) -> list[list[str]]:
    """Parts of the labels; pairs have an arrow between their names."""
    parts = list(result.labels.values())
    if result.of == "coefficients":
        parts.insert(1, ["→"] * len(result.estimate))
    return parts
